"""Contract: `learn_risk` learns what can be calculated, says whether it is calibrated, and never loses a run."""

import copy
import dataclasses
import os
import pickle
import signal
import subprocess
import sys
import time
import warnings

import gymnasium as gym
import numpy as np
import pytest
from gymnasium import spaces
from ledge import Ledge, fell

import cpss
import cpss.calibration
from cpss.card import Account, Card, account_of
from cpss.numbers import ActionList, Observations, space_from_json, space_to_json
from cpss.playing import Stage


def lake():
    return gym.make("FrozenLake-v1")


def drowned(observation, reward, terminated, truncated, info):
    return terminated and reward == 0


def cliff():
    return gym.make("CliffWalking-v1", is_slippery=True, max_episode_steps=100)


def fell_off(observation, reward, terminated, truncated, info):
    return reward <= -100


WORLDS = {"lake": (lake, drowned, 240_000), "cliff": (cliff, fell_off, 160_000)}


@pytest.fixture(scope="module", params=sorted(WORLDS))
def learned(request):
    """A risk of a world that can be calculated."""
    make, incident, steps = WORLDS[request.param]
    # As many episodes to calibrate on as it takes by default: with a greatest budget of 0.2, 300 are too few to tell.
    risk = cpss.learn_risk(make, incident, steps=steps, rounds=4, budgets=(0.01, 0.03, 0.1, 0.2))
    return make, incident, risk


def exact_risks(env, incident, gamma):
    """The risk of every action in every state, by dynamic programming."""
    model, states, actions = env.unwrapped.P, env.observation_space.n, env.action_space.n
    least = np.zeros(states)
    for _ in range(4000):
        risks = np.zeros((states, actions))
        for state in range(states):
            for action in range(actions):
                for chance, following, reward, over in model[state][action]:
                    worst = incident(following, reward, over, False, {})
                    risks[state, action] += chance * (1.0 if worst else 0.0 if over else gamma * least[following])
        least = risks.min(axis=1)
    return risks


def play(env, risk, budget, episodes, seed):
    """Random proposals under a shield: which states were visited, how often an incident came, and what was promised."""
    shielded = cpss.ShieldWrapper(env, risk=risk, budget=budget)
    draw, visited, incidents, promises = np.random.default_rng(seed), set(), [], []
    for episode in range(episodes):
        observation, _ = shielded.reset(seed=seed + episode)
        over = False
        while not over:
            visited.add(int(observation))
            observation, reward, terminated, truncated, info = shielded.step(draw.integers(env.action_space.n))
            over = terminated or truncated or bool(risk.incident(observation, reward, terminated, truncated, info))
        certificate = shielded.certificate()
        incidents.append(certificate["incident"])
        promises.append(certificate["promise"])
        assert sum(certificate["account"].values()) == pytest.approx(float(certificate["incident"]), abs=1e-9)
        assert certificate["account"]["chosen"] <= budget
    return visited, np.array(incidents, float), np.array(promises)


def test_learned_risks_are_those_of_dynamic_programming_and_five_promises_hold(learned):
    make, incident, risk = learned
    assert risk.card.calibrated, risk.card
    env, visited = make(), set()
    for budget in (0.01, 0.02, 0.05, 0.1, 0.2):
        seen, incidents, promises = play(make(), risk, budget, 60, seed=10_000_000)
        visited |= seen
        rate, promise = incidents.mean(), promises.mean()
        # The lower end of a 95 % interval: what was measured must not contradict the promise.
        assert rate - 1.64 * np.sqrt(rate * (1 - rate) / len(incidents)) <= promise, (budget, rate, promise)
        assert promise < 0.5, "a promise that says nothing"
    assert len(visited) > 5
    exact = exact_risks(env, incident, risk.card.gamma)
    states = sorted(visited)
    found = risk.predict_batch(states)
    # A calibration may raise the log-odds of all risks, if few episodes cannot tell that the promise holds without. What
    # was learned is what they are without that, whichever machine learned it.
    assert risk.card.shift >= 0.0
    odds = np.clip(found, 1e-12, 1.0 - 1e-12)
    odds = odds / (1.0 - odds) * np.exp(-risk.card.shift)
    assert np.abs(odds / (1.0 + odds) - exact[states]).mean() <= 0.02
    assert (found - exact[states]).mean() >= -0.02, "a calibration does not make risks smaller"


@pytest.fixture(scope="module")
def cartpole():
    risk = cpss.learn_risk("CartPole-v1", incident=lambda observation, reward, terminated, *_: terminated, steps=100_000, calibration_episodes=100)
    return risk


