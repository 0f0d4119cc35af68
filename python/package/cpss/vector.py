"""How are many environments stepped in one call?

:class:`DrivingVectorEnv` is a native batch: all worlds are stepped in Rust, on as many threads as asked
for, with the interpreter released and straight into the arrays that are returned. What happens when an
episode ends is one of Gymnasium's three modes. With ``shield=`` every environment has a shield of its
own, judged and charged natively; the critic looks at many scenes at once.

Start at :func:`make_vec`. Invariants: an array that was returned is never written again; results do not
depend on the number of threads; the reset step of ``NEXT_STEP`` is neither judged nor charged; a copy, a pickled batch,
and one that came along through a ``fork`` go on where it was, to the last bit.
"""

from __future__ import annotations

import copy
import os
from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space

from cpss import _native
from cpss.arguments import check_options, checked_seed, conditions_of, config_json, config_of, real_numbers, unmasked, whole, window
from cpss.envs import DrivingEnv, short_id, spaces_of
from cpss.settings import batch_settings
from cpss.shield import KEYS

#: The words for the codes that the native side reports.
VERDICTS = np.array(["admit", "replace", "infeasible", "reset"])
REASONS = np.array(
    ["", "unusable-cost", "over-cap", "horizon-closed", "budget-spent", "over-budget", "unusable-context", "over-context", "priced"]
)


def make_vec(id: str, num_envs: int = 1, **kwargs: Any) -> DrivingVectorEnv:
    """Makes a batch of environments; see :class:`DrivingVectorEnv` for the arguments.

    >>> envs = cpss.make_vec("merge-v0", num_envs=4, budget=0.02)   # or shield=True, with the task's own budget
    >>> observations, infos = envs.reset(seed=0)          # seeds 0, 1, 2 and 3
    >>> observations, rewards, terminated, truncated, infos = envs.step([1, 1, 3, 4])
    >>> infos["cost"].shape, infos["shield"]["verdict"].shape
    ((4,), (4,))
    """
    envs = DrivingVectorEnv(task=id, num_envs=num_envs, **kwargs)
    spec = gym.registry.get(f"cpss/{envs.task_id}")
    if spec is not None:
        envs.spec = spec
    return envs


