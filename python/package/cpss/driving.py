"""What would each action risk in a driving scene, ours or highway-env's own?

A :class:`Driver` looks at an environment's scene and asks a critic: a network that has learned how likely an incident
is after each action. :class:`Native` is for our environments, whose scene is at hand; :class:`Upstream` reads the scene
out of highway-env's objects, whatever its policy observes: what an observer on the road could see (poses, speeds and how
they change, sizes, wrecks, where a car shows it is bound, who was on the road first), and of the ego also its own
intentions. Another driver's timers, parameters and targets are never looked at.

Start at :func:`driver_of`. A scene that cannot be read is an exception here, and a refusal in the shield. So is
a road that is not the task's: a class of one's own may differ from highway-env's in other things, but the critic has
learned how the task's own cars move, and cannot see if they were given another way of doing that.
"""

from __future__ import annotations

import os
from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium.envs.registration import load_env_creator

from cpss import _native
from cpss.arguments import config_json
from cpss.envs import DrivingEnv, short_id


#: What the actions of a scene cost, its density, what they risk, and the risk that cannot be avoided.
Assessed = tuple[np.ndarray, float, np.ndarray, float]

#: Keys of upstream's config that no cost depends on, and that may change at any time.
UNSEEN = (
    "observation", "controlled_vehicles", "screen_width", "screen_height", "centering_position", "scaling", "show_trajectories",
    "render_agent", "offscreen_rendering", "manual_control", "real_time_rendering",
)  # fmt: skip


#: What to do with an environment that nobody here knows.
OWN = (
    "learn what every action risks, ShieldWrapper(env, budget=..., risk=cpss.learn_risk(...)), or cpss.Risk.load(...) of a file; "
    "or give a function of your own, ShieldWrapper(env, budget, horizon, cost=...), where cost(env, observation) gives one cost per action"
)


#: How highway-env's drivers drive, whom the critics know: what is in their class.
DRIVERS = {
    "ACC_MAX": 6.0, "COMFORT_ACC_MAX": 3.0, "COMFORT_ACC_MIN": -5.0, "DISTANCE_WANTED": 10.0, "TIME_WANTED": 1.5, "POLITENESS": 0.0,
    "LANE_CHANGE_MIN_ACC_GAIN": 0.2, "LANE_CHANGE_MAX_BRAKING_IMPOSED": 2.0, "LANE_CHANGE_DELAY": 1.0,
}  # fmt: skip
#: What its intersection writes into that class, where other tasks of the same process find it.
CROSSING = {"COMFORT_ACC_MAX": 6, "COMFORT_ACC_MIN": -3, "DISTANCE_WANTED": 7}


class Driver:
    """Somebody who knows what actions risk in an environment."""

    #: The task in its configuration.
    task: _native.Task
    #: Who is asked.
    critic: _native.Critic

    @property
    def is_known(self) -> bool:
        """Whether this is the world that the critic was calibrated in, but for what a policy sees: of another nothing is promised."""
        raise NotImplementedError

    def begin(self) -> None:
        """An episode begins; its config may differ from the last one's."""

    def assess(self, points: np.ndarray | None) -> Assessed:
        """What every action (or some points of the box) costs and risks in the scene now."""
        raise NotImplementedError

    def decisions(self) -> float:
        """How many decisions have run up to now; the difference of two counts."""
        raise NotImplementedError

    def closeness(self, terminated: bool) -> float:
        """How close the ego is to anything now; the step to here has ended the episode or not."""
        raise NotImplementedError

    def incident(self) -> bool:
        """Whether the ego has crashed or is off the road now, at an episode's end."""
        raise NotImplementedError

    def world(self) -> _native.World | None:
        """The world, if its cars can be told apart from one decision to the next."""
        return None


class Native(Driver):
    """Our own environments: a scene is what is seen of it, where a sensor is not perfect."""

    def __init__(self, env: DrivingEnv, risk: Any) -> None:
        self._env, self.critic = env, critic_of(env.task_id, risk, env._conditions)
        self._prepare()

    def _prepare(self) -> None:
        self.task = self._env._task
        self._risk = _native.Driving(self.task, self.critic)

    @property
    def is_known(self) -> bool:
        return self.critic.knows(self.task)

    def begin(self) -> None:
        if self._env._task is not self.task:
            self._prepare()

    def assess(self, points):
        self._risk.look_at(self._env._scene())
        return assessed(self._risk, points)

    def decisions(self):
        return self._env._decisions

    def closeness(self, terminated):
        raise RuntimeError("our environments say it in every info")

    def incident(self):
        return self._env._scene().incident()

    def world(self):
        return self._env._scene()

    def __getstate__(self) -> dict:
        return {"_env": self._env, "critic": self.critic}

    def __setstate__(self, state: dict) -> None:
        self.__dict__.update(state)
        self._prepare()


