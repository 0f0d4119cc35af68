"""How are an environment's actions put before the shield, and what it decides before the environment?

The shield knows actions by their index in a list. :class:`Discrete` is that list, :class:`Combinations` one of actions with several parts; :class:`Box` makes one of
candidates around a proposed point, of which the first is the proposal and the last the one that runs when
nothing is known. Start at :func:`actions_of`.

Invariant: an action that is not in its space is a ``ValueError`` here, before anything has run; it is never clipped in
silence, and what was judged is what runs.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from gymnasium import spaces

from cpss import _native
from cpss.arguments import as_index, real_numbers, whole
from cpss.numbers import ActionList

#: How many candidates a continuous action is compared with, the last resort among them.
CANDIDATES = 32


def actions_of(space, last_resort, candidates, radius, task, settings) -> Discrete | Box:
    """How a space's actions are judged; writes the last resort into the settings."""
    if isinstance(space, spaces.Discrete):
        return Discrete(space, last_resort, task, settings)
    if isinstance(space, (spaces.MultiDiscrete, spaces.MultiBinary)):
        return Combinations(space, last_resort, task, settings)
    if isinstance(space, spaces.Box) and np.issubdtype(space.dtype, np.floating):
        return Box(space, last_resort, candidates, radius, task, settings)
    raise ValueError(
        f"actions have to be Discrete, MultiDiscrete, MultiBinary, or a Box of floats, but are {space}: put a wrapper into the shield that makes them so (gym.wrappers.TransformAction)"
    )


class Discrete:
    """Actions that are a list."""

    def __init__(self, space: Any, last_resort, task, settings: dict) -> None:
        self.space, self.count = space, self.size(space)
        if last_resort is not None:
            try:
                settings["last_resort"] = self.read(last_resort)
            except ValueError as error:
                raise ValueError(f"`last_resort`: {error}") from None
        elif task is not None:
            settings["last_resort"] = task.last_resort

    def size(self, space: Any) -> int:
        return int(space.n)

    def read(self, action) -> int:
        return as_index(action, self.space)

    def candidates(self, _proposal) -> None:
        return None

    def points(self, _candidates) -> None:
        return None

    def at(self, place: int) -> Any:
        return int(self.space.start) + int(place)

    def write(self, proposal: int, _situation, decision) -> Any:
        return self.at(decision.executed)

    def show(self, action) -> Any:
        return int(action)

    def nothing(self) -> Any:
        return -1


class Combinations(Discrete):
    """Actions of several parts, of which all combinations are a list; the last part changes fastest."""

    def size(self, space: Any) -> int:
        self._list = ActionList(space)
        return self._list.count

    def read(self, action) -> int:
        return self._list.read(action)

    def at(self, place: int) -> Any:
        return self._list.write(place)

    def show(self, action) -> Any:
        return np.array(action, self.space.dtype)

    def nothing(self) -> Any:
        return np.full(self.space.shape, -1)


class Box:
    """Actions that are points of a box: the proposal is compared with candidates around it."""

    def __init__(self, space: spaces.Box, last_resort, count: int, radius, task, settings: dict) -> None:
        if not (np.isfinite(space.low).all() and np.isfinite(space.high).all()):
            raise ValueError(f"the box of actions has to be bounded, but is {space}")
        # At least the proposal and the last resort.
        self.space, self.count = space, whole("candidates", count, 2)
        low, high = space.low.astype(np.float64).ravel(), space.high.astype(np.float64).ravel()
        try:
            radius = high - low if radius is None else np.broadcast_to(np.asarray(radius, np.float64), low.shape).copy()
        except (TypeError, ValueError):
            raise ValueError(f"`radius` is {radius!r}, but has to be a number, or one for each of {low.size} dimensions") from None
        self.box = low, high, radius
        # A learner that scales its actions to the box may overshoot a bound by the last bits of its precision.
        self._slack = 4 * float(np.spacing(np.ones((), space.dtype))) * np.maximum(np.abs(low), np.abs(high))
        if last_resort is None:
            last_resort = (low + high) / 2 if task is None else task.last_resort_point
        try:
            self.last_resort = real_numbers(last_resort, np.float64).ravel()
        except (TypeError, ValueError, OverflowError):
            self.last_resort = np.empty(0)
        if self.last_resort.shape != low.shape or not ((low <= self.last_resort) & (self.last_resort <= high)).all():
            raise ValueError(f"`last_resort` is {last_resort!r}, but has to be a point of {space}")
        settings["last_resort"] = count - 1
        self.candidates(low)  # too many dimensions are refused here, and not in the first step

    def read(self, action) -> np.ndarray:
        try:
            point = real_numbers(action, self.space.dtype)
        except (TypeError, ValueError, OverflowError):
            raise ValueError(f"the action is {action!r}, but has to be numbers of the shape {self.space.shape}") from None
        if point.shape != self.space.shape:
            raise ValueError(f"the action has the shape {point.shape}, but has to have {self.space.shape}")
        if not np.isfinite(point).all():
            raise ValueError(f"the action is {action!r}, but has to be finite")
        proposal = point.astype(np.float64).ravel()
        low, high, _ = self.box
        if not ((low - self._slack <= proposal) & (proposal <= high + self._slack)).all():
            raise ValueError(f"the action is {action!r}, but has to be in {self.space}: clip it first, if that is what you mean")
        return proposal

    def candidates(self, proposal: np.ndarray) -> np.ndarray:
        low, high, radius = self.box
        flat = _native.sample_candidates(proposal, radius, low, high, self.count)
        rows = flat.reshape(self.count, -1)
        rows[-1] = self.last_resort
        return rows

    def beside(self, proposal: np.ndarray, found: np.ndarray) -> np.ndarray:
        """The candidates of a learned risk, which finds them itself, in place of samples."""
        rows = self.candidates(proposal)
        low, high, _ = self.box
        rows[1 : len(found)] = found[1:].clip(low, high)
        return rows

    def points(self, candidates: np.ndarray) -> np.ndarray:
        return candidates.astype(self.space.dtype).reshape(self.count, *self.space.shape)

    def write(self, proposal, situation, decision) -> np.ndarray:
        return self.points(situation.candidates)[decision.executed]

    def show(self, action) -> np.ndarray:
        return np.array(action, dtype=self.space.dtype)

    def nothing(self) -> np.ndarray:
        return np.full(self.space.shape, np.nan, self.space.dtype)
