"""Do a risk's numbers agree with what happens?

Shielded episodes that nothing was learned from say so. First the *resolution*: the smallest avoidable risk that it pays to act on
(:func:`resolved`, and :func:`best_of` several rounds). Then (:func:`calibrate`) the log-odds are shifted until the *surprise* (what was not foreseen) is not above 0 on
average under shields with budgets, and the promise of every budget holds with confidence. Picking the least risky of several
actions favours underestimated ones, so this comes after the choice. Whether it holds is measured once more on fresh episodes.
Those may be looked at after several rounds, until it does; so what the card says comes from episodes that nobody has looked
at before, played once (:func:`confirm`). If it does not hold there, nothing is promised.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from cpss import _native
from cpss.card import Account, Card, account_of, reliability_of, with_notes
from cpss.playing import Behaviour, Played, Shielding, Stage

#: Avoidable risks that may be told apart, from coarse to fine.
RESOLUTIONS = (0.1, 0.03, 0.01, 0.003, 0.001)
#: One part in so many of the episodes settles which of them are out of the question.
FIRST_PART = 3
#: The most that log-odds are shifted by.
MOST_SHIFT = 4.0
#: With a greater one than this a risk is calibrated, but worth another round.
LITTLE_SHIFT = 0.5
#: To lower log-odds by less than this is not worth it.
LEAST_LOWERING = 0.3
#: What has to hold on other episodes too has to hold with an interval so many times as wide.
SURELY = 2.0
#: The most episodes of a first look.
FIRST_LOOK = 150
#: How many shifts are tried.
TRIES = 6
#: Confirmation uses seeds after so many times those of a calibration: the others calibrate, say whether to go on, and show the
#: reliability.
UNSEEN = 3
#: How many shares of the budget left one decision may spend: risk comes in bursts.
PACE = 5.0


@dataclass(frozen=True)
class Trial:
    """What a calibration is made with."""

    stage: Stage
    budgets: Sequence[float]
    gamma: float
    #: Episodes that decide, and as many that confirm.
    episodes: int
    #: The first seed; calibration uses those from here, what comes later those after.
    seed: int
    tell: Callable[[str], None]


def shield_settings_of(budget: float, horizon: int, mode: str = "enforce") -> dict:
    """A shield's settings with a learned risk."""
    return {"budget": budget, "horizon": horizon, "pace": PACE, "charge": "predicted", "gain": "constant", "mode": mode}


def shielding(trial: Trial, model: _native.RiskModel, resolution: float) -> Shielding:
    """A model with a shield for every budget and copy of the environment."""
    terms = _native.RiskTerms(trial.gamma, resolution, False)
    copies, horizon = len(trial.stage.envs), trial.stage.horizon
    # Of points the nearest admissible one stands in, as under the wrapper.
    fallback = "best-admissible" if trial.stage.actions.point else "min-risk"
    shields = [_native.Shields({**shield_settings_of(budget, horizon), "fallback": fallback}, terms, copies) for budget in trial.budgets]
    return Shielding(model, resolution, shields)


def under_budgets(trial: Trial, model: _native.RiskModel, resolution: float, first: int, episodes: int) -> list[Played]:
    """Episodes under shields, each budget by turns."""
    kinds = len(trial.budgets)
    behaviours = [Behaviour(first + index, shield=index % kinds) for index in range(episodes)]
    return trial.stage.play(behaviours, shielding(trial, model, resolution))


@dataclass(frozen=True)
class Resolved:
    """A model, the smallest avoidable risk that it pays to act on with it, and how many incidents there were then."""

    model: _native.RiskModel
    resolution: float
    incidents: float
    #: The standard error of that.
    noise: float


