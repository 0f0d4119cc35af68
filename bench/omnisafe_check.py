"""Do OmniSafe's CPO and PPO-Lagrangian end where ours do, in a world whose best policy is known?

The world is that of `crates/learn/tests/shortcuts`: three stages, at each of which a shortcut pays 1 and is an
incident with a known probability. OmniSafe has continuous actions only, so the shortcut is taken where its action is
above 0; the probability of that is read off its Gaussian policy, and policies are judged without sampling.

    pip install omnisafe            # Python 3.8 to 3.10
    python bench/omnisafe_check.py --algorithm CPO --seeds 3
    python bench/omnisafe_check.py --algorithm PPOLag --seeds 3 --lambda-lr 0.3 --rollouts 200

OmniSafe moves its multiplier once a rollout: even at 0.3, ten times its default, incidents still fall after sixty.
Settings are those of our test where both have them, and OmniSafe's defaults elsewhere. The best policy within the
limit of 0.1 returns 1.25, and what is printed is the mean over the last quarter of the rollouts.

Ours: `cargo test -p cpss-learn --test on_policy_limits`.
"""

from __future__ import annotations

import argparse
import math
from typing import Any, ClassVar

import gymnasium.spaces as spaces
import numpy as np
import omnisafe
import torch
from omnisafe.envs.core import CMDP, env_register

RISKS = [0.05, 0.2, 0.5]
LIMIT = 0.1
ROLLOUT = 2048


def one_hot(stage: int) -> torch.Tensor:
    observation = torch.zeros(len(RISKS))
    if stage < len(RISKS):
        observation[stage] = 1.0
    return observation


@env_register
class Shortcuts(CMDP):
    """Three stages; an action above 0 takes the shortcut."""

    _support_envs: ClassVar[list[str]] = ["Shortcuts-v0"]
    need_auto_reset_wrapper = True
    need_time_limit_wrapper = False
    _num_envs = 1

    def __init__(self, env_id: str, **kwargs: Any) -> None:
        self._observation_space = spaces.Box(low=0.0, high=1.0, shape=(len(RISKS),))
        self._action_space = spaces.Box(low=-1.0, high=1.0, shape=(1,))
        self._random = np.random.default_rng(0)
        self._stage = 0

    def set_seed(self, seed: int) -> None:
        self._random = np.random.default_rng(seed)

    def reset(self, seed: int | None = None, options: dict | None = None) -> tuple[torch.Tensor, dict]:
        if seed is not None:
            self.set_seed(seed)
        self._stage = 0
        return one_hot(0), {}

    def step(self, action: torch.Tensor) -> tuple:
        shortcut = float(action.reshape(-1)[0]) > 0.0
        incident = shortcut and self._random.random() < RISKS[self._stage]
        self._stage += 1
        over = incident or self._stage == len(RISKS)
        numbers = [float(shortcut), float(incident)]
        reward, cost = (torch.as_tensor(number) for number in numbers)
        return one_hot(self._stage), reward, cost, torch.as_tensor(over), torch.as_tensor(False), {}

    def render(self) -> Any:
        return None

    def close(self) -> None:
        pass

    @property
    def max_episode_steps(self) -> int:
        return len(RISKS)


def worth(agent: Any) -> tuple[float, float]:
    """The exact return and incident rate of the policy as it is."""
    reward, incidents, alive = 0.0, 0.0, 1.0
    for stage, risk in enumerate(RISKS):
        with torch.no_grad():
            gaussian = agent._actor_critic.actor(one_hot(stage))
        above = 0.5 * (1.0 + math.erf(float(gaussian.mean / gaussian.stddev) / math.sqrt(2.0)))
        reward += alive * above
        incidents += alive * above * risk
        alive *= 1.0 - above * risk
    return reward, incidents


def train(algorithm: str, seed: int, rollouts: int, lambda_lr: float) -> list[tuple[float, float]]:
    """The worth after each rollout."""
    configuration = {
        "seed": seed,
        "train_cfgs": {"total_steps": ROLLOUT * rollouts, "torch_threads": 1, "vector_env_nums": 1},
        "algo_cfgs": {
            "steps_per_epoch": ROLLOUT,
            "update_iters": 5,
            "batch_size": 256,
            "gamma": 1.0,
            "cost_gamma": 1.0,
            "obs_normalize": False,
        },
        "logger_cfgs": {"use_wandb": False, "use_tensorboard": False, "log_dir": "/tmp/omnisafe"},
    }
    if algorithm == "CPO":
        configuration["algo_cfgs"]["cost_limit"] = LIMIT
    else:
        configuration["lagrange_cfgs"] = {"cost_limit": LIMIT, "lambda_lr": lambda_lr}
    agent = omnisafe.Agent(algorithm, "Shortcuts-v0", custom_cfgs=configuration).agent
    seen, update = [], agent._update

    def update_and_look() -> None:
        update()
        seen.append(worth(agent))

    agent._update = update_and_look
    agent.learn()
    return seen


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--algorithm", choices=["CPO", "PPOLag"], default="CPO")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--rollouts", type=int, default=60)
    parser.add_argument("--lambda-lr", type=float, default=0.035)
    arguments = parser.parse_args()
    for seed in range(arguments.seeds):
        seen = np.array(train(arguments.algorithm, seed, arguments.rollouts, arguments.lambda_lr))
        last = seen[-(arguments.rollouts // 4) :]
        (reward, rate), low, high = last.mean(axis=0), last[:, 1].min(), last[:, 1].max()
        name = f"{arguments.algorithm} seed {seed}"
        print(f"{name}: return {reward:.3f}, incidents {rate:.4f} ({low:.4f} to {high:.4f})", flush=True)


if __name__ == "__main__":
    main()
