"""What does a shield remember from one episode to the next?

How well its critic has foretold what happened, and by how much its risks must therefore be raised. A :class:`Memory` is what was
found up to one moment, and never changes; a shield goes on from one and gives another: ``env.memory``. :class:`Remembering` is
the memory of one shield while it is used. The arithmetic, and the file, are those of ``cpss evaluate --memory``.

Invariants: what is learned comes into force between two episodes, never within one; a reset in the middle of an episode ends it
without an incident and without a score; a copy of a shield, or a pickled one, remembers as much and has no file.
"""

from __future__ import annotations

import copy
import hashlib
import os
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from cpss import _native

if TYPE_CHECKING:
    from cpss.driving import Driver
    from cpss.settings import Source


class Memory:
    """What a shield has found of its critic. It comes from a shield, ``env.memory``, or from a file, and never changes.

    >>> env = cpss.ShieldWrapper(cpss.make("merge-v0"), memory=True)
    >>> observation, info = env.reset(seed=0)
    >>> env.memory.episodes, env.memory.shift, env.memory.alarm
    (0, 0.0, None)
    """

    def __init__(self, found: _native.Memory) -> None:
        self._found = found

    @staticmethod
    def load(path: str | os.PathLike[str]) -> Memory:
        """Reads a file, which may be a shield's or one of ``cpss evaluate --memory``.

        Raises:
            ValueError: if it is no memory, or was edited.
        """
        return Memory(_native.Memory.read(path))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes it to a file, whole or not at all; over another one, if nobody uses that."""
        self._found.write(path)

    def fork(self) -> Memory:
        """One for another shield of a fleet: it goes on from this one, and remembers what it adds."""
        return Memory(self._found.fork())

    def restarted(self) -> Memory:
        """The same after an alarm that was seen to: evidence begins anew, and what risks are raised by stays.

        Raises:
            ValueError: if it is a fork: join the fleet, and restart that.
        """
        return Memory(self._found.restarted())

    @staticmethod
    def join(forks: Iterable[Memory]) -> Memory:
        """The memory of a fleet: of one shield that lived through all that these forks of one memory have, in this order.

        Raises:
            ValueError: if they are no forks of one memory, or one is given twice.
        """
        return Memory(_native.Memory.join([fork._found for fork in forks]))

    @property
    def episodes(self) -> int:
        """Episodes that have ended."""
        return self._found.episodes

    @property
    def decisions(self) -> int:
        """Decisions whose outcome was seen."""
        return self._found.decisions

    @property
    def evidence(self) -> float:
        """How strongly all surprises speak against the critic, as it is recalibrated."""
        return self._found.evidence

    @property
    def shift(self) -> float:
        """By how much the log-odds of all risks are raised."""
        return self._found.shift

    @property
    def lift(self) -> float:
        """By how much more those of what cannot be avoided are raised: where the shift is at its greatest, incidents still surprise, and traffic is watched."""
        return self._found.lift

    @property
    def novelty(self) -> float | None:
        """How strongly traffic speaks against being what the critic was calibrated in; None if nobody watches it."""
        return self._found.novelty

    @property
    def alarm(self) -> str | None:
        """Why somebody has to look after the critic, in words; None if nobody has."""
        return self._found.alarm or None

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Memory) and self._found == other._found

    def __hash__(self) -> int:
        return hash(self._found.text())

    def __repr__(self) -> str:
        return f"Memory({self._found.task}, {self.episodes} episodes: {self._found})"


class Remembering:
    """The memory of one shield, while it is used.

    Args:
        source: Whose risks are judged.
        found: What it goes on from.
        path: Where it is kept.
    """

    def __init__(self, source: Source, found: _native.Memory | None = None, path: str | os.PathLike[str] | None = None) -> None:
        self._driver = source.driver
        self._critic: _native.Critic | _native.RiskTerms
        self._about: tuple[str, str] | None = None
        if source.driver is not None:
            self._critic = source.driver.critic
        else:
            assert source.learned is not None
            risk, self._critic = source.learned.risk, source.learned.terms
            self._about = risk.card.environment or "an environment", hashlib.sha256(risk.to_bytes()).hexdigest()
        self._inner = _native.MemoryInUse(self._critic, self._about, found, path)
        #: Whether an episode has had a decision and no end.
        self._goes_on = False

    def raised(self, risks: np.ndarray) -> tuple[np.ndarray, np.ndarray, float]:
        """The cost and the risk of every action, raised by the shift in force, and the risk that cannot be avoided."""
        return self._inner.costs(risks)

    @property
    def shift(self) -> float:
        """The shift in force."""
        return self._inner.said[0]

    @property
    def lift(self) -> float:
        """The lift in force."""
        return self._inner.said[1]

    def begin(self) -> dict[str, Any]:
        """An episode begins. Gives what there is to say of it."""
        self._inner.begin(None if self._driver is None else self._driver.world())
        return self.report()

    def learn(self, shield: _native.Shield) -> None:
        """Takes into account what has just been settled or closed."""
        self._goes_on = True
        if shield.surprise is not None:
            self._inner.learn(*shield.surprise)

    def follow(self, is_over: bool) -> dict[str, Any]:
        """A decision was made, and the episode is over or not. Gives what there is to say of it: shift and lift are those that it was made under."""
        world, in_force = None if self._driver is None else self._driver.world(), {"shift": self.shift, "lift": self.lift}
        if world is not None:
            self._inner.look(world)
        if is_over:
            self._end(is_whole=True)
        return {**self.report(), **in_force}

    def leave(self, shield: _native.Shield) -> None:
        """Another episode is about to begin. One that goes on ends here, and its last decision teaches nothing."""
        if self._goes_on:
            # What was risked last and not seen to its end is neither an incident nor none.
            shield.close(False)
            self._end(is_whole=False)

    def report(self) -> dict[str, Any]:
        """What ``info["shield"]`` says of it."""
        return dict(zip(("shift", "lift", "evidence", "alarm"), self._inner.said))

    def found(self) -> Memory:
        """What was found up to now."""
        return Memory(self._inner.found())

    def release(self) -> None:
        """Lets go of the file."""
        self._inner.release()

    def _end(self, is_whole: bool) -> None:
        self._goes_on = False
        self._inner.end(is_whole)

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_inner": self._inner.found()}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        # How traffic was up to here is not written down: the episode will have no score.
        self._inner = _native.MemoryInUse(self._critic, self._about, state["_inner"])

    def __deepcopy__(self, memo: dict) -> Remembering:
        twin = type(self).__new__(type(self))
        memo[id(self)] = twin
        for name, value in self.__dict__.items():
            setattr(twin, name, value.copy() if name == "_inner" else copy.deepcopy(value, memo))
        return twin


def memory_of(memory: Any, source: Source, charges_prediction: bool) -> Remembering | None:
    """The memory that is asked for, if any.

    Raises:
        ValueError: if nothing can be learned, since costs are no risks or nobody knows what happened; for a file that was edited, is in
            use, or is about another critic.
    """
    if memory is None or memory is False:
        return None
    if (source.driver is None and source.learned is None) or not charges_prediction:
        raise ValueError("`memory` is what was learned of a critic: it goes with cost='driving' or a learned `risk`, whose risks are charged as they were judged")
    if source.learned is not None and not source.learned.knows_incidents:
        raise ValueError("`memory` learns from incidents, and nobody says what one is: give `incident`")
    if memory is True:
        return Remembering(source)
    if isinstance(memory, Memory):
        return Remembering(source, found=memory._found)
    if isinstance(memory, (str, os.PathLike)) and os.fspath(memory):
        return Remembering(source, path=memory)
    raise ValueError(f"`memory` is {memory!r}, but has to be True, a cpss.Memory, or the path of a file")


def knows_world(driver: Driver | None, memory: Remembering | None) -> bool:
    """Whether the world is the one that risks were calibrated in, for all that is known: after an alarm nobody knows."""
    is_quiet = memory is None or memory.found().alarm is None
    return is_quiet and (driver is None or driver.is_known)
