"""Contract: a batch of any environment is shielded as each copy alone would be, and learners are told what ran."""

import functools
import warnings

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode, SyncVectorEnv
from ledge import Ledge, fell

import cpss
from cpss.shield_vector import info_at

COPIES = 5


@functools.cache
def risk_of(kind):
    risk = cpss.learn_risk(lambda: Ledge("box", kind), fell, steps=30_000, rounds=3, calibration_episodes=150, budgets=(0.02, 0.05), hidden=(32,))
    assert risk.card.calibrated, risk.card
    return risk


@pytest.fixture(params=["discrete", "multi-discrete"])
def learned(request):
    return request.param, risk_of(request.param)


@pytest.fixture
def from_zero():
    """A shielded ledge whose actions are counted from 0, as Stable-Baselines3 wants them."""
    env = gym.wrappers.TransformAction(Ledge("box", "discrete"), lambda action: int(action) - 1, gym.spaces.Discrete(3))
    risk = risk_of("discrete")
    shifted = cpss.Risk(risk.model, risk.card, risk.observation_space, gym.spaces.Discrete(3), risk.incident)
    return cpss.ShieldWrapper(env, risk=shifted, budget=0.02)


@pytest.mark.parametrize("autoreset", [AutoresetMode.NEXT_STEP, AutoresetMode.SAME_STEP])
def test_every_copy_is_judged_as_alone(learned, autoreset):
    kind, risk = learned
    envs = SyncVectorEnv([lambda: Ledge("box", kind)] * COPIES, autoreset_mode=autoreset)
    shielded = cpss.ShieldVectorWrapper(envs, risk=risk, budget=0.02)
    alone = [cpss.ShieldWrapper(Ledge("box", kind), risk=risk, budget=0.02) for _ in range(COPIES)]
    seeds = list(range(100, 100 + COPIES))
    shielded.reset(seed=seeds)
    for env, seed in zip(alone, seeds):
        env.reset(seed=seed)
    draw, over, ended = np.random.default_rng(0), np.zeros(COPIES, bool), 0
    for _ in range(60):
        masks = shielded.action_masks()
        actions = np.array([env.action_space.sample() if draw.random() < 2 else 0 for env in alone])
        observations, _, terminations, truncations, infos = shielded.step(actions)
        for i, env in enumerate(alone):
            if over[i] and autoreset is AutoresetMode.NEXT_STEP:
                assert infos["shield"]["verdict"][i] == "reset"
                env.reset()
                continue
            if over[i]:
                env.reset()
            assert np.array_equal(masks[i], env.action_masks())
            *_, info = env.step(actions[i])
            assert np.array_equal(info["shield"]["executed_action"], infos["shield"]["executed_action"][i])
            for key in ("verdict", "reason", "risk", "unavoidable", "cost_executed", "threshold", "remaining", "promise", "chosen", "surprise", "budget_kept"):
                expected, found = info["shield"][key], infos["shield"][key][i]
                assert found == expected or found == pytest.approx(expected, abs=1e-12, nan_ok=True), key
        over = terminations | truncations
        ended += int(over.sum())
    assert ended > COPIES
    assert len(shielded.certificates()) == COPIES


def near_the_edge(at, action):
    """What a step to the abyss costs, by hand."""
    return 0.9 if at + action <= 0 else 0.3 if at + action == 1 else 0.0


def costs_alone(env, observation, *candidates):
    at = int(observation[0, 0])
    if not candidates:
        return [near_the_edge(at, action) for action in (-1, 0, 1)]
    return [near_the_edge(at, np.sign(point[0]) * (abs(point[0]) > 1.0)) for point in candidates[0]]


def costs_of_all(envs, observations, *candidates):
    assert envs.num_envs == COPIES
    rows = candidates[0] if candidates else [None] * len(observations)
    return [costs_alone(None, seen, *(() if row is None else (row,))) for seen, row in zip(observations, rows)]


class Told(Ledge):
    """Says itself what a step cost."""

    def step(self, action):
        *others, info = super().step(action)
        return (*others, {**info, "cost": 0.25 * (self._at <= 1)})


