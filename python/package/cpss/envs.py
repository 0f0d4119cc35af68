"""What is one driving task as a Gymnasium environment?

:class:`DrivingEnv` is every task of the world: the id says which, and ``config`` takes highway-env's
own dictionaries. The same seed gives highway-env's own episode, within 1e-6 (see the crate
``cpss-highway`` for where the last bits can decide otherwise).

Start at :meth:`DrivingEnv.step`. Absent on purpose: ``render_mode="human"``, several egos, and any
word about shields; :class:`cpss.ShieldWrapper` goes around this as around any other environment.
"""

from __future__ import annotations

import copy
import json
import os
from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium import spaces

from cpss import _native
from cpss.arguments import as_index, as_point, check_options, checked_seed, conditions_of, config_json, config_of, window

NAMESPACE = "cpss"


class DrivingEnv(gym.Env):
    """One of highway-env's driving tasks.

    Made by ``gym.make("cpss/<task>")``, where ``<task>`` is one of :func:`task_ids`.

    Args:
        task: Which task, by highway-env's id.
        config: highway-env's config dictionary. A key that the task does not have is an error, and so
            is a value that makes no sense. Nested dictionaries replace the default whole, as upstream.
        render_mode: ``"rgb_array"`` or ``"ansi"``. A picture shows the world as it is.
        regime: How traffic drifts during an episode: ``"stationary"`` (highway-env's own), ``"mild"``, ``"average"``,
            ``"high"``, the milder ``"mild-0.1"``, ``"average-0.1"`` and ``"high-0.1"``, or the path of a ``.toml`` file.
        sensor: Through which eyes policy and shield see it: ``"perfect"``, ``"good"``, ``"fair"``, ``"poor"``, or the path of
            a ``.toml`` file. Rewards, ends and ``info`` are the true world's.

    Under a regime, or behind a sensor, ``reset(seed=k)`` is the episode that the command ``cpss`` plays of that seed, and
    ``info["drift"]`` is the present intensity, from 0 to 1. Without a seed the world's random numbers go on, and drift and
    readings follow from what they would draw next.

    Every step's ``info`` has upstream's ``speed``, ``crashed``, ``action`` and ``rewards``, and ``cost``: how close the ego
    is to the closest car or obstacle (or, if it steers itself, to the edge of the road), from 0 (beyond a margin of a few
    metres) to 1 (touching, crashed, or off the road). It says what happened, with or without a shield; no decision
    depends on it. What an action risks is :meth:`action_risks`.

    >>> import gymnasium as gym, cpss
    >>> env = gym.make("cpss/highway-v0", config={"vehicles_count": 20})
    >>> observation, info = env.reset(seed=42)
    >>> observation.shape, sorted(info)
    ((5, 5), ['cost', 'crashed', 'speed'])
    >>> observation, reward, terminated, truncated, info = env.step(1)
    >>> sorted(info)
    ['action', 'cost', 'crashed', 'rewards', 'speed']
    >>> env = gym.make("cpss/highway-v0", regime="high", sensor="fair")
    >>> observation, info = env.reset(seed=42)
    >>> 0 < info["drift"] < 1
    True
    """

    metadata = {"render_modes": ["rgb_array", "ansi"], "render_fps": 5}

    def __init__(
        self,
        task: str,
        config: dict | None = None,
        render_mode: str | None = None,
        *,
        regime: str | os.PathLike = "stationary",
        sensor: str | os.PathLike = "perfect",
    ) -> None:
        if render_mode not in (None, *self.metadata["render_modes"]):
            raise ValueError(f"`render_mode` is {render_mode!r}, but has to be 'rgb_array', 'ansi' or None")
        self.task_id = short_id(task)
        self.render_mode = render_mode
        self._closed = False
        self._decisions = 0
        self._conditions = conditions_of(regime, sensor)
        self._configure(config_of(config))

    def _configure(self, config: dict) -> None:
        task = _native.Task(self.task_id, config_json(config), self._conditions)
        self.config = config
        self._task = task
        self._world: _native.World | None = None
        self._risk: _native.Driving | None = None
        self.observation_space, self.action_space = spaces_of(task)
        self._shape = self.observation_space.shape
        self._is_discrete = task.actions is not None

    @property
    def action_labels(self) -> list[str]:
        """What each action is called, where upstream has names for them.

        >>> cpss.DrivingEnv("merge-v0").action_labels
        ['LANE_LEFT', 'IDLE', 'LANE_RIGHT', 'FASTER', 'SLOWER']
        """
        return self._task.action_labels

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None):
        """Starts an episode. With a seed it is the one of highway-env's ``reset(seed=seed)``; without
        one the random numbers go on from where they are. ``options={"config": {...}}`` changes the
        config first, as upstream, and the random numbers go on all the same."""
        self._check_open()
        if seed is not None:
            seed = checked_seed(seed)
        super().reset(seed=seed)
        before = self._world
        check_options(options)
        if options and options.get("config"):
            self._configure({**self.config, **config_of(options["config"])})
        if before is None and seed is None:
            seed = int(self.np_random.integers(2**63))
        if self._world is None:
            self._world = _native.World(self._task, seed or 0)
        observation = np.empty(self._shape, np.float32)
        after = before if before is not self._world else None
        return observation, self._world.reset(seed, observation, after)

    def step(self, action):
        """Lets the ego decide, and the world run until the next decision.

        A discrete action is an integer; a continuous one a point of the box. Anything else, and a
        number that is none, is a ``ValueError``, and the world stays as it was.
        """
        world = self._world
        if world is None or self._closed:
            self._check_open()
            raise gym.error.ResetNeeded("call `reset` before the first `step`")
        observation = np.empty(self._shape, np.float32)
        if self._is_discrete:
            index = as_index(action, self.action_space)
            reward, terminated, truncated, info = world.step(index, observation)
        else:
            point = as_point(action, self.action_space)
            reward, terminated, truncated, info = world.step_point(point, observation)
        self._decisions += 1
        return observation, reward, terminated, truncated, info

    def action_costs(self) -> np.ndarray:
        """The avoidable risk of each discrete action now, from 0 to 1: how much more it risks than the least risky one.
        This is what the shield goes by.

        >>> env = cpss.DrivingEnv("merge-v0")
        >>> _ = env.reset(seed=7)
        >>> float(env.action_costs().min())
        0.0
        """
        return self._assess()[0]

    def action_risks(self) -> np.ndarray:
        """The risk of each discrete action now: how likely an incident is if it runs now and the least risky action ever
        after, as the shipped critic has learned it: by what it sees, where a sensor is not perfect.

        >>> env = cpss.DrivingEnv("merge-v0")
        >>> _ = env.reset(seed=7)
        >>> bool((env.action_risks() >= env.action_costs()).all())
        True
        """
        return self._assess()[2]

    def _assess(self) -> tuple[np.ndarray, float, np.ndarray, float]:
        scene = self._scene()
        if self._risk is None:
            self._risk = _native.Driving(self._task, _native.Critic(self.task_id, self._conditions.critic))
        self._risk.look_at(scene)
        return self._risk.assess()

    def _scene(self) -> _native.World:
        """What there is to be judged now."""
        if self._world is None or self._closed:
            self._check_open()
            raise gym.error.ResetNeeded("call `reset` first: there is no scene yet")
        return self._world

    def render(self):
        """The surroundings of the ego, from above: an array of pixels, or text."""
        self._check_open()
        if self.render_mode is None:
            gym.logger.warn('`render` needs a mode: give gym.make(..., render_mode="rgb_array")')
            return None
        if self._world is None:
            raise gym.error.ResetNeeded("call `reset` before `render`: there is no scene yet")
        if self.render_mode == "ansi":
            return self._world.text()
        return self._world.picture(*window(self._task.window, self.config))

    def close(self) -> None:
        """Ends the environment; whatever is asked of it afterwards is an error."""
        self._closed = True

    def _check_open(self) -> None:
        if self._closed:
            raise gym.error.ClosedEnvironmentError("the environment was closed: make another one")

    def __getstate__(self) -> dict:
        state = self.__dict__.copy()
        del state["_task"], state["_risk"]
        state["_world"] = None if self._world is None else self._world.state()
        return state

    def __setstate__(self, state: dict) -> None:
        world = state.pop("_world")
        self.__dict__.update(state)
        self._task = _native.Task(self.task_id, config_json(self.config), self._conditions)
        self._world = self._risk = None
        if world is not None:
            self._world = _native.World(self._task, 0)
            self._world.restore(*world)

    def __deepcopy__(self, memo: dict) -> DrivingEnv:
        """A branch of the episode: quick, since the world is copied and not played again."""
        twin = type(self).__new__(type(self))
        memo[id(self)] = twin
        for name, value in self.__dict__.items():
            if name == "_task":
                twin._task = value  # it never changes
            elif name == "_risk":
                twin._risk = None  # made again when it is asked for
            elif name == "_world":
                twin._world = None if value is None else value.copy()
            else:
                setattr(twin, name, copy.deepcopy(value, memo))
        return twin