def resolved(trial: Trial, model: _native.RiskModel, thresholds: Sequence[float] = RESOLUTIONS) -> Resolved:
    """Which avoidable risks it pays to act on: acting on less is acting on noise, and does harm. It is the greatest of the
    thresholds under which there were no more incidents than under the best, but for chance or for what the least budget allows: to
    prevent fewer than that is not worth what a finer one costs in interventions."""
    episodes = max(trial.episodes // 3, 50)
    # A first part of the episodes settles which of them are out of the question.
    few = max(episodes // FIRST_PART, 25)
    played = {threshold: under_threshold(trial, model, threshold, 0, few) for threshold in thresholds}
    best, noise = fewest_incidents(played)
    for threshold, seen in played.items():
        if account_of(seen).incidents <= best + max(2.0 * noise, min(trial.budgets)):
            seen += under_threshold(trial, model, threshold, few, episodes)
        trial.tell(f"threshold {threshold:g}: {account_of(seen)}")
        # A finer one may be better even where the last one was worse; only where there is no incident left, nothing is to be gained.
        if len(seen) >= episodes and not any(episode.incident for episode in seen):
            break
    whole = {threshold: seen for threshold, seen in played.items() if len(seen) >= episodes}
    best, noise = fewest_incidents(whole)
    most = best + max(noise, min(trial.budgets))
    threshold, incidents = next((threshold, found) for threshold, seen in whole.items() if (found := account_of(seen).incidents) <= most)
    return Resolved(model, threshold, incidents, noise)


def under_threshold(trial: Trial, model: _native.RiskModel, threshold: float, first: int, end: int) -> list[Played]:
    """Some of a trial's episodes, under one threshold throughout."""
    return trial.stage.play([Behaviour(trial.seed + index, threshold=threshold) for index in range(first, end)], Shielding(model))


def fewest_incidents(played: dict[float, list[Played]]) -> tuple[float, float]:
    """The least share of episodes with an incident under any threshold, and its standard error."""
    best, episodes = min((account_of(seen).incidents, len(seen)) for seen in played.values())
    return best, float(np.sqrt(max(best * (1.0 - best), 1.0 / episodes) / episodes))


def best_of(trial: Trial, models: Sequence[_native.RiskModel]) -> tuple[Resolved, int]:
    """Of what was learned after each of some rounds, the newest last, the one under which there were fewest incidents, and how many
    rounds ago that was; the newest unless another is better beyond chance. Earlier ones are tried at the threshold that is best for the newest, and at the next finer one."""
    best, ago = resolved(trial, models[-1]), 0
    place = RESOLUTIONS.index(best.resolution)
    for back, model in enumerate(models[-2::-1], start=1):
        if best.incidents == 0.0:
            break
        trial.tell(f"{back} rounds ago:")
        found = resolved(trial, model, RESOLUTIONS[place : place + 2])
        if found.incidents < best.incidents - best.noise:
            best, ago = found, back
    return best, ago


def shifted_surprise(played: list[Played], gamma: float, by: float, resolution: float) -> tuple[float, float]:
    """The mean surprise of episodes if all log-odds had been greater by so much and the same had run, and half of its 95 %
    interval. What lies below the resolution is not charged, and shows up here."""
    surprises = []
    for episode in played:
        least, risk = (raise_by(np.array(part), by) for part in (episode.least, episode.risk))
        charged = np.where(risk - least < resolution, 0.0, risk - least)
        surprises.append(episode.incident + gamma * least[1:].sum() - (least + charged).sum())
    found = np.array(surprises)
    return float(found.mean()), 1.96 * float(np.sqrt(max(found.var(), 1.0 / len(found)) / len(found)))


def fits(played: list[Played], room: float, gamma: float, by: float, resolution: float) -> bool:
    """Whether their surprise, with confidence, would be no more than this if all log-odds had been greater by so much."""
    mean, half = shifted_surprise(played, gamma, by, resolution)
    return mean + half <= room


def parts_with_room(played: list[Played], account: Account, budgets: Sequence[float]) -> list[tuple[list[Played], float]]:
    """The episodes whose surprise has to fit into each of the budgets, and how much does; see :meth:`Account.keeps`."""
    each = [[episode for episode in played if episode.shield == place] for place in range(len(budgets))] if account.tells_each(budgets) else [played] * len(budgets)
    return list(zip(each, account.rooms(budgets)))


def raise_by(risks: np.ndarray, by: float) -> np.ndarray:
    """Risks whose log-odds are greater by so much."""
    odds = np.exp(by) * risks
    return odds / (1.0 - risks + odds)


def shift_of(trial: Trial, model: _native.RiskModel, resolution: float, shift: float = 0.0) -> tuple[float | None, Account]:
    """The shift of the log-odds that makes the surprise no more than 0, and every promise hold, surely if one does; None if there
    is none. Risks are lowered only where they are much too high: that they are right one by one is worth more."""
    held: tuple[float | None, Account] = (None, Account())
    for _ in range(TRIES):
        played = under_budgets(trial, model.shifted(shift), coarser(resolution, shift), trial.seed, trial.episodes)
        account = account_of(played, len(trial.budgets))
        trial.tell(f"log-odds {shift:+.2f}: {account}")
        holds = account.surprise <= 0.0 and account.keeps(trial.budgets)
        too_high = holds and shift == 0.0 and account.surprise < -max(trial.budgets)
        if holds:
            held = shift, account
            if not too_high and (shift < 0.0 or account.keeps(trial.budgets, SURELY)):
                break
        elif shift < 0.0:
            # They were lowered too far: what ran then was another thing.
            shift = round(shift / 2.0, 2)
            if shift > -LEAST_LOWERING:
                break
            continue
        # How much would do if the same had run; what runs changes with it, so it is played again. Whoever goes to the border misses
        # it on other episodes: raised, there is no surprise even at the end of its interval, and lowered, risks stay too high by
        # half of what is much.
        steps = np.arange(-MOST_SHIFT, 0.0, 0.1) if too_high else np.arange(0.1, MOST_SHIFT - shift + 0.05, 0.1)
        most = -max(trial.budgets) / 2.0 if too_high else 0.0
        parts = [(played, most), *parts_with_room(played, account, trial.budgets)]
        enough = next((step for step in steps if all(fits(part, room, trial.gamma, step, coarser(resolution, shift + step)) for part, room in parts)), None)
        if enough is None or abs(shift + enough) > MOST_SHIFT:
            break
        shift = round(shift + float(enough), 2)
    return held


def coarser(resolution: float, shift: float) -> float:
    """What is noise before log-odds are lowered is less after it. Where they are raised it stays as it is: what counted for more then
    would be let through unseen, and be a surprise again."""
    return resolution * float(np.exp(min(shift, 0.0)))


def reliability(trial: Trial, model: _native.RiskModel, resolution: float, first: int) -> tuple:
    """Some action tried out in each of fresh episodes, and the least risky ever after."""
    explore = max(2.0 / max(trial.stage.horizon, 2), 0.02)
    behaviours = [Behaviour(first + index, threshold=resolution, explore=explore, then_safest=True) for index in range(max(trial.episodes // 2, 50))]
    played = trial.stage.play(behaviours, Shielding(model, resolution))
    tried = [(*episode.tried, episode) for episode in played if episode.tried is not None]
    foretold = np.array([risk for _, risk, _ in tried])
    # An incident beyond the look-ahead counts for less, as it does in a risk.
    happened = np.array([trial.gamma ** (episode.steps - 1 - at) * episode.incident for at, _, episode in tried])
    return tuple(reliability_of(foretold, happened))


def will_do(trial: Trial, model: _native.RiskModel) -> Resolved | None:
    """A first look at fewer episodes, which may settle that a model will not do yet: another round may be better."""
    few = dataclasses.replace(trial, episodes=min(max(trial.episodes // 2, 50), FIRST_LOOK))
    found = resolved(few, model)
    account = account_of(under_budgets(few, model, found.resolution, trial.seed, few.episodes), len(trial.budgets))
    if not account.foresees(trial.budgets):
        return None
    shift, account = shift_of(few, model, found.resolution)
    return None if shift is None or abs(shift) > LITTLE_SHIFT or account.surprise < -max(trial.budgets) else found


def calibrate(trial: Trial, found: Resolved, card: Card) -> tuple[_native.RiskModel, Card]:
    """Calibrates a model; the card says whether its risks held on fresh episodes."""
    shift, _ = shift_of(trial, found.model, found.resolution)
    model, card = shifted(trial, found, card, shift)
    fresh = dataclasses.replace(trial, seed=trial.seed + trial.episodes)
    card = measured(trial, model, card, fresh.seed)
    if shift is None or card.calibrated:
        return model, card
    # What held on some episodes by chance does not on others: from there it goes on with those.
    shift, account = shift_of(fresh, found.model, found.resolution, shift)
    model, card = shifted(trial, found, card, shift)
    return model, card if shift is None else dataclasses.replace(card, shielded=account)


def shifted(trial: Trial, found: Resolved, card: Card, shift: float | None) -> tuple[_native.RiskModel, Card]:
    """A model with its log-odds shifted, and the card that says so. If no shift makes it conservative, none is made: nothing is
    promised then, and risks stay as they were learned."""
    used, budgets = shift or 0.0, () if shift is None else tuple(trial.budgets)
    card = dataclasses.replace(card, resolution=coarser(found.resolution, used), shift=used, budgets=budgets)
    if shift is None:
        card = with_notes(card, "no shift of the log-odds made its promises hold")
    return found.model.shifted(used), card


def measured(trial: Trial, model: _native.RiskModel, card: Card, first: int) -> Card:
    """The card with what came of fresh episodes under shields."""
    shielded = account_of(under_budgets(trial, model, card.resolution, first, trial.episodes), len(trial.budgets))
    trial.tell(f"on fresh episodes: {shielded}")
    return dataclasses.replace(card, shielded=shielded)


def confirm(trial: Trial, model: _native.RiskModel, card: Card) -> Card:
    """The card of a model that is done, with what came of episodes whose seeds nothing was ever decided by. A model that does
    not hold already gets no second chance."""
    if not card.calibrated:
        return card
    return measured(trial, model, card, trial.seed + UNSEEN * trial.episodes)
