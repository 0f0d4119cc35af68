"""How is the risk of every action learned in any environment?

:func:`learn_risk` plays a round of episodes, learns from all rounds so far, and plays the next round mostly under the shield
of what it has learned: what matters is where a shielded policy goes. After some rounds it asks whether the risk is calibrated
and foresees well; if so, it stops early. Otherwise the best of the last rounds is handed out: a round may be worse than the one
before. Either is measured once more on episodes that nothing was decided by. The learner is Rust's; see ``crates/learn``.

Invariants: the same arguments and seed give the same risk, if the environment and the policy follow their seeds; a run
that was killed goes on from its checkpoint and makes the same risk; episodes that calibrate or confirm are never learned from.
"""

from __future__ import annotations

import dataclasses
import math
import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from numbers import Real
from pathlib import Path
from typing import Any

import numpy as np

from cpss import _native
from cpss.calibration import LITTLE_SHIFT, Trial, best_of, calibrate, confirm, reliability, will_do
from cpss.card import Card, account_of, fewest_episodes, with_notes
from cpss.checkpoint import Checkpoint
from cpss.arguments import whole
from cpss.playing import GOES_ON, Behaviour, Incident, Played, Shielding, Stage
from cpss.risk import Risk

#: Decisions that a look-ahead takes on average, unless it is said otherwise: this share of the longest episode, but at least so many.
#: What drips away over a long time in a place that could be left is foreseen only from afar.
LOOK_AHEAD, LOOK_AHEAD_SHARE = 100, 0.3
#: How proposals and thresholds are drawn while data are collected.
RANDOM = (0.0, 0.0, 0.03, 0.1, 0.3, 1.0)
THRESHOLDS = (0.0, 0.003, 0.01, 0.03, 0.1, np.inf)
EXPLORE = (0.0, 0.01, 0.05)
#: Decisions in a batch, and how many decisions there are for every update. More updates learn by heart what a few incidents looked
#: like, and risk looks small beside them.
BATCH, DECISIONS_PER_UPDATE = 256, 48
#: No fewer updates than this in a round, and from the beginning, unless there are fewer decisions than this for each.
UPDATES, ALL_UPDATES, FEWEST_PER_UPDATE = 1000, 4000, 12
#: Groups of critics of which the mean counts, and critics in each, of which the larger risk counts.
GROUPS, CRITICS = 4, 2
#: What came of actions is learned from directly as long as these have no more avoidable risk than this for every decision of the
#: look-ahead, nor more than that at all; the least of noisy risks is too small, above all where an observation does not show
#: everything, and what really happened is not. The further a risk looks, the greater it is, and its noise.
AS_SAFE_EACH, AS_SAFE = 0.01 / 300, 0.01
#: The most decisions that what came of them is followed over.
MOST_FOLLOWED = 1000
#: Seeds of learners that begin anew are so far apart.
BEGINNER = 104_729
#: In how many parts a round is learned, and all rounds from the beginning: before each part, every decision is looked at anew.
PHASES, ALL_PHASES = 2, 6
#: Rounds after which it is asked whether that will do, besides the last; each look costs about as many episodes as a round.
LOOKS = (3, 6, 12)
#: Of so many of the last rounds the best is handed out.
KEPT = 3
#: Seeds of episodes: learning from 0, calibration and confirmation from here.
CALIBRATION = 1 << 30

Progress = Callable[[str], None]


