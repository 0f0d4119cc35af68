"""Can a policy that still crashes be made to land? LunarLander-v3, from nothing to a shield with a promise.

    pip install './python[sb3]' 'gymnasium[box2d]'
    python python/examples/lunar_lander.py                 # a PPO stopped early; about ten minutes on two cores
    python python/examples/lunar_lander.py --continuous    # thrust as points of a box, with a pilot who brakes too late
    python python/examples/lunar_lander.py --quick         # that pilot and four actions; a minute, and says less

The policy crashes in a good part of its episodes. The risk of every action is learned, and both are compared on fresh seeds:
crashes, return, and what was promised.
"""

from __future__ import annotations

import argparse
import time
from typing import Any

import gymnasium as gym
import numpy as np

import cpss

LANDER, BUDGET = "LunarLander-v3", 0.02


def crashed(observation, reward, terminated, truncated, info):
    """What must not happen."""
    return terminated and reward <= -100


def early_policy(seed: int = 1, steps: int = 81_920) -> Any:
    """A PPO of too few steps."""
    from stable_baselines3 import PPO
    from stable_baselines3.common.env_util import make_vec_env

    envs = make_vec_env(LANDER, 16, seed=seed)
    model = PPO("MlpPolicy", envs, n_steps=1024, batch_size=64, gae_lambda=0.98, gamma=0.999, n_epochs=4, ent_coef=0.01, seed=seed, device="cpu")
    return model.learn(steps)


def late_pilot(brake: float, continuous: bool):
    """A pilot by hand: steers towards the pad, and brakes with this gain, of which 0.5 would do."""

    def fly(observation):
        x, y, speed_x, speed_y, angle, turning, left_leg, right_leg = observation
        turn = (np.clip(0.5 * x + speed_x, -0.4, 0.4) - angle) * 0.5 - turning
        lift = (0.55 * abs(x) - y) * 0.5 - speed_y * brake
        if left_leg or right_leg:
            turn, lift = 0.0, -speed_y * 0.5
        if continuous:
            return np.clip([20 * lift - 1, -20 * turn], -1, 1).astype(np.float32)
        return 2 if lift > max(abs(turn), 0.05) else 3 if turn < -0.05 else 1 if turn > 0.05 else 0

    return fly


def run(quick: bool = False, continuous: bool = False, policy: Any = None, seed: int = 0) -> cpss.evaluating.Evaluation:
    def make():
        return gym.make(LANDER, continuous=continuous)

    if quick or continuous:
        policy = late_pilot(0.37 if continuous else 0.42, continuous)
    elif policy is None:
        policy = early_policy()
    steps, budgets = (40_000, (0.05,)) if quick else (120_000, (BUDGET, 0.05)) if continuous else (600_000, (BUDGET, 0.05))
    begin = time.perf_counter()
    risk = cpss.learn_risk(make, incident=crashed, policy=policy, steps=steps, budgets=budgets, seed=seed, calibration_episodes=100 if quick else None, progress=not quick)
    print(f"learned in {time.perf_counter() - begin:.0f} s")
    print(risk.card)
    found = cpss.evaluate(make, risk, budget=budgets[0], policy=policy, episodes=60 if quick else 300)
    print(found)
    return found


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--continuous", action="store_true")
    given = parser.parse_args()
    run(given.quick, given.continuous)
