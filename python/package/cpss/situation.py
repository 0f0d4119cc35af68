"""What is known of one moment, if those who tell may be wrong?

Costs, context and preferences come from functions of the user's. Each is asked with a copy of what it may look at
(:func:`apart`), and what it gives is read here (:func:`costs_of`, :func:`numbers_of`). A :class:`Situation` is what came
of it.

Invariants: whatever such a function does to its arguments, nobody else sees it; what is masked, not a number, or not
on the scale of costs is NaN, which the shield never admits.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import numpy as np

from cpss import _native

#: By how much a cost may be above 1 and still mean 1: sums of probabilities in single precision are.
ROUNDING = 1e-6


class Situation:
    """What is known about one moment: the cost of every action, and why it may be unknown. Risks are known of driving
    scenes only."""

    def __init__(self, actions, candidates, costs, density, liking, risks, unavoidable: float, problems: dict[str, str]) -> None:
        self.candidates, self.costs, self.problems = candidates, costs, problems
        self.risks, self.unavoidable = risks, unavoidable
        self._actions, self._density, self._liking = actions, density, liking

    def unknown(self) -> Situation:
        """The same moment, of which nobody knows what any action costs."""
        unknown = np.full_like(self.costs, np.nan)
        return Situation(self._actions, self.candidates, unknown, self._density, self._liking, None, np.nan, self.problems)

    def judge(self, shield: _native.Shield, proposal) -> _native.Decision:
        """Has a proposal judged; changes nothing."""
        if self.candidates is None:
            return shield.judge(proposal, self.costs, self._liking, self._density)
        low, high, radius = self._actions.box
        flat = self.candidates.ravel()
        return shield.judge_nearest(proposal, radius, low, high, flat, self.costs, self._density)


def apart(observation: Any) -> Any:
    """A copy of an observation for a function of the user's: one that scales it in place must not change what the next
    function sees, nor what the next step is judged by."""
    # The common case, quickly; an array of objects would share them with its copy.
    if type(observation) is np.ndarray and not observation.dtype.hasobject:
        return observation.copy()
    return copy.deepcopy(observation)


def info_apart(info: Any) -> Any:
    """The same for an info. What is in it besides containers and arrays is the environment's own, may be large or
    impossible to copy, and is not what the shield goes by."""
    if isinstance(info, dict):
        return {key: info_apart(part) for key, part in info.items()}
    if type(info) in (list, tuple):
        return type(info)(info_apart(part) for part in info)
    return info.copy() if isinstance(info, np.ndarray) else info


def costs_of(found: Any, count: int) -> tuple[np.ndarray, str]:
    """The cost of each action, and what is wrong with some of them: one above 1 is on no scale that the shield knows."""
    costs = numbers_of(found, count, "costs")
    costs[(costs > 1.0) & (costs <= 1.0 + ROUNDING)] = 1.0
    # Infinity is not a mistake: it says that an action is not there now.
    beyond = (costs > 1.0) & (costs < np.inf)
    if not beyond.any():
        return costs, ""
    problem = f"unusable-cost: {costs[beyond].max()} is above 1, the worst there is"
    costs[beyond] = np.nan
    return costs, problem


def numbers_of(found: Any, count: int, what: str, is_row: bool = False) -> np.ndarray:
    """One number for each action, in an array that nobody else has; what is masked is NaN. A row of a network's
    outputs may have more dimensions.

    Raises:
        ValueError: for another number of them.
        TypeError: for what are no real numbers.
    """
    parts = found if isinstance(found, (list, tuple)) else (found,)
    if any(isinstance(part, np.ma.MaskedArray) for part in parts):
        # A mask says that the number under it is none, and `np.array` would bring it to light.
        found = np.ma.array(found, dtype=np.float64).filled(np.nan)
    plain = np.asanyarray(found)
    if isinstance(plain, np.ma.MaskedArray):
        # Something that becomes one only when it is asked for an array.
        plain = np.ma.filled(plain.astype(np.float64), np.nan)
    # NumPy would make numbers of texts, times and records as well, and of complex ones half.
    if plain.dtype.kind not in "biufO":
        raise TypeError(f"could not convert {plain.dtype}: {what} have to be real numbers")
    if plain.dtype.kind == "O" and any(isinstance(part, (str, bytes)) for part in plain.flat):
        raise TypeError(f"could not convert a text: {what} have to be real numbers")
    numbers = np.array(plain, dtype=np.float64)
    if is_row:
        numbers = numbers.ravel()
    if numbers.shape != (count,):
        raise ValueError(f"{what} of the shape {numbers.shape}, but there are {count} actions")
    return numbers


def number_of(found: Any) -> float:
    """One number; a text of one is none.

    Raises:
        TypeError: for what is no real number.
        ValueError, OverflowError: the same.
    """
    if isinstance(found, (str, bytes, bytearray)):
        raise TypeError(f"could not convert the text {found!r}: it has to be a real number")
    return float(found)


def is_usable(number: float) -> bool:
    """Whether the shield takes this for a cost or a density."""
    return 0.0 <= number < np.inf


def in_words(error: Exception) -> str:
    try:
        return f"{type(error).__name__}: {error}"
    except Exception:
        # It is the user's class, and may fail at this too.
        return type(error).__name__


def reasons(refusal: str, problems: list[str]) -> str:
    """Why a proposal was refused and what could not be used, as one text."""
    said = [problem for problem in problems if problem]
    # A problem that begins with the very word of the refusal says it in more detail.
    if refusal and not any(problem.startswith(f"{refusal}:") for problem in said):
        said.insert(0, refusal)
    return "; ".join(said)


def preferences_of(preferences) -> Callable | None:
    """A function of (env, observation), whatever was given."""
    if preferences is None:
        return None
    if hasattr(preferences, "action_values"):
        return ValuesOf(preferences)
    if callable(preferences):
        return preferences
    raise ValueError(f"`preferences` is {preferences!r}, but has to be a policy or a function of (env, observation)")


class ValuesOf:
    """A policy's action values as preferences; a class and not a function, so that it can be pickled."""

    def __init__(self, policy: Any) -> None:
        self._policy = policy

    def __call__(self, _env, observation):
        return self._policy.action_values(observation)