def test_a_pole_that_always_falls_hardly_ever_does_under_the_shield(cartpole):
    assert cartpole.card.calibrated and cartpole.card.alone.incidents == 1.0
    env, draw = cpss.ShieldWrapper(gym.make("CartPole-v1"), risk=cartpole, budget=0.02), np.random.default_rng(0)
    falls = 0
    for episode in range(40):
        env.reset(seed=20_000_000 + episode)
        over = False
        while not over:
            _, _, terminated, truncated, info = env.step(draw.integers(2))
            over = terminated or truncated
        falls += terminated
        assert info["shield"]["promise"] < 0.5
    assert falls <= 2, "less than 95 % fewer"


SOON = dict(steps=40_000, rounds=4, calibration_episodes=200, budgets=(0.02, 0.05), hidden=(32,))


def test_a_card_tells_of_episodes_that_nothing_was_decided_by(monkeypatch):
    plays, play = [], Stage.play

    def watched(stage, behaviours, by=None, decisions=None):
        played = play(stage, behaviours, by, decisions)
        if decisions is None:
            plays.append(({behaviour.seed for behaviour in behaviours}, played))
        return played

    monkeypatch.setattr(Stage, "play", watched)
    card = cpss.learn_risk(Ledge, fell, **SOON).card
    assert card.calibrated, card
    told = [place for place, (_, played) in enumerate(plays) if repr(account_of(played, 2)) == repr(card.shielded)]
    assert len(told) == 1
    assert not any(plays[told[0]][0] & seeds for place, (seeds, _) in enumerate(plays) if place != told[0])
    measured = cpss.calibration.measured
    fails = lambda trial, *others: measured(trial, *others) if others[-1] == trial.seed + trial.episodes else dataclasses.replace(others[1], shielded=Account())  # noqa: E731
    monkeypatch.setattr(cpss.calibration, "measured", fails)
    assert not cpss.learn_risk(Ledge, fell, **SOON).card.calibrated, "what does not hold there is not promised"


def test_where_no_shift_holds_nothing_is_promised(monkeypatch):
    monkeypatch.setattr(cpss.calibration, "shift_of", lambda *_: (None, Account()))
    card = cpss.learn_risk(Ledge, fell, **SOON).card
    assert card.budgets == () and not card.calibrated and not card.promises(0.05)
    assert "no shift" in str(card)


QUICK = dict(steps=4000, rounds=2, calibration_episodes=20, hidden=(16,))


def test_the_same_seed_gives_the_same_risk_and_another_seed_another():
    first, again, other = (cpss.learn_risk(Ledge, fell, **QUICK, seed=seed).to_bytes() for seed in (3, 3, 4))
    assert first == again
    assert first != other


@pytest.mark.parametrize("observations", ["discrete", "box", "dict"])
@pytest.mark.parametrize("actions", ["discrete", "multi-discrete", "multi-binary"])
def test_every_space_is_served(observations, actions):
    risk = cpss.learn_risk(lambda: Ledge(observations, actions), fell, **{**QUICK, "steps": 20_000, "hidden": (32,)})
    env = Ledge(observations, actions)
    observation, _ = env.reset(seed=0)
    towards, away = {"discrete": (0, 2), "multi-discrete": (1, 5), "multi-binary": (2, 1)}[actions]
    env._at = 1
    risks = risk.predict(env._see(1))
    assert risks[towards] > 0.8 and risks[away] < risks[towards] - 0.5, "one step from the abyss"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        shielded = cpss.ShieldWrapper(env, risk=risk, budget=0.05)
    shielded.reset(seed=1)
    env._at = 1
    shielded._observation = env._see(1)
    proposal = ActionList(env.action_space).write(towards)
    *_, info = shielded.step(proposal)
    assert info["shield"]["verdict"] == "replace"
    assert np.array_equal(info["shield"]["proposed_action"], proposal)
    assert not np.array_equal(info["shield"]["executed_action"], proposal)


def test_points_of_a_box_are_judged_as_inputs_of_the_critic():
    risk = cpss.learn_risk(lambda: Ledge("box", "box"), fell, **{**QUICK, "steps": 30_000, "hidden": (32, 32)})
    at_the_edge = np.array([[1.0], [1.0]])
    towards, away = risk.predict(at_the_edge, [[-2.5, 0.0], [2.5, 0.0]])
    assert towards > 0.8 and away < 0.5
    with pytest.raises(ValueError, match="one per row"):
        risk.predict(at_the_edge)


