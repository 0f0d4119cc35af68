"""How does any observation become a row of numbers, and any action a place in a list, or a point?

:class:`Observations` flattens ``Box``, ``Discrete``, ``MultiBinary``, ``MultiDiscrete``, ``Dict`` and ``Tuple``; what is a
choice becomes ones and zeros. :class:`ActionList` counts the actions of ``Discrete``, ``MultiDiscrete`` and
``MultiBinary``, all combinations of the latter two; :class:`ActionPoints` brings a ``Box`` of actions to ``[-1, 1]``.
:func:`space_to_json` and :func:`space_from_json` keep a space in a file.
"""

from __future__ import annotations

import math
from collections import OrderedDict
from collections.abc import Sequence
from typing import Any

import numpy as np
from gymnasium import spaces

from cpss.arguments import as_index

#: The most numbers that an observation may have.
MOST_NUMBERS = 4096
#: The most actions, all combinations counted.
MOST_ACTIONS = 256


class Observations:
    """Observations of a space as rows of single-precision numbers."""

    def __init__(self, space: Any) -> None:
        self.space = space
        parts = list(leaves(space))
        #: Which numbers have a scale of their own; the others are ones and zeros.
        self.measured = np.concatenate([np.full(size, measured) for _, size, measured in parts])
        self.count = len(self.measured)
        if not 1 <= self.count <= MOST_NUMBERS:
            raise ValueError(
                f"an observation has {self.count} numbers, but may have at most {MOST_NUMBERS}: let the risk be learned from fewer (gym.wrappers.TransformObservation)"
            )
        # What cannot be written down is told before anything is learned.
        space_to_json(space)
        self._plain = isinstance(space, spaces.Box)
        # What `flatten` would make of each observation of a list, made once.
        self._choices = np.eye(self.count, dtype=np.float32) if isinstance(space, spaces.Discrete) else None

    def row(self, observation: Any) -> np.ndarray:
        """One observation as a row of numbers. What is masked is no number."""
        observation = unmasked(observation)
        if self._plain:
            # A copy: an environment may write its next observation where this one lies.
            row = np.array(observation, np.float32).reshape(-1)
        elif self._choices is not None:
            return self._choices[as_index(observation, self.space)]
        else:
            row = np.zeros(self.count, np.float32)
            if write_into(row, 0, self.space, observation) != self.count:
                row = np.empty(0, np.float32)
        if row.shape != (self.count,):
            raise ValueError(f"an observation has {row.size} numbers, but has to have {self.count}, as {self.space} says")
        return row


def unmasked(observation: Any) -> Any:
    """The same with NaN for what is masked; ``numpy`` would take whatever lies behind the mask."""
    if isinstance(observation, dict):
        return {key: unmasked(part) for key, part in observation.items()}
    if isinstance(observation, tuple):
        return tuple(unmasked(part) for part in observation)
    if isinstance(observation, np.ma.MaskedArray) and np.ma.is_masked(observation):
        return np.ma.filled(observation.astype(np.float64), np.nan)
    return observation


def write_into(row: np.ndarray, at: int, space: Any, observation: Any) -> int:
    """Writes an observation into zeros from some place on, as ``gymnasium.spaces.flatten`` would, and says where it ends. That is
    made for any space, and takes longer than many an environment's step."""
    if isinstance(space, spaces.Dict):
        for key, part in space.spaces.items():
            at = write_into(row, at, part, observation[key])
        return at
    if isinstance(space, spaces.Tuple):
        for part, seen in zip(space.spaces, observation, strict=True):
            at = write_into(row, at, part, seen)
        return at
    if isinstance(space, spaces.Discrete):
        row[at + as_index(observation, space)] = 1.0
        return at + int(space.n)
    if isinstance(space, spaces.MultiDiscrete):
        for size, choice in zip(space.nvec.ravel(), (np.asarray(observation) - space.start).ravel()):
            if not 0 <= choice < size:
                raise ValueError(f"an observation is {observation!r}, but has to be in {space}")
            row[at + int(choice)] = 1.0
            at += int(size)
        return at
    numbers = np.asarray(observation, np.float32).reshape(-1)
    if numbers.size != int(np.prod(space.shape)):
        raise ValueError(f"an observation has {numbers.size} numbers where it has to have {int(np.prod(space.shape))}, as {space} says")
    row[at : at + numbers.size] = numbers
    return at + numbers.size


