"""How many transitions a second does `learn_risk` handle, its environment apart? And how long does it look for a point?

    python python/bench_learning.py

An environment that costs next to nothing is learned, and its own time is taken off. A transition is one that is played and kept,
learned from, or played to calibrate. Prints transitions per second of the clock and per second of a processor; then, for boxes of
actions, how long it takes to find the least risky point, and the admissible one nearest to a proposal that is refused.
"""

import os
import time

import gymnasium as gym
import numpy as np

import cpss
from cpss import _native


class Cheap(gym.Env):
    """Eight numbers from a table, four actions; now and then an incident."""

    observation_space, action_space = gym.spaces.Box(-1, 1, (8,)), gym.spaces.Discrete(4)
    table = np.random.default_rng(0).uniform(-1, 1, (1024, 8)).astype(np.float32)
    steps = 0

    def reset(self, *, seed=None, options=None):
        self.at, self.time = int(seed or 0) * 7, 0
        return self.table[self.at % 1024], {}

    def step(self, action):
        Cheap.steps += 1
        self.at, self.time = self.at + 1 + action, self.time + 1
        return self.table[self.at % 1024], 0.0, self.at % 97 == 0, self.time >= 200, {}


def main() -> None:
    transitions()
    for dimensions in (2, 8, 16):
        nearest(dimensions)


def nearest(dimensions: int, tries: int = 300) -> None:
    """How long it takes to judge a point that is refused, and one that is not."""
    learner = _native.RiskLearner(8, 1, dimensions, {"groups": 4, "gamma": 0.99, "batch": 256})
    learner.set_scale(np.zeros(8, np.float32), np.ones(8, np.float32))
    draw = np.random.default_rng(0)
    rows = draw.uniform(-1, 1, (20_000, 8 + dimensions)).astype(np.float32)
    # An incident comes where the sum of a point's numbers is great.
    learner.push(rows, np.zeros(len(rows), np.int64), np.where(rows[:, 8:].sum(1) > 0.5 * dimensions**0.5, 2, 1).astype(np.uint8))
    learner.learn(400, 0, 400)
    model, took = learner.model(), []
    for proposal in (np.ones(dimensions, np.float32), -np.ones(dimensions, np.float32)):
        begin = time.perf_counter()
        for row in rows[:tries, :8].copy():
            model.project(row, proposal, 0.01)
        took.append(1e6 * (time.perf_counter() - begin) / tries)
    print(f"a box of {dimensions} dimensions: {took[0]:.0f} us for a point that is refused, {took[1]:.0f} us for one that is admitted; load {os.getloadavg()[0]:.1f}")


def transitions() -> None:
    """The rate of learning."""
    env, tries = Cheap(), 200_000
    env.reset(seed=0)
    begin = time.perf_counter()
    for count in range(tries):
        env.step(count & 3)
    each, Cheap.steps = (time.perf_counter() - begin) / tries, 0
    clock, processor = time.perf_counter(), time.process_time()
    risk = cpss.learn_risk(Cheap, lambda observation, reward, terminated, *_: terminated, steps=300_000)
    clock, processor = time.perf_counter() - clock, time.process_time() - processor
    own = Cheap.steps * each
    print(f"{Cheap.steps} transitions, of which {risk.card.steps} were learned from; the environment took {1e6 * each:.2f} us of each")
    print(f"{Cheap.steps / (clock - own):,.0f} transitions/s by the clock, {Cheap.steps / (processor - own):,.0f} per second of a processor; load {os.getloadavg()[0]:.1f}")


if __name__ == "__main__":
    main()
