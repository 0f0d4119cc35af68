"""What does a shield change, on episodes that nobody has seen?

:func:`evaluate` plays the same seeds twice, the policy alone and under a shield with a learned risk, and puts both side by side:
incidents, return, interventions, and what was promised.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from cpss.calibration import Trial, under_budgets
from cpss.card import Account, account_of, least_likely
from cpss.arguments import whole
from cpss.numbers import is_same
from cpss.playing import Behaviour, Incident, Stage
from cpss.risk import Risk

#: Seeds of episodes, far from those of learning and calibration.
FRESH = 1 << 29


@dataclass(frozen=True)
class Evaluation:
    """The same episodes without and with a shield."""

    budget: float
    alone: Account
    shielded: Account
    #: So likely an incident was at most under the shield, on average; None if nothing is promised.
    promise: float | None

    @property
    def cut(self) -> float:
        """Which share of incidents the shield has prevented; 0 if there were none."""
        return 1.0 - self.shielded.incidents / self.alone.incidents if self.alone.incidents > 0.0 else 0.0

    @property
    def promise_kept(self) -> bool | None:
        """Whether what was measured does not contradict the promise, with 95 % confidence; None if there is none."""
        if self.promise is None:
            return None
        return least_likely(round(self.shielded.incidents * self.shielded.episodes), self.shielded.episodes) <= self.promise

    def __str__(self) -> str:
        promised = "" if self.promise is None else f", promised {self.promise:.3f}"
        lines = [
            f"{name}: incidents {account.incidents:.3f}, return {account.return_mean:.4g}"
            for name, account in (("alone", self.alone), (f"with the shield, budget {self.budget:g}", self.shielded))
        ]
        return f"{lines[0]}\n{lines[1]}{promised}, interventions {100 * self.shielded.interventions:.1f} %   ({self.shielded.episodes} episodes each)"


def evaluate(
    make_env: Any, risk: Risk, budget: float, policy: Any = None, episodes: int = 200, seed: int = 0, incident: Incident | None = None, max_episode_steps: int | None = None
) -> Evaluation:
    """Plays fresh episodes, the policy alone and under a shield with this risk and budget.

    Args:
        make_env: As for :func:`cpss.learn_risk`.
        risk: What it has learned.
        budget: How likely an incident may be beyond what cannot be avoided.
        policy: Who proposes: a model of Stable-Baselines3, a function of an observation, or None for random actions.
        episodes: How many, of each.
        seed: Of the first episode; each has the next. Seeds are far from those that the risk was learned from.
        incident: What must not happen, if the risk was read from a file.
        max_episode_steps: As for :func:`cpss.learn_risk`.

    >>> def fell(observation, reward, terminated, truncated, info):
    ...     return terminated
    >>> risk = cpss.learn_risk("CartPole-v1", incident=fell, steps=40_000, calibration_episodes=50)
    >>> found = cpss.evaluate("CartPole-v1", risk, budget=0.05, episodes=10)
    >>> found.alone.incidents, found.shielded.return_mean > found.alone.return_mean
    (1.0, True)
    """
    incident = incident or risk.incident
    if incident is None:
        raise ValueError("`incident` is missing: this risk does not know what must not happen, since it came from a log or a file: evaluate(..., incident=...)")
    first, episodes, budget = FRESH + whole("seed", seed, 0), whole("episodes", episodes, 1), float(budget)
    stage = Stage(make_env, incident, policy, max_episode_steps)
    try:
        for name, here, there in (
            ("observation", stage.observations.space, risk.observation_space),
            ("action", stage.actions.space, risk.action_space),
        ):
            if not is_same(here, there):
                raise ValueError(f"`risk` was learned with the {name} space {there}, but the environment has {here}")
        alone = account_of(stage.play([Behaviour(first + index) for index in range(episodes)]))
        trial = Trial(stage, (budget,), risk.card.gamma, episodes, first, lambda _text: None)
        shielded = account_of(under_budgets(trial, risk.model, risk.card.resolution, first, episodes), 1)
    finally:
        stage.close()
    promise = shielded.start + shielded.arriving + budget if risk.card.promises(budget) else None
    return Evaluation(budget, alone, shielded, promise)
