"""Can random pushes keep a pole upright? CartPole-v1: the smallest example, from nothing to a shield with a promise.

    pip install ./python
    python python/examples/cart_pole.py              # a minute; --quick takes seconds and says less
"""

from __future__ import annotations

import argparse

import cpss


def fell(observation, reward, terminated, truncated, info):
    """What must not happen."""
    return terminated


def run(quick: bool) -> cpss.evaluating.Evaluation:
    settings = {"steps": 80_000, "calibration_episodes": 70, "budgets": 0.05} if quick else {"steps": 120_000, "budgets": (0.02, 0.05)}
    budget = 0.05 if quick else 0.02
    risk = cpss.learn_risk("CartPole-v1", incident=fell, **settings)
    print(risk.card)
    found = cpss.evaluate("CartPole-v1", risk, budget=budget, episodes=40 if quick else 300)
    print(found)
    return found


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true")
    run(parser.parse_args().quick)
