"""How does Stable-Baselines3 train and evaluate under the shield?

* :class:`VecEnv` and :func:`make_vec_env`: a native batch as that library's vector environment.
* :class:`ShieldCallback`: logs ``shield/*`` and ``rollout/ep_cost_mean``.
* :class:`ExecutedReplayBuffer`: whether a replay buffer stores what was proposed or what ran is a choice, and
  this makes the second one. See "Learning with the shield on" in ``python/README.md``.
* :class:`ExecutedActions`: the same choice for learners without a replay buffer, such as PPO.
* :func:`from_sb3`: a trained model as a :class:`cpss.Policy`, which the ``cpss`` command reads too.

Needs ``pip install 'cpss[sb3]'``; nothing else in the package imports this module.
"""

from __future__ import annotations

from collections import deque
from typing import Any, cast

import numpy as np
import stable_baselines3.common.vec_env as vec_env
from gymnasium import spaces
from gymnasium.vector import AutoresetMode
from stable_baselines3.common.base_class import BaseAlgorithm
from stable_baselines3.common.buffers import ReplayBuffer
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.torch_layers import FlattenExtractor

from cpss import _native
from cpss.policy import Policy
from cpss.shield import KEYS
from cpss.vector import DrivingVectorEnv, make_vec


def make_vec_env(id: str, n_envs: int = 1, seed: int | None = None, **kwargs: Any) -> VecEnv:
    """A batch of driving environments for Stable-Baselines3; arguments as for :func:`cpss.make_vec`.

    >>> from stable_baselines3 import DQN
    >>> import cpss.sb3
    >>> envs = cpss.sb3.make_vec_env("merge-v0", n_envs=8, shield=True)
    >>> model = DQN("MlpPolicy", envs, learning_starts=16).learn(64)
    """
    envs = VecEnv(make_vec(id, n_envs, autoreset_mode=AutoresetMode.SAME_STEP, **kwargs))
    envs.seed(seed)
    return envs


class VecEnv(vec_env.VecEnv):
    """A native batch with Stable-Baselines3's meaning of an episode's end: the observation is the next
    episode's first, the last one is ``info["terminal_observation"]``, and ``info["TimeLimit.truncated"]``
    says whether only the time was up.

    Everything else of an ended episode's last step (``cost``, ``shield``, ...) is in its ``info`` as well.
    """

    def __init__(self, envs: DrivingVectorEnv) -> None:
        if envs.autoreset_mode is not AutoresetMode.SAME_STEP:
            raise ValueError(f"`autoreset_mode` is {envs.autoreset_mode}, but Stable-Baselines3 needs SAME_STEP")
        self.envs = envs
        self._actions: np.ndarray | None = None
        super().__init__(envs.num_envs, envs.single_observation_space, envs.single_action_space)

    def reset(self) -> np.ndarray:
        seeds = self._seeds if any(seed is not None for seed in self._seeds) else None
        observations, infos = self.envs.reset(seed=seeds)
        self.reset_infos = self._rows(infos)
        self._reset_seeds()
        self._reset_options()
        return observations

    def step_async(self, actions: np.ndarray) -> None:
        self._actions = actions

    def step_wait(self):
        observations, rewards, terminated, truncated, infos = self.envs.step(self._actions)
        dones = terminated | truncated
        rows = self._rows(infos)
        if dones.any():
            endings = self._rows(infos["final_info"])
            for i in np.flatnonzero(dones):
                # The row is the next episode's first, until what the last one ended with takes its place.
                self.reset_infos[i] = rows[i]
                rows[i] = {**endings[i], "terminal_observation": infos["final_obs"][i]}
        for i, row in enumerate(rows):
            row["TimeLimit.truncated"] = bool(truncated[i] and not terminated[i])
        return observations, rewards.astype(np.float32), dones, rows

    def close(self) -> None:
        self.envs.close()

    def get_attr(self, attr_name: str, indices=None) -> list[Any]:
        value = getattr(self.envs, attr_name)
        return [value for _ in self._get_indices(indices)]

    def set_attr(self, attr_name: str, value: Any, indices=None) -> None:
        raise AttributeError(f"the environments of a native batch are not objects: `{attr_name}` cannot be set in one")

    def env_method(self, method_name: str, *method_args, indices=None, **method_kwargs) -> list[Any]:
        if method_name != "action_masks":
            raise AttributeError(f"a native batch has no method `{method_name}` for one environment; it has `action_masks`")
        masks = self.envs.action_masks()
        return [masks[i] for i in self._get_indices(indices)]

    def has_attr(self, attr_name: str) -> bool:
        return self.envs.is_shielded if attr_name == "action_masks" else hasattr(self.envs, attr_name)

    def env_is_wrapped(self, wrapper_class, indices=None) -> list[bool]:
        return [False for _ in self._get_indices(indices)]

    def get_images(self):
        return list(self.envs.render() or [])

    def _rows(self, infos: dict[str, Any]) -> list[dict[str, Any]]:
        plain = ("cost", "speed", "crashed")
        columns = [infos[key].tolist() for key in plain]
        rows = [dict(zip(plain, values)) for values in zip(*columns)]
        if "shield" in infos:
            shield = infos["shield"]
            # Points of a box stay arrays; everything else becomes Python's own numbers and texts.
            parts = [shield[key] if shield[key].ndim > 1 else shield[key].tolist() for key in KEYS]
            for row, values in zip(rows, zip(*parts)):
                row["shield"] = dict(zip(KEYS, values))
        return rows


