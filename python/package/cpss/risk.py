"""What does an action risk, in any environment?

A :class:`Risk` answers for every action at once: how likely an incident is if the action runs now and the least risky one
ever after. :func:`cpss.learn_risk` learns one from an environment, :func:`cpss.fit_risk` from a log. It carries a
:class:`cpss.card.Card` that says how it was made and whether its risks held on fresh episodes.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from cpss import _native
from cpss.card import Card
from cpss.numbers import ActionPoints, Observations, actions_in, space_from_json, space_to_json


class Risk:
    """A learned risk: call :meth:`predict`, or give it to :class:`cpss.ShieldWrapper`.

    Attributes:
        card: How it was made, and whether it is calibrated.
        incident: The function that says what must not happen; None if it was read from a file.
    """

    def __init__(self, model: _native.RiskModel, card: Card, observation_space: Any, action_space: Any, incident: Callable | None = None) -> None:
        self.card, self.incident = card, incident
        self.observation_space, self.action_space = observation_space, action_space
        self._model, self._observations, self._actions = model, Observations(observation_space), actions_in(action_space)

    @property
    def model(self) -> _native.RiskModel:
        """The compiled half."""
        return self._model

    def terms(self, budget: float, promises: bool = True) -> _native.RiskTerms:
        """What an account of its risks goes by, under a shield with this budget, and whether anything may be promised."""
        return _native.RiskTerms(self.card.gamma, self.card.resolution, promises and self.card.promises(budget), self.card.horizon)

    def predict(self, observation: Any, actions: Any = None) -> np.ndarray:
        """The risk of every action in one observation, in the order of the action space; all combinations of a
        ``MultiDiscrete`` or ``MultiBinary``, the last part changing fastest.

        Args:
            observation: One observation, as the environment gives it.
            actions: For a box of actions, the points to be judged, one per row.

        All risks are NaN if the observation has a number that is not finite: it cannot be read, so nothing is known, and a
        shield runs its last resort then.
        """
        row = self._observations.row(observation)
        if isinstance(self._actions, ActionPoints):
            if actions is None:
                raise ValueError("actions are points of a box: give those to be judged, one per row, as `actions`")
            points = np.asarray(actions, np.float64).reshape(-1, self._actions.point)
            return self._model.risks_at(row, np.ascontiguousarray(self._actions.scaled(points)))
        if actions is not None:
            raise ValueError("actions are a list: leave `actions` out, the risk of every one is given")
        return self._model.risks(row[None])[0]

    def predict_batch(self, observations: Any) -> np.ndarray:
        """The risk of every action, of each of some observations; NaN for those that :meth:`predict` cannot read."""
        rows = np.stack([self._observations.row(observation) for observation in observations])
        return self._model.risks(rows)

    def to_bytes(self) -> bytes:
        """As a ``safetensors`` file; the same for equal risks."""
        words = {"card": json.loads(self.card.to_json()), "observation_space": space_to_json(self.observation_space), "action_space": space_to_json(self.action_space)}
        return self._model.to_bytes(json.dumps(words, sort_keys=True))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes a file, whole or not at all."""
        write_whole(Path(path), self.to_bytes())

    @staticmethod
    def load(path: str | os.PathLike[str], incident: Callable | None = None) -> Risk:
        """Reads a file.

        Args:
            path: What :meth:`save` wrote.
            incident: What must not happen, so that a shield can close its account; a file does not hold it.
        """
        try:
            return Risk.from_bytes(Path(path).read_bytes(), incident)
        except (ValueError, KeyError, TypeError) as error:
            raise ValueError(f"{path}: {error}") from None

    @staticmethod
    def from_bytes(data: bytes, incident: Callable | None = None) -> Risk:
        """Reads a file's bytes."""
        model, text = _native.RiskModel.from_bytes(data)
        words = json.loads(text)
        card = Card.from_json(json.dumps(words["card"]))
        return Risk(model, card, space_from_json(words["observation_space"]), space_from_json(words["action_space"]), incident)

    def plot(self, axes: Any = None) -> Any:
        """Draws the reliability, risks foretold against how often an incident followed; needs ``matplotlib``. Returns the
        axes."""
        try:
            from matplotlib import pyplot
        except ImportError:
            raise ImportError("a plot needs matplotlib: pip install matplotlib; risk.card.reliability has the numbers") from None
        if axes is None:
            _, axes = pyplot.subplots(figsize=(4.5, 4.5), layout="constrained")
        bins = [bin for bin in self.card.reliability if bin.count > 0]
        low = 1e-4
        axes.plot([low, 1.0], [low, 1.0], color="0.6", linewidth=1, label="as foretold")
        for bin in bins:
            half = 1.96 * np.sqrt(max(bin.happened * (1 - bin.happened), 1 / bin.count) / bin.count)
            axes.plot([max(bin.predicted, low)] * 2, [max(bin.happened - half, low), min(max(bin.happened + half, low), 1.0)], color="C0", linewidth=1)
        axes.plot([max(bin.predicted, low) for bin in bins], [max(bin.happened, low) for bin in bins], "o", color="C0", label="happened, with 95 %")
        axes.set(xscale="log", yscale="log", xlabel="risk foretold", ylabel="share with an incident", title="calibrated" if self.card.calibrated else "NOT calibrated")
        axes.legend(loc="upper left", frameon=False)
        return axes

    def __getstate__(self) -> dict[str, Any]:
        return {"bytes": self.to_bytes(), "incident": self.incident}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(Risk.from_bytes(state["bytes"], state["incident"]).__dict__)

    def __deepcopy__(self, _memo: dict) -> Risk:
        """Itself: it never changes."""
        return self

    def __repr__(self) -> str:
        return f"Risk({self.card.environment or 'an environment'}, {'calibrated' if self.card.calibrated else 'NOT calibrated'})"


def write_whole(path: Path, data: bytes) -> None:
    """Writes a file so that, whatever happens meanwhile, either the old or the new one is there, and whole. A link stays one,
    and a file keeps who may read it; what is no file (a pipe, a device) is written into as it is."""
    if path.exists() and not path.is_file():
        # Before links are followed: behind `/dev/stdout` is a name that cannot be opened.
        path.write_bytes(data)
        return
    path = path.resolve()
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with open(beside, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        if path.exists():
            os.chmod(beside, path.stat().st_mode & 0o7777)
        os.replace(beside, path)
    finally:
        beside.unlink(missing_ok=True)