def learn_risk(
    make_env: Any,
    incident: Incident,
    policy: Any = None,
    steps: int = 300_000,
    *,
    seed: int = 0,
    budgets: float | Sequence[float] = (0.01, 0.03, 0.1),
    look_ahead: float | None = None,
    rounds: int | None = None,
    hidden: Sequence[int] = (64, 64),
    calibration_episodes: int | None = None,
    max_episode_steps: int | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
    progress: bool | Progress | None = None,
) -> Risk:
    """Learns how likely an incident is after every action, and calibrates it on shielded episodes.

    Args:
        make_env: A function that makes the environment, such as ``lambda: gym.make("LunarLander-v3")``, or its id. One
            environment or a ``SyncVectorEnv`` is used as it is. Actions are ``Discrete``, ``MultiDiscrete`` or ``MultiBinary`` of at
            most 256 combinations, or a bounded ``Box``; observations are ``Box``, ``Discrete``, ``MultiBinary``,
            ``MultiDiscrete``, or ``Dict`` and ``Tuple`` of these, of at most 4,096 numbers.
        incident: What must not happen: a function of what ``env.step`` gives, ``(observation, reward, terminated, truncated,
            info)``. An incident ends the episode.
        policy: Who will propose actions: a model of Stable-Baselines3 (or anything with its ``predict``), a function of an
            observation, or None for random actions. The risk is learned where this policy goes.
        steps: Transitions to learn from, at most; it stops early once it is calibrated and little comes into view that it did
            not foresee. Where episodes are long and incidents rare, more of them help. Calibration plays on top of these, several
            times ``calibration_episodes``: where ``steps`` are few, it takes most of the time.
        seed: Of everything.
        budgets: Budgets of the shields that it is calibrated under: how likely an incident may be beyond what cannot be
            avoided. Nothing is promised below the least of them, nor above the greatest.
        look_ahead: How many decisions it looks ahead, on average; ``math.inf`` for the whole episode. Left out, three tenths of
            the longest episode, if its length is known, but at least 100.
        rounds: Rounds of data, each under the shield of the one before; left out, one per 50,000 steps, and 4 to 12.
        hidden: Units of the network's layers.
        calibration_episodes: Episodes to calibrate on, and as many to confirm; left out, as many as take about a third of
            ``steps``, 200 to 2,000, and under each budget no fewer than it takes to confirm the least: three to one part of it.
        max_episode_steps: Steps of an episode, where the environment has no limit of its own (then 1,000). Where it has one,
            episodes to learn from may be shorter; those that calibrate are whole.
        checkpoint: A file to go on from if the run is cut off; it is written after every round and removed at the end.
        progress: True to be told on stderr how it goes, or a function of a text; left out, where stderr is a terminal.

    Returns:
        A :class:`cpss.Risk`. Look at its ``card``: if that says that it is not calibrated, a shield with it promises nothing.

    >>> def fell(observation, reward, terminated, truncated, info):
    ...     return terminated
    >>> risk = cpss.learn_risk("CartPole-v1", incident=fell, steps=20_000, calibration_episodes=50)
    >>> risk.predict([0.0, 0.0, 0.15, 2.0]).argmin()              # falling to the right: push right
    np.int64(1)
    """
    tell = teller(progress)
    if look_ahead is not None and not float(look_ahead) >= 1.0:
        raise ValueError(f"`look_ahead` is {look_ahead}, but has to be at least 1 decision")
    steps, seed = whole("steps", steps, 1000), whole("seed", seed, 0)
    rounds = min(max(steps // 50_000, 4), 12) if rounds is None else whole("rounds", rounds, 1)
    calibration_episodes = None if calibration_episodes is None else whole("calibration_episodes", calibration_episodes, 1)
    max_episode_steps = None if max_episode_steps is None else whole("max_episode_steps", max_episode_steps, 1)
    given: list[Any] = list(budgets) if isinstance(budgets, Iterable) and not isinstance(budgets, str) else [budgets]
    if not all(isinstance(budget, Real) for budget in given):
        raise ValueError(f"`budgets` is {budgets!r}, but has to be a number, or several")
    budgets = tuple(sorted(float(budget) for budget in given))
    if not budgets or not all(0.0 < budget < 1.0 for budget in budgets):
        raise ValueError(f"`budgets` is {budgets}, but has to be probabilities above 0 and below 1")
    if not callable(incident):
        raise ValueError(f"`incident` is {incident!r}, but has to be a function of (observation, reward, terminated, truncated, info)")
    stage = Stage(make_env, incident, policy, max_episode_steps)
    try:
        ahead = max(LOOK_AHEAD, LOOK_AHEAD_SHARE * (stage.known_horizon or 0)) if look_ahead is None else float(look_ahead)
        run = Run(stage, steps, seed, rounds, 1.0 - 1.0 / ahead, list(hidden), budgets, calibration_episodes, tell)
        return run.learn(None if checkpoint is None else Path(checkpoint))
    finally:
        stage.close()


class Run:
    """A risk in the making."""

    def __init__(
        self, stage: Stage, steps: int, seed: int, rounds: int, gamma: float, hidden: list[int], budgets: tuple[float, ...], episodes: int | None, tell: Progress
    ) -> None:
        self.stage, self.steps, self.seed, self.rounds, self.gamma = stage, steps, seed, rounds, gamma
        self.hidden, self.budgets, self.tell, self._asked = hidden, budgets, tell, episodes
        self.round = 0
        self.learner = self._beginner()
        self.lengths: list[float] = []
        self.scale: tuple[np.ndarray, np.ndarray]
        #: What was learned after each of the last rounds, the newest last.
        self.kept: list[_native.RiskModel] = []

    def _beginner(self) -> _native.RiskLearner:
        """A learner who knows nothing yet."""
        far = MOST_FOLLOWED if self.gamma == 1.0 else min(round(1.0 / (1.0 - self.gamma)), MOST_FOLLOWED)
        as_safe = round(min(AS_SAFE_EACH * far, AS_SAFE), 6)
        settings = {
            "gamma": self.gamma, "batch": BATCH, "hidden": self.hidden, "seed": (self.seed + BEGINNER * self.round) % 2**32, "groups": GROUPS, "critics": CRITICS,
            "follow": 0.03, "follow_outcomes": far, "as_safe": as_safe, "learning_rate_final": 2e-5,
        }  # fmt: skip
        return _native.RiskLearner(self.stage.observations.count, self.stage.actions.count, self.stage.actions.point, settings)

    def settings(self) -> dict[str, Any]:
        """All that a run depends on, but for the functions that it was given."""
        return {
            "environment": self.stage.name, "numbers": self.stage.observations.count, "actions": self.stage.actions.count, "limit": self.stage.limit,
            "steps": self.steps, "seed": self.seed, "rounds": self.rounds, "gamma": self.gamma, "hidden": self.hidden, "budgets": list(self.budgets),
            "episodes": self._asked, "version": _native.__version__,
        }  # fmt: skip

    def learn(self, path: Path | None) -> Risk:
        """All rounds, or as many as it takes."""
        checkpoint = None if path is None else Checkpoint(path, self.settings())
        if checkpoint is not None and checkpoint.resume(self):
            self.tell(f"going on from {path} after round {self.round}")
        # Where it was cut off in a calibration, that comes first.
        risk = self._calibrated() if self.round > 0 else None
        while risk is None:
            self._play_round()
            self._learn_round()
            self.kept = [*self.kept, self.learner.model()][-KEPT:]
            self.round += 1
            if checkpoint is not None:
                checkpoint.write(self)
            risk = self._calibrated()
        if checkpoint is not None:
            checkpoint.remove()
        return risk

    def _play_round(self) -> None:
        """Plays the episodes of a round and keeps what was seen."""
        by = None if self.round == 0 else Shielding(self.learner.model())
        decisions = self.steps // self.rounds
        begin = time.perf_counter()
        played = self.stage.play(self._behaviours(), by, decisions)
        if self.round == 0:
            rows = np.concatenate([np.array(episode.rows) for episode in played])
            self.scale = scale_of(rows, self.stage.observations.measured)
            self.learner.set_scale(*self.scale)
        push(self.learner, played, self.stage.actions.point)
        # How long an episode of the policy's is: random ones may be much shorter.
        whole_ones = [episode.steps for episode, behaviour in zip(played, self._behaviours()) if behaviour.random == 0.0]
        self.lengths.append(float(np.mean(whole_ones)) if whole_ones else decisions / max(len(played), 1))
        seen, incidents = self.learner.counts()
        self.tell(f"round {self.round + 1} of {self.rounds}: {seen} transitions, {incidents} incidents so far ({time.perf_counter() - begin:.1f} s)")

    def _behaviours(self) -> Iterator[Behaviour]:
        """How the episodes of a round are played."""
        draw = np.random.Generator(np.random.PCG64([self.seed, self.round]))
        first = (self.seed * 7919 + self.round * 100_003) % CALIBRATION
        for index in range(10**9):
            shielded = self.round > 0
            yield Behaviour(
                seed=(first + index) % CALIBRATION,
                random=float(draw.choice(RANDOM)),
                threshold=float(draw.choice(THRESHOLDS)) if shielded else np.inf,
                explore=float(draw.choice(EXPLORE)) if shielded else 0.0,
                then_safest=bool(draw.random() < 0.3),
            )

    def _learn_round(self) -> None:
        """Learns from all rounds so far: on from the last round, or, before it is asked whether that will do, from the beginning.
        What was learned by heart in early rounds is forgotten then."""
        begin = time.perf_counter()
        seen, _ = self.learner.counts()
        anew = self.round > 0 and self._looks(self.round + 1)
        if anew:
            before, self.learner = self.learner, self._beginner()
            self.learner.set_scale(*self.scale)
            self.learner.add_experience(*before.experience())
        phases = ALL_PHASES if anew else PHASES
        updates = max(updates_of(seen if anew else self.steps // self.rounds, ALL_UPDATES if anew else UPDATES) // phases, 1)
        loss = math.nan
        for phase in range(phases):
            if phase > 0 or (self.round > 0 and not anew):
                self.learner.weigh()
            loss = self.learner.learn(updates, phase * updates, phases * updates)
        self.tell(f"  {phases * updates} updates{' from the beginning' * anew}, loss {loss:.4f} ({time.perf_counter() - begin:.1f} s)")

    def _looks(self, rounds: int) -> bool:
        """Whether it is asked after so many rounds whether that will do."""
        return rounds in LOOKS or rounds == self.rounds

    def _calibrated(self) -> Risk | None:
        """The risk as it is now, if it will do or there is no further round."""
        last = self.round == self.rounds
        if not self._looks(self.round):
            return None
        begin = time.perf_counter()
        seen, incidents = self.learner.counts()
        if incidents == 0:
            return self._nothing_learned() if last else None
        card = Card(environment=self.stage.name, gamma=self.gamma, horizon=self.stage.horizon, steps=seen, seed=self.seed, rounds=self.round)
        trial = self._trial()
        self.tell(f"  calibration, {trial.episodes} episodes at a time")
        found, ago = best_of(trial, self.kept) if last else (will_do(trial, self.kept[-1]), 0)
        if found is None:
            why = "risks are far too high or too low, or too much comes that was not foreseen: another round may be better"
            self.tell(f"  a first look ({time.perf_counter() - begin:.1f} s): it will not do yet ({why})")
            return None
        model, card = calibrate(trial, found, dataclasses.replace(card, rounds=self.round - ago))
        self.tell(f"  calibration ({time.perf_counter() - begin:.1f} s): {'holds' if card.calibrated else 'does not hold'}")
        # Risks that are much too high keep every promise, and say nothing. What comes into view unforeseen, another round may foresee.
        good = card.calibrated and abs(card.shift) <= LITTLE_SHIFT and card.shielded.surprise >= -max(self.budgets) and card.shielded.foresees(self.budgets)
        if not good and not last:
            return None
        card = confirm(trial, model, card)
        fresh = trial.seed + 2 * trial.episodes
        alone = account_of(self.stage.play([Behaviour(trial.seed + trial.episodes + index) for index in range(max(trial.episodes // 2, 50))]))
        card = dataclasses.replace(card, alone=alone, reliability=reliability(trial, model, card.resolution, fresh))
        card = self._noted(card)
        if not card.calibrated and trial.episodes < fewest_episodes(min(self.budgets)):
            card = with_notes(card, f"{trial.episodes} episodes cannot confirm a budget of {min(self.budgets):g}: it takes at least {fewest_episodes(min(self.budgets))} (`calibration_episodes`)")
        return Risk(model, card, self.stage.observations.space, self.stage.actions.space, self.stage.incident)

    def _nothing_learned(self) -> Risk:
        """The risk of a run in which nothing happened that must not: it is not calibrated, however seldom it would fail."""
        seen, _ = self.learner.counts()
        card = Card(environment=self.stage.name, gamma=self.gamma, horizon=self.stage.horizon, steps=seen, seed=self.seed, rounds=self.round)
        card = with_notes(self._noted(card), "not one incident was seen: nothing could be learned; does `incident` ever say true?")
        return Risk(self.learner.model(), card, self.stage.observations.space, self.stage.actions.space, self.stage.incident)

    def _noted(self, card: Card) -> Card:
        """The card with what a user has to know of the environment."""
        if self.stage.known_horizon is not None:
            return card
        return with_notes(card, f"nobody says how many steps an episode has at most, so {self.stage.horizon} are assumed, and the budget is spread over these: give `max_episode_steps`")

    def _trial(self) -> Trial:
        length = self.lengths[-1] if self.lengths else self.stage.limit
        episodes = self._asked or max(int(min(max(self.steps / (3.0 * max(length, 1.0)), 200), 2000)), len(self.budgets) * fewest_episodes(min(self.budgets)))
        return Trial(self.stage, self.budgets, self.gamma, episodes, CALIBRATION + self.seed * 100_003 % CALIBRATION, self.tell)


def updates_of(decisions: int, fewest: int) -> int:
    """How many updates so many decisions are worth.

    >>> updates_of(600_000, 4000), updates_of(100_000, 4000), updates_of(12_000, 4000)
    (12500, 4000, 1000)
    """
    return max(decisions // DECISIONS_PER_UPDATE, min(decisions // FEWEST_PER_UPDATE, fewest))


def push(learner: _native.RiskLearner, played: list[Played], point: int) -> None:
    """Gives episodes to a learner, in their order."""
    for episode in played:
        rows = np.array(episode.rows, np.float32)
        actions = np.zeros(len(rows), np.int64) if point else np.array(episode.actions, np.int64)
        if point:
            rows = np.hstack([rows, np.array(episode.actions, np.float32)])
        nexts = np.full(len(rows), GOES_ON, np.uint8)
        nexts[-1] = episode.end
        learner.push(rows, actions, nexts)


def scale_of(rows: np.ndarray, measured: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """What is taken from each number, and what it is multiplied by then, so that measured ones spread by about 1."""
    finite = np.where(np.isfinite(rows), rows, 0.0).astype(np.float64)
    mean, spread = finite.mean(axis=0), finite.std(axis=0)
    # What never changed has no scale yet: it is left as it is, so that a change is seen.
    factor = np.where(spread > 1e-6, 1.0 / np.maximum(spread, 1e-6), 1.0)
    return np.where(measured, mean, 0.0).astype(np.float32), np.where(measured, factor, 1.0).astype(np.float32)


def teller(progress: bool | Progress | None) -> Progress:
    """Who is told how it goes."""
    if callable(progress):
        return progress
    if progress is None:
        progress = sys.stderr.isatty()
    return (lambda text: print(text, file=sys.stderr, flush=True)) if progress else (lambda _text: None)