class ShieldCallback(BaseCallback):
    """Logs what the shield did: over the last episodes, ``rollout/ep_cost_mean`` (the sum of an episode's
    costs) and, if there is a shield, ``shield/intervention_rate``, ``shield/infeasible_rate`` (shares of
    steps), ``shield/remaining_mean`` and ``shield/envelope_mean`` (at the end of an episode), and
    ``shield/threshold_mean`` (of the steps).

    Args:
        window: Over how many episodes.
    """

    def __init__(self, window: int = 100) -> None:
        super().__init__()
        self._window = window
        self._episodes: deque[dict[str, float]] = deque(maxlen=window)
        self._running: list[list[tuple]] = []

    def _on_training_start(self) -> None:
        self._running = [[] for _ in range(self.training_env.num_envs)]

    def _on_step(self) -> bool:
        for steps, info, done in zip(self._running, self.locals["infos"], self.locals["dones"]):
            steps.append((info.get("cost", np.nan), info.get("shield")))
            if done:
                self._episodes.append(summary(steps))
                steps.clear()
        if self._episodes:
            for key in sorted({key for episode in self._episodes for key in episode}):
                values = [episode[key] for episode in self._episodes if key in episode]
                self.logger.record(key, float(np.mean(values)))
        return True


def summary(steps: list[tuple]) -> dict[str, float]:
    """What is logged of one episode."""
    logged = {"rollout/ep_cost_mean": float(np.sum([cost for cost, _ in steps]))}
    shields = [shield for _, shield in steps if shield is not None]
    if shields:
        verdicts = [shield["verdict"] for shield in shields]
        logged["shield/intervention_rate"] = float(np.mean([verdict != "admit" for verdict in verdicts]))
        logged["shield/infeasible_rate"] = float(np.mean([verdict == "infeasible" for verdict in verdicts]))
        logged["shield/threshold_mean"] = float(np.mean([shield["threshold"] for shield in shields]))
        logged["shield/remaining_mean"] = shields[-1]["remaining"]
        logged["shield/envelope_mean"] = shields[-1]["envelope"]
    return logged


