"""What every test here can rely on: quiet libraries, and nothing that reaches beyond this machine."""

import concurrent.futures
import multiprocessing
import os

os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
# Ray reads this when it is imported: it then listens on this machine's own address only.
os.environ.setdefault("RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER", "0")
os.environ.setdefault("PYGAME_HIDE_SUPPORT_PROMPT", "1")
# Two cores are shared by Rust's threads and torch's; more threads than that only wait for each other.
os.environ.setdefault("OMP_NUM_THREADS", "1")

import gymnasium as gym
import highway_env  # noqa: F401  (registers the ids of the original)
import pytest

import cpss  # noqa: F401  (registers ours)

#: A highway whose episodes are over after three decisions, with little traffic.
SHORT = {"vehicles_count": 3, "duration": 3}


@pytest.fixture
def fresh_process():
    """Runs a function in a process that has played nothing else: highway-env's intersection changes class
    attributes that other tasks of the same process inherit."""

    def run(function, *arguments):
        context = multiprocessing.get_context("spawn")
        with concurrent.futures.ProcessPoolExecutor(1, mp_context=context) as pool:
            return pool.submit(function, *arguments).result(timeout=120)

    return run


@pytest.fixture(autouse=True)
def only_new_versions_are_recommended(monkeypatch):
    """Gymnasium says on every `make` that there is a `v1` of some tasks; here `v0` is meant."""
    monkeypatch.setattr(gym.logger, "deprecation", lambda *_args, **_kwargs: None)


@pytest.fixture(autouse=True)
def drivers_of_the_original_stay_as_they_are():
    """highway-env's intersection writes its drivers' settings into their class, where other tasks of the process would
    find them: no test may depend on which one ran before."""
    from highway_env.vehicle.behavior import IDMVehicle

    usual = {name: value for name, value in vars(IDMVehicle).items() if name.isupper()}
    yield
    for name, value in usual.items():
        setattr(IDMVehicle, name, value)
