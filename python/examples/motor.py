"""Can a drive's speed controller be kept from tripping its overcurrent protection? gym-electric-motor's DC motor.

    pip install ./python gym-electric-motor
    python python/examples/motor.py                  # some minutes; --quick takes less than one

A permanently excited DC motor on a switched supply, in steps of 10 microseconds. The controller asks for a current in proportion to the
speed error and switches towards it, with a gain that is too high: where the error is large it asks for more than the limit, and
the drive trips. The risk of every switching state is learned; under the shield the same controller runs within the limit.
"""

from __future__ import annotations

import argparse
import warnings

import gymnasium as gym

import cpss

BUDGET, GAIN = 0.02, 2.0


def make_drive(steps: int = 200) -> gym.Env:
    """The motor with a light rotor, begun at any speed; a step is worth 1 less the speed error, and a trip ends the episode."""
    import gym_electric_motor as gem
    from gym_electric_motor.physical_systems.mechanical_loads import PolynomialStaticLoad
    from gym_electric_motor.reward_functions import WeightedSumOfErrors

    begins = {"states": {"omega": 0.0}, "interval": [[-300.0, 300.0]], "random_init": "uniform"}
    drive = gem.make(
        "Finite-SC-PermExDc-v0",
        reward_function=WeightedSumOfErrors(reward_weights={"omega": 1.0}, bias="positive"),
        load=PolynomialStaticLoad(load_parameter={"a": 0.01, "b": 0.05, "c": 0.1, "j_load": 1e-5}, load_initializer=begins),
        motor={"motor_parameter": {"j_rotor": 1e-3}},
    )
    return gym.wrappers.TimeLimit(drive, steps)


def controller(observation):
    """Switches towards a current in proportion to the speed error; all of it in shares of the limits."""
    (speed, _torque, current, _voltage, _supply), (wanted,) = observation
    return 1 if current < GAIN * (wanted - speed) else 2


def tripped(observation, reward, terminated, truncated, info):
    """What must not happen: the environment ends an episode only when a limit is exceeded."""
    return terminated


def run(quick: bool) -> cpss.evaluating.Evaluation:
    # Gymnasium's checker finds that the drive's voltages may exceed their declared bounds; that is gym-electric-motor's.
    warnings.filterwarnings("ignore", message=".*is not within the observation space")
    if quick:
        make, settings, episodes = lambda: make_drive(60), {"steps": 12_000, "calibration_episodes": 80, "budgets": 0.05}, 60
    else:
        make, settings, episodes = make_drive, {"steps": 60_000, "budgets": (BUDGET, 0.05)}, 200
    risk = cpss.learn_risk(make, incident=tripped, policy=controller, **settings)
    print(risk.card)
    found = cpss.evaluate(make, risk, budget=0.05 if quick else BUDGET, policy=controller, episodes=episodes)
    print(found)
    return found


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true")
    run(parser.parse_args().quick)