class ExecutedReplayBuffer(ReplayBuffer):
    """A replay buffer that stores the action that **ran**, not the one that was proposed. Of a box it stores
    what Stable-Baselines3 does: the action with its bounds scaled to -1 and 1.

    Raises:
        ValueError: on ``add``, if the shield's actions are not the learner's. A wrapper that changes actions goes
            into the environment before the shield does, or its learner stores what it proposed.

    >>> from stable_baselines3 import DQN
    >>> env = cpss.ShieldWrapper(cpss.make("merge-v0"))
    >>> model = DQN("MlpPolicy", env, replay_buffer_class=cpss.sb3.ExecutedReplayBuffer)
    """

    def add(self, obs, next_obs, action, reward, done, infos) -> None:
        ran = np.array(action)
        for i, info in enumerate(infos):
            if "shield" in info:
                proposed, executed = (info["shield"][key] for key in ("proposed_action", "executed_action"))
                # The learner's own action is known in both forms: if they differ, so do the spaces.
                if not np.allclose(self._stored(proposed), np.ravel(action[i]), atol=1e-5):
                    raise ValueError(
                        f"the learner proposed {action[i]!r} (a box scaled to -1 and 1), but the shield was given {proposed!r}: "
                        "a wrapper around the shield changes actions, so what ran is not an action of the learner's"
                    )
                ran[i] = self._stored(executed).reshape(ran[i].shape)
        super().add(obs, next_obs, ran, reward, done, infos)

    def _stored(self, action) -> np.ndarray:
        """An action of the environment as the buffer holds it."""
        space = self.action_space
        if isinstance(space, spaces.Box):
            point = np.asarray(action, np.float64).reshape(-1)
            low, high = (bound.astype(np.float64).ravel() for bound in (space.low, space.high))
            if point.shape == low.shape:
                scaled = 2.0 * (point - low) / (high - low) - 1.0
                # Single precision may overshoot a bound by its last bit, and no more than that.
                if (np.abs(scaled) <= 1.0 + 1e-5).all():
                    return scaled.clip(-1.0, 1.0)
        elif space.contains(np.asarray(action, space.dtype).reshape(space.shape)):
            return np.asarray(action).reshape(-1)
        raise ValueError(f"the shield's action {action!r} is not in the learner's space {space}: is there a wrapper around the shield?")


class ExecutedActions(BaseCallback):
    """What :class:`ExecutedReplayBuffer` is to DQN or SAC, for PPO and A2C: the learner is told the action that **ran**, with
    how likely its policy is to take it, not the one that was proposed. Give it to ``learn`` as ``callback``.

    Raises:
        ValueError: if the shield's actions are not the learner's, because a wrapper around the shield changes them.

    >>> from stable_baselines3 import PPO
    >>> env = cpss.ShieldWrapper(cpss.make("merge-v0"))
    >>> model = PPO("MlpPolicy", env, n_steps=16, batch_size=16).learn(16, callback=cpss.sb3.ExecutedActions())
    """

    def _on_step(self) -> bool:
        import torch

        actions, infos = self.locals["actions"], self.locals["infos"]
        changed = []
        for i, info in enumerate(infos):
            if "shield" not in info or info["shield"]["verdict"] == "admit":
                continue
            proposed, executed = (np.asarray(info["shield"][key]) for key in ("proposed_action", "executed_action"))
            if proposed.size != np.size(actions[i]):
                raise ValueError(f"the learner proposed {actions[i]!r}, but the shield was given {proposed!r}: a wrapper around the shield changes actions")
            proposed, executed = (part.reshape(np.shape(actions[i])) for part in (proposed, executed))
            given, policy = actions[i], cast(Any, self.model.policy)
            if isinstance(self.model.action_space, spaces.Box):
                # The learner's actions are clipped, or brought from -1 and 1 to their bounds, before the shield sees them.
                if getattr(policy, "squash_output", False):
                    given, executed = policy.unscale_action(given), policy.scale_action(executed)
                given = np.clip(given, self.model.action_space.low, self.model.action_space.high)
            if not np.allclose(np.asarray(proposed, np.float64), np.asarray(given, np.float64), atol=1e-5):
                raise ValueError(f"the learner proposed {actions[i]!r}, but the shield was given {proposed!r}: a wrapper around the shield changes actions")
            actions[i] = executed
            changed.append(i)
        if changed:
            policy = cast(Any, self.model.policy)
            with torch.no_grad():
                seen = self.locals["obs_tensor"]
                masks = self.locals.get("action_masks")
                further = {} if masks is None else {"action_masks": masks}
                ran = torch.as_tensor(actions, device=policy.device)
                _, likely, _ = policy.evaluate_actions(seen, ran, **further)
                # In place: the learner stores this very tensor, and the array above.
                self.locals["log_probs"][changed] = likely.reshape(self.locals["log_probs"].shape)[changed]
        return True


