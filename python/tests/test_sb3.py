"""Contract: Stable-Baselines3 trains and evaluates on native batches and under the shield, and its models
become policies."""

import warnings

import gymnasium as gym
import numpy as np
import pytest
from stable_baselines3 import DQN, PPO, SAC
from stable_baselines3.common.evaluation import evaluate_policy
from stable_baselines3.common.logger import KVWriter, Logger
from stable_baselines3.common.torch_layers import FlattenExtractor
from stable_baselines3.common.vec_env import DummyVecEnv, VecMonitor

import cpss
import cpss.sb3
from conftest import SHORT


@pytest.mark.parametrize("shield", [None, True])
def test_a_batch_is_stable_baselines3s_own_vector_environment(shield):
    def single():
        env = cpss.DrivingEnv("highway-v0", config=SHORT)
        return cpss.ShieldWrapper(env) if shield else env

    ours = cpss.sb3.make_vec_env("highway-v0", 3, seed=4, config=SHORT, shield=shield)
    theirs = DummyVecEnv([single] * 3)
    theirs.seed(4)
    np.testing.assert_array_equal(ours.reset(), theirs.reset())
    random, ends = np.random.default_rng(0), 0
    for _ in range(14):
        actions = random.integers(0, 5, 3)
        mine, other = ours.step(actions), theirs.step(actions)
        for one, two in zip(mine[:3], other[:3]):
            np.testing.assert_array_equal(one, two)
            assert one.dtype == two.dtype
        for info, their_info in zip(mine[3], other[3]):
            assert info["TimeLimit.truncated"] == their_info["TimeLimit.truncated"]
            assert info["cost"] == their_info["cost"] and info["crashed"] == their_info["crashed"]
            assert ("terminal_observation" in info) == ("terminal_observation" in their_info)
            if "terminal_observation" in info:
                ends += 1
                np.testing.assert_array_equal(info["terminal_observation"], their_info["terminal_observation"])
            if shield:
                # Within 1e-5: a batch's critic looks at many scenes at once.
                assert info["shield"].keys() == their_info["shield"].keys()
                for key, value in info["shield"].items():
                    other = their_info["shield"][key]
                    assert value == pytest.approx(other, abs=1e-5, nan_ok=True) if isinstance(value, float) else value == other
        for info, their_info in zip(ours.reset_infos, theirs.reset_infos):
            assert info["cost"] == their_info["cost"] and info["speed"] == their_info["speed"]
    assert ends >= 6
    ours.close()


def test_an_end_that_is_both_is_no_time_limit(monkeypatch):
    """A crash in the last step allowed: bootstrapping from it would be wrong."""
    envs = cpss.sb3.make_vec_env("highway-v0", 2, config={**SHORT, "duration": 1})
    envs.reset()
    step = envs.envs.step

    def crash(actions):
        observations, rewards, terminated, truncated, infos = step(actions)
        assert truncated.all() and not terminated.any()
        return observations, rewards, np.array([True, False]), truncated, infos

    monkeypatch.setattr(envs.envs, "step", crash)
    infos = envs.step(np.array([1, 1]))[3]
    assert [info["TimeLimit.truncated"] for info in infos] == [False, True]


class Noted(KVWriter):
    """Keeps what is logged."""

    def __init__(self):
        self.values = {}

    def write(self, key_values, key_excluded, step=0):
        self.values.update(key_values)

    def close(self):
        pass


def test_training_logs_costs_and_what_the_shield_did():
    envs = VecMonitor(cpss.sb3.make_vec_env("highway-v0", 4, seed=0, config=SHORT, shield=True))
    model = DQN("MlpPolicy", envs, learning_starts=16, train_freq=4, policy_kwargs={"net_arch": [16]})
    noted = Noted()
    model.set_logger(Logger(None, [noted]))
    model.learn(200, callback=cpss.sb3.ShieldCallback(), log_interval=1)
    for key in ("rollout/ep_cost_mean", "shield/intervention_rate", "shield/infeasible_rate", "shield/remaining_mean"):
        assert np.isfinite(noted.values[key]), key
    assert 0 <= noted.values["shield/intervention_rate"] <= 1
    assert noted.values["shield/remaining_mean"] <= 4.0
    assert "rollout/ep_rew_mean" in noted.values


