"""Contract: traces of driving tasks are a log; what they show is what the environment shows, and a spoiled one is refused."""

import numpy as np
import pytest

import cpss
from cpss.traces import observation_config

PLAN = {"tasks": ["highway-v0"], "arms": ["dqn", "cpss"], "policies": [0], "episodes": 3, "budgets": [], "thresholds": []}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    out = tmp_path_factory.mktemp("sweep")
    cpss.sweep(PLAN, out=out)
    return out / "traces"


def test_a_risk_is_fitted_to_traces_and_stands_behind_a_shield(folder):
    traces = cpss.Traces(folder)
    episodes = list(traces)
    assert len(episodes) == len(list(folder.glob("*.jsonl"))) > 4
    assert any(episode["incidents"][-1] for episode in episodes) and any(episode["truncations"][-1] for episode in episodes)
    risk = cpss.fit_risk(folder, updates=200)
    assert risk.card.steps == sum(len(episode["actions"]) for episode in episodes) and not risk.card.calibrated
    assert risk.to_bytes() == cpss.fit_risk(traces, updates=200).to_bytes(), "a folder, or what was read from it"
    env = cpss.make("highway-v0", config={"observation": observation_config()})
    with pytest.warns(RuntimeWarning, match="NOT CALIBRATED"):
        shielded = cpss.ShieldWrapper(env, risk=risk, budget=0.05, incident=lambda observation, reward, terminated, truncated, info: info["crashed"])
    shielded.reset(seed=0)
    *_, info = shielded.step(1)
    assert 0.0 <= info["shield"]["risk"] <= 1.0


def test_what_a_trace_shows_is_what_the_environment_shows(folder):
    (path, *_) = sorted(folder.glob("highway-v0_stationary_dqn_*.jsonl"))
    (episode,) = cpss.Traces(path)
    config = {**cpss.load_policy("highway-v0", seed=0).config, "observation": observation_config()}
    env = cpss.make("highway-v0", config=config)
    observation, _ = env.reset(seed=int(path.stem.split("_")[-1]))
    for seen, action, reward in zip(episode["observations"], episode["actions"], episode["rewards"]):
        # Poses in a trace are rounded to the centimetre, and cars as far away as each other along the road may stand in another
        # order; of two that are the farthest, either may be the one that is left out.
        farthest = np.abs(observation[1:, 1]).max()
        compared = [seen[0], *(row for row in seen[1:] if abs(row[1]) < farthest - 0.05)]
        assert len(compared) >= 3
        for expected in compared:
            assert np.abs(observation - expected).max(axis=1).min() < 0.05, (expected, observation)
        observation, found, *_ = env.step(action)
        assert found == pytest.approx(reward)


def test_a_spoiled_trace_is_refused(folder, tmp_path):
    lines = sorted(folder.glob("*.jsonl"))[0].read_bytes().splitlines(keepends=True)
    spoiled = tmp_path / "spoiled.jsonl"
    edited = [*lines[:3], lines[3].replace(b'"t":2', b'"t":7'), *lines[4:]]
    for words, found in (("line 4", edited), ("line 5", lines[:5]), ("line 3", [*lines[:2], *lines[3:]]), ("no whole trace", []), ("line 1", [b"nonsense"])):
        spoiled.write_bytes(b"".join(found))
        with pytest.raises(ValueError, match=f"spoiled.jsonl: .*{words}"):
            cpss.Traces(spoiled)
    with pytest.raises(ValueError, match="there is no trace"):
        cpss.Traces(tmp_path / "..")
