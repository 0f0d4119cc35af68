"""Contract: a risk fitted to a log agrees with what the log shows, takes what nobody tried as the worst, and says so."""

import gymnasium as gym
import numpy as np
import pytest
from ledge import SIZE, WIND, Ledge, fell

import cpss
from cpss.fitting import episodes_of
from cpss.playing import INCIDENT, OVER, UNKNOWN


def record(episodes=600, tried=(-1, 0, 1)):
    """What somebody did on the ledge: arrays with one row per decision."""
    env, draw = Ledge(), np.random.default_rng(0)
    log = {name: [] for name in ("observations", "actions", "rewards", "terminations", "truncations", "incidents")}
    for seed in range(episodes):
        observation, _ = env.reset(seed=seed)
        over = False
        while not over:
            action = int(draw.choice(tried))
            following, reward, terminated, truncated, info = env.step(action)
            for name, value in zip(log, (observation, action, reward, terminated, truncated, info["fell"])):
                log[name].append(value)
            observation, over = following, terminated or truncated
    return {name: np.array(values) for name, values in log.items()}


SPACES = dict(observation_space=Ledge().observation_space, action_space=Ledge().action_space)


def exact(gamma, actions=(-1, 0, 1)):
    """The risk of every action at every position, by dynamic programming."""
    least = np.zeros(SIZE)
    least[0] = 1.0
    for _ in range(3000):
        risks = np.ones((SIZE, len(actions)))
        for at in range(1, SIZE):
            for place, action in enumerate(actions):
                ends = [(1 - WIND, action), (WIND, action - 1)]
                risks[at, place] = sum(
                    chance * (1.0 if at + move <= 0 else gamma * least[min(at + move, SIZE - 1)]) for chance, move in ends
                )
        least[1:] = risks[1:].min(axis=1)
    return risks


def test_a_log_of_every_action_gives_the_risks_of_dynamic_programming():
    risk = cpss.fit_risk(record(), **SPACES)
    found = risk.predict_batch([at + 1 for at in range(1, SIZE)])
    assert np.abs(found - exact(risk.card.gamma)[1:]).mean() < 0.04
    assert not risk.card.calibrated and "nothing is promised" in str(risk.card)


def test_what_nobody_tried_is_taken_as_the_worst_and_said():
    log = record(tried=(0, 1))
    risk = cpss.fit_risk(log, **SPACES)
    found = risk.predict_batch([at + 1 for at in range(1, SIZE)])
    assert (found[:, 0] > 0.95).all(), "towards the abyss: never tried"
    assert np.abs(found[:, 1:] - exact(risk.card.gamma, (0, 1))[1:]).mean() < 0.04, "what was tried is as it was"
    assert any("never tried" in note and "33 %" in note for note in risk.card.notes), risk.card.notes


def test_every_form_of_a_log_says_the_same():
    log = record(150)
    ends = np.flatnonzero(log["terminations"] | log["truncations"])
    episodes = [{name: values[begin : end + 1] for name, values in log.items()} for begin, end in zip([0, *(ends[:-1] + 1)], ends)]
    plain = cpss.fit_risk(log, **SPACES, updates=400)
    assert cpss.fit_risk(episodes, **SPACES, updates=400).to_bytes() == plain.to_bytes()
    by_function = cpss.fit_risk(log, lambda observation, reward, terminated, truncated, info: terminated, **SPACES, updates=400)
    assert by_function.to_bytes() == plain.to_bytes(), "a fall terminates"
    assert cpss.fit_risk(log, **SPACES, updates=400, seed=1).to_bytes() != plain.to_bytes()


def test_a_minari_data_set_is_read(tmp_path, monkeypatch):
    import minari
    from minari.data_collector import EpisodeBuffer

    monkeypatch.setenv("MINARI_DATASETS_PATH", str(tmp_path))
    env, buffers = gym.make("CartPole-v1"), []
    draw = np.random.default_rng(0)
    for seed in range(40):
        seen, actions, rewards, over = [env.reset(seed=seed)[0]], [], [], False
        while not over:
            actions.append(int(draw.integers(2)))
            observation, reward, terminated, truncated, _ = env.step(actions[-1])
            seen.append(observation)
            rewards.append(float(reward))
            over = terminated or truncated
        ends = [False] * (len(actions) - 1)
        buffers.append(EpisodeBuffer(seed, seed, None, np.array(seen), np.array(actions), rewards, [*ends, terminated], [*ends, truncated], {}))
    data = minari.create_dataset_from_buffers("cartpole/random-v0", buffers, env=env)
    risk = cpss.fit_risk(data, lambda observation, reward, terminated, *_: terminated, updates=1200)
    left, right = risk.predict([0.0, 0.0, 0.15, 1.0])
    assert right < left, "falling to the right"
    assert risk.observation_space == env.observation_space and risk.card.steps == sum(len(part.actions) for part in buffers)
    with pytest.raises(ValueError, match="`incident` is missing"):
        cpss.fit_risk(data)


def record_points(episodes, low):
    """The same with points of a box, of which the first number is at least `low`."""
    env, draw = Ledge("box", "box"), np.random.default_rng(0)
    log = {name: [] for name in ("observations", "actions", "terminations", "truncations", "incidents")}
    for seed in range(episodes):
        observation, _ = env.reset(seed=seed)
        over = False
        while not over:
            action = draw.uniform([low, -3.0], 3.0).astype(np.float32)
            following, _, terminated, truncated, info = env.step(action)
            for name, value in zip(log, (observation, action, terminated, truncated, info["fell"])):
                log[name].append(value)
            observation, over = following, terminated or truncated
    return {name: np.array(values) for name, values in log.items()}


