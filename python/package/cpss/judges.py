"""Who judges the actions of many copies of an environment?

:class:`Together` asks a learned risk about all copies in one call, where actions are a list. :class:`Each` has a shield for every
copy: for points of a box, and for costs of the user's. Both do what :class:`cpss.ShieldWrapper` does with one.

Invariants: a decision is settled exactly once; a cost function that fails makes actions inadmissible, and what a step cost, if
nobody can tell, is the worst.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from cpss import _native
from cpss.actions import Box, Discrete
from cpss.learned import Learned
from cpss.notices import Notices
from cpss.outcome import what_it_cost
from cpss.situation import Situation, apart, costs_of, in_words, reasons

VERDICTS = np.array(["admit", "replace", "infeasible", "reset"])
REASONS = np.array(["", "unusable-cost", "over-cap", "horizon-closed", "budget-spent", "over-budget", "unusable-context", "over-context", "priced"])
#: Numbers of ``infos["shield"]``, in the order in which the compiled half tells them.
NUMBERS = (
    "cost_proposed", "cost_executed", "threshold", "remaining", "gain", "envelope", "risk", "unavoidable",
    "promise", "start", "chosen", "surprise", "arriving", "evidence",
)  # fmt: skip


@dataclass
class Decided:
    """What was decided for some copies, in their order."""

    #: The actions that run, as the environment takes them.
    executed: list
    #: A row of ``NUMBERS`` for each, and whether the budget was kept.
    told: np.ndarray
    verdicts: np.ndarray
    reasons: np.ndarray


class Together:
    """All copies in one call: a learned risk, and actions of a list."""

    def __init__(self, learned: Learned, settings: dict[str, Any], actions: Discrete, count: int) -> None:
        self._learned, self._actions = learned, actions
        self._shields = _native.Shields(settings, learned.terms, count)

    def decide(self, places: np.ndarray, actions: Sequence[Any], observations: Sequence[Any]) -> Decided:
        """Judges and settles: what was judged is charged."""
        proposals = np.array([self._actions.read(action) for action in actions])
        executed, told, verdicts, why = self._shields.decide(places, proposals, self._risks(observations))
        return Decided([self._actions.at(place) for place in executed], told, VERDICTS[verdicts], REASONS[why])

    def settle(self, place: int, told: np.ndarray, outcome: tuple | None) -> tuple[str, float]:
        """It is settled already; what was charged."""
        return "", float(told[1])

    def masks(self, observations: Sequence[Any]) -> np.ndarray:
        """Which actions would be let through."""
        return self._shields.admissible(self._risks(observations))

    def close(self, place: int, incident: bool) -> Any:
        """An episode is over; its account."""
        return self._shields.close(place, incident)

    def reset(self, place: int) -> None:
        """A fresh ledger."""
        self._shields.reset(place)

    def certificate(self, place: int) -> dict[str, Any]:
        """What can be said of a copy's episode."""
        return self._shields.certificate(place)

    def _risks(self, observations: Sequence[Any]) -> np.ndarray:
        return self._learned.risk.predict_batch(observations)


