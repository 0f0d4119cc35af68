"""What does a learned risk say about itself?

A :class:`Card` travels with every :class:`cpss.Risk`: what it was learned from, how it was calibrated, and how well its
risks agree with what happened. Whether anything may be promised follows from its numbers: :attr:`Card.calibrated`.
"""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

#: What single precision may be off by, relatively.
SINGLE = 1e-6
#: The borders of the reliability's bins.
BORDERS = (0.0, 0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 0.7, 1.0)


@dataclass(frozen=True)
class Account:
    """What episodes came to, on average. ``incidents`` is the sum of ``start``, ``chosen``, ``arriving`` and ``surprise``,
    where there was a shield with a budget."""

    episodes: int = 0
    incidents: float = np.nan
    return_mean: float = np.nan
    steps_mean: float = np.nan
    #: Share of decisions on which the proposal was refused.
    interventions: float = 0.0
    start: float = np.nan
    chosen: float = np.nan
    arriving: float = np.nan
    surprise: float = np.nan
    surprise_ci95: tuple[float, float] = (np.nan, np.nan)
    #: What was chosen under each of the budgets, the least budget first.
    chosen_each: tuple[float, ...] = ()
    #: The surprise under each of them: its mean, the upper end of its 95 % interval, and its standard error.
    surprise_each: tuple[tuple[float, float, float], ...] = ()

    def rooms(self, budgets: Sequence[float]) -> list[float]:
        """How much surprise fits into each of the budgets beside what was chosen under it; none if that is not known."""
        if not len(self.chosen_each) == len(budgets) > 0:
            return [-np.inf] * len(budgets)
        return [float(budget - chosen) for budget, chosen in zip(budgets, self.chosen_each)]

    def tells_each(self, budgets: Sequence[float]) -> bool:
        """Whether enough episodes were played under each of the budgets to confirm the least of them."""
        return len(self.surprise_each) == len(budgets) > 0 and self.episodes // len(budgets) >= fewest_episodes(min(budgets))

    def keeps(self, budgets: Sequence[float], times: float = 1.0) -> bool:
        """Whether, with confidence, incidents are at most ``start + arriving + budget`` under every one of these budgets, the
        least first: the surprise, and what was chosen under that budget, fit into it; with an interval so many times as wide.

        The surprise is that under the same budget, if enough episodes were played under each. Chance under a great budget would
        otherwise be held against a small one, which has no room for it. Of fewer episodes, that of all together has to do."""
        if self.episodes == 0 or not budgets:
            return False
        if self.tells_each(budgets):
            # Only what was seen to vary may vary more: without an incident, a wider interval would say that there are too few episodes.
            most = [max(end, mean + times * 1.96 * error) for mean, end, error in self.surprise_each]
        else:
            end = self.surprise_ci95[1]
            most = [end if times == 1.0 else self.surprise + times * (end - self.surprise)] * len(budgets)
        return all(found <= room for found, room in zip(most, self.rooms(budgets)))

    def foresees(self, budgets: Sequence[float]) -> bool:
        """Whether little comes that was not there at the start: what comes into view, and all incidents beyond the start, are within
        the least budget."""
        return max(self.arriving, self.incidents - self.start) <= min(budgets)

    def __str__(self) -> str:
        text = f"{self.episodes} episodes: incidents {self.incidents:.4f}, return {self.return_mean:.2f}, interventions {100 * self.interventions:.1f} %"
        if np.isnan(self.surprise):
            return text
        return text + (
            f"; {self.incidents:.4f} = start {self.start:.4f} + chosen {self.chosen:.4f} + arriving {self.arriving:.4f} + "
            f"surprise {self.surprise:+.4f} (95 %: {self.surprise_ci95[0]:+.4f} to {self.surprise_ci95[1]:+.4f})"
        )


