"""Does our quantile DQN learn what sb3-contrib's does?

Both learn merge-v0 with the same network, settings and number of steps, from the same observations, and are scored on the
same kind of episodes: mean return and share of episodes with a crash. Ours is `cpss train --algorithm cvar` at level 1,
which is plain QR-DQN; sb3-contrib's learns in the package's own environment, which is highway-env's seed for seed.

    pip install sb3-contrib, and the package
    cargo build --release
    python bench/qrdqn.py target/release/cpss --steps 30000 --seeds 3
"""

import argparse
import json
import pathlib
import subprocess
import tempfile
import time

import cpss  # noqa: F401, registers the tasks
import gymnasium
import numpy
import torch
from sb3_contrib import QRDQN

QUANTILES, EPISODES, FIRST_SEED = 32, 500, 1_500_000
SETTINGS = """worlds = 1
[dqn]
total_steps = {steps}
hidden = [128, 128]
learning_rate = 5e-4
buffer_size = 15_000
gamma = 0.95
target_update_interval = 500
exploration_fraction = 0.3
quantiles = {{ count = {quantiles}, level = 1.0 }}
"""


def theirs(steps: int, seed: int) -> tuple[float, float, float]:
    """Returns the mean return, the share of crashes and the seconds of sb3-contrib's."""
    torch.set_num_threads(1)
    env = gymnasium.make("cpss/merge-v0")
    model = QRDQN(
        "MlpPolicy",
        env,
        # sb3-contrib's own Adam and last share of random actions are others; here they are ours.
        policy_kwargs={"net_arch": [128, 128], "n_quantiles": QUANTILES, "optimizer_kwargs": {"eps": 1e-8}},
        learning_rate=5e-4,
        buffer_size=15_000,
        learning_starts=200,
        batch_size=32,
        gamma=0.95,
        train_freq=1,
        gradient_steps=1,
        target_update_interval=500,
        exploration_fraction=0.3,
        exploration_final_eps=0.05,
        max_grad_norm=10,
        seed=seed,
        device="cpu",
    )
    start = time.perf_counter()
    model.learn(steps)
    seconds = time.perf_counter() - start
    returns, crashes = [], 0
    for episode in range(EPISODES):
        seen, _ = env.reset(seed=FIRST_SEED + episode)
        total, over = 0.0, False
        while not over:
            action, _ = model.predict(seen, deterministic=True)
            seen, reward, terminated, truncated, info = env.step(int(action))
            total, over = total + reward, terminated or truncated
        returns.append(total)
        crashes += bool(info["crashed"])
    return float(numpy.mean(returns)), crashes / EPISODES, seconds


def ours(command: str, steps: int, seed: int) -> tuple[float, float, float]:
    """The same of ours."""
    with tempfile.TemporaryDirectory() as folder:
        place = pathlib.Path(folder)
        (place / "settings.toml").write_text(SETTINGS.format(steps=steps, quantiles=QUANTILES))
        words = [command, "train", "--env", "merge-v0", "--algorithm", "cvar", "--seed", str(seed)]
        words += ["--settings", "settings.toml", "--out", "policy.safetensors", "--json"]
        words += ["--score-episodes", str(EPISODES)]
        said = subprocess.run(words, cwd=place, check=True, capture_output=True).stdout
    report = json.loads(said)
    score = report["score"]
    return score["return_mean"], score["crashed_rate"], report["seconds"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cpss", help="the command")
    parser.add_argument("--steps", type=int, default=30_000)
    parser.add_argument("--seeds", type=int, default=3)
    options = parser.parse_args()
    command = str(pathlib.Path(options.cpss).resolve())
    print("| seed | ours: return | crashes | seconds | sb3-contrib: return | crashes | seconds |")
    print("|---|---|---|---|---|---|---|")
    for seed in range(options.seeds):
        mine = ours(command, options.steps, seed)
        other = theirs(options.steps, seed)
        cells = [f"{value:.3f}" for value in [*mine, *other]]
        print(f"| {seed} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
