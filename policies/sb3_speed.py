"""How fast does Stable-Baselines3 train a DQN on highway-env?

The settings are those of highway-env's own script, which are also the defaults of `cpss train`
(`policies/sb3.toml`), on one thread. Prints one line.

    pip install highway-env==1.12.1 stable-baselines3 torch
    python policies/sb3_speed.py merge-v0 1000
"""

import sys
import time

import gymnasium
import highway_env  # noqa: F401, registers the tasks
import torch
from stable_baselines3 import DQN


def main() -> None:
    env, steps = sys.argv[1], int(sys.argv[2])
    torch.set_num_threads(1)
    model = DQN(
        "MlpPolicy",
        gymnasium.make(env),
        policy_kwargs={"net_arch": [256, 256]},
        learning_rate=5e-4,
        buffer_size=15_000,
        learning_starts=200,
        batch_size=32,
        gamma=0.8,
        train_freq=1,
        gradient_steps=1,
        target_update_interval=50,
        device="cpu",
        seed=0,
    )
    start = time.perf_counter()
    model.learn(steps)
    seconds = time.perf_counter() - start
    print(f"{env}: {steps} steps, {seconds:.1f} s, {steps / seconds:.1f} steps/s")


if __name__ == "__main__":
    main()
