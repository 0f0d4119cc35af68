"""Contract: a shield with a learned risk keeps its account, promises only what was calibrated, and says loudly if not."""

import copy
import dataclasses
import json
import pickle
import warnings
from pathlib import Path

import gymnasium as gym
import numpy as np
import pytest
from ledge import Ledge, fell

import cpss
from cpss.card import Account, Card

GOOD = dict(steps=40_000, rounds=4, calibration_episodes=200, budgets=(0.02, 0.05), hidden=(32,))


@pytest.fixture(scope="module")
def good():
    risk = cpss.learn_risk(Ledge, fell, **GOOD)
    assert risk.card.calibrated, risk.card
    return risk


@pytest.fixture(scope="module")
def bad():
    """A risk of a pole that falls whatever it says: it has hardly seen anything."""
    risk = cpss.learn_risk("CartPole-v1", lambda observation, reward, terminated, *_: terminated, steps=1000, rounds=1, calibration_episodes=20, hidden=(8,))
    assert not risk.card.calibrated, risk.card
    return risk


def episode(env, seed, propose):
    """Plays one; gives the certificate and the last info."""
    env.reset(seed=seed)
    over = False
    while not over:
        *_, terminated, truncated, info = env.step(propose())
        over = terminated or truncated
    return env.certificate(), info


def test_the_account_balances_and_the_promise_is_stated(good):
    env, draw = cpss.ShieldWrapper(Ledge(), risk=good, budget=0.02), np.random.default_rng(0)
    for seed in range(20):
        certificate, info = episode(env, seed, lambda: draw.integers(-1, 2))
        account, shield = certificate["account"], info["shield"]
        assert sum(account.values()) == pytest.approx(float(info["fell"]), abs=1e-9)
        assert certificate["charge"] == "predicted" and certificate["budget_kept"] and account["chosen"] <= 0.02
        assert certificate["promise"] == pytest.approx(account["start"] + account["arriving"] + 0.02)
        assert shield["promise"] == certificate["promise"] and certificate["incident"] is info["fell"]
        assert shield["risk"] == pytest.approx(shield["unavoidable"] + shield["cost_executed"], abs=good.card.resolution)


def test_a_risk_that_is_not_calibrated_is_told_loudly_once_and_promises_nothing(bad):
    with pytest.warns(RuntimeWarning, match="NOT CALIBRATED") as said:
        env = cpss.ShieldWrapper(gym.make("CartPole-v1"), risk=bad, budget=0.02)
        certificate, info = episode(env, 0, lambda: 0)
    assert len(said) == 1 and said[0].filename == __file__
    assert certificate["promise"] is None and np.isnan(info["shield"]["promise"])
    assert "NOT CALIBRATED" in str(bad.card) and "NOT calibrated" in repr(bad)
    with pytest.raises(ValueError, match="NOT CALIBRATED"):
        cpss.ShieldWrapper(gym.make("CartPole-v1"), risk=bad, budget=0.02, uncalibrated="raise")


def test_nothing_is_promised_below_the_budgets_of_the_calibration(good):
    with pytest.warns(RuntimeWarning, match="calibrated for budgets from 0.02"):
        env = cpss.ShieldWrapper(Ledge(), risk=good, budget=0.001)
    assert episode(env, 0, lambda: 0)[0]["promise"] is None
    with pytest.raises(ValueError, match="calibrated for budgets from 0.02"):
        cpss.ShieldWrapper(Ledge(), risk=good, budget=0.001, uncalibrated="raise")


def test_nor_above_them(good):
    with pytest.warns(RuntimeWarning, match="calibrated for budgets from 0.02 to 0.05, so with 0.2"):
        env = cpss.ShieldWrapper(Ledge(), risk=good, budget=0.2)
    assert episode(env, 0, lambda: 0)[0]["promise"] is None


def test_a_risk_is_calibrated_only_if_every_budget_holds():
    card = Card(budgets=(0.05, 0.1), shielded=Account(episodes=100, surprise_ci95=(-0.02, 0.02), chosen_each=(0.01, 0.07)))
    assert card.calibrated and card.promises(0.05) and card.promises(0.07) and card.promises(0.1)
    assert not card.promises(0.04) and not card.promises(0.11)
    for chosen in ((0.01, 0.09), (0.04, 0.07), (0.01, np.nan), (0.01,), ()):
        other = dataclasses.replace(card, shielded=dataclasses.replace(card.shielded, chosen_each=chosen))
        assert not other.calibrated and not other.promises(0.07), chosen


