"""Can a policy that still crashes be made to land? LunarLander-v3, from nothing to a shield with a promise.

    pip install './python[sb3]' 'gymnasium[box2d]'
    python python/examples/lunar_lander.py            # about ten minutes on two cores

A PPO is stopped early, so that it crashes in a good part of its episodes. The risk of every action is learned, and both are
compared on fresh seeds: crashes, return, and what was promised.
"""

from __future__ import annotations

import time

import gymnasium as gym
import numpy as np
from gymnasium.vector import AutoresetMode, SyncVectorEnv
from stable_baselines3 import PPO
from stable_baselines3.common.env_util import make_vec_env

import cpss

LANDER, BUDGET, EPISODES, COPIES = "LunarLander-v3", 0.02, 300, 30


def crashed(observation, reward, terminated, truncated, info):
    """What must not happen."""
    return terminated and reward <= -100


def early_policy() -> PPO:
    """A PPO of 81,920 steps, which is not enough."""
    envs = make_vec_env(LANDER, 16, seed=1)
    model = PPO("MlpPolicy", envs, n_steps=1024, batch_size=64, gae_lambda=0.98, gamma=0.999, n_epochs=4, ent_coef=0.01, seed=1, device="cpu")
    return model.learn(81_920)


def play(model: PPO, risk: cpss.Risk, mode: str) -> tuple[float, float, float, float]:
    """Crashes, return, promise and interventions of fresh episodes; each copy plays as many."""
    envs = SyncVectorEnv([lambda: gym.make(LANDER)] * COPIES, autoreset_mode=AutoresetMode.SAME_STEP)
    shielded = cpss.ShieldVectorWrapper(envs, risk=risk, budget=BUDGET, mode=mode)
    observations, _ = shielded.reset(seed=list(range(50_000_000, 50_000_000 + COPIES)))
    left, totals = np.full(COPIES, EPISODES // COPIES), np.zeros(COPIES)
    crashes, returns, promises, refused, decisions = [], [], [], 0, 0
    while left.any():
        actions, _ = model.predict(observations, deterministic=True)
        observations, rewards, terminations, truncations, infos = shielded.step(actions)
        totals += rewards
        refused += int(((infos["shield"]["verdict"] != "admit") & (left > 0)).sum())
        decisions += int((left > 0).sum())
        for i in np.flatnonzero(terminations | truncations):
            if left[i]:
                crashes.append(bool(terminations[i] and rewards[i] <= -100))
                returns.append(totals[i])
                promises.append(infos["shield"]["promise"][i])
                left[i] -= 1
            totals[i] = 0.0
    return float(np.mean(crashes)), float(np.mean(returns)), float(np.mean(promises)), refused / decisions


def main() -> None:
    model = early_policy()
    begin = time.perf_counter()
    risk = cpss.learn_risk(lambda: gym.make(LANDER), incident=crashed, policy=model, steps=300_000, budgets=(BUDGET, 0.05), progress=True)
    print(f"learned in {time.perf_counter() - begin:.0f} s, {time.process_time():.0f} s of a processor since the start")
    print(risk.card)
    risk.save("lunar_lander.risk")
    for mode in ("shadow", "enforce"):
        crashes, total, promise, interventions = play(model, risk, mode)
        name = "alone" if mode == "shadow" else f"with the shield, budget {BUDGET}"
        print(f"{name}: crashes {crashes:.3f}, return {total:.1f}, promised {promise:.3f}, interventions {100 * interventions:.1f} %")


if __name__ == "__main__":
    main()
