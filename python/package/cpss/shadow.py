"""What would the shield have done?

:func:`shadow` plays episodes of a :class:`cpss.ShieldWrapper` in its ``"shadow"`` mode, which judges and never acts, and sums up
what it would have refused, why, and whether that came before incidents. Look at it before you let a shield act.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from cpss.arguments import whole
from cpss.shield import ShieldWrapper


@dataclass(frozen=True)
class ShadowReport:
    """What a shield would have done."""

    episodes: int
    steps: int
    return_mean: float
    #: Share of steps on which the proposal would have been refused.
    refused: float
    #: How often for which reason.
    reasons: dict[str, int]
    #: Episodes whose charges came to more than the budget, as a share.
    over_budget: float
    #: Episodes with an incident, and those of them in which something would have been refused before; None if nobody says
    #: what an incident is.
    incidents: int | None
    incidents_foreseen: int | None

    def __str__(self) -> str:
        lines = [
            f"in {self.episodes} episodes, {self.steps} steps, return {self.return_mean:.2f} on average:",
            f"  would have refused {100 * self.refused:.1f} % of proposals" + "".join(f"; {reason}: {count}" for reason, count in self.reasons.items()),
            f"  {100 * self.over_budget:.0f} % of episodes would have overspent the budget",
        ]
        if self.incidents is not None:
            lines.append(f"  incidents: {self.incidents}; before {self.incidents_foreseen} of them something would have been refused")
        return "\n".join(lines)


def shadow(env: ShieldWrapper, policy: Callable | Any | None = None, episodes: int = 20, seed: int = 0) -> ShadowReport:
    """Plays episodes that the shield only watches.

    Args:
        env: A shielded environment, ``cpss.ShieldWrapper(..., mode="shadow")``, with a learned risk or a cost of yours.
        policy: A model with ``predict``, a function of an observation, or None for random actions.
        episodes: How many.
        seed: Of the first episode; each has the next.

    >>> def tilting(env, observation):
    ...     lean = observation[2] + 0.5 * observation[3]
    ...     return [min(1, max(0, lean) * 4), min(1, max(0, -lean) * 4)]
    >>> env = cpss.ShieldWrapper(gym.make("CartPole-v1"), budget=5.0, horizon=500, cost=tilting, mode="shadow")
    >>> report = cpss.shadow(env, policy=lambda observation: 0, episodes=2)
    >>> report.episodes, report.refused > 0.3
    (2, True)
    """
    if not isinstance(env, ShieldWrapper) or env._mode != "shadow":
        raise ValueError('`env` has to be a cpss.ShieldWrapper(..., mode="shadow")')
    act = acting(policy, env)
    steps, refused, over, totals = 0, 0, 0, []
    reasons: Counter[str] = Counter()
    incidents: list[bool] = []
    foreseen = 0
    for episode in range(whole("episodes", episodes, 1)):
        observation, _ = env.reset(seed=seed + episode)
        if policy is None:
            env.action_space.seed(seed + episode)
        total, seen, has_happened, is_over = 0.0, False, False, False
        while not is_over:
            observation, reward, terminated, truncated, info = env.step(act(observation))
            told = info["shield"]
            steps, total = steps + 1, total + float(reward)
            if told["verdict"] != "admit":
                # What is refused after an incident has not foreseen it.
                refused, seen = refused + 1, seen or not has_happened
                reasons[told["reason"].split(":")[0].split(";")[0]] += 1
            has_happened = env.certificate()["incident"] is True
            is_over = terminated or truncated
        certificate = env.certificate()
        totals.append(total)
        over += not certificate["budget_kept"]
        if certificate["incident"] is not None:
            incidents.append(certificate["incident"])
            foreseen += certificate["incident"] and seen
    known = len(incidents) == episodes
    return ShadowReport(
        episodes, steps, float(np.mean(totals)), refused / max(steps, 1), dict(sorted(reasons.items())), over / episodes,
        sum(incidents) if known else None, foreseen if known else None,
    )  # fmt: skip


def acting(policy: Any, env: ShieldWrapper) -> Callable[[Any], Any]:
    """A function that proposes an action for an observation."""
    if policy is None:
        return lambda _observation: env.action_space.sample()
    if hasattr(policy, "predict"):
        return lambda observation: policy.predict(observation, deterministic=True)[0]
    if callable(policy):
        return policy
    raise ValueError(f"`policy` is {policy!r}, but has to be a model with `predict`, a function of an observation, or None")
