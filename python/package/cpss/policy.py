"""Who proposes actions?

A :class:`Policy` is a small network that values actions, run in Rust: one that is shipped
(:func:`load_policy`), one from a file of ``cpss train``, or one made from a Stable-Baselines3 model
(:func:`cpss.from_sb3`). It has Stable-Baselines3's ``predict``, so ``evaluate_policy`` takes it.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from cpss import _native
from cpss.arguments import config_json, whole
from cpss.envs import policy_config, short_id


def load_policy(task: str, seed: int = 0) -> Policy:
    """A policy for a driving task: a shipped one, or one from a ``.safetensors`` file.

    Args:
        task: A task by highway-env's id, or the path of a file.
        seed: Training seed of the shipped policy, from 0 to 4.

    It sees the task in ``policy.config``; make its environment with that:

    >>> policy = cpss.load_policy("merge-v0", seed=0)
    >>> env = cpss.make("merge-v0", config=policy.config)
    >>> observation, info = env.reset(seed=7)
    >>> action, _ = policy.predict(observation)
    >>> int(action) in range(5)
    True
    """
    if str(task).endswith(".safetensors"):
        try:
            return Policy(_native.Policy.from_bytes(Path(task).read_bytes()))
        except ValueError as error:
            raise ValueError(f"{task}: {error}") from None
    if whole("seed", seed, 0) >= 2**32:
        raise ValueError(f"`seed` is {seed}, but has to be from 0 to 4")
    return Policy(_native.Policy.shipped(short_id(task), seed))


class Policy:
    """A network that values actions and takes the one of the greatest value.

    Attributes:
        config: The config of the task that it was trained in; empty for a model from elsewhere.
        observation_shape: The shape of what it sees.
        exploration_rate: How often ``predict(..., deterministic=False)`` takes a random action instead, as a
            DQN of Stable-Baselines3 does. The default is that library's.
    """

    def __init__(self, network: _native.Policy, observation_shape: tuple[int, ...] | None = None) -> None:
        self._network = network
        self.config: dict[str, Any] = {}
        self.observation_shape = observation_shape or (network.observation_len,)
        task = network.card.get("env")
        if task in _native.task_ids() and observation_shape is None:
            self.config = policy_config(task)
            self.observation_shape = tuple(_native.Task(task, config_json(self.config)).observation_shape)
        self.exploration_rate = 0.05
        self._random = np.random.default_rng()

    @property
    def card(self) -> dict[str, str]:
        """What is known about it: task, training seed, steps, settings, score."""
        return self._network.card

    def action_values(self, observation) -> np.ndarray:
        """The value of each action at an observation, or at each of several.

        Raises:
            ValueError: for an observation of the wrong size, and if any value is NaN or infinite.
        """
        array = np.ascontiguousarray(observation, np.float32)
        width, actions = self._network.observation_len, self._network.actions
        is_one = array.shape in (self.observation_shape, (width,))
        if not is_one and array.shape[1:] not in (self.observation_shape, (width,)):
            raise ValueError(
                f"the observation has the shape {array.shape}, but the policy sees {self.observation_shape}, or several of these"
            )
        values = np.empty(array.size // width * actions, np.float32)
        self._network.values(array.ravel(), values)
        return values if is_one else values.reshape(-1, actions)

    def predict(self, observation, state=None, episode_start=None, deterministic: bool = True):
        """The action to take, as Stable-Baselines3's ``predict``: an action (or one for each of several
        observations), and ``None`` for the state that it does not have."""
        values = self.action_values(observation)
        actions = np.argmax(values, axis=-1)
        if not deterministic:
            random = self._random.integers(self._network.actions, size=actions.shape)
            actions = np.where(self._random.random(actions.shape) < self.exploration_rate, random, actions)
        return actions, None

    def set_random_seed(self, seed: int | None) -> None:
        """Seeds the random actions of ``predict(..., deterministic=False)``."""
        self._random = np.random.default_rng(seed)

    def save(self, path: str | Path) -> None:
        """Writes it as a ``.safetensors`` file, which the ``cpss`` command reads too."""
        Path(path).write_bytes(self._network.to_bytes())

    def __getstate__(self) -> dict:
        return {**self.__dict__, "_network": self._network.to_bytes()}

    def __setstate__(self, state: dict) -> None:
        self.__dict__.update(state)
        self._network = _native.Policy.from_bytes(state["_network"])
