"""How much faster does `cpss train` train a DQN than Stable-Baselines3 on highway-env?

Both train for the same steps with the settings of highway-env's own script, which are the defaults of
`cpss train` (`bench/sb3.toml`), one after the other, on one thread each. Wall time is what a user
waits for, processor time what a busy machine cannot distort; both are of the training alone for
Stable-Baselines3, but the whole process counts in the processor time of `cpss`.

    pip install highway-env==1.12.1 stable-baselines3 torch
    cargo build --release
    python bench/sb3_speed.py target/release/cpss merge-v0 intersection-v0 --steps 2000
"""

import argparse
import json
import pathlib
import resource
import subprocess
import tempfile
import time

import gymnasium
import highway_env  # noqa: F401, registers the tasks
import torch
from stable_baselines3 import DQN

SETTINGS = pathlib.Path(__file__).with_name("sb3.toml")


def sb3(env: str, steps: int) -> tuple[float, float]:
    """Returns the seconds of wall and processor time that Stable-Baselines3 takes."""
    torch.set_num_threads(1)
    model = DQN(
        "MlpPolicy",
        gymnasium.make(env),
        policy_kwargs={"net_arch": [256, 256]},
        learning_rate=5e-4,
        buffer_size=15_000,
        learning_starts=200,
        batch_size=32,
        gamma=0.8,
        train_freq=1,
        gradient_steps=1,
        target_update_interval=50,
        device="cpu",
        seed=0,
    )
    wall, cpu = time.perf_counter(), time.process_time()
    model.learn(steps)
    return time.perf_counter() - wall, time.process_time() - cpu


def ours(cpss: str, env: str, steps: int) -> tuple[float, float]:
    """Returns the seconds of wall and processor time that `cpss train` takes."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    with tempfile.TemporaryDirectory() as directory:
        out = f"{directory}/policy.safetensors"
        command = [cpss, "train", "--env", env, "--seed", "0", "--steps", str(steps), "--out", out]
        command += ["--settings", str(SETTINGS), "--score-episodes", "1", "--json"]
        report = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return json.loads(report)["seconds"], cpu


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("cpss", help="the program")
    parser.add_argument("envs", nargs="+", help="tasks, by highway-env's id")
    parser.add_argument("--steps", type=int, default=2000)
    options = parser.parse_args()
    print("| task | steps | Stable-Baselines3 \\[s\\] | `cpss train` \\[s\\] | ratio | processor time \\[s\\] | ratio |")
    print("|---|---:|---:|---:|---:|---:|---:|")
    for env in options.envs:
        theirs_wall, theirs_cpu = sb3(env, options.steps)
        our_wall, our_cpu = ours(options.cpss, env, options.steps)
        print(
            f"| {env} | {options.steps:,} | {theirs_wall:.1f} | {our_wall:.2f} | {theirs_wall / our_wall:.0f}x "
            f"| {theirs_cpu:.1f} and {our_cpu:.2f} | {theirs_cpu / our_cpu:.0f}x |",
            flush=True,
        )


if __name__ == "__main__":
    main()
