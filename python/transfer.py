"""Do results carry over to highway-env itself?

    python python/transfer.py                         every task, 200 episodes each, and a table
    python python/transfer.py --task merge-v0         one of them
    python python/transfer.py --episodes 20           fewer
    python python/transfer.py --kept                  only those that highway-env has played already
    python python/transfer.py --adopt merge-v0        take what another build of the package kept of this task
    python python/transfer.py --write python/README.md   and put the table there, between its markers

The shipped policies drive under the shipped shield, once in our world and once in the original, from PyPI,
around which the very same wrapper is put: its scene is read from highway-env's own objects. Both have to
take the same actions and get the same rewards, within 1e-6, to the same end. The task is the stationary one, as
highway-env has it; five policies play, each its own seeds, on which nothing was tuned.

highway-env takes its time, so what it did is kept (`--cache`), and an interrupted run goes on. Ours is always
played again. The shield that was around highway-env is ours too, so an episode is kept with a fingerprint: of the
package's sources, its compiled half, and highway-env's version. With another one it is played again (and with
`--kept` left out), unless `--adopt` says that nothing which it depends on has changed; the output says so then.
Where ours differs from the kept episode, highway-env plays that one again in any case.

Where both part, highway-env is asked again with the same actions, once with plain arithmetic and then with its
last bits disturbed, as the parity test does (crates/highway/scripts/parity.py says why). If its own cars then part from themselves no later than
ours did, if it sees just what ours saw when its cars stand a few units in the last place elsewhere, or if policy and shield then do in it what they do in ours, the episode is *undecided upstream*,
and neither agrees nor fails. The second happens at the intersection: highway-env looks for road in points 5 m apart from the ego, which lie exactly on the borders of
the policy's cells of 5 m, so that the last bit of a position decides which cell has road in it.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import logging
import os
import pathlib
import random
import re
import subprocess
import sys
import warnings

import cpss

TASKS = cpss.shipped_tasks()
POLICIES = 5
FIRST_SEED, SEEDS_PER_POLICY = 2_000_000, 10_000
TOLERANCE = 1e-6
NUDGES = 12
GLANCES = 100


def make(name: str, policy, nudge: int = 0):
    """An environment under the shield, ours or the original, as the policy sees it."""
    import gymnasium

    import cpss

    env = gymnasium.make(name, config=policy.config, disable_env_checker=True)
    if nudge:
        env.unwrapped.step = nudged(env.unwrapped, nudge)
    return cpss.ShieldWrapper(env, preferences=policy)


def nudged(env, nudge: int):
    """highway-env's step, with the last bits of its cars disturbed before every one (or, for odd numbers, only
    before the first)."""
    import numpy as np

    step, signs = env.step, random.Random(nudge)

    def disturbed(action):
        if nudge % 2 == 0 or env.time == 0:
            for car in env.road.vehicles:
                car.position = np.nextafter(car.position, [signs.choice([-np.inf, np.inf]) for _ in (0, 1)])
                car.heading = np.nextafter(car.heading, signs.choice([-np.inf, np.inf]))
        return step(action)

    return disturbed


def play(env, policy, seed: int, longest: int = 10**6) -> dict:
    """One episode: what was done, and what came of it."""
    observation, _ = env.reset(seed=seed)
    actions, rewards, refused, over = [], [], 0, False
    while not over and len(actions) < longest:
        observation, reward, terminated, truncated, info = env.step(policy.predict(observation)[0])
        actions.append(int(info["shield"]["executed_action"]))
        rewards.append(float(reward))
        refused += info["shield"]["verdict"] != "admit"
        over = terminated or truncated
    return {
        "actions": actions, "rewards": rewards, "refused": refused,
        "terminated": bool(terminated), "crashed": bool(info["crashed"]),
    }  # fmt: skip


def first_difference(ours: dict, theirs: dict) -> tuple[int, str] | None:
    """Where two episodes part, and in what; nothing if they do not."""
    for step, (mine, upstream) in enumerate(zip(ours["actions"], theirs["actions"])):
        if mine != upstream:
            return step, f"step {step}: action {mine}, upstream {upstream}"
        gap = abs(ours["rewards"][step] - theirs["rewards"][step])
        if not gap <= TOLERANCE:
            return step, f"step {step}: rewards differ by {gap:.1e}"
    if len(ours["actions"]) != len(theirs["actions"]):
        return min(len(ours["actions"]), len(theirs["actions"])), f"{len(ours['actions'])} steps, upstream {len(theirs['actions'])}"
    if (ours["terminated"], ours["crashed"]) != (theirs["terminated"], theirs["crashed"]):
        return len(ours["actions"]), "they end differently"
    gap = abs(sum(ours["rewards"]) - sum(theirs["rewards"]))
    return None if gap <= TOLERANCE else (len(ours["actions"]), f"returns differ by {gap:.1e}")


def trail(task: str, config: dict, seed: int, actions: list[int], nudge: int = 0) -> list[tuple]:
    """Every car, and what is seen of them, at the start and after each of some given actions. Of ours only
    what is seen."""
    import gymnasium
    import numpy as np

    env = gymnasium.make(task, config=config, disable_env_checker=True).unwrapped
    step = nudged(env, nudge) if nudge else env.step
    seen, _ = env.reset(seed=seed)
    states = []
    for action in (*actions, None):
        road = getattr(env, "road", None)
        cars = [number for car in road.vehicles for number in (*car.position, car.heading, car.speed)] if road else []
        states.append((np.array(cars, float), seen.ravel()))
        if action is not None:
            seen = step(action)[0]
    return states


def plain_trail(task: str, config: dict, seed: int, actions: list[int]) -> list[tuple]:
    """The same with plain arithmetic, as on another processor: without NumPy's vector functions and the linear
    algebra's fused multiplications. Those are chosen when a process starts."""
    import numpy as np
    import numpy._core._multiarray_umath as numpy_core

    variables = {"NPY_DISABLE_CPU_FEATURES": " ".join(numpy_core.__cpu_dispatch__), "OPENBLAS_CORETYPE": "Nehalem"}
    question = json.dumps([task, config, seed, actions])
    command = [sys.executable, "-W", "ignore", __file__, "--trail"]
    run = subprocess.run(command, input=question, env=os.environ | variables, capture_output=True, text=True, check=True)
    return [(np.array(cars), np.array(seen, np.float32)) for cars, seen in json.loads(run.stdout.splitlines()[-1])]