class Upstream(Driver):
    """highway-env's own environments, read from ``env.unwrapped``."""

    def __init__(self, env: Any, task: str, risk: Any) -> None:
        self._env, self._id, self.critic = env, task, critic_of(task, risk)
        self._prepare()

    def _prepare(self) -> None:
        # As text, since nested dictionaries are changed in place.
        self._config = config_json(known_keys(self._env.config))
        self.task = _native.Task(self._id, self._config)
        self._risk = _native.Driving(self.task, self.critic)
        self._is_calibrated = self.critic.knows(self.task)

    @property
    def is_known(self) -> bool:
        return self._is_calibrated and is_original(self._env, self._id)

    def begin(self) -> None:
        if config_json(known_keys(self._env.config)) != self._config:
            self._prepare()
        check_road(self._env.road.network, self.task)

    def assess(self, points):
        self._look()
        return assessed(self._risk, points)

    def decisions(self):
        # Frames, of which each decision takes as many.
        return self._env.steps * self._env.config["policy_frequency"] / self._env.config["simulation_frequency"]

    def closeness(self, terminated):
        # As in our own world: an episode that ends off the road could not have come closer.
        if terminated and not self._env.vehicle.on_road:
            return 1.0
        self._look()
        return self._risk.closeness()

    def incident(self):
        ego = self._env.vehicle
        return bool(ego.crashed or not ego.on_road)

    def _look(self) -> None:
        """Reads the scene as it is now; never one that was read before, since anybody may have changed
        highway-env's objects in between."""
        env = self._env
        if len(env.controlled_vehicles) != 1:
            raise ValueError(f"there are {len(env.controlled_vehicles)} egos, but one can be shielded")
        if config_json(known_keys(env.config)) != self._config:
            raise ValueError("the config was changed in the middle of an episode: reset the environment")
        ego, cars = env.vehicle, env.road.vehicles
        others = [body(car) for car in cars if car is not ego]
        obstacles = [body(thing) for thing in env.road.objects if thing.solid]
        rows = np.array([body(ego), *others, *obstacles], np.float64)
        self._risk.look(mind(ego), rows, len(others), cars.index(ego))

    def __getstate__(self) -> dict:
        return {"_env": self._env, "_id": self._id, "critic": self.critic}

    def __setstate__(self, state: dict) -> None:
        self.__dict__.update(state)
        self._prepare()


def assessed(risk: _native.Driving, points: np.ndarray | None) -> Assessed:
    """What the actions of the scene looked at cost and risk."""
    if points is None:
        return risk.assess()
    return risk.assess_points(np.ascontiguousarray(points, np.float32).ravel())


def critic_of(task: str, risk: str | os.PathLike | None, conditions: _native.Conditions | None = None) -> _native.Critic:
    """The critic that is meant, by the name of a shipped one or a path; left out, the shipped one for such eyes."""
    usual = "drift" if conditions is None else conditions.critic
    source = usual if risk is None else os.fspath(risk) if isinstance(risk, (str, os.PathLike)) else None
    if not isinstance(source, str) or not source:
        raise ValueError(f"`risk` is {risk!r}, but has to be 'drift', 'sensed', 'stationary' or the path of a critic")
    return _native.Critic(task, source, None, conditions)


def driver_of(env: gym.Env, risk: str | os.PathLike | None = None) -> Driver:
    """Who knows what actions risk in this environment, by which critic.

    Raises:
        ValueError: if it is neither ours nor highway-env's, or a task of highway-env's of which nothing was learned; for
            actions whose risk was not learned, and for a file that is no critic.
    """
    inner = env.unwrapped
    if isinstance(inner, DrivingEnv):
        driver: Driver = Native(inner, risk)
    else:
        task = upstream_id(inner)
        if task not in _native.task_ids():
            raise ValueError(
                f"cost='driving' knows {', '.join(_native.task_ids())}, but not {task}: {OWN}"
            )
        driver = Upstream(inner, task, risk)
    if env.action_space != inner.action_space:
        raise ValueError(
            f"a wrapper has made {env.action_space} of the task's actions, {inner.action_space}, of which the costs are: "
            "put it around the shield, not into it"
        )
    check_way_in(env)
    return driver