@pytest.mark.parametrize("autoreset", [AutoresetMode.NEXT_STEP, AutoresetMode.SAME_STEP])
@pytest.mark.parametrize("kind, charge", [("discrete", None), ("discrete", "predicted"), ("box", None)])
def test_costs_of_ones_own_are_judged_and_charged_as_alone(kind, charge, autoreset):
    settings = dict(budget=1.0, horizon=20, charge=charge, last_resort=1 if kind == "discrete" else [3.0, 0.0])
    envs = SyncVectorEnv([lambda: Told("box", kind)] * COPIES, autoreset_mode=autoreset)
    compare(cpss.ShieldVectorWrapper(envs, cost=costs_of_all, **settings), [cpss.ShieldWrapper(Told("box", kind), cost=costs_alone, **settings) for _ in range(COPIES)])


@functools.cache
def risk_of_points():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return cpss.learn_risk(lambda: Ledge("box", "box"), fell, steps=8000, rounds=2, calibration_episodes=40, budgets=(0.05, 0.1), hidden=(16,))


@pytest.mark.filterwarnings("ignore:this risk is NOT CALIBRATED")
def test_points_of_a_box_are_judged_as_alone():
    risk = risk_of_points()
    envs = SyncVectorEnv([lambda: Ledge("box", "box")] * COPIES, autoreset_mode=AutoresetMode.SAME_STEP)
    verdicts = compare(cpss.ShieldVectorWrapper(envs, risk=risk, budget=0.05), [cpss.ShieldWrapper(Ledge("box", "box"), risk=risk, budget=0.05) for _ in range(COPIES)])
    assert {"admit", "replace"} <= verdicts


def compare(shielded, alone):
    """The same episodes in a batch and one by one; the verdicts that there were."""
    seeds = list(range(100, 100 + COPIES))
    shielded.reset(seed=seeds)
    for env, seed in zip(alone, seeds):
        env.reset(seed=seed)
        env.action_space.seed(seed)
    over, verdicts = np.zeros(COPIES, bool), set()
    for _ in range(50):
        actions = np.array([env.action_space.sample() for env in alone])
        _, _, terminations, truncations, infos = shielded.step(actions)
        verdicts |= set(infos["shield"]["verdict"])
        for i, env in enumerate(alone):
            if over[i]:
                env.reset()
                if shielded._mode is AutoresetMode.NEXT_STEP:
                    assert infos["shield"]["verdict"][i] == "reset"
                    continue
            *_, info = env.step(actions[i])
            for key, expected in info["shield"].items():
                found = infos["shield"][key][i]
                same = np.array_equal(found, expected) if isinstance(expected, (str, bool)) else np.allclose(found, expected, atol=1e-9, equal_nan=True)
                assert same, (key, found, expected)
        over = terminations | truncations
    return verdicts


def test_a_cost_function_that_fails_lets_only_the_last_resort_run():
    envs = SyncVectorEnv([lambda: Ledge("box")] * 2)
    for cost in (lambda *_: [[0, 0, 0]], lambda *_: 1 / 0, lambda *_: [[0, 0], [0, 0]], lambda *_: None):
        shielded = cpss.ShieldVectorWrapper(envs, cost=cost, budget=1.0, horizon=20, last_resort=1)
        shielded.reset(seed=0)
        with pytest.warns(RuntimeWarning, match="`cost`"):
            *_, infos = shielded.step([-1, -1])
        assert infos["shield"]["executed_action"].tolist() == [1, 1] and set(infos["shield"]["verdict"]) == {"infeasible"}


def test_shields_inside_the_copies_are_refused():
    risk = risk_of("discrete")
    inside = lambda: cpss.ShieldWrapper(Ledge("box"), risk=risk, budget=0.02)  # noqa: E731
    with pytest.raises(ValueError, match="a shield in this environment already"):
        cpss.ShieldVectorWrapper(SyncVectorEnv([inside] * 2), risk=risk, budget=0.02)
    # Copies in other processes are seen by what they tell.
    hidden = SyncVectorEnv([inside] * 2)
    hidden.envs, copies = (), hidden.envs
    shielded = cpss.ShieldVectorWrapper(hidden, risk=risk, budget=0.02)
    hidden.envs = copies
    with pytest.raises(ValueError, match="shields in the copies"):
        shielded.reset(seed=0)