def account_of(played: list, budgets: int = 0) -> Account:
    """Sums episodes up, which were played under so many budgets by turns."""
    count = max(len(played), 1)
    steps = sum(episode.steps for episode in played)
    plain = dict(
        episodes=len(played),
        incidents=sum(episode.incident for episode in played) / count,
        return_mean=sum(episode.total for episode in played) / count,
        steps_mean=steps / count,
        interventions=sum(episode.refused for episode in played) / max(steps, 1),
    )
    if not played or any(episode.account is None for episode in played):
        return Account(**plain)
    start, chosen, surprise, arriving = np.array([episode.account[1:5] for episode in played]).T
    each = [[episode for episode in played if episode.shield == place] for place in range(budgets)]
    mean, half, above = interval_of(surprise, plain["incidents"])
    return Account(
        **plain, start=float(start.mean()), chosen=float(chosen.mean()), arriving=float(arriving.mean()),
        surprise=mean, surprise_ci95=(mean - half, mean + above),
        # Of a budget that nobody played under nothing is known.
        chosen_each=tuple(float(np.mean([episode.account[2] for episode in found])) if found else np.nan for found in each),
        surprise_each=tuple(surprise_under(found) for found in each),
    )  # fmt: skip


def surprise_under(played: list) -> tuple[float, float, float]:
    """The surprise of episodes under one budget: its mean, the upper end of its 95 % interval, and its standard error."""
    if not played:
        return np.nan, np.nan, np.nan
    surprise = np.array([episode.account[3] for episode in played])
    mean, _, above = interval_of(surprise, sum(episode.incident for episode in played) / len(played))
    return mean, mean + above, float(np.sqrt(surprise.var() / len(played)))


def interval_of(surprise: np.ndarray, incidents: float) -> tuple[float, float, float]:
    """The mean of surprises, and how far its 95 % interval reaches below and above it."""
    count = len(surprise)
    # Without a single incident the sample knows nothing of their spread: as if there had been one.
    half = 1.96 * float(np.sqrt(max(surprise.var(), 1.0 / count) / count))
    # Of few episodes, with few incidents, the normal interval is too narrow; the exact one of how often they happen is not.
    return float(surprise.mean()), half, max(half, most_likely(round(incidents * count), count) - incidents)


def most_likely(happened: int, count: int) -> float:
    """The greatest chance of something that happened so often in so many tries, with 95 % confidence: Clopper and Pearson's
    exact bound.

    >>> round(most_likely(0, 100), 4), round(most_likely(5, 100), 4)
    (0.0295, 0.1023)
    """
    if happened >= count:
        return 1.0
    ways = [math.lgamma(count + 1) - math.lgamma(k + 1) - math.lgamma(count - k + 1) for k in range(happened + 1)]
    low, high = happened / count, 1.0
    for _ in range(60):
        chance = (low + high) / 2
        so_few = sum(math.exp(way + k * math.log(chance) + (count - k) * math.log1p(-chance)) for k, way in enumerate(ways))
        low, high = (chance, high) if so_few > 0.05 else (low, chance)
    return high


def least_likely(happened: int, count: int) -> float:
    """The least chance of the same, with 95 % confidence."""
    return 1.0 - most_likely(count - happened, count)


def fewest_episodes(budget: float) -> int:
    """How many episodes it takes at least to confirm that an incident is at most so likely: if there is none in any of them."""
    return math.ceil(math.log(0.05) / math.log1p(-budget))


@dataclass(frozen=True)
class Bin:
    """How often an incident followed where a risk was foretold: one action ran, and the least risky ever after."""

    low: float
    high: float
    count: int
    predicted: float
    happened: float


def reliability_of(foretold: np.ndarray, happened: np.ndarray) -> list[Bin]:
    """Sorts what was tried by the risk foretold."""
    bins = []
    for low, high in zip(BORDERS, BORDERS[1:]):
        inside = (foretold >= low) & ((foretold < high) | (high == 1.0))
        if inside.any():
            bins.append(Bin(low, high, int(inside.sum()), float(foretold[inside].mean()), float(happened[inside].mean())))
    return bins