def answer_trail() -> None:
    """The other half of that."""
    import highway_env  # noqa: F401

    states = trail(*json.load(sys.stdin))
    print(json.dumps([(cars.tolist(), seen.tolist()) for cars, seen in states]))


def glances(task: str, config: dict, seed: int, actions: list[int]):
    """What highway-env sees after some given actions if its cars stand up to 4 units in the last place beside where
    they stand."""
    import gymnasium
    import numpy as np

    env = gymnasium.make(task, config=config, disable_env_checker=True).unwrapped
    env.reset(seed=seed)
    for action in actions:
        env.step(action)
    signs = random.Random(0)
    places = [car.position.copy() for car in env.road.vehicles]
    for _ in range(GLANCES):
        for car, place in zip(env.road.vehicles, places):
            car.position = place + np.spacing(place) * [signs.randint(-4, 4), signs.randint(-4, 4)]
        yield env.observation_type.observe().ravel()


def why_undecided(task: str, policy, seed: int, ours: dict, theirs: dict, step: int) -> str | None:
    """Whether highway-env's last bits decide what happens at a step: if just what ours sees is seen from a few units
    in the last place beside; if, disturbed, its own cars part from themselves; or if
    policy and shield then do in it what they do in ours."""
    import numpy as np

    done = theirs["actions"][:step]
    ours_seen = trail(f"cpss/{task}", policy.config, seed, done)[-1][1]
    plain = trail(task, policy.config, seed, theirs["actions"][: step + 1])

    def is_ours(seen) -> bool:
        return not (np.abs(ours_seen - seen) > TOLERANCE).any()

    if not is_ours(plain[step][1]) and any(map(is_ours, glances(task, policy.config, seed, done))):
        return "its last bits decide what is seen"
    for nudge in range(NUDGES + 1):
        follow = trail if nudge else lambda *question: plain_trail(*question[:-1])
        other = follow(task, policy.config, seed, theirs["actions"][: step + 1], nudge)
        for (one, _), (two, _) in zip(plain, other):
            if len(one) != len(two) or np.abs(one - two).max() > TOLERANCE:
                return "with other last bits its cars part from themselves"
        again = play(make(task, policy, nudge), policy, seed, step + 1) if nudge else theirs
        if again["actions"] == ours["actions"][: step + 1] != theirs["actions"][: step + 1]:
            return "with other last bits it goes as ours does"
    return None


def fingerprint() -> str:
    """What an episode of highway-env depends on: the package around it, compiled and not, and its own version."""
    from importlib.metadata import version

    import cpss
    from cpss import _native

    digest = hashlib.sha256(version("highway-env").encode())
    for path in [*sorted(pathlib.Path(cpss.__file__).parent.glob("*.py")), pathlib.Path(_native.__file__)]:
        digest.update(path.name.encode() + path.read_bytes())
    return digest.hexdigest()[:16]


