"""Contract: a policy chooses as Stable-Baselines3's `predict` does, from one observation or several."""

import concurrent.futures
import pickle

import gymnasium as gym
import numpy as np
import pytest

import cpss


@pytest.mark.parametrize("task", cpss.shipped_tasks())
def test_shipped_policies_see_their_task(task):
    policy = cpss.load_policy(f"cpss/{task}", seed=3)
    assert policy.card["env"] == task and policy.card["seed"] == "3"
    env = gym.make(f"cpss/{task}", config=policy.config)
    observation, _ = env.reset(seed=0)
    assert policy.observation_shape == env.observation_space.shape
    action, state = policy.predict(observation)
    assert state is None and action.shape == () and env.action_space.contains(action)
    values = policy.action_values(observation)
    assert action == values.argmax() and values.shape == (env.action_space.n,)
    several = np.stack([observation, observation * 0])
    assert policy.predict(several)[0].tolist() == [action, policy.predict(observation * 0)[0]]
    assert policy.predict(observation[None])[0].shape == (1,)
    assert policy.predict(observation.ravel())[0] == action


def test_policies_differ_and_can_be_sent_and_kept(tmp_path):
    observation = gym.make("cpss/merge-v0").reset(seed=0)[0]
    policy, other = cpss.load_policy("merge-v0", seed=0), cpss.load_policy("merge-v0", seed=1)
    values = policy.action_values(observation)
    assert (values != other.action_values(observation)).any()
    assert (pickle.loads(pickle.dumps(policy)).action_values(observation) == values).all()
    policy.save(tmp_path / "mine.safetensors")
    read = cpss.load_policy(tmp_path / "mine.safetensors")
    assert (read.action_values(observation) == values).all() and read.config == policy.config


def test_exploration_is_a_choice():
    policy, observation = cpss.load_policy("merge-v0"), np.zeros((500, 5, 5), np.float32)
    policy.set_random_seed(0)
    greedy, exploring = policy.predict(observation)[0], policy.predict(observation, deterministic=False)[0]
    assert len(set(greedy.tolist())) == 1
    assert 0.01 < (greedy != exploring).mean() < 0.1


def test_mistakes_are_named(tmp_path):
    with pytest.raises(ValueError, match="builtin:0 to builtin:4"):
        cpss.load_policy("merge-v0", seed=5)
    with pytest.raises(ValueError, match="merge-v1"):
        cpss.load_policy("merge-v1")
    with pytest.raises(ValueError, match="no task"):
        cpss.load_policy("parking-v0")
    (tmp_path / "bad.safetensors").write_bytes(b"nothing")
    with pytest.raises(ValueError, match="cannot be read"):
        cpss.load_policy(tmp_path / "bad.safetensors")
    policy = cpss.load_policy("merge-v0")
    for wrong in (np.zeros(24), np.zeros((4, 5)), np.zeros(0), 3.0):
        with pytest.raises(ValueError, match="the policy sees"):
            policy.action_values(wrong)
    with pytest.raises(ValueError, match="NaN|inf"):
        policy.predict(np.full((5, 5), np.nan))


def test_one_policy_answers_many_threads():
    policy = cpss.load_policy("merge-v0")
    observations = np.random.default_rng(0).normal(size=(4000, *policy.observation_shape)).astype(np.float32)
    wanted = policy.action_values(observations)
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        answers = list(pool.map(lambda _: policy.action_values(observations), range(16)))
    assert all((answer == wanted).all() for answer in answers)