def make(id: str, **kwargs: Any) -> gym.Env:
    """Makes one environment, as ``gym.make("cpss/<id>")`` does: without the advice to take a later version, since a task's
    versions are different tasks of highway-env's, and the one that is named is meant.

    >>> env = cpss.make("merge-v0", render_mode="ansi")
    >>> env.spec.id
    'cpss/merge-v0'
    """
    task = short_id(id)
    if task not in _native.task_ids():
        raise ValueError(f"there is no task `{task}`; the tasks are {', '.join(_native.task_ids())}")
    return gym.make(gym.spec(f"{NAMESPACE}/{task}"), **kwargs)


def task_ids() -> list[str]:
    """The tasks, by highway-env's ids; each is also registered as ``cpss/<id>``.

    >>> cpss.task_ids()[:2]
    ['merge-v0', 'merge-v1']
    """
    return _native.task_ids()


def shipped_tasks() -> list[str]:
    """The tasks for which policies and critics are shipped: what :func:`cpss.load_policy` and ``cost="driving"`` know.

    >>> cpss.shipped_tasks()[:2]
    ['merge-v0', 'highway-v0']
    """
    return _native.shipped_tasks()


def policy_config(task: str) -> dict:
    """The config that a task's shipped policies were trained in: what they see, and, where the task is
    steered freely, the list of their actions. It fits highway-env's environments as well as ours.

    >>> cpss.policy_config("merge-v0")
    {}
    >>> sorted(cpss.policy_config("racetrack-v0"))
    ['action', 'observation']
    """
    return json.loads(_native.policy_config(short_id(task)))


def register_environments() -> None:
    """Registers every task with Gymnasium, as importing :mod:`cpss` does."""
    for task in _native.task_ids():
        if f"{NAMESPACE}/{task}" not in gym.registry:
            gym.register(
                id=f"{NAMESPACE}/{task}",
                entry_point="cpss.envs:DrivingEnv",
                vector_entry_point="cpss.vector:DrivingVectorEnv",
                kwargs={"task": task},
            )


def short_id(task: str) -> str:
    """A task's own id, without the namespace that Gymnasium knows it by."""
    if not isinstance(task, str):
        raise ValueError(f"the task is {task!r}, but has to be one of {', '.join(_native.task_ids())}")
    return task.rsplit("/", 1)[-1]


def spaces_of(task: _native.Task) -> tuple[spaces.Box, spaces.Space]:
    """Upstream's spaces of observations and actions."""
    observations = spaces.Box(-np.inf, np.inf, tuple(task.observation_shape), np.float32)
    if task.actions is not None:
        return observations, spaces.Discrete(task.actions)
    return observations, spaces.Box(-1.0, 1.0, (task.box_dimension or 0,), np.float32)