def leaves(space: spaces.Space):
    """The parts of a space in the order of ``gymnasium.spaces.flatten``: each with how many numbers it takes, and
    whether these are measured."""
    if isinstance(space, spaces.Dict):
        for part in space.spaces.values():
            yield from leaves(part)
    elif isinstance(space, spaces.Tuple):
        for part in space.spaces:
            yield from leaves(part)
    elif isinstance(space, (spaces.Box, spaces.Discrete, spaces.MultiBinary, spaces.MultiDiscrete)):
        yield space, spaces.flatdim(space), isinstance(space, spaces.Box)
    else:
        raise ValueError(f"observations have to be made of Box, Discrete, MultiBinary, MultiDiscrete, Dict and Tuple, but there is {space}: leave it out with a wrapper (gymnasium.wrappers.FilterObservation, or FlattenObservation)")


class ActionList:
    """Actions that can be counted."""

    point = 0

    def __init__(self, space: Any) -> None:
        self.space = space
        if isinstance(space, spaces.Discrete):
            self.sizes = [int(space.n)]
        elif isinstance(space, spaces.MultiDiscrete):
            self.sizes = [int(size) for size in space.nvec.ravel()]
        else:
            assert isinstance(space, spaces.MultiBinary)
            self.sizes = [2] * int(np.prod(space.shape))
        self.count = math.prod(self.sizes)
        if self.count > MOST_ACTIONS:
            raise ValueError(f"{space} has {self.count} actions, all combinations counted, but there may be at most {MOST_ACTIONS}")

    def read(self, action: Any) -> int:
        """The place of an action in the list; a ``ValueError`` if it is not in the space."""
        if isinstance(self.space, spaces.Discrete):
            return as_index(action, self.space)
        found = np.asarray(action)
        if not self.space.contains(found.astype(self.space.dtype)) or not np.array_equal(found, found.astype(self.space.dtype)):
            raise ValueError(f"the action is {action!r}, but has to be in {self.space}")
        start = getattr(self.space, "start", np.zeros(self.space.shape, int))
        return int(np.ravel_multi_index(tuple((found - start).ravel().astype(int)), self.sizes))

    def write(self, place: int) -> Any:
        """The action at a place of the list."""
        if isinstance(self.space, spaces.Discrete):
            return int(self.space.start) + int(place)
        parts = np.array(np.unravel_index(int(place), self.sizes)).reshape(self.space.shape)
        return (parts + getattr(self.space, "start", 0)).astype(self.space.dtype)


class ActionPoints:
    """Actions that are points of a bounded box, here with sides from -1 to 1."""

    def __init__(self, space: spaces.Box) -> None:
        if not (np.isfinite(space.low).all() and np.isfinite(space.high).all()):
            raise ValueError(f"the box of actions has to be bounded, but is {space}")
        self.space, self.count = space, 1
        low, high = space.low.astype(np.float64).ravel(), space.high.astype(np.float64).ravel()
        self.point, self._middle = low.size, (low + high) / 2
        self._half = np.where(high > low, (high - low) / 2, 1.0)

    def read(self, action: Any) -> np.ndarray:
        """A point with its bounds at -1 and 1."""
        return self.scaled(np.asarray(action, np.float64).reshape(1, -1))[0]

    def scaled(self, points: np.ndarray) -> np.ndarray:
        """Rows of points with their bounds at -1 and 1."""
        return ((points - self._middle) / self._half).clip(-1.0, 1.0).astype(np.float32)

    def write(self, point: np.ndarray) -> np.ndarray:
        """The action of a point."""
        return (point * self._half + self._middle).astype(self.space.dtype).reshape(self.space.shape).clip(self.space.low, self.space.high)