def from_sb3(model: BaseAlgorithm) -> Policy:
    """Turns a model with discrete actions into a :class:`cpss.Policy`: a DQN's values, or the logits of an
    actor (PPO, A2C, MaskablePPO). Its greedy actions are the model's own, ``deterministic=True``.

    Raises:
        ValueError: for a network that is not a plain MLP with ReLU or Tanh behind a ``FlattenExtractor``, or
            actions that are no list.
    """
    import torch

    if not isinstance(model, BaseAlgorithm):
        raise ValueError(f"`model` is {model!r}, but has to be one of Stable-Baselines3's, such as DQN.load(path)")
    if not isinstance(model.action_space, spaces.Discrete):
        raise ValueError(f"the model's actions are {model.action_space}, but have to be Discrete")
    if not isinstance(model.observation_space, spaces.Box):
        raise ValueError(f"the model sees {model.observation_space}, but has to see one Box")
    policy: Any = model.policy
    # Each of these may have an extractor of its own, and all that the network here gets is a flat observation.
    for part in (policy, getattr(policy, "q_net", None)):
        for name in ("features_extractor", "pi_features_extractor"):
            extractor = getattr(part, name, None)
            if extractor is not None and type(extractor) is not FlattenExtractor:
                raise ValueError(f"the model's features come from a {type(extractor).__name__}, but have to come from a FlattenExtractor")
    if hasattr(policy, "q_net"):
        modules = list(policy.q_net.q_net)
    elif hasattr(policy, "action_net"):
        modules = [*policy.mlp_extractor.policy_net, policy.action_net]
    else:
        raise ValueError(f"a {type(model).__name__} has neither action values nor logits")
    names = {torch.nn.ReLU: "relu", torch.nn.Tanh: "tanh"}
    linear, between = modules[0::2], modules[1::2]
    if not all(isinstance(layer, torch.nn.Linear) for layer in linear) or not all(type(part) in names for part in between):
        raise ValueError(f"the model's network is not a plain MLP with ReLU or Tanh: {modules}")
    tensors = {}
    for index, layer in enumerate(linear):
        tensors[f"{2 * index}.weight"] = layer.weight.detach().cpu().numpy()
        tensors[f"{2 * index}.bias"] = layer.bias.detach().cpu().numpy()
    card = {
        "format": "cpss-dqn policy 1",
        "activations": ",".join([names[type(part)] for part in between] + ["identity"]),
        "dueling": "false",
        "steps": str(model.num_timesteps),
        "source": f"stable-baselines3 {type(model).__name__}",
    }
    network = _native.Policy.from_bytes(safetensors(tensors, card))
    return Policy(network, model.observation_space.shape)


def safetensors(tensors: dict[str, np.ndarray], card: dict[str, str]) -> bytes:
    """Arrays of single-precision numbers as a ``safetensors`` file: a length, a JSON header, the numbers."""
    import json

    header: dict[str, Any] = {"__metadata__": card}
    parts, offset = [], 0
    for name, tensor in tensors.items():
        part = np.ascontiguousarray(tensor, "<f4").tobytes()
        header[name] = {"dtype": "F32", "shape": list(tensor.shape), "data_offsets": [offset, offset + len(part)]}
        parts.append(part)
        offset += len(part)
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    return len(text).to_bytes(8, "little") + text + b"".join(parts)
