"""Contract: a batch of any environment is shielded as each copy alone would be, and learners are told what ran."""

import functools

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
