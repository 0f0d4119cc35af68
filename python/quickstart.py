"""The package in a minute: drive, shield, shield the original, shield your own, and step a thousand at once.

    pip install ./python            from the repository's root; needs Rust
    python python/quickstart.py

The part with highway-env's own environment runs if that is installed (`pip install highway-env==1.12.1`).
"""

import time

import gymnasium as gym
import numpy as np

import cpss


def drive(env, policy, seeds):
    """Plays some episodes; returns how many crashed, the mean return, and how often the shield stepped in."""
    crashed, total, refused, steps = 0, 0.0, 0, 0
    for seed in seeds:
        observation, info = env.reset(seed=seed)
        over = False
        while not over:
            action, _ = policy.predict(observation)
            observation, reward, terminated, truncated, info = env.step(action)
            total += reward
            steps += 1
            refused += info["shield"]["verdict"] != "admit"
            over = terminated or truncated
        crashed += info["crashed"]
    return crashed, total / len(seeds), refused / steps


print("1. A shipped policy on the highway, judged by a shield that only watches, then by one that acts")
policy = cpss.load_policy("highway-v0", seed=0)
for mode in ("shadow", "enforce"):
    env = cpss.ShieldWrapper(gym.make("cpss/highway-v0", config=policy.config), mode=mode)
    crashed, mean, refused = drive(env, policy, range(100))
    print(f"   {mode:8} crashed in {crashed} of 100 episodes, return {mean:.1f}, refused {refused:.0%} of decisions")
certificate = env.certificate()
print(f"   the last episode spent {certificate['spent']:.4f} of a budget of {certificate['budget']}, which was {'kept' if certificate['budget_kept'] else 'NOT kept'}")
parts = " + ".join(f"{name} {value:.4f}" for name, value in certificate["account"].items())
print(f"   where its risk came from: {parts} = {sum(certificate['account'].values()):.4f} incidents")

print("2. The same shield around the original")
try:
    import highway_env  # noqa: F401
except ImportError:
    print("   highway-env is not installed; left out")
else:
    policy = cpss.load_policy("merge-v0", seed=0)
    results = {}
    for name in ("cpss/merge-v0", "merge-v0"):
        # By its spec and not by its name alone, to which Gymnasium would advise a later version: `v0` is meant.
        env = cpss.ShieldWrapper(gym.make(gym.spec(name), config=policy.config, disable_env_checker=True))
        begin = time.perf_counter()
        results[name] = drive(env, policy, range(10))
        print(f"   {name:14} return {results[name][1]:.6f} in {time.perf_counter() - begin:.2f} s")
    assert np.allclose(results["cpss/merge-v0"], results["merge-v0"], atol=1e-6)

print("3. Your own environment: say what each action risks")


def tipping(env, observation):
    """CartPole: pushing left (action 0) tips the pole to the right, and the other way round."""
    lean = observation[2] + 0.5 * observation[3]
    return [min(1, max(0, lean) * 4), min(1, max(0, -lean) * 4)]


for mode in ("shadow", "enforce"):
    env = cpss.ShieldWrapper(gym.make("CartPole-v1"), budget=5.0, horizon=500, cost=tipping, mode=mode)
    env.reset(seed=0)
    steps, over = 0, False
    while not over:
        _, _, terminated, truncated, info = env.step(0)  # a policy that knows no better
        steps, over = steps + 1, terminated or truncated
    print(f"   {mode:8} {'fell' if terminated else 'still stood'} after {steps} steps, budget left {info['shield']['remaining']:.2f}")

print("4. Many at once, each with a shield of its own")
envs = cpss.make_vec("highway-v0", num_envs=256, config=cpss.policy_config("highway-v0"), shield=True)
policy = cpss.load_policy("highway-v0", seed=1)
observations, infos = envs.reset(seed=0)
begin, decisions = time.perf_counter(), 0
while time.perf_counter() - begin < 3:
    actions, _ = policy.predict(observations)
    observations, rewards, terminated, truncated, infos = envs.step(actions)
    decisions += envs.num_envs
verdicts, counts = np.unique(infos["shield"]["verdict"], return_counts=True)
print(f"   {decisions / (time.perf_counter() - begin):,.0f} shielded decisions per second; the last: {dict(zip(verdicts.tolist(), counts.tolist()))}")