def test_episodes_without_autoreset_are_reset_by_a_mask(learned):
    kind, risk = learned
    envs = cpss.ShieldVectorWrapper(SyncVectorEnv([lambda: Ledge("box", kind, steps=3)] * 2, autoreset_mode=AutoresetMode.DISABLED), risk=risk, budget=0.02)
    with pytest.raises(gym.error.ResetNeeded):
        envs.step(envs.action_space.sample())
    envs.reset(seed=0)
    for _ in range(3):
        *_, terminations, truncations, _ = envs.step(envs.action_space.sample())
    assert truncations.all()
    with pytest.raises(gym.error.ResetNeeded):
        envs.step(envs.action_space.sample())
    envs.reset(options={"reset_mask": np.array([True, True])})
    envs.step(envs.action_space.sample())
    assert [certificate["steps"] for certificate in envs.certificates()] == [1, 1]


def test_an_autoreset_mode_is_read_and_never_guessed():
    risk = risk_of("discrete")
    envs = SyncVectorEnv([lambda: Ledge("box")] * 2)
    for mode in AutoresetMode:
        for given in (mode, mode.value):
            envs.autoreset_mode, envs.metadata = given, {}
            assert cpss.ShieldVectorWrapper(envs, risk=risk, budget=0.02)._mode is mode
            envs.autoreset_mode, envs.metadata = None, {"autoreset_mode": given}
            assert cpss.ShieldVectorWrapper(envs, risk=risk, budget=0.02)._mode is mode
    for metadata in ({}, {"autoreset_mode": "sometimes"}):
        envs.metadata = metadata
        with pytest.raises(ValueError, match="autoreset mode is .*, but has to be one of AutoresetMode.NEXT_STEP"):
            cpss.ShieldVectorWrapper(envs, risk=risk, budget=0.02)


class Breaks(Ledge):
    broken = False

    def step(self, action):
        if self.broken:
            raise OSError("the simulator is gone")
        return super().step(action)


def test_after_a_step_that_failed_nothing_is_judged_until_a_reset():
    inner = SyncVectorEnv([lambda: Ledge("box"), lambda: Breaks("box")])
    envs = cpss.ShieldVectorWrapper(inner, risk=risk_of("discrete"), budget=0.02)
    envs.reset(seed=0)
    envs.step([0, 0])
    inner.envs[1].broken = True
    with pytest.raises(OSError):
        envs.step([0, 0])
    inner.envs[1].broken = False
    for ask in (lambda: envs.step([0, 0]), envs.action_masks, lambda: envs.reset(options={"reset_mask": np.array([True, False])})):
        with pytest.raises(gym.error.ResetNeeded):
            ask()
    envs.reset(seed=0)
    envs.step([0, 0])


def test_infos_that_are_not_one_per_copy_are_everybodys():
    infos = {"a": np.array([1, 2]), "b": 5, "c": None, "d": "ab", "e": [1, 2, 3], "f": np.array(3.0), "g": {"h": [1, 2]}, "i": np.array([0, 7]), "_i": np.array([False, True]), 3: 4}
    assert info_at(infos, 0, 2) == {"a": 1, "b": 5, "c": None, "d": "ab", "e": [1, 2, 3], "f": 3.0, "g": {"h": 1}}
    assert info_at(infos, 1, 2)["i"] == 7
    assert info_at(None, 1, 2) == {}


def test_mistakes_are_named(learned):
    kind, risk = learned
    envs = SyncVectorEnv([lambda: Ledge("box", kind)] * 2)
    with pytest.raises(ValueError, match="cpss.ShieldWrapper"):
        cpss.ShieldVectorWrapper(Ledge(), risk=risk, budget=0.02)
    with pytest.raises(ValueError, match="has to be a cpss.Risk"):
        cpss.ShieldVectorWrapper(envs, risk="drift", budget=0.02)
    with pytest.raises(ValueError, match="observation space"):
        cpss.ShieldVectorWrapper(SyncVectorEnv([lambda: Ledge("discrete", kind)]), risk=risk, budget=0.02)
    with pytest.warns(RuntimeWarning, match="calibrated for budgets from"):
        cpss.ShieldVectorWrapper(envs, risk=risk, budget=0.0001)


