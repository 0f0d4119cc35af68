"""What can be learned from traces of driving tasks?

A trace (``cpss evaluate --trace``, and every reproduction) says where everybody was at each decision, what ran, and how it ended.
:class:`Traces` gives these as the episodes of a log, for :func:`cpss.fit_risk`. What was seen is told as highway-env's ``Kinematics``
would show it (:func:`observation_config`), so a risk that was learned here stands behind a shield around that environment.

Invariant: a trace that was edited, cut, or written in another format is a ``ValueError`` that names the file and the line.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from gymnasium import spaces

#: The version of the format that is read.
VERSION = 5
#: Cars that are seen beside the ego, and how far away [m]: highway-env's own distance.
CARS, FAR = 15, 200.0
FEATURES = ("presence", "x", "y", "vx", "vy")


def observation_config(cars: int = CARS) -> dict[str, Any]:
    """The observation that goes with a risk learned from traces, for ``config={"observation": ...}`` of a driving task."""
    return {
        "type": "Kinematics", "features": list(FEATURES), "vehicles_count": cars + 1, "absolute": False, "normalize": False,
        "order": "sorted", "see_behind": True, "clip": False,
    }  # fmt: skip


class Traces:
    """Traces as a log: episodes, each a dictionary of arrays.

    Args:
        paths: A trace, a folder of them (``*.jsonl``), or several of either.
        cars: How many cars beside the ego are seen, the nearest along its heading first.
    """

    def __init__(self, paths: str | os.PathLike | Iterable, cars: int = CARS) -> None:
        given = [paths] if isinstance(paths, (str, os.PathLike)) else list(paths)
        files: list[Path] = []
        for path in map(Path, given):
            files += sorted(path.glob("*.jsonl")) if path.is_dir() else [path]
        if not files:
            raise ValueError(f"there is no trace (*.jsonl) in {', '.join(map(str, given)) or 'an empty list'}")
        self._episodes = [episode_of(file, cars) for file in files]
        kinds = {(episode["task"], tuple(episode["names"])) for episode in self._episodes}
        if len(kinds) > 1:
            raise ValueError(f"traces of several tasks, {', '.join(sorted(task for task, _ in kinds))}: learn one risk from each")
        self.observation_space = spaces.Box(-np.inf, np.inf, (cars + 1, len(FEATURES)), np.float32)
        self.action_space = spaces.Discrete(len(self._episodes[0]["names"]))

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return iter(self._episodes)


def episode_of(path: Path, cars: int) -> dict[str, Any]:
    """One trace as an episode of a log."""
    header, *steps, end = lines_of(path)
    record = end["record"]
    count = len(steps)
    if count == 0 or record["steps"] != count:
        raise ValueError(f"{path}: it tells of {count} decisions, but its record of {record['steps']}")
    incident = bool(record["crashed"] or record["off_road"])
    ends = [False] * (count - 1)
    # Whoever neither failed nor lasted until the time was up has arrived.
    is_over = incident or count < header["shield"]["horizon"]
    seen = np.stack([seen_in(step["scene"], cars) for step in [*steps, end]])
    return {
        "task": header["task"], "names": header["actions"],
        "observations": seen[:-1], "next_observations": seen[1:], "actions": np.array([step["ran"] for step in steps]),
        "rewards": np.array([step["reward"] for step in steps]), "terminations": np.array([*ends, is_over]),
        "truncations": np.array([*ends, not is_over]), "incidents": np.array([*ends, incident]),
    }  # fmt: skip


def lines_of(path: Path) -> list[dict[str, Any]]:
    """The lines of a trace, whose hashes vouch for them."""
    state, lines = hashlib.sha256(b"cpss trace").digest(), []
    try:
        texts = path.read_bytes().splitlines()
    except OSError as error:
        raise ValueError(f"{path}: {error.strerror or error}") from None
    for number, line in enumerate(texts, start=1):
        body, mark, found = line.rpartition(b',"h":"')
        state = hashlib.sha256(state + body + b"}").digest()
        digits = found.removesuffix(b'"}')
        is_last = number == len(texts)
        if not mark or len(digits) != (64 if is_last else 16) or not state.hex().startswith(digits.decode("ascii", "replace")):
            raise ValueError(f"{path}: line {number} is not as it was written, or lines are missing; see `cpss audit`")
        lines.append(json.loads(body + b"}"))
    if len(lines) < 2 or lines[0].get("cpss_trace") != VERSION or "record" not in lines[-1]:
        raise ValueError(f"{path}: this is no whole trace of version {VERSION}")
    return lines


def seen_in(scene: Sequence[Sequence[float]], cars: int) -> np.ndarray:
    """What the ego sees of a scene, whose rows are x, y, heading, speed, and whether it is a wreck; the ego is the first."""
    poses = np.array([row[:4] for row in scene], np.float64)
    heading, speed = poses[:, 2], poses[:, 3]
    states = np.column_stack([np.ones(len(poses)), poses[:, :2], speed * np.cos(heading), speed * np.sin(heading)])
    others = states[1:] - [0.0, *states[0, 1:]]
    others = others[np.hypot(others[:, 1], others[:, 2]) < FAR]
    along = np.abs(others[:, 1] * np.cos(heading[0]) + others[:, 2] * np.sin(heading[0]))
    found = np.zeros((cars + 1, len(FEATURES)), np.float32)
    nearest = others[np.argsort(along, kind="stable")][:cars]
    found[0], found[1 : 1 + len(nearest)] = states[0], nearest
    return found