@dataclass(frozen=True)
class Card:
    """What is known about a learned risk.

    Attributes:
        environment: The id of the environment, if it has one.
        source: ``"environment"``, or ``"log"`` if nobody has tried it out.
        gamma: The chance that its look-ahead goes on to the next decision; 1 if it sees to the end.
        horizon: Decisions of an episode, at most: a shield's horizon unless you say otherwise.
        resolution: Avoidable risks below this are noise, and count as none.
        steps: Transitions that it was learned from.
        seed: The seed of everything.
        rounds: Rounds of data.
        shift: What is added to the log-odds of every risk: the calibration.
        budgets: The budgets of the shields that it was calibrated under, the least first; none if nothing made it hold.
        alone: Episodes of the policy without a shield.
        shielded: Fresh episodes under the shield, with the account of their risk.
        reliability: Risks foretold, and how often an incident followed.
        notes: What else a user has to know.
    """

    environment: str = ""
    source: str = "environment"
    gamma: float = 1.0
    horizon: int = 1000
    resolution: float = 0.0
    steps: int = 0
    seed: int = 0
    rounds: int = 0
    shift: float = 0.0
    budgets: tuple[float, ...] = ()
    alone: Account = Account()
    shielded: Account = Account()
    reliability: tuple[Bin, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def calibrated(self) -> bool:
        """Whether the promise of every one of ``budgets`` held, with confidence, on fresh shielded episodes: incidents were at
        most what could not be avoided, plus the budget. Only then a budget promises anything."""
        return self.source == "environment" and self.shielded.keeps(self.budgets)

    def promises(self, budget: float) -> bool:
        """Whether anything is promised with this budget: only from the least to the greatest that it was calibrated under. A
        number of single precision is taken for what it was before."""
        return self.calibrated and min(self.budgets) * (1 - SINGLE) <= budget <= max(self.budgets) * (1 + SINGLE)

    def __str__(self) -> str:
        look = "to the end" if self.gamma == 1.0 else f"{1 / (1 - self.gamma):.0f} decisions"
        budgets = ", budgets " * bool(self.budgets) + ", ".join(f"{budget:g}" for budget in self.budgets)
        lines = [
            f"risk of {self.environment or 'an environment'}: {'calibrated' if self.calibrated else 'NOT CALIBRATED: nothing is promised'}",
            f"  learned from {self.steps} transitions ({self.source}) in {self.rounds} rounds, seed {self.seed}; looks ahead {look}; resolution {self.resolution:g}, log-odds {self.shift:+.2f}",
        ]
        if self.alone.episodes:
            lines.append(f"  policy alone:    {self.alone}")
        if self.shielded.episodes:
            lines.append(f"  under the shield{budgets}: {self.shielded}")
        if self.calibrated:
            unavoidable = self.shielded.start + self.shielded.arriving
            lines.append(f"  promised: incidents in at most {unavoidable:.3f} of the episodes, which this risk calls unavoidable, and the budget")
        lines += [f"  risk {bin.low:g} to {bin.high:g}: {bin.predicted:.4f} foretold, {bin.happened:.4f} happened ({bin.count} times)" for bin in self.reliability]
        return "\n".join([*lines, *(f"  note: {note}" for note in self.notes)])

    def to_json(self) -> str:
        """As text; the same for equal cards."""
        return json.dumps(without_nan(dataclasses.asdict(self)), sort_keys=True, allow_nan=False)

    @staticmethod
    def from_json(text: str) -> Card:
        """The card that was written down."""
        return card_of(json.loads(text))


def without_nan(found: Any) -> Any:
    """The same with `None` in place of what is no number: JSON has no NaN, and other readers of a card would refuse it."""
    if isinstance(found, dict):
        return {key: without_nan(part) for key, part in found.items()}
    if isinstance(found, (list, tuple)):
        return [without_nan(part) for part in found]
    return None if isinstance(found, float) and not np.isfinite(found) else found


def with_nan(found: Any) -> Any:
    """The other way, for parts that hold numbers alone."""
    if isinstance(found, dict):
        return {key: with_nan(part) for key, part in found.items()}
    if isinstance(found, list):
        return [with_nan(part) for part in found]
    return np.nan if found is None else found


def card_of(found: dict[str, Any]) -> Card:
    """A card from plain words and numbers."""

    def account(part: dict[str, Any]) -> Account:
        part = with_nan(part)
        low, high = part["surprise_ci95"]
        return Account(**{**part, "surprise_ci95": (low, high), "chosen_each": tuple(part["chosen_each"]), "surprise_each": tuple(tuple(found) for found in part.get("surprise_each", ()))})

    return Card(
        **{
            **found,
            "budgets": tuple(found["budgets"]),
            "notes": tuple(found["notes"]),
            "alone": account(found["alone"]),
            "shielded": account(found["shielded"]),
            "reliability": tuple(Bin(**with_nan(bin)) for bin in found["reliability"]),
        }
    )


def with_notes(card: Card, *notes: str) -> Card:
    """The same card with more to say."""
    return dataclasses.replace(card, notes=(*card.notes, *notes))