def test_an_on_policy_learner_stores_what_ran(from_zero):
    import torch
    from stable_baselines3 import PPO

    import cpss.sb3

    model = PPO("MlpPolicy", from_zero, n_steps=64, batch_size=64, n_epochs=1, seed=0, device="cpu")
    ran, told = [], []

    class Watch(cpss.sb3.ExecutedActions):
        def _on_step(self):
            assert super()._on_step()
            shield = self.locals["infos"][0]["shield"]
            ran.append(shield["executed_action"])
            told.append(shield["verdict"])
            return True

        def _on_rollout_end(self):
            buffer = self.model.rollout_buffer
            assert buffer.actions.ravel().astype(int).tolist() == ran
            with torch.no_grad():
                observations = torch.as_tensor(buffer.observations.reshape(64, *buffer.obs_shape))
                _, likely, _ = self.model.policy.evaluate_actions(observations, torch.as_tensor(buffer.actions.reshape(64)))
            assert np.allclose(buffer.log_probs.ravel(), likely.numpy(), atol=1e-5)

    model.learn(64, callback=Watch())
    assert len(ran) == 64 and "replace" in told


@pytest.mark.filterwarnings("ignore:this risk is NOT CALIBRATED")
def test_an_on_policy_learner_of_points_is_told_what_ran_and_a_wrapper_around_the_shield_is_refused():
    from stable_baselines3 import PPO

    import cpss.sb3

    def points(env):
        return PPO("MlpPolicy", env, n_steps=32, batch_size=32, n_epochs=1, seed=0, device="cpu", policy_kwargs={"log_std_init": 1.0})

    ran = []

    class Watch(cpss.sb3.ExecutedActions):
        def _on_step(self):
            assert super()._on_step()
            ran.append(self.locals["infos"][0]["shield"]["executed_action"])
            return True

        def _on_rollout_end(self):
            executed, stored = np.array(ran), self.model.rollout_buffer.actions[:, 0]
            assert np.allclose(executed, stored.clip(-3.0, 3.0), atol=1e-5) and len(executed) == 32

    env = cpss.ShieldWrapper(Ledge("box", "box"), risk=risk_of_points(), budget=0.05)
    points(env).learn(32, callback=Watch())
    halved = gym.wrappers.TransformAction(cpss.ShieldWrapper(Ledge("box", "box"), risk=risk_of_points(), budget=0.05), lambda action: action / 2, env.action_space)
    with pytest.raises(ValueError, match="a wrapper around the shield changes actions"):
        points(halved).learn(128, callback=cpss.sb3.ExecutedActions())


def test_a_masked_learner_proposes_only_what_is_let_through(from_zero):
    from sb3_contrib import MaskablePPO

    verdicts = []

    class Watched(gym.Wrapper):
        def step(self, action):
            result = self.env.step(action)
            verdicts.append(result[-1]["shield"]["verdict"])
            return result

        def action_masks(self):
            return self.env.action_masks()

    MaskablePPO("MlpPolicy", Watched(from_zero), n_steps=64, batch_size=64, n_epochs=1, seed=0, device="cpu").learn(64)
    assert len(verdicts) == 64 and set(verdicts) == {"admit"}


def test_regression_what_the_caller_does_with_parts_of_an_observation_blinds_no_decision():
    """Arrays inside a Dict or a Tuple are as much the caller's as a plain one."""
    risk = cpss.learn_risk(lambda: Ledge("dict", "discrete"), fell, steps=20_000, rounds=2, calibration_episodes=100, budgets=(0.05,), hidden=(32,))
    told = []
    for meddles in (False, True):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            envs = cpss.ShieldVectorWrapper(SyncVectorEnv([lambda: Ledge("dict", "discrete")] * 2), risk=risk, budget=0.05)
        observations, _ = envs.reset(seed=[5, 6])
        told.append([])
        for _ in range(12):
            if meddles:
                observations["far"][0][:] = 5.0
                observations["at"][:] = 5
            observations, *_, infos = envs.step(np.array([-1, -1]))
            told[-1].append(infos["shield"]["cost_proposed"].tolist())
    assert told[0] == told[1] and any(cost > 0 for costs in told[0] for cost in costs)