def actions_in(space: spaces.Space) -> ActionList | ActionPoints:
    """How a space's actions are counted, or measured."""
    if isinstance(space, (spaces.Discrete, spaces.MultiDiscrete, spaces.MultiBinary)):
        return ActionList(space)
    if isinstance(space, spaces.Box) and np.issubdtype(space.dtype, np.floating):
        return ActionPoints(space)
    raise ValueError(f"actions have to be Discrete, MultiDiscrete, MultiBinary, or a Box of floats, but are {space}")


def space_to_json(space: spaces.Space) -> dict[str, Any]:
    """A space as plain words and numbers."""
    kind = type(space).__name__
    if isinstance(space, spaces.Box):
        bounds = [[repr(float(number)) for number in bound.ravel()] for bound in (space.low, space.high)]
        return {"kind": kind, "shape": list(space.shape), "dtype": str(space.dtype), "low": shorter(bounds[0]), "high": shorter(bounds[1])}
    if isinstance(space, spaces.Discrete):
        return {"kind": kind, "n": int(space.n), "start": int(space.start)}
    if isinstance(space, spaces.MultiBinary):
        return {"kind": kind, "n": space.n if isinstance(space.n, int) else [int(size) for size in space.shape]}
    if isinstance(space, spaces.MultiDiscrete):
        return {"kind": kind, "nvec": space.nvec.tolist(), "start": np.asarray(space.start).tolist()}
    if isinstance(space, spaces.Dict):
        if odd := [key for key in space.spaces if not isinstance(key, str)]:
            raise ValueError(f"a Dict's keys have to be texts to be written down, but there is {odd[0]!r}")
        # The order too: the numbers of its parts come one after the other.
        return {"kind": kind, "order": list(space.spaces), "parts": {key: space_to_json(part) for key, part in space.spaces.items()}}
    assert isinstance(space, spaces.Tuple)
    return {"kind": kind, "parts": [space_to_json(part) for part in space.spaces]}


def is_same(here: spaces.Space, there: spaces.Space) -> bool:
    """Whether two spaces give the same numbers in the same order: to Gymnasium dictionaries of another order are equal."""
    return here == there and orders(here) == orders(there)


def orders(space: spaces.Space) -> list:
    """The keys of a space's dictionaries, in order, and those of their parts."""
    if isinstance(space, spaces.Dict):
        return [(key, orders(part)) for key, part in space.spaces.items()]
    return [orders(part) for part in space.spaces] if isinstance(space, spaces.Tuple) else []


def shorter(numbers: Sequence[str]) -> str | list[str]:
    """One number in place of many that are all the same."""
    return numbers[0] if len(set(numbers)) == 1 else list(numbers)


def space_from_json(found: dict[str, Any]) -> spaces.Space:
    """The space that was written down."""
    kind = found["kind"]
    if kind == "Box":
        shape, dtype = tuple(found["shape"]), np.dtype(found["dtype"])
        low, high = (np.broadcast_to(np.array(found[key], np.float64).reshape(-1), (int(np.prod(shape)),)) for key in ("low", "high"))
        return spaces.Box(low.reshape(shape).astype(dtype), high.reshape(shape).astype(dtype), shape, dtype.type)
    if kind == "Discrete":
        return spaces.Discrete(found["n"], start=found["start"])
    if kind == "MultiBinary":
        return spaces.MultiBinary(found["n"])
    if kind == "MultiDiscrete":
        return spaces.MultiDiscrete(np.array(found["nvec"]), start=np.array(found["start"]))
    if kind == "Dict":
        parts = {key: space_from_json(part) for key, part in found["parts"].items()}
        # Gymnasium sorts a plain dictionary, and keeps the order of an ordered one; files from before an order was kept are of plain ones.
        return spaces.Dict(OrderedDict((key, parts[key]) for key in found.get("order", sorted(parts))))
    if kind == "Tuple":
        return spaces.Tuple([space_from_json(part) for part in found["parts"]])
    raise ValueError(f"there is no space of the kind {kind!r}")