class Blinded(Ledge):
    """Nobody sees anything."""

    def _see(self, at):
        return np.full((2, 1), np.nan)


@pytest.mark.parametrize("kind, proposal, resort", [("discrete", -1, 1), ("box", np.array([-2.5, 0.0], np.float32), np.array([2.5, 1.0], np.float32))])
@pytest.mark.filterwarnings("ignore")
def test_what_cannot_be_read_runs_the_last_resort(kind, proposal, resort):
    risk = cpss.learn_risk(lambda: Ledge("box", kind), fell, steps=4000, rounds=2, calibration_episodes=20, hidden=(16,))
    blind = np.full((2, 1), np.nan)
    assert np.isnan(risk.predict(blind, None if kind == "discrete" else [proposal, resort])).all()
    env = cpss.ShieldWrapper(Blinded("box", kind), risk=risk, budget=0.05, last_resort=resort)
    env.reset(seed=0)
    for _ in range(2):
        *_, info = env.step(proposal)
        assert info["shield"]["verdict"] == "infeasible" and "unusable-cost" in info["shield"]["reason"]
        assert np.array_equal(info["shield"]["executed_action"], resort)
    if kind == "discrete":
        envs = cpss.ShieldVectorWrapper(gym.vector.SyncVectorEnv([lambda: Blinded("box", kind)] * 2), risk=risk, budget=0.05, last_resort=1)
        envs.reset(seed=0)
        *_, infos = envs.step([-1, 0])
        assert infos["shield"]["executed_action"].tolist() == [1, 1]


def test_a_calibrated_risk_is_silent(good):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        episode(cpss.ShieldWrapper(Ledge(), risk=good, budget=0.02), 0, lambda: 0)


def test_a_shadow_judges_and_promises_nothing(good):
    env = cpss.ShieldWrapper(Ledge(), risk=good, budget=0.02, mode="shadow")
    certificate, info = episode(env, 0, lambda: -1)
    assert info["fell"] and certificate["promise"] is None
    assert certificate["replaced"] > 0 and info["shield"]["executed_action"] == -1


def test_an_incident_closes_the_account_where_the_environment_goes_on(good):
    env = cpss.ShieldWrapper(Ledge(fall_ends=False), risk=good, budget=0.02, mode="shadow")
    env.reset(seed=0)
    accounts = []
    for _ in range(8):
        *_, info = env.step(-1)
        accounts.append((info["fell"], env.certificate()["account"]))
    first = [happened for happened, _ in accounts].index(True)
    assert first < 7
    assert all(account == accounts[first][1] for _, account in accounts[first:])
    assert env.certificate()["incident"] is True


def test_without_the_function_the_account_stays_open(good, tmp_path):
    good.save(tmp_path / "risk")
    loaded = cpss.Risk.load(tmp_path / "risk")
    certificate, _ = episode(cpss.ShieldWrapper(Ledge(), risk=loaded, budget=0.02), 0, lambda: 0)
    assert certificate["incident"] is None and certificate["promise"] is not None
    certificate, _ = episode(cpss.ShieldWrapper(Ledge(), risk=loaded, budget=0.02, incident=fell), 0, lambda: 0)
    assert certificate["incident"] is False


def test_a_function_that_fails_is_taken_for_an_incident_and_told(good):
    env = cpss.ShieldWrapper(Ledge(), risk=good, budget=0.02, incident=lambda *_: 1 / 0)
    env.reset(seed=0)
    with pytest.warns(RuntimeWarning, match="taken for an incident"):
        *_, info = env.step(1)
    assert "ZeroDivisionError" in info["shield"]["reason"]
    assert env.certificate()["incident"] is True


def test_a_copy_and_a_pickled_one_go_on_with_the_account(good):
    env = cpss.ShieldWrapper(Ledge(), risk=good, budget=0.02)
    env.reset(seed=0)
    for _ in range(5):
        env.step(0)
    for twin in (copy.deepcopy(env), pickle.loads(pickle.dumps(env))):
        original = copy.deepcopy(env)
        for _ in range(5):
            assert repr(twin.step(1)[-1]["shield"]) == repr(original.step(1)[-1]["shield"])