def check_way_in(env: gym.Env) -> None:
    """Whether an action that comes out of the shield is the one that the scene gets, and once.

    Raises:
        ValueError: for a wrapper in between that makes another action of it, whatever it calls its space, or that has it run
            on decisions that nobody judges.
    """
    while isinstance(env, gym.Wrapper):
        if isinstance(env, (gym.ActionWrapper, gym.wrappers.RepeatAction)):
            raise ValueError(
                f"{type(env).__name__} in this environment makes other actions of those that the shield lets through: "
                "put it around the shield, not into it"
            )
        env = env.env


def upstream_id(inner: Any) -> str:
    """The id of one of highway-env's environments."""
    if not all(hasattr(inner, name) for name in ("road", "controlled_vehicles", "config", "vehicle")):
        raise ValueError(
            f"cost='driving' is for highway-env's environments and cpss's, not for {type(inner).__name__}: {OWN}"
        )
    if inner.spec is not None:
        name = short_id(inner.spec.id)
        known = gym.registry.get(name)
        if known is None or not isinstance(known.entry_point, str):
            raise ValueError(f"{inner.spec.id} is no task of highway-env's, which registered none as {name}: {OWN}")
        wanted = load_env_creator(known.entry_point)
        if not (isinstance(wanted, type) and isinstance(inner, wanted)):
            raise ValueError(f"{inner.spec.id} is a {type(inner).__name__}, but highway-env's {name} is a {known.entry_point.rsplit(':')[-1]}: {OWN}")
        return name
    # Made without `gym.make`: the registry knows what a class is called.
    kind = f"{type(inner).__module__}:{type(inner).__name__}"
    names: list[str] = [spec.id for spec in gym.registry.values() if spec.entry_point == kind]
    return names[0] if names else kind


def is_original(env: Any, task: str) -> bool:
    """Whether an environment is highway-env's own class, and everybody drives in it as there."""
    registered = gym.registry[task].entry_point
    wanted = load_env_creator(registered) if isinstance(registered, str) else registered
    drivers = DRIVERS | (CROSSING if task.startswith("intersection") else {})
    others = [] if env.road is None else [car for car in env.road.vehicles if car is not env.vehicle]
    usual = all(type(car).__name__ == "IDMVehicle" and all(getattr(car, name) == number for name, number in drivers.items()) for car in others)
    return type(env) is wanted and usual


def check_road(network: Any, task: _native.Task) -> None:
    """Whether the road is the task's, lane for lane.

    Raises:
        ValueError: if it is not; it names the first lane that differs.
    """
    theirs = {(start, end, place): lane for start, ends in network.graph.items() for end, lanes in ends.items() for place, lane in enumerate(lanes)}
    ours = dict(task.lanes())
    for name in sorted(ours.keys() ^ theirs.keys()):
        which = "has no lane" if name in ours else "has a lane more than the task:"
        raise ValueError(f"the road {which} {name}, so the costs of {task.id} would be another road's")
    for name, numbers in ours.items():
        lane = theirs[name]
        points = [coordinate for part in (0.0, 0.5, 1.0) for coordinate in lane.position(part * lane.length, 0.0)]
        found = [*points, lane.width, lane.speed_limit, lane.forbidden, lane.priority]
        for what, wanted, got in zip(task.lane_numbers, numbers, found):
            if not abs(got - wanted) <= 1e-6:
                raise ValueError(f"lane {name} of the road has {what} {got}, but in {task.id} it has {wanted}: the costs would be another road's")


def body(thing: Any) -> tuple[float, ...]:
    """What an observer sees of a car or an obstacle."""
    x, y = thing.position
    bound_x, bound_y = getattr(thing, "destination_direction", (0.0, 0.0))
    # What a car did in the last frame shows in its speed; an obstacle does nothing.
    acceleration = float(thing.action["acceleration"]) if hasattr(thing, "action") else 0.0
    return (x, y, thing.heading, thing.speed, acceleration, thing.LENGTH, thing.WIDTH, float(thing.crashed), bound_x, bound_y)


def mind(ego: Any) -> tuple:
    """What the ego knows of itself: where it is going, and what it is doing."""
    lane = getattr(ego, "target_lane_index", None) or ego.lane_index
    route = [(start, end, None if place is None else int(place)) for start, end, place in (getattr(ego, "route", None) or [])]
    steering = float(ego.action["steering"])
    target = (lane[0], lane[1], int(lane[2]))
    speeds = (float(ego.MIN_SPEED), float(ego.MAX_SPEED))
    return (target, float(getattr(ego, "target_speed", 0.0)), int(getattr(ego, "speed_index", 0)), route, steering, speeds)


def known_keys(config: dict) -> dict:
    """Upstream's config without what only concerns its agents, what they observe, and windows."""
    return {key: value for key, value in config.items() if key not in UNSEEN}