def test_points_of_a_box_are_learned_from_and_those_that_nobody_tried_are_the_worst():
    box = dict(observation_space=Ledge("box", "box").observation_space, action_space=Ledge("box", "box").action_space)
    at_the_edge = np.array([[1.0], [1.0]])
    points = [[-2.5, 0.0], [0.0, 0.0], [2.5, 0.0]]
    whole = cpss.fit_risk(record_points(200, -3.0), **box, updates=2400)
    towards, stay, away = whole.predict(at_the_edge, points)
    assert towards > 0.9 and away < stay < towards, (towards, stay, away)
    part = cpss.fit_risk(record_points(200, 0.5), **box, updates=2400)
    untried, _, tried = part.predict(at_the_edge, points)
    assert untried > 0.95 and tried < 0.3, "nobody went towards the abyss"
    (said,) = [note for note in part.card.notes if "never tried" in note]
    assert 35 < float(said.split(" %")[0].split()[-1]) < 65, said


def test_a_shield_with_it_warns_and_promises_nothing():
    risk = cpss.fit_risk(record(100), fell_of_log(), **SPACES, updates=400)
    with pytest.warns(RuntimeWarning, match="NOT CALIBRATED"):
        env = cpss.ShieldWrapper(Ledge(), risk=risk, budget=0.05, incident=fell)
    env.reset(seed=0)
    for _ in range(20):
        *_, terminated, truncated, _ = env.step(0)
        if terminated or truncated:
            break
    assert env.certificate()["promise"] is None


def test_an_incident_that_only_the_last_observation_shows_is_not_lost():
    def at_the_bottom(observation, reward, terminated, truncated, info):
        return observation == 1

    log = record(60)
    following = np.append(log["observations"][1:], 0)
    over = log["terminations"] | log["truncations"]
    following[over] = np.where(log["incidents"][over], 1, 3)
    plain = [episode.end for episode in episodes_of(log, None)]
    assert INCIDENT in plain and UNKNOWN in plain
    assert [episode.end for episode in episodes_of(log, at_the_bottom)] == plain, "`incidents` say"
    del log["incidents"]
    shown = {**log, "next_observations": following}
    assert [episode.end for episode in episodes_of(shown, at_the_bottom)] == plain
    # Without them nobody knows how those episodes ended, and least of all that they ended well.
    found = list(episodes_of(log, at_the_bottom))
    assert {episode.end for episode in found} == {UNKNOWN} and all(episode.is_unseen for episode in found)
    notes = cpss.fit_risk(log, at_the_bottom, **SPACES, updates=4).card.notes
    assert any("60 episodes ended is not known" in note for note in notes), notes
    assert not any("is not known" in note for note in cpss.fit_risk(shown, at_the_bottom, **SPACES, updates=4).card.notes)
    safe = {**shown, "next_observations": np.full(len(following), 3)}
    assert OVER in [episode.end for episode in episodes_of(safe, at_the_bottom)]


def fell_of_log():
    return lambda observation, reward, terminated, truncated, info: terminated


@pytest.mark.parametrize(
    "change, words",
    [
        (dict(log={}), "no `observations`"),
        (dict(log=5), "`log` is int"),
        (dict(log=[5]), "an episode of the log is int"),
        (dict(log={"observations": [], "actions": [], "terminations": [], "truncations": [], "incidents": []}), "no decision"),
        (dict(log={"observations": [1], "actions": [0], "terminations": [True], "truncations": [False]}), "what must not happen"),
        (dict(log={"observations": [1], "actions": [0], "terminations": [True], "truncations": [False], "incidents": [True, True]}), "2 `incidents`"),
        (dict(log={"observations": [1], "actions": [0, 0], "terminations": [False, True], "truncations": [False] * 2, "incidents": [False] * 2}), "2 actions, but 1 `observations`"),
        (dict(log={"observations": [1], "actions": [0], "terminations": [True], "truncations": [False], "incidents": None}), "what must not happen"),
        (dict(log={"observations": [1], "actions": [0], "terminations": [True], "truncations": [False], "incidents": np.ma.array([1], mask=[1])}), "none of them masked"),
        (dict(observation_space=None), "is missing"),
        (dict(action_space=gym.spaces.Box(-np.inf, 1, (2,))), "has to be bounded"),
        (dict(log="nowhere.jsonl"), "nowhere.jsonl: No such file"),
        (dict(log={"observations": [1], "actions": [9], "terminations": [True], "truncations": [False], "incidents": [True]}), "9"),
        (dict(log={"observations": [1], "actions": [0], "terminations": [True], "incidents": [True]}), "no `truncations`"),
        (dict(log={"observations": [1], "actions": [0], "terminations": [True], "truncations": [False], "incidents": ["no"]}), "`incidents` of the log"),
        (dict(log={"observations": [1], "actions": [0], "terminations": [True], "truncations": [False], "incidents": [0.5]}), "`incidents` of the log"),
        (dict(log={"observations": [1], "actions": [0], "terminations": [np.nan], "truncations": [False], "incidents": [True]}), "`terminations` of the log"),
    ],
)
def test_mistakes_are_named(change, words):
    arguments = {"log": record(3), **SPACES, **change}
    with pytest.raises(ValueError, match=words):
        cpss.fit_risk(arguments.pop("log"), **arguments)


@pytest.mark.parametrize("number", [np.nan, 1e300])
def test_regression_a_log_in_which_nothing_can_be_read_is_named(number):
    log = {**record(5), "observations": None}
    log["observations"] = np.full((len(log["actions"]), 2), number)
    with pytest.raises(ValueError, match="no observation could be read"):
        cpss.fit_risk(log, observation_space=gym.spaces.Box(-np.inf, np.inf, (2,), np.float64), action_space=Ledge().action_space, updates=4)
