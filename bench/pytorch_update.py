"""How long does PyTorch take for one DQN update?

The update is the one `cpss_learn::measure_update` times: a 25-256-256-5 network at batch 32, forward
through the online network on `s` and the target network on `s'`, Huber loss, backward, clipping by
global norm 10, one Adam step. One thread, float32, the batch already in memory. Prints one line of
JSON: the median over all timed updates, in microseconds.

    python bench/pytorch_update.py [seconds]
"""

import json
import statistics
import sys
import time

import torch
from torch import nn

OBSERVATION, HIDDEN, ACTIONS, BATCH, GAMMA = 25, 256, 5, 32, 0.8
WARM_UP_UPDATES = 200


def q_network() -> nn.Sequential:
    return nn.Sequential(
        nn.Linear(OBSERVATION, HIDDEN),
        nn.ReLU(),
        nn.Linear(HIDDEN, HIDDEN),
        nn.ReLU(),
        nn.Linear(HIDDEN, ACTIONS),
    )


def main(seconds: float) -> None:
    torch.set_num_threads(1)
    torch.manual_seed(0)
    online, target = q_network(), q_network()
    target.load_state_dict(online.state_dict())
    optimizer = torch.optim.Adam(online.parameters(), lr=5e-4)
    observations = torch.rand(BATCH, OBSERVATION)
    next_observations = torch.rand(BATCH, OBSERVATION)
    actions = torch.randint(ACTIONS, (BATCH, 1))
    rewards = torch.rand(BATCH, 1)
    terminated = (torch.rand(BATCH, 1) < 0.05).float()

    def update() -> None:
        with torch.no_grad():
            best_next = target(next_observations).max(dim=1, keepdim=True).values
            targets = rewards + (1.0 - terminated) * GAMMA * best_next
        predicted = online(observations).gather(1, actions)
        loss = nn.functional.smooth_l1_loss(predicted, targets)
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(online.parameters(), 10.0)
        optimizer.step()

    for _ in range(WARM_UP_UPDATES):
        update()
    times_us = []
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        start = time.perf_counter()
        update()
        times_us.append((time.perf_counter() - start) * 1e6)
    report = {
        "pytorch_update_us": round(statistics.median(times_us), 1),
        "updates": len(times_us),
        "torch": torch.__version__,
    }
    print(json.dumps(report))


if __name__ == "__main__":
    main(float(sys.argv[1]) if len(sys.argv) > 1 else 3.0)