class Told(gym.Env):
    """Two episodes of which every number is written down here."""

    observation_space, action_space = gym.spaces.Box(-1, 1, (1,)), gym.spaces.Discrete(2)
    #: An episode's steps: cost, verdict, threshold, remaining, envelope.
    episodes = [
        [(0.5, "admit", 0.25, 3.5, 4.0), (0.25, "replace", 0.5, 3.25, 4.25)],
        [(1.0, "infeasible", 0.0, 3.0, 5.0), (0.0, "replace", 0.125, 3.0, 5.0), (0.0, "admit", 0.25, 3.0, 5.0), (0.5, "admit", 0.125, 2.5, 5.5)],
    ]

    def __init__(self):
        self.episode, self.place = -1, 0

    def reset(self, *, seed=None, options=None):
        self.episode, self.place = self.episode + 1, 0
        return np.zeros(1, np.float32), {}

    def step(self, action):
        steps = self.episodes[self.episode % 2]
        cost, *shield = steps[self.place]
        self.place += 1
        info = {"cost": cost, "shield": dict(zip(("verdict", "threshold", "remaining", "envelope"), shield))}
        return np.zeros(1, np.float32), 0.0, self.place == len(steps), False, info


def test_what_is_logged_is_the_mean_over_episodes():
    model = DQN("MlpPolicy", Told(), learning_starts=100, train_freq=1, policy_kwargs={"net_arch": [4]})
    noted = Noted()
    model.set_logger(Logger(None, [noted]))
    model.learn(6, callback=cpss.sb3.ShieldCallback(), log_interval=1)
    wanted = {
        "rollout/ep_cost_mean": (0.75 + 1.5) / 2,
        "shield/intervention_rate": (1 / 2 + 2 / 4) / 2,
        "shield/infeasible_rate": (0 + 1 / 4) / 2,
        "shield/threshold_mean": (0.375 + 0.125) / 2,
        "shield/remaining_mean": (3.25 + 2.5) / 2,
        "shield/envelope_mean": (4.25 + 5.5) / 2,
    }
    assert {key: noted.values[key] for key in wanted} == wanted


def test_the_replay_stores_what_was_proposed_or_what_ran():
    def never(env, observation):
        """Only SLOWER is ever admissible."""
        return [0.9, 0.9, 0.9, 0.9, 0.0]

    def train(**kwargs):
        env = cpss.ShieldWrapper(gym.make("cpss/highway-v0", config=SHORT), 4.0, 40, cost=never)
        model = DQN("MlpPolicy", env, learning_starts=40, seed=0, policy_kwargs={"net_arch": [8]}, **kwargs)
        model.learn(40)
        return set(model.replay_buffer.actions[: model.replay_buffer.size()].ravel().tolist())

    assert train() > {4}
    assert train(replay_buffer_class=cpss.sb3.ExecutedReplayBuffer) == {4}


def only_gentle(env, observation, candidates):
    """Torques beyond 1 are called dangerous."""
    return (np.abs(candidates[:, 0]) > 1.0) * 0.9


def gentle_pendulum():
    return cpss.ShieldWrapper(gym.make("Pendulum-v1"), 2.0, 200, cost=only_gentle)


def test_of_a_box_the_replay_stores_what_ran_in_the_learners_scale():
    ran = []

    class Noting(gym.Wrapper):
        def step(self, action):
            *step, info = self.env.step(action)
            ran.append(float(info["shield"]["executed_action"][0]))
            return (*step, info)

    buffer = cpss.sb3.ExecutedReplayBuffer
    model = SAC("MlpPolicy", Noting(gentle_pendulum()), learning_starts=40, seed=0, replay_buffer_class=buffer)
    model.learn(60)
    stored = model.replay_buffer.actions[:60].ravel()
    # Pendulum's torques go from -2 to 2, and the replay's from -1 to 1.
    np.testing.assert_allclose(stored, np.array(ran) / 2.0, atol=1e-6)
    assert np.abs(stored).max() <= 0.5 < 0.6 < np.abs(ran).max()


def test_actions_that_are_not_the_learners_are_not_stored_as_its_own():
    env = cpss.ShieldWrapper(gym.make("cpss/highway-v0", config=SHORT), 4.0, 40, cost=lambda env, obs: [0.9] * 4 + [0.0])
    fewer = gym.wrappers.TransformAction(env, lambda action: 3 * action, gym.spaces.Discrete(2))
    scaled = gym.wrappers.RescaleAction(gentle_pendulum(), np.float32(-1), np.float32(1))
    for algorithm, wrapped in ((DQN, fewer), (SAC, scaled)):
        model = algorithm("MlpPolicy", wrapped, learning_starts=40, seed=0, replay_buffer_class=cpss.sb3.ExecutedReplayBuffer)
        with pytest.raises(ValueError, match="around the shield"):
            model.learn(40)