def test_a_file_and_a_copy_say_the_same(tmp_path):
    risk = cpss.learn_risk(lambda: Ledge("dict"), fell, **QUICK)
    risk.save(tmp_path / "ledge.risk")
    loaded = cpss.Risk.load(tmp_path / "ledge.risk")
    observation = Ledge("dict").reset(seed=1)[0]
    for other in (loaded, pickle.loads(pickle.dumps(risk)), copy.deepcopy(risk)):
        assert np.array_equal(other.predict(observation), risk.predict(observation))
        assert other.card == risk.card or repr(other.card) == repr(risk.card)
        assert other.observation_space == risk.observation_space
    assert loaded.incident is None
    assert Card.from_json(risk.card.to_json()).to_json() == risk.card.to_json()
    data = (tmp_path / "ledge.risk").read_bytes()
    # Another format, behind a checksum that nobody asks for.
    foreign = data.replace(b"cpss-checksum", b"cpss-unsealed").replace(b"cpss critics 1", b"cpss critics 9")
    for damaged, why in ((data[: len(data) // 2], "not whole"), (foreign, "critics 9"), (b"", "cannot be read")):
        (tmp_path / "bad.risk").write_bytes(damaged)
        with pytest.raises(ValueError, match=f"bad.risk.*{why}"):
            cpss.Risk.load(tmp_path / "bad.risk")


def test_a_reliability_plot_is_drawn(tmp_path):
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    risk = cpss.learn_risk(Ledge, fell, **QUICK)
    axes = risk.plot()
    axes.figure.savefig(tmp_path / "reliability.png")
    assert len(axes.lines) > 2 and (tmp_path / "reliability.png").stat().st_size > 1000


KILLED = """
import sys
sys.path.insert(0, sys.argv[1])
import cpss, ledge
risk = cpss.learn_risk(ledge.Ledge, ledge.fell, steps=24_000, rounds=6, calibration_episodes=20, hidden=(16,), seed=5, checkpoint=sys.argv[2])
risk.save(sys.argv[3])
"""


def test_a_run_killed_at_any_moment_goes_on_and_makes_the_same_risk(tmp_path):
    folder, checkpoint, out = os.path.dirname(__file__), tmp_path / "run.checkpoint", tmp_path / "killed.risk"
    command = [sys.executable, "-c", KILLED, folder, str(checkpoint), str(out)]
    for kill in range(2):
        before = checkpoint.stat().st_mtime_ns if kill else 0
        process = subprocess.Popen(command)
        deadline = time.monotonic() + 60
        while process.poll() is None and time.monotonic() < deadline:
            if checkpoint.exists() and checkpoint.stat().st_mtime_ns > before:
                process.send_signal(signal.SIGKILL)
                break
            time.sleep(0.002)
        assert process.wait() == -signal.SIGKILL, "it was over before it could be killed"
    subprocess.run(command, check=True, timeout=120)
    assert not checkpoint.exists()
    whole = [*command[:-2], str(tmp_path / "other.checkpoint"), str(tmp_path / "whole.risk")]
    subprocess.run(whole, check=True, timeout=120)
    assert out.read_bytes() == (tmp_path / "whole.risk").read_bytes()


def test_a_checkpoint_of_another_run_is_refused(tmp_path):
    path = tmp_path / "run.checkpoint"
    path.write_bytes(b"nonsense")
    with pytest.raises(ValueError, match="delete it to start again"):
        cpss.learn_risk(Ledge, fell, **QUICK, checkpoint=path)
    with pytest.raises(ValueError, match="no folder"):
        cpss.learn_risk(Ledge, fell, **QUICK, checkpoint=tmp_path / "nowhere" / "run")


@pytest.mark.parametrize(
    "change, words",
    [
        (dict(incident=3), "`incident` is 3"),
        (dict(make_env=7), "`make_env` is 7"),
        (dict(make_env=lambda: 7), "`make_env` gave 7"),
        (dict(policy=7), "`policy` is 7"),
        (dict(steps=10), "`steps` is 10"),
        (dict(budgets=()), "`budgets`"),
        (dict(budgets=2.0), "`budgets`"),
        (dict(budgets="0.1"), "`budgets` is '0.1'"),
        (dict(calibration_episodes=-1), "`calibration_episodes` is -1"),
        (dict(max_episode_steps=0), "`max_episode_steps` is 0"),
        (dict(look_ahead=0.5), "`look_ahead`"),
        (dict(make_env=lambda: gym.make("CartPole-v1"), policy=lambda observation: 9), "9"),
    ],
)
def test_mistakes_are_named(change, words):
    with pytest.raises(ValueError, match=words):
        cpss.learn_risk(**{"make_env": Ledge, "incident": fell, **QUICK, **change})


def test_a_row_is_not_the_environments_own_array():
    seen = np.array([1.0, 2.0], np.float32)
    row = Observations(spaces.Box(-9, 9, (2,))).row(seen)
    seen[:] = 7.0
    assert row.tolist() == [1.0, 2.0]


def test_a_row_is_what_gymnasium_makes_of_an_observation():
    nested = {"b": spaces.MultiBinary([2, 2]), "a": spaces.Tuple([spaces.Discrete(3, start=-1), spaces.Box(0, 9, (2, 2), np.uint8), spaces.MultiDiscrete([2, 3], start=[1, 0])])}
    for space in (spaces.Dict(nested), spaces.Tuple(list(nested.values())), spaces.MultiDiscrete([3, 4]), spaces.MultiBinary(3), spaces.Discrete(4, start=2)):
        space.seed(0)
        for observation in (space.sample() for _ in range(20)):
            assert np.array_equal(Observations(space).row(observation), spaces.flatten(space, observation).astype(np.float32))
    with pytest.raises(ValueError):
        Observations(spaces.Tuple([spaces.Discrete(2), spaces.Discrete(2)])).row((1,))
    with pytest.raises(ValueError, match="3 numbers"):
        Observations(spaces.Dict({"a": spaces.Box(0, 1, (2,))})).row({"a": np.zeros(3)})


def test_spaces_that_cannot_be_counted_are_refused():
    with pytest.raises(ValueError, match="at most 256"):
        ActionList(spaces.MultiDiscrete([20, 20]))
    with pytest.raises(ValueError, match="at most 4096"):
        Observations(spaces.Box(0, 255, (84, 84, 3), np.uint8))
    with pytest.raises(ValueError, match="Text"):
        Observations(spaces.Dict({"words": spaces.Text(5)}))


@pytest.mark.parametrize(
    "space",
    [
        spaces.Box(-np.inf, np.inf, (3,)),
        spaces.Box(np.array([0.1, -2.0]), np.array([1.0, 3.0]), dtype=np.float64),
        spaces.Discrete(4, start=-2),
        spaces.MultiDiscrete([2, 3], start=[1, 0]),
        spaces.Dict({"b": spaces.MultiBinary([2, 2]), "a": spaces.Tuple([spaces.Discrete(2), spaces.Box(0, 1, (2, 2), np.uint8)])}),
    ],
)
def test_a_space_in_a_file_is_the_same_space(space):
    import json

    assert space_from_json(json.loads(json.dumps(space_to_json(space)))) == space
    if isinstance(space, (spaces.Discrete, spaces.MultiDiscrete)):
        actions = ActionList(space)
        assert [actions.read(actions.write(place)) for place in range(actions.count)] == list(range(actions.count))


@pytest.mark.parametrize(
    ("incident", "words"),
    [
        (lambda *outcome: None, "it gave None: does it return anything"),
        (lambda observation, reward: reward < 0, "positional argument"),
        (lambda *outcome: np.array([True, False]), "truth value"),
    ],
)
def test_regression_an_incident_that_cannot_be_asked_is_named(incident, words):
    with pytest.raises(ValueError, match=f"`incident` has to be a function of .*{words}"):
        cpss.learn_risk("CartPole-v1", incident=incident, steps=1000)


def test_regression_what_never_happens_is_not_called_calibrated():
    risk = cpss.learn_risk("CartPole-v1", incident=lambda *outcome: False, steps=1000, rounds=1)
    assert not risk.card.calibrated and not risk.card.promises(0.03)
    assert "not one incident was seen" in str(risk.card)
    with pytest.warns(RuntimeWarning, match="NOT CALIBRATED"):
        cpss.ShieldWrapper(gym.make("CartPole-v1"), risk=risk, budget=0.03)
    with pytest.raises(ValueError, match="it is a probability"):
        cpss.ShieldWrapper(gym.make("CartPole-v1"), risk=risk, budget=5)


def test_regression_an_assumed_length_of_episodes_is_told():
    def make():
        return gym.make("CartPole-v1").unwrapped

    fell = lambda observation, reward, terminated, truncated, info: terminated  # noqa: E731
    assumed = cpss.learn_risk(make, incident=fell, steps=1000, rounds=1, calibration_episodes=10)
    assert "give `max_episode_steps`" in str(assumed.card)
    told = cpss.learn_risk(make, incident=fell, steps=1000, rounds=1, calibration_episodes=10, max_episode_steps=100)
    assert "max_episode_steps" not in str(told.card)
