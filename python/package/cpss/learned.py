"""How does a learned risk stand behind a shield?

:class:`Learned` is to a :class:`cpss.Risk` what a driver is to a driving critic: it says what every action costs here, and
whether the episode has ended in an incident. A risk that is not calibrated is told apart loudly: :func:`trust`.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import gymnasium as gym
import numpy as np

from cpss.calibration import shield_settings_of
from cpss.numbers import ActionPoints, is_same
from cpss.playing import effective, said
from cpss.risk import Risk


class Learned:
    """A risk, asked about one environment."""

    def __init__(self, env: Any, risk: Risk, incident: Callable | None, budget: float) -> None:
        for name in ("observation_space", "action_space"):
            here, there = getattr(env, name), getattr(risk, name)
            if not is_same(here, there):
                raise ValueError(f"`risk` was learned with the {name.replace('_', ' ')} {there}, but the environment has {here}")
        self.risk, self.terms = risk, risk.terms(budget)
        spec = getattr(env, "spec", None)
        # What has no id cannot be compared; with one, another's spaces may be the same and its dangers others.
        here, there = getattr(spec, "id", None), risk.card.environment
        if here and there in gym.registry and here != there and risk.card.promises(budget):
            text = f"this risk was learned in {there}, and this is {here}: nothing is promised"
            warnings.warn(text, RuntimeWarning, stacklevel=4)
            self.terms = risk.terms(budget, promises=False)
        limit = getattr(spec, "max_episode_steps", None)
        if limit is not None and limit > risk.card.horizon and risk.card.promises(budget):
            text = f"an episode may take {limit} steps here, but this risk is calibrated for {risk.card.horizon}: of a longer one nothing is promised"
            warnings.warn(text, RuntimeWarning, stacklevel=4)
        self._incident = incident or risk.incident
        if self._incident is not None and not callable(self._incident):
            raise ValueError(f"`incident` is {incident!r}, but has to be a function of (observation, reward, terminated, truncated, info)")

    def assess(self, observation: Any, points: np.ndarray | None) -> tuple[np.ndarray, np.ndarray, float]:
        """The cost and the risk of every action, or of every point, and the risk that cannot be avoided."""
        risks = self.risk.predict(observation, points)
        costs, unavoidable = self.terms.costs(risks)
        return costs, risks, unavoidable

    def near(self, observation: Any, proposal: np.ndarray, threshold: float, shift: float = 0.0) -> np.ndarray:
        """Points to compare a proposal with, one per row, in the units of the action: the proposal, the least risky point,
        and the nearest that the threshold admits, however much a shift of the log-odds raises the risks."""
        actions = self.risk._actions
        assert isinstance(actions, ActionPoints)
        row = self.risk._observations.row(observation)
        # Of a shift `b`, no difference of two risks grows by more than the factor `e^b`.
        most = effective(threshold, self.risk.card.resolution) * np.exp(-shift)
        points, _ = self.risk.model.project(row, actions.read(proposal), most)
        found = np.stack([actions.write(point).ravel() for point in points]).astype(np.float64)
        found[0] = proposal
        return found

    @property
    def knows_incidents(self) -> bool:
        """Whether anybody says what must not happen."""
        return self._incident is not None

    def incident(self, *outcome: Any) -> bool:
        """Whether what must not happen has happened."""
        assert self._incident is not None
        return said(self._incident(*outcome))


def settings_of(risk: Risk) -> dict[str, Any]:
    """A shield's settings with a risk, but for its budget."""
    settings = shield_settings_of(1.0, risk.card.horizon)
    return {name: value for name, value in settings.items() if name not in ("budget", "mode")}


def trust(risk: Risk, budget: float, uncalibrated: str) -> None:
    """Says loudly, or refuses, if a risk is not calibrated, or not for this budget.

    Raises:
        ValueError: if that was asked for.
    """
    if not 0.0 <= budget < 1.0:
        raise ValueError(f"`budget` is {budget:g}, but with a learned risk it is a probability: 0.02 is one incident in 50 episodes more than cannot be avoided")
    if uncalibrated not in ("warn", "raise"):
        raise ValueError(f"`uncalibrated` is {uncalibrated!r}, but has to be 'warn' or 'raise'")
    if risk.card.promises(budget):
        return
    if risk.card.calibrated:
        text = f"this risk is calibrated for budgets from {min(risk.card.budgets):g} to {max(risk.card.budgets):g}, so with {budget:g} the shield promises nothing: learn it with budgets=({budget:g}, ...)"
    else:
        text = f"this risk is NOT CALIBRATED, so the shield promises nothing.\n{risk.card}\nLearn it from more steps; and look at whether `incident` says what you mean."
    if uncalibrated == "raise":
        raise ValueError(text)
    warnings.warn(text, RuntimeWarning, stacklevel=3)