def test_masks_reach_sb3_contrib():
    from sb3_contrib import MaskablePPO
    from sb3_contrib.common.maskable.utils import get_action_masks, is_masking_supported

    native = cpss.sb3.make_vec_env("merge-v0", 3, seed=1, shield=True)
    single = cpss.ShieldWrapper(gym.make("cpss/merge-v0"))
    for envs in (native, single):
        assert is_masking_supported(envs)
        envs.reset()
        masks = get_action_masks(envs)
        assert masks.dtype == bool and masks.any(-1).all()
    assert not is_masking_supported(cpss.sb3.make_vec_env("merge-v0", 2))
    model = MaskablePPO("MlpPolicy", native, n_steps=16, batch_size=16, n_epochs=1)
    refused = []

    def note(variables, _):
        refused.extend(info["shield"]["verdict"] for info in variables["infos"])

    model.learn(96, callback=note)
    assert "replace" not in refused, "who is masked proposes nothing that is refused"
    assert "admit" in refused


@pytest.mark.parametrize("algorithm, activation", [(DQN, "ReLU"), (DQN, "Tanh"), (PPO, "Tanh")])
def test_a_model_becomes_a_policy_that_acts_alike(algorithm, activation, tmp_path):
    import torch

    env = gym.make("cpss/merge-v0")
    kwargs = {"policy_kwargs": {"net_arch": [32, 24], "activation_fn": getattr(torch.nn, activation)}}
    model = algorithm("MlpPolicy", env, seed=1, device="cpu", **kwargs)
    policy = cpss.from_sb3(model)
    observations = np.random.default_rng(0).normal(size=(200, 5, 5)).astype(np.float32)
    assert (policy.predict(observations)[0] == model.predict(observations, deterministic=True)[0]).all()
    if algorithm is DQN:
        theirs = model.q_net(torch.as_tensor(observations)).detach().numpy()
        np.testing.assert_allclose(policy.action_values(observations), theirs, atol=1e-5)
    policy.save(tmp_path / "mine.safetensors")
    again = cpss.load_policy(tmp_path / "mine.safetensors")
    assert (again.predict(observations.reshape(200, 25))[0] == policy.predict(observations)[0]).all()


def test_models_that_cannot_be_policies_are_refused():
    import torch

    with pytest.raises(ValueError, match="Discrete"):
        cpss.from_sb3(PPO("MlpPolicy", gym.make("Pendulum-v1"), device="cpu"))
    env = gym.make("cpss/merge-v0")
    strange = DQN("MlpPolicy", env, policy_kwargs={"activation_fn": torch.nn.Sigmoid}, device="cpu")
    with pytest.raises(ValueError, match="not a plain MLP"):
        cpss.from_sb3(strange)

    class Doubled(FlattenExtractor):
        """An extractor that keeps the size, so that only its class tells."""

        def forward(self, observations):
            return 2 * super().forward(observations)

    for algorithm in (DQN, PPO):
        model = algorithm("MlpPolicy", env, policy_kwargs={"features_extractor_class": Doubled}, device="cpu")
        with pytest.raises(ValueError, match="Doubled"):
            cpss.from_sb3(model)


def test_a_policy_is_evaluated_by_stable_baselines3():
    policy = cpss.load_policy("merge-v0", seed=0)
    env = cpss.ShieldWrapper(gym.make("cpss/merge-v0", config=policy.config))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        mean, _ = evaluate_policy(policy, env, n_eval_episodes=5)
    assert mean > 10


def test_what_a_native_batch_has_not_is_said():
    envs = cpss.sb3.make_vec_env("merge-v0", 2)
    with pytest.raises(AttributeError, match="cannot be set"):
        envs.set_attr("config", {})
    with pytest.raises(AttributeError, match="no method `jump`"):
        envs.env_method("jump")
    with pytest.raises(ValueError, match="SAME_STEP"):
        cpss.sb3.VecEnv(cpss.make_vec("merge-v0", 2))
    assert envs.get_attr("task_id") == ["merge-v0"] * 2 and envs.env_is_wrapped(gym.Wrapper) == [False] * 2


def test_a_closed_batch_is_closed():
    envs = cpss.sb3.make_vec_env("merge-v0", 2, shield=True)
    envs.reset()
    envs.close()
    for call in (envs.reset, lambda: envs.step(np.array([1, 1])), lambda: envs.env_method("action_masks")):
        with pytest.raises(gym.error.ClosedEnvironmentError):
            call()
