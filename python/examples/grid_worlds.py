"""Is a learned risk right? FrozenLake-v1 and CliffWalking-v1 are small enough to calculate it exactly.

    pip install ./python
    python python/examples/grid_worlds.py            # some minutes; --quick takes one world and less time

Both are slippery: what runs is often not what was chosen. The risk of every action is learned from random walks, compared with
dynamic programming over the environment's own table of transitions, and tried out under five budgets.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable

import gymnasium as gym
import numpy as np

import cpss

BUDGETS = (0.01, 0.02, 0.05, 0.1, 0.2)


def lake() -> gym.Env:
    return gym.make("FrozenLake-v1")


def drowned(observation, reward, terminated, truncated, info):
    """What must not happen on the lake."""
    return terminated and reward == 0


def cliff() -> gym.Env:
    return gym.make("CliffWalking-v1", is_slippery=True, max_episode_steps=100)


def fell_off(observation, reward, terminated, truncated, info):
    """What must not happen on the cliff; the environment itself only puts the walker back."""
    return reward <= -100


def exact_risks(env: gym.Env, incident: Callable, gamma: float) -> np.ndarray:
    """The risk of every action in every state, by dynamic programming."""
    model, shape = env.unwrapped.P, (env.observation_space.n, env.action_space.n)
    least = np.zeros(shape[0])
    for _ in range(4000):
        risks = np.zeros(shape)
        for state, action in np.ndindex(*shape):
            for chance, following, reward, over in model[state][action]:
                worst = incident(following, reward, over, False, {})
                risks[state, action] += chance * (1.0 if worst else 0.0 if over else gamma * least[following])
        if np.allclose(least, risks.min(axis=1), rtol=0.0, atol=1e-12):
            break
        least = risks.min(axis=1)
    return risks


def compare(name: str, make: Callable[[], gym.Env], incident: Callable, steps: int, episodes: int) -> tuple[float, list[cpss.evaluating.Evaluation]]:
    risk = cpss.learn_risk(make, incident, steps=steps, rounds=4, budgets=(0.01, 0.03, 0.1, 0.2))
    exact = exact_risks(make(), incident, risk.card.gamma)
    found = [cpss.evaluate(make, risk, budget=budget, episodes=episodes) for budget in BUDGETS]
    # Where a walk under a shield may lead: not into states that only the table knows.
    states = visited(make(), risk)
    error = float(np.abs(risk.predict_batch(states) - exact[states]).mean())
    print(f"{name}: {'calibrated' if risk.card.calibrated else 'NOT calibrated'}; mean error of {len(states)} states' risks {error:.4f}")
    print(f"  random walks: incidents {found[0].alone.incidents:.3f}")
    for budget, each in zip(BUDGETS, found):
        print(f"  budget {budget:g}: incidents {each.shielded.incidents:.3f}, promised {each.promise if each.promise is None else round(each.promise, 3)}")
    return error, found


def visited(env: gym.Env, risk: cpss.Risk) -> list[int]:
    """States that random walks under a shield come to."""
    shielded, seen = cpss.ShieldWrapper(env, risk=risk, budget=0.1), set()
    shielded.action_space.seed(0)
    for episode in range(60):
        observation, _ = shielded.reset(seed=episode)
        over = False
        while not over:
            seen.add(int(observation))
            observation, reward, terminated, truncated, info = shielded.step(shielded.action_space.sample())
            over = terminated or truncated or bool(risk.incident(observation, reward, terminated, truncated, info))
    return sorted(seen)


def run(quick: bool) -> list[tuple[float, list[cpss.evaluating.Evaluation]]]:
    worlds = [("CliffWalking-v1", cliff, fell_off, 160_000)] if quick else [("CliffWalking-v1", cliff, fell_off, 160_000), ("FrozenLake-v1", lake, drowned, 240_000)]
    return [compare(*world, episodes=100 if quick else 300) for world in worlds]


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true")
    run(parser.parse_args().quick)