def test_masks_are_what_the_shield_lets_through(good):
    env = cpss.ShieldWrapper(Ledge(), risk=good, budget=0.02)
    env.reset(seed=0)
    for _ in range(20):
        masks = env.action_masks()
        action = int(np.flatnonzero(masks)[0]) - 1
        *_, truncated, info = env.step(action)
        assert info["shield"]["verdict"] == "admit" and masks.any()
        if truncated:
            break


@pytest.mark.parametrize(
    "change, words",
    [
        (dict(budget=None), "`budget` is missing"),
        (dict(observed=lambda *_: 0.0), "nobody asks what `observed` says"),
        (dict(uncalibrated="ignore"), "`uncalibrated` is 'ignore'"),
        (dict(env=gym.make("CartPole-v1")), "observation space"),
        (dict(env=Ledge("discrete", "multi-binary")), "action space"),
        (dict(cost=lambda *_: [0, 0, 0]), "nobody asks it"),
        (dict(incident=5), "`incident` is 5"),
        (dict(risk=None, cost=lambda *_: [0], incident=fell), "goes with a learned `risk`"),
    ],
)
def test_mistakes_are_named(good, change, words):
    arguments = {"env": Ledge(), "risk": good, "budget": 0.02, **change}
    with pytest.raises(ValueError, match=words):
        cpss.ShieldWrapper(arguments.pop("env"), **arguments)


def test_regression_a_dictionary_of_another_order_is_saved_and_loaded_as_it_was():
    from collections import OrderedDict

    from cpss.numbers import is_same, space_from_json, space_to_json

    parts = [("z", gym.spaces.Box(0, 1, (1,))), ("a", gym.spaces.Box(0, 9, (2,)))]
    for space in (gym.spaces.Dict(OrderedDict(parts)), gym.spaces.Dict(dict(parts))):
        # As a file has it: sorted by key.
        again = space_from_json(json.loads(json.dumps(space_to_json(space), sort_keys=True)))
        assert again == space and list(again.spaces) == list(space.spaces)
    assert not is_same(gym.spaces.Dict(OrderedDict(parts)), gym.spaces.Dict(dict(parts)))
    assert is_same(gym.spaces.Dict(OrderedDict(parts)), gym.spaces.Dict(OrderedDict(parts)))
    with pytest.raises(ValueError, match="keys have to be texts"):
        space_to_json(gym.spaces.Dict({1: gym.spaces.Discrete(2)}))


def test_regression_a_card_is_json_that_others_read_too(good):
    """Without episodes there are no means; JSON has no NaN."""
    card = dataclasses.replace(good.card, alone=Account())
    assert np.isnan(card.alone.incidents)
    again = Card.from_json(json.dumps(json.loads(card.to_json(), parse_constant=pytest.fail)))
    assert str(again) == str(card) and np.isnan(again.alone.incidents)


def test_regression_a_link_stays_a_link_and_a_file_keeps_its_mode(good, tmp_path):
    place, link = tmp_path / "risk.bin", tmp_path / "link.bin"
    good.save(place)
    place.chmod(0o600)
    link.symlink_to(place)
    good.save(link)
    assert link.is_symlink() and place.stat().st_mode & 0o777 == 0o600
    assert str(cpss.Risk.load(link).card) == str(good.card)
    with pytest.raises(OSError):
        good.save("/dev/full")
    assert not Path("/dev/full").is_file()


class Longer(Ledge):
    """Goes on after a fall, and is told how long it may take."""

    spec = gym.envs.registration.EnvSpec("Longer-v0", max_episode_steps=10_000)


def test_regression_of_a_longer_episode_than_it_was_calibrated_for_nothing_is_promised(good):
    horizon = good.card.horizon
    env = cpss.ShieldWrapper(Ledge(steps=10 * horizon, fall_ends=False), risk=good, budget=0.02, horizon=10 * horizon)
    env.reset(seed=1)
    promised = np.array([env.step(1)[-1]["shield"]["promise"] for _ in range(horizon + 3)])
    assert np.isfinite(promised[:horizon]).all() and np.isnan(promised[horizon:]).all()
    assert np.isnan(pickle.loads(pickle.dumps(env)).step(1)[-1]["shield"]["promise"])
    with pytest.warns(RuntimeWarning, match="of a longer one nothing is promised"):
        cpss.ShieldWrapper(Longer(), risk=good, budget=0.02)
    with pytest.warns(RuntimeWarning, match="of a longer one nothing is promised"):
        cpss.ShieldVectorWrapper(gym.vector.SyncVectorEnv([Longer] * 2), risk=good, budget=0.02)
