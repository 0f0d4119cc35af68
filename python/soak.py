"""A long run of a shielded batch, with memory and threads watched.

    python python/soak.py                          a million episodes of merge-v0, 64 at a time; some minutes
    python python/soak.py --env highway-v0 --episodes 100000

Every few seconds a line: episodes, steps a second, resident memory, threads. It fails if memory still grows after the first
tenth, if threads come or go, if a reward is no number, or if an account of risk does not add up.
"""

import argparse
import sys
import time
from pathlib import Path

import numpy as np

import cpss

#: What memory may grow by after the first tenth of the run: an allocator's own comings and goings.
MOST_GROWTH = 8.0


def resident():
    """Resident memory [MiB] and the number of threads, as the kernel has them."""
    lines = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
    return int(lines["VmRSS"].split()[0]) / 1024, int(lines["Threads"])


def soak(task, episodes, envs, budget, every=5.0):
    """Plays; prints a line now and then, and returns what was seen at each, as (episodes, MiB, threads)."""
    batch = cpss.make_vec(task, envs, shield=True, budget=budget)
    generator = np.random.default_rng(0)
    batch.reset(seed=0)
    done = steps = crashed = refused = 0
    seen, began, told = [], time.monotonic(), time.monotonic()
    print(f"{'episodes':>10} {'steps/s':>9} {'MiB':>8} {'threads':>8} {'crashed':>8} {'refused':>8}")
    while done < episodes:
        actions = generator.integers(batch.single_action_space.n, size=envs)
        _, rewards, terminated, truncated, info = batch.step(actions)
        over = terminated | truncated
        if not np.isfinite(rewards).all():
            sys.exit(f"a reward is no number after {done} episodes")
        shield = info["shield"]
        account = sum(shield[part] for part in ("start", "chosen", "surprise", "arriving"))[over]
        if not np.minimum(abs(account), abs(account - 1)).max(initial=0.0) < 1e-9:
            sys.exit(f"an account does not add up after {done} episodes: {account}")
        steps += envs
        done += int(over.sum())
        crashed += int((info["crashed"] & over).sum())
        refused += int((shield["verdict"] != "admit").sum())
        now = time.monotonic()
        if now - told >= every or done >= episodes or not seen:
            told = now
            memory, threads = resident()
            seen.append((done, memory, threads))
            print(f"{done:>10} {steps / (now - began):>9.0f} {memory:>8.1f} {threads:>8} {crashed / max(done, 1):>8.4f} {refused / steps:>8.3f}", flush=True)
    batch.close()
    return seen


def verdict(seen, episodes):
    """What is wrong with a run, in words; `None` if nothing is."""
    after = [(memory, threads) for done, memory, threads in seen if done >= episodes / 10]
    growth = after[-1][0] - after[0][0]
    if growth > MOST_GROWTH:
        return f"memory grew by {growth:.1f} MiB after the first tenth"
    if len({threads for _, threads in after}) > 1:
        return f"threads came or went: {sorted({threads for _, threads in after})}"
    return None


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--env", default="merge-v0")
    parser.add_argument("--episodes", type=int, default=1_000_000)
    parser.add_argument("--envs", type=int, default=64)
    parser.add_argument("--budget", type=float, default=0.01)
    options = parser.parse_args()
    if options.episodes < 1 or options.envs < 1:
        parser.error("episodes and envs have to be at least 1")
    seen = soak(options.env, options.episodes, options.envs, options.budget)
    problem = verdict(seen, options.episodes)
    if problem:
        sys.exit(f"soak: {problem}")
    print("sound: memory and threads stayed as they were")


if __name__ == "__main__":
    main()