class Each:
    """A shield for every copy.

    Args:
        env: What the user's functions are given as the environment.
        learned: A learned risk, or None if ``cost`` says what actions cost.
        cost: A function ``cost(env, observations)``, or of a box ``cost(env, observations, candidates)``, that gives a row of
            costs for each copy that it is asked about.
        observed: A function of one copy, as for :class:`cpss.ShieldWrapper`.
    """

    def __init__(
        self, env: Any, learned: Learned | None, cost: Callable | None, observed: Callable | None, settings: dict[str, Any], actions: Discrete | Box, count: int
    ) -> None:
        self._env, self._learned, self._cost, self._observed = env, learned, cost, observed
        self._actions, self._is_shadow = actions, settings["mode"] == "shadow"
        self._charges_prediction = settings.get("charge") == "predicted"
        terms = learned.terms if learned is not None and self._charges_prediction else None
        self._shields = [_native.Shield(settings, terms) for _ in range(count)]
        said: set[str] = set()
        self._notices = [Notices(said) for _ in range(count)]
        self._open: dict[int, tuple[_native.Decision, Situation, float]] = {}

    def decide(self, places: np.ndarray, actions: Sequence[Any], observations: Sequence[Any]) -> Decided:
        """Judges; what a step costs is settled after it."""
        proposals = [self._actions.read(action) for action in actions]
        situations = self._situations(places.tolist(), proposals, observations)
        told = np.full((len(places), len(NUMBERS) + 1), np.nan)
        executed, verdicts, why = [], [], []
        shielded: Any = self._actions
        for row, (place, proposal, situation) in enumerate(zip(places.tolist(), proposals, situations)):
            decision = situation.judge(self._shields[place], proposal)
            risk = np.nan if situation.risks is None else float(situation.risks[decision.executed])
            self._open[place] = decision, situation, risk
            executed.append(actions[row] if self._is_shadow else shielded.write(proposal, situation, decision))
            cost_proposed, cost_executed, threshold, gain = decision.numbers
            told[row, :8] = cost_proposed, cost_executed, threshold, np.nan, gain, np.nan, risk, situation.unavoidable
            verdicts.append(decision.verdict)
            why.append(decision.reason)
        return Decided(executed, told, np.array(verdicts), np.array(why, object))

    def settle(self, place: int, told: np.ndarray, outcome: tuple | None) -> tuple[str, float]:
        """Charges a step, of which there is an outcome (observation, terminated, is it over, info) unless it failed; what is to be said
        of it, and what was charged."""
        decision, situation, risk = self._open.pop(place)
        shield, notices = self._shields[place], self._notices[place]
        observed, problem = np.nan, dict[str, str]()
        if self._charges_prediction:
            observed = decision.numbers[1]
        elif outcome is not None:
            observation, terminated, _, info = outcome
            observed, problem = what_it_cost(self._observed, self._env, observation, terminated, info, decision.numbers[1])
        charge, remaining, envelope, _, _ = shield.settle(decision, observed, (situation.unavoidable, risk))
        told[3], told[5], told[8:14], told[14] = remaining, envelope, shield.promised, shield.budget_kept
        is_last = outcome is not None and outcome[2]
        notices.troubles({**situation.problems, **problem})
        if self._learned is None:
            notices.costs(situation.costs, is_last)
        if not self._charges_prediction:
            notices.step(decision.numbers[1], charge, is_last)
        return reasons(decision.reason, [*situation.problems.values(), *problem.values()]), charge

    def masks(self, observations: Sequence[Any]) -> np.ndarray:
        """Which actions would be let through; where none, what would run."""
        if not isinstance(self._actions, Discrete):
            raise ValueError("only discrete actions can be masked, not points of a box")
        places = list(range(len(self._shields)))
        masks = []
        for place, situation in zip(places, self._situations(places, [0] * len(places), observations)):
            judged = [situation.judge(self._shields[place], index) for index in range(self._actions.count)]
            mask = [decision.verdict == "admit" for decision in judged]
            if not any(mask):
                mask[judged[0].allowed] = True
            masks.append(mask)
        return np.array(masks)

    def close(self, place: int, incident: bool) -> Any:
        """An episode is over; its account."""
        self._shields[place].close(incident)
        return self._shields[place].promised

    def reset(self, place: int) -> None:
        """A fresh ledger."""
        self._open.pop(place, None)
        self._shields[place].reset()
        self._notices[place].begin()

    def certificate(self, place: int) -> dict[str, Any]:
        """What can be said of a copy's episode."""
        return self._shields[place].certificate()

    def _situations(self, places: list[int], proposals: list, observations: Sequence[Any]) -> list[Situation]:
        """What is known of each copy's moment."""
        if self._learned is not None:
            return [self._looked(place, proposal, seen) for place, proposal, seen in zip(places, proposals, observations)]
        actions: Any = self._actions
        candidates = [actions.candidates(proposal) for proposal in proposals]
        cost: Any = self._cost
        found, trouble = [], ""
        try:
            points = () if candidates[0] is None else (np.stack([actions.points(each) for each in candidates]),)
            found = list(cost(self._env, [apart(seen) for seen in observations], *points))
            if len(found) != len(places):
                trouble = f"ValueError: {len(found)} rows of costs, but there are {len(places)} copies to judge"
        except Exception as error:
            trouble = in_words(error)
        return [self._told(None if trouble else found[row], trouble, candidates[row]) for row in range(len(places))]

    def _told(self, found: Any, trouble: str, candidates: Any) -> Situation:
        """One copy's moment, by what the user's function said of it."""
        costs = np.full(self._actions.count, np.nan)
        if not trouble:
            try:
                costs, trouble = costs_of(found, self._actions.count)
            except Exception as error:
                trouble = in_words(error)
        return Situation(self._actions, candidates, costs, 0.0, None, None, np.nan, {"cost": trouble})

    def _looked(self, place: int, proposal: np.ndarray, observation: Any) -> Situation:
        """One copy's moment, by a learned risk, where actions are points."""
        actions: Any = self._actions
        assert self._learned is not None
        candidates, costs = actions.candidates(proposal), np.full(actions.count, np.nan)
        risks, unavoidable, trouble = None, np.nan, ""
        try:
            near = self._learned.near(observation, proposal, self._shields[place].threshold(0.0))
            candidates = actions.beside(proposal, near)
            found, risks, unavoidable = self._learned.assess(observation, actions.points(candidates))
            costs, trouble = costs_of(found, actions.count)
        except Exception as error:
            trouble = in_words(error)
        return Situation(actions, candidates, costs, 0.0, None, risks, unavoidable, {"cost": trouble})
