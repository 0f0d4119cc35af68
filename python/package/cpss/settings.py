"""What is a shield told before its first decision?

:class:`Source` says who knows what actions cost: a driving critic, a learned risk, or a function of the user's; and the settings
that come with it. :func:`shield_settings` are a driving task's own, and :func:`batch_settings` those of a native batch.

Invariant: what is asked for twice, or asked of nobody, is a ``ValueError`` here, before anything has run.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import gymnasium as gym
from gymnasium import spaces

from cpss import _native
from cpss.actions import CANDIDATES, Box, actions_of
from cpss.driving import Driver, critic_of, driver_of
from cpss.envs import short_id
from cpss.learned import Learned, settings_of
from cpss.risk import Risk
from cpss.situation import number_of


def shield_settings(task: str) -> dict[str, Any]:
    """The shipped shield of a driving task, by the names that :class:`ShieldWrapper` takes.

    >>> cpss.shield_settings("merge-v0")["horizon"]
    20
    """
    return _native.shield_settings(short_id(task))


@dataclass
class Source:
    """Who knows what actions cost; neither of the two, if a function of the user's does."""

    driver: Driver | None = None
    learned: Learned | None = None
    #: A shield's settings, unless others are asked for.
    settings: dict[str, Any] = field(default_factory=dict)

    @staticmethod
    def of(env: Any, cost: Any, risk: Any, incident: Callable | None, budget: Any, observed: Callable | None, has_preferences: bool) -> Source:
        """Whom these arguments of a shield name."""
        if isinstance(risk, Risk) and isinstance(cost, str) and cost == "driving":
            if observed is not None:
                raise ValueError("with a learned `risk` what was judged is charged, so nobody asks what `observed` says: leave one of them out")
            if budget is None:
                raise ValueError("`budget` is missing: how likely may an incident be, beyond what cannot be avoided? 0.02 is one in 50 episodes")
            learned = Learned(env, risk, incident, number_of(budget))
            return Source(learned=learned, settings={**settings_of(risk), "fallback": "best-admissible" if has_preferences else "min-risk"})
        if incident is not None:
            raise ValueError("`incident` goes with a learned `risk` (cpss.learn_risk), and there is none")
        if isinstance(cost, str) and cost == "driving":
            driver = driver_of(env, risk)
            return Source(driver=driver, settings=shield_settings(driver.task.id))
        if not callable(cost):
            raise ValueError(f"`cost` is {cost!r}, but has to be 'driving' or a function of (env, observation)")
        if risk is not None:
            raise ValueError(f"`risk` is {risk!r}, but with a `cost` of yours nobody asks it: leave one of them out")
        return Source()


def whole_settings(settings: dict[str, Any], given: dict[str, Any], mode: str) -> dict[str, Any]:
    """A shield's settings, with what is given in place of its own."""
    settings = {**settings, **{name: value for name, value in given.items() if value is not None}, "mode": mode}
    for name in ("budget", "horizon"):
        if name not in settings:
            raise ValueError(f"`{name}` is missing: only cost='driving'{' and a learned risk have' if name == 'horizon' else ' has'} one of its own")
    return settings


def batch_settings(
    task: _native.Task,
    conditions: _native.Conditions,
    space: spaces.Space,
    shield: bool | dict | None,
    budget: float | None = None,
    pace: float | None = None,
) -> dict[str, Any] | None:
    """The settings of a batch's shields, with what is asked for in place of the task's own."""
    plain = {name: value for name, value in (("budget", budget), ("pace", pace)) if value is not None}
    if shield is False and plain:
        raise ValueError(f"`{next(iter(plain))}` is a shield's, but `shield` is False: leave one of them out")
    if shield is None and plain:
        shield = True
    if shield is None or shield is False:
        return None
    if shield is not True and not isinstance(shield, Mapping):
        raise ValueError(f"`shield` is {shield!r}, but has to be True, or a dictionary of what differs from cpss.shield_settings(...)")
    asked = {} if shield is True else dict(shield)
    for name in plain.keys() & asked.keys():
        raise ValueError(f"`{name}` is given twice: as an argument, and in `shield`")
    asked.update(plain)
    last_resort, radius = asked.pop("last_resort", None), asked.pop("radius", None)
    count, risk = asked.pop("candidates", CANDIDATES), asked.pop("risk", None)
    settings = {**shield_settings(task.id), **asked, "risk": critic_of(task.id, risk, conditions)}
    actions = actions_of(space, last_resort, count, radius, task, settings)
    if isinstance(actions, Box):
        settings.update(candidates=count, radius=actions.box[2].tolist(), resort=actions.last_resort.tolist())
    return settings


def check_single(env: Any, shield: type) -> None:
    """Whether this is one environment, and has no wrapper of the shield's kind yet.

    Raises:
        ValueError: if not; it says what to do instead.
    """
    if isinstance(env, gym.vector.VectorEnv) or (not isinstance(env, gym.Env) and hasattr(env, "num_envs")):
        raise ValueError(
            f"{type(env).__name__} is many environments, and a ShieldWrapper goes around one: driving tasks have their shields in "
            "cpss.make_vec(id, num_envs, shield=True); of others, wrap each: SyncVectorEnv([lambda: cpss.ShieldWrapper(...)] * num_envs)"
        )
    if not isinstance(env, gym.Env):
        raise ValueError(f"`env` is {env!r}, but has to be a Gymnasium environment: gym.make(...)")
    while isinstance(env, gym.Wrapper):
        if isinstance(env, shield):
            # The outer one would report, and charge, an action that the inner one did not let run.
            raise ValueError("there is a shield in this environment already: of two costs, give one shield the greater as its `cost`")
        env = env.env
