"""What does a shield say aloud, and once?

It goes on whatever the user's functions do, so a cost function that fails on every step would be noticed by nobody:
the shield then runs its last resort, and the rest is numbers in ``info`` and in the certificate. :class:`Notices` warns
of each kind of trouble the first time, with its words.
"""

from __future__ import annotations

import warnings

import numpy as np

#: Whom each kind of trouble is of.
WHOSE = {
    "cost": "`cost`",
    "context": "`context`",
    "preferences": "`preferences`",
    "observed": '`observed`, or the environment\'s `info["cost"]`',
    "scale": '`observed`, or the environment\'s `info["cost"]`',
    "ran": "environment",
    "incident": "`incident`",
}
#: What it leads to.
MEANING = {
    "cost": "no action is admissible where a cost cannot be used, and where none can, `last_resort` runs",
    "context": "only actions of cost 0 are admissible then",
    "preferences": "the least costly action stands in then",
    "observed": "the worst, 1, is charged then",
    "scale": "it is charged as it is, but costs are from 0, no risk, to 1, the worst there is",
    "ran": "a wrapper in it makes another action of the one that was judged: put it around the shield; the worst, 1, is charged then",
    "incident": "it is taken for an incident then",
}

#: Steps after which costs that were always 0, and charges after which costs that never foretold one, are told.
ENOUGH_STEPS, ENOUGH_CHARGES = 100, 3

ONCE = 'This is said once; `info["shield"]["reason"]` has it of every step.'


class Notices:
    """What was already said, and what is known of this episode."""

    def __init__(self, said: set[str] | None = None) -> None:
        #: What was said already, maybe by others who share this.
        self._said: set[str] = set() if said is None else said
        self._steps = self._charged = self._foretold = 0
        self._any_cost = False
        self.begin()

    def begin(self) -> None:
        """An episode begins."""
        self._was_charged = self._was_predicted = False

    def troubles(self, problems: dict[str, str]) -> None:
        """Something could not be used; said once of each kind."""
        for kind, words in problems.items():
            if words and kind in MEANING:
                self._warn(kind, f"the shield's {WHOSE[kind]}: {words} ({MEANING[kind]}). {ONCE}")

    def costs(self, costs: np.ndarray, is_last: bool) -> None:
        """What was predicted of all actions. Costs that are always 0 protect nobody."""
        self._steps += 1
        self._any_cost |= not bool((costs == 0.0).all())
        if is_last and not self._any_cost and self._steps >= ENOUGH_STEPS:
            self._warn("zero", f"`cost` said 0 of every action on all of {self._steps} steps: nothing is ever refused. Does it see what it should?")

    def step(self, predicted: float, charge: float, is_last: bool) -> None:
        """A step was charged. An account in which nothing is ever spent protects nobody."""
        self._was_charged |= charge > 0.0
        self._was_predicted |= predicted > 0.0
        self._charged += charge > 0.0
        self._foretold += charge > 0.0 and predicted > 0.0
        if is_last and self._charged >= ENOUGH_CHARGES and not self._foretold:
            self._warn(
                "disagree",
                f"{self._charged} steps were observed to cost something, and of every one of them `cost` had predicted 0: "
                "the two do not speak of the same thing. Learn the risk instead: cpss.learn_risk(...).",
            )
        if is_last and self._was_predicted and not self._was_charged:
            self._warn(
                "free",
                "every step of this episode was charged 0, although costs above 0 were predicted of what ran: "
                'the budget is never spent. Is `observed`, or the environment\'s `info["cost"]`, what a step really cost?',
            )

    def _warn(self, kind: str, text: str) -> None:
        if kind not in self._said:
            self._said.add(kind)
            # Of the line that called the wrapper, which called one of the methods above.
            warnings.warn(text, RuntimeWarning, stacklevel=4)
