"""A small world for tests: a walk on a ledge. Position 0 is the abyss, and the wind blows towards it now and then."""

import gymnasium as gym
import numpy as np
from gymnasium import spaces

#: Positions; the last one is as far from the abyss as can be.
SIZE = 6
#: How likely the wind takes a step towards the abyss.
WIND = 0.2

OBSERVATIONS = {
    "discrete": (spaces.Discrete(SIZE, start=1), lambda at: at + 1),
    "box": (spaces.Box(-10.0, 10.0, (2, 1), np.float64), lambda at: np.array([[float(at)], [1.0]])),
    "dict": (
        spaces.Dict({"at": spaces.Discrete(SIZE), "far": spaces.Tuple([spaces.Box(0, SIZE, (1,)), spaces.MultiBinary(2)])}),
        lambda at: {"at": at, "far": (np.array([at], np.float32), np.array([at % 2, 1], np.int8))},
    ),
}
#: Each with what moves towards the abyss (-1), stays (0), and away from it (1).
ACTIONS = {
    "discrete": (spaces.Discrete(3, start=-1), lambda action: int(action)),
    "multi-discrete": (spaces.MultiDiscrete([3, 2]), lambda action: int(action[0]) - 1 if action[1] else 0),
    "multi-binary": (spaces.MultiBinary(2), lambda action: int(action[1]) - int(action[0])),
    "box": (spaces.Box(-3.0, 3.0, (2,), np.float32), lambda action: int(np.sign(action[0])) if abs(action[0]) > 1.0 else 0),
}


class Ledge(gym.Env):
    """Walks for 20 steps; a fall terminates."""

    def __init__(self, observations="discrete", actions="discrete", steps=20, fall_ends=True):
        self.observation_space, self.action_space = OBSERVATIONS[observations][0], ACTIONS[actions][0]
        self._kinds, self._steps, self._fall_ends = (observations, actions), steps, fall_ends

    def _see(self, at):
        return OBSERVATIONS[self._kinds[0]][1](at)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self._at, self._left = 3, self._steps
        return self._see(self._at), {}

    def step(self, action):
        assert self.action_space.contains(action), action
        wind = -1 if self.np_random.random() < WIND else 0
        self._at = int(np.clip(self._at + ACTIONS[self._kinds[1]][1](action) + wind, 0, SIZE - 1))
        self._left -= 1
        fell = self._at == 0
        return self._see(self._at), float(SIZE - self._at), fell and self._fall_ends, self._left <= 0, {"fell": fell}


def fell(observation, reward, terminated, truncated, info):
    """What must not happen."""
    return info["fell"]