def compare(task: str, episodes: int, cache: pathlib.Path, only_kept: bool, adopts: bool) -> dict:
    """All episodes of one task, in a process that has played nothing else: highway-env's intersection
    changes class attributes that other tasks would inherit."""
    import highway_env  # noqa: F401

    import cpss

    warnings.simplefilter("ignore")
    logging.disable(logging.WARNING)
    cache.mkdir(parents=True, exist_ok=True)
    counts = {"task": task, "episodes": 0, "agree": 0, "undecided": [], "differ": [], "steps": 0, "refused": 0, "largest": 0.0, "adopted": 0}
    current = fingerprint()
    for index in range(POLICIES):
        policy = cpss.load_policy(task, seed=index)
        ours_env, their_env = make(f"cpss/{task}", policy), make(task, policy)
        for seed in range(FIRST_SEED + index * SEEDS_PER_POLICY, FIRST_SEED + index * SEEDS_PER_POLICY + episodes // POLICIES):
            place = cache / f"{task}_{index}_{seed}.json"
            theirs = json.loads(place.read_text()) if place.exists() else None
            is_foreign = theirs is not None and theirs.get("fingerprint") != current
            if is_foreign and not adopts:
                theirs = None
            if only_kept and theirs is None:
                continue
            ours = play(ours_env, policy, seed)
            found = first_difference(ours, theirs) if theirs else True
            if not found:
                counts["adopted"] += is_foreign
            else:
                theirs = play(their_env, policy, seed)
                place.write_text(json.dumps({**theirs, "fingerprint": current}))
                found = first_difference(ours, theirs)
            counts["episodes"] += 1
            counts["steps"] += len(ours["actions"])
            counts["refused"] += ours["refused"]
            if found is None:
                counts["agree"] += 1
                gap = abs(sum(ours["rewards"]) - sum(theirs["rewards"]))
                counts["largest"] = max(counts["largest"], gap)
            else:
                step, words = found
                undecided = why_undecided(task, policy, seed, ours, theirs, step)
                if undecided:
                    counts["undecided"].append((undecided, seed))
                else:
                    counts["differ"].append((words, seed))
            print(f"{task}: {counts['agree']} of {counts['episodes']} agree", file=sys.stderr, flush=True)
    return counts


def table(rows: list[dict]) -> str:
    lines = [
        "| task | episodes | the same, step for step | undecided upstream | different | decisions | of these refused | largest difference of returns |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for row in rows:
        lines.append(
            f"| {row['task']} | {row['episodes']} | {row['agree']} | {len(row['undecided'])} | {len(row['differ'])} "
            f"| {row['steps']:,} | {row['refused']:,} | {row['largest']:.1e} |"
        )
    for row in rows:
        if row["adopted"]:
            lines.append(f"\n{row['task']}: {row['adopted']} of highway-env's episodes were played under another build and adopted (`--adopt`)")
        for what in ("undecided", "differ"):
            for why in sorted({why for why, _ in row[what]}):
                seeds = ", ".join(str(seed) for reason, seed in row[what] if reason == why)
                lines.append(f"\n{row['task']}, {what}: {why} (seeds {seeds})")
    return "\n".join(lines)


def splice(path: pathlib.Path, text: str) -> None:
    begin, end = "<!-- transfer: begin -->", "<!-- transfer: end -->"
    old = path.read_text()
    if begin not in old or end not in old:
        sys.exit(f"error: {path} has no markers {begin} and {end}")
    path.write_text(re.sub(f"{begin}.*{end}", lambda _: f"{begin}\n{text}\n{end}", old, flags=re.S))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--task", action="append", choices=TASKS, help="only this one")
    parser.add_argument("--episodes", type=int, default=200, help="for each task, shared by five policies")
    parser.add_argument("--kept", action="store_true", help="only episodes that highway-env has played already")
    parser.add_argument("--adopt", action="append", default=[], choices=TASKS, help="take what another build kept of this task")
    parser.add_argument("--cache", type=pathlib.Path, default=pathlib.Path("target/transfer"), help="where highway-env's episodes are kept")
    parser.add_argument("--write", type=pathlib.Path, metavar="FILE", help="put the table into this document")
    parser.add_argument("--one", choices=TASKS, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        print(json.dumps(compare(options.one, options.episodes, options.cache, options.kept, options.one in options.adopt)))
        return
    rows = []
    for task in options.task or TASKS:
        command = [sys.executable, __file__, "--one", task, "--episodes", str(options.episodes), "--cache", str(options.cache)]
        command += ["--kept"] if options.kept else []
        command += ["--adopt", task] if task in options.adopt else []
        run = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
        rows.append(json.loads(run.stdout.splitlines()[-1]))
    flags = f"--episodes {options.episodes}" + (" --kept" if options.kept else "") + "".join(f" --adopt {task}" for task in options.adopt)
    made = table(rows) + f"\n\nMade by `python python/transfer.py {flags}`."
    print(made)
    if options.write:
        splice(options.write, made)
    sys.exit(1 if any(row["differ"] for row in rows) else 0)


if __name__ == "__main__":
    answer_trail() if sys.argv[1:] == ["--trail"] else main()