class DrivingVectorEnv(VectorEnv):
    """Many environments of one task, stepped natively.

    Args:
        task: Which task, by highway-env's id, with or without ``cpss/``.
        num_envs: How many environments.
        config: highway-env's config dictionary, as for :class:`cpss.DrivingEnv`.
        autoreset_mode: Gymnasium's ``AutoresetMode`` or its value: what happens after an episode's end.
        num_threads: How many threads step them; all of the machine's if left out.
        shield: ``True`` for the task's shipped shield, or a dictionary with what is to differ from it (see
            :func:`cpss.shield_settings`; ``risk`` chooses the critic, as in :class:`cpss.ShieldWrapper`); nothing for
            no shield.
        budget: The budget of every environment's shield, a probability; see :class:`cpss.ShieldWrapper`. Whoever gives one
            means a shield. ``pace`` likewise.
        pace: How many steps' shares of the budget left one step may spend.
        render_mode: ``"rgb_array"`` or ``"ansi"``.
        regime: How traffic drifts, as for :class:`cpss.DrivingEnv`.
        sensor: Through which eyes policies and shields see it, likewise.

    ``infos`` has ``cost`` (how close the step came, as in :class:`cpss.DrivingEnv`), ``speed`` and ``crashed``, an array
    each (``drift`` too, under a regime or behind a sensor), and with a shield ``shield``, a dictionary of arrays by the keys of :class:`cpss.ShieldWrapper`. Under ``SAME_STEP``, what belongs to
    an episode that has just ended is in ``final_obs`` and ``final_info``.
    """

    def __init__(
        self,
        task: str,
        num_envs: int = 1,
        *,
        config: dict | None = None,
        autoreset_mode: AutoresetMode | str = AutoresetMode.NEXT_STEP,
        num_threads: int | None = None,
        shield: bool | dict | None = None,
        budget: float | None = None,
        pace: float | None = None,
        render_mode: str | None = None,
        regime: str | os.PathLike = "stationary",
        sensor: str | os.PathLike = "perfect",
    ) -> None:
        num_envs = whole("num_envs", num_envs, 1)
        if render_mode not in (None, *DrivingEnv.metadata["render_modes"]):
            raise ValueError(f"`render_mode` is {render_mode!r}, but has to be 'rgb_array', 'ansi' or None")
        if num_threads is not None:
            num_threads = whole("num_threads", num_threads, 1)
        if autoreset_mode not in (*AutoresetMode, *(mode.value for mode in AutoresetMode)):
            modes = ", ".join(f"{str(mode)} or {mode.value!r}" for mode in AutoresetMode)
            raise ValueError(f"`autoreset_mode` is {autoreset_mode!r}, but has to be one of {modes}")
        self.autoreset_mode = AutoresetMode(autoreset_mode)
        self.metadata = {**DrivingEnv.metadata, "autoreset_mode": self.autoreset_mode}
        self.task_id = short_id(task)
        self.config = config_of(config)
        self.num_envs = num_envs
        self.render_mode = render_mode
        self._conditions = conditions_of(regime, sensor)
        self._drifts = not self._conditions.are_usual
        native = _native.Task(self.task_id, config_json(self.config), self._conditions)
        self._window = native.window
        self.single_observation_space, self.single_action_space = spaces_of(native)
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)
        self._shape = (num_envs, *native.observation_shape)
        self._action_count = native.actions
        settings = batch_settings(native, self._conditions, self.single_action_space, shield, budget, pace)
        self.is_shielded = settings is not None
        self._threads = num_threads or os.cpu_count() or 1
        self._settings = settings
        # As text: the dictionary may be changed later, and the batch is what it was made as.
        self._config = config_json(self.config)
        self._batch = self._another_batch()
        self._has_begun = False
        self._last: np.ndarray | None = None

    def reset(self, *, seed: int | list[int | None] | None = None, options: dict[str, Any] | None = None):
        """Starts an episode in every environment: with an integer, environment ``i`` gets ``seed + i``;
        with a list, its own; without either, its random numbers go on. ``options={"reset_mask": mask}``
        resets only some, as Gymnasium's vector environments do, in any autoreset mode. A batch's config is fixed:
        ``options={"config": ...}`` is a ``ValueError``."""
        self._check_open()
        check_options(options)
        if "config" in (options or {}):
            raise ValueError('`options["config"]` cannot change a native batch: make another one with `config=`')
        mask = self._reset_mask(options)
        seeds = self._seeds(seed)
        super().reset(seed=seed if isinstance(seed, int) else None)
        observations = np.empty(self._shape, np.float32)
        if mask is not None:
            if self._last is None:
                raise gym.error.ResetNeeded("the first `reset` has to be of all environments")
            observations[...] = self._last
        chosen = np.ones(self.num_envs, bool) if mask is None else mask
        costs, speeds, crashed = self._told()
        asked = [((None if seed is None else seed),) if of else None for seed, of in zip(seeds, chosen)]
        self._batch.reset(asked, observations, (costs, speeds, crashed))
        self._has_begun = True
        self._remember(observations)
        infos = self._infos((costs, speeds, crashed), chosen)
        if self.is_shielded:
            infos["shield"] = self._shield_infos(self._batch.reports(False), chosen)
            infos["_shield"] = chosen.copy()
        return observations, infos

    def step(self, actions, preferences: np.ndarray | None = None):
        """Steps every environment.

        ``preferences``, one row per environment, says how much the policy likes each action: with
        ``fallback="best-admissible"`` a refused action is replaced by the most liked admissible one.
        """
        self._check_begun()
        count, shape = self.num_envs, self._shape
        observations = np.empty(shape, np.float32)
        is_same_step = self.autoreset_mode is AutoresetMode.SAME_STEP
        finals = np.empty(shape if is_same_step else (0,), np.float32)
        outcome = rewards, terminated, truncated = np.empty(count), np.empty(count, bool), np.empty(count, bool)
        told = self._told()
        closing = self._told() if is_same_step else told_of_none()
        if self._action_count is not None:
            indices = as_indices(actions, count, self._action_count)
            if preferences is not None:
                wanted = (count, self._action_count)
                preferences = np.ascontiguousarray(preferences, np.float64)
                if preferences.shape != wanted:
                    raise ValueError(f"`preferences` has the shape {preferences.shape}, but has to have {wanted}")
                preferences = preferences.ravel()
            self._batch.step(indices, preferences, observations, finals, outcome, told, closing)
        else:
            if preferences is not None:
                raise ValueError("`preferences` are for a list of actions, not for points of a box")
            points = as_points(actions, (count, *(self.single_action_space.shape or ())))
            self._batch.step_points(points.ravel(), observations, finals, outcome, told, closing)
        self._remember(observations)
        everyone = np.ones(count, bool)
        infos = self._infos(told, everyone)
        if self.is_shielded:
            infos["shield"] = self._shield_infos(self._batch.reports(False), everyone)
            infos["_shield"] = everyone.copy()
        if is_same_step:
            ended = terminated | truncated
            if ended.any():
                self._add_finals(infos, finals, closing, ended)
        return observations, rewards, terminated, truncated, infos

    def action_masks(self) -> np.ndarray:
        """Which actions the shield would let through now, a row per environment; where none is
        admissible, the one that it would run. For ``sb3-contrib``'s ``MaskablePPO``."""
        self._check_begun()
        return self._batch.admissible()

    def certificates(self) -> list[dict]:
        """The account of every environment's shield so far; see :meth:`cpss.ShieldWrapper.certificate`."""
        self._check_begun()
        return self._batch.certificates()

    def render(self):
        """A picture or text of every environment."""
        self._check_open()
        if self.render_mode is None:
            gym.logger.warn('`render` needs a mode: give make_vec(..., render_mode="rgb_array")')
            return None
        self._check_begun()
        if self.render_mode == "ansi":
            return tuple(self._batch.text(i) for i in range(self.num_envs))
        view = window(self._window, self.config)
        return tuple(self._batch.picture(i, *view) for i in range(self.num_envs))

    def _told(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        return np.empty(self.num_envs), np.empty(self.num_envs), np.empty(self.num_envs, bool)

    def _infos(self, told, mask, closing: bool = False) -> dict[str, Any]:
        infos = dict(zip(("cost", "speed", "crashed"), told))
        if self._drifts:
            infos["drift"] = self._batch.drifts(closing)
        if not mask.all():
            for array in infos.values():
                array[~mask] = 0
        return {**infos, **{f"_{key}": mask.copy() for key in infos}}

    def _shield_infos(self, reports, mask) -> dict[str, Any]:
        proposed, executed, verdicts, reasons, numbers = reports
        words = proposed, executed, VERDICTS[verdicts], REASONS[reasons]
        # The last of the numbers is a flag; the others are in the order of the keys.
        columns = [column.copy() for column in numbers.T[:-1]]
        infos = dict(zip(KEYS, (*words, *columns, numbers[:, -1] == 1.0)))
        return {**infos, **{f"_{key}": mask.copy() for key in infos}}

    def _add_finals(self, infos, finals, closing, ended) -> None:
        last = np.full(self.num_envs, None, object)
        for i in np.flatnonzero(ended):
            last[i] = finals[i].copy()
        final = self._infos(closing, ended, closing=True)
        if self.is_shielded:
            final["shield"] = self._shield_infos(self._batch.reports(True), ended)
            final["_shield"] = ended.copy()
        infos.update(final_obs=last, _final_obs=ended.copy(), final_info=final, _final_info=ended.copy())

    def _remember(self, observations: np.ndarray) -> None:
        # Whoever resets some environments sees the others' observations again, whatever was done to the array.
        self._last = observations.copy()

    def _seeds(self, seed) -> list[int | None]:
        if seed is None:
            if self._has_begun:
                return [None] * self.num_envs
            seed = int(self.np_random.integers(2**62))
        if not isinstance(seed, (list, tuple, np.ndarray)):
            first = checked_seed(seed)
            return [checked_seed(first + i) for i in range(self.num_envs)]
        if len(seed) != self.num_envs:
            raise ValueError(f"`seed` has {len(seed)} entries, but there are {self.num_envs} environments")
        return [None if one is None else checked_seed(one) for one in seed]

    def _reset_mask(self, options) -> np.ndarray | None:
        mask = (options or {}).get("reset_mask")
        if mask is None:
            return None
        if not (isinstance(mask, np.ndarray) and mask.dtype == bool and mask.shape == (self.num_envs,)):
            raise ValueError(f"`reset_mask` has to be an array of {self.num_envs} booleans, not {mask!r}")
        if not mask.any():
            raise ValueError("`reset_mask` picks no environment")
        return mask.copy()

    def _check_begun(self) -> None:
        self._check_open()
        if not self._has_begun:
            raise gym.error.ResetNeeded("call `reset` first: no episode has begun")

    def _check_open(self) -> None:
        if self.closed:
            raise gym.error.ClosedEnvironmentError("the environments were closed: make others")
        if os.getpid() != self._process:
            # A fork takes the worlds along but not the threads, and a step would wait for these for ever.
            parents, self._batch = self._batch, self._another_batch()
            self._batch.adopt(parents)
            parents.abandon()

    def _another_batch(self) -> _native.Batch:
        """A batch of this kind, with threads of this process."""
        self._process = os.getpid()
        task = _native.Task(self.task_id, self._config, self._conditions)
        return _native.Batch(task, self.num_envs, self.autoreset_mode.value, self._threads, self._settings)

    def __getstate__(self) -> dict:
        self._check_open()
        return {**self.__dict__, "_batch": self._batch.state() if self._has_begun else None}

    def __setstate__(self, state: dict) -> None:
        self.__dict__.update(state)
        self._batch = self._another_batch()
        if state["_batch"] is not None:
            self._batch.restore(*state["_batch"])

    def __deepcopy__(self, memo: dict) -> DrivingVectorEnv:
        """A branch of every episode: quick, since the worlds are copied and not played again."""
        self._check_open()
        twin = type(self).__new__(type(self))
        memo[id(self)] = twin
        for name, value in self.__dict__.items():
            if name != "_batch":
                setattr(twin, name, copy.deepcopy(value, memo))
        twin._batch = twin._another_batch()
        twin._batch.adopt(self._batch)
        return twin


def told_of_none() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Room for nothing, where nothing is told."""
    return np.empty(0), np.empty(0), np.empty(0, bool)


def as_indices(actions, count: int, choices: int) -> np.ndarray:
    """Discrete actions as one array of indices."""
    array = np.asanyarray(actions)
    if array.shape != (count,):
        raise ValueError(f"`actions` has the shape {array.shape}, but has to have ({count},)")
    try:
        unmasked(array)
    except TypeError:
        raise ValueError(f"`actions` is {actions!r}, but has to hold integers from 0 to {choices - 1}: some are masked") from None
    if array.dtype.kind not in "iu":
        raise ValueError(f"`actions` holds {array.dtype}, but has to hold integers from 0 to {choices - 1}")
    return np.ascontiguousarray(array, np.int64)


def as_points(actions, shape: tuple[int, ...]) -> np.ndarray:
    """Continuous actions as one array of points."""
    try:
        points = real_numbers(actions, np.float32)
    except (TypeError, ValueError, OverflowError):
        raise ValueError(f"`actions` is {actions!r}, but has to be numbers of the shape {shape}") from None
    if points.shape != shape:
        raise ValueError(f"`actions` has the shape {points.shape}, but has to have {shape}")
    return points
