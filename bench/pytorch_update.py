"""How long does PyTorch take for one update of a DQN, and of a critic?

The update is the one `cpss_learn::measure_update` times: a 25-256-256-5 network at batch 32, forward
through the online network on `s` and the target network on `s'`, Huber loss, backward, clipping by
global norm 10, one Adam step. The critic's is the one `cpss_learn::measure_critic_update` times: a set encoder of
96-96 over 16 items of 34 numbers beside 30 fixed ones, maximum and sum, a head of 128-128-5, batch 512, towards
the target critic's least risk of the next scene, by cross-entropy, clipping by norm 1, Adam, and a target that
follows. One thread, float32, the batch already in memory. Prints one line of JSON: the medians over all timed
updates, in microseconds.

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


class Critic(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.item = nn.Linear(34, 96, bias=False)
        self.fixed = nn.Linear(30, 96)
        self.encoder = nn.Linear(96, 96)
        self.head = nn.Sequential(
            nn.Linear(2 * 96 + 30, 128), nn.ReLU(), nn.Linear(128, 128), nn.ReLU(), nn.Linear(128, 5)
        )

    def forward(self, fixed: torch.Tensor, items: torch.Tensor) -> torch.Tensor:
        each = torch.relu(self.item(items) + self.fixed(fixed)[:, None])
        each = torch.relu(self.encoder(each))
        return self.head(torch.cat([each.amax(1), each.sum(1) / 4, fixed], 1))


def dqn_update():
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

    return update


def critic_update():
    online, target = Critic(), Critic()
    target.load_state_dict(online.state_dict())
    optimizer = torch.optim.Adam(online.parameters(), lr=5e-4)
    scenes = [(torch.rand(512, 30), torch.rand(512, 16, 34)) for _ in range(2)]
    actions = torch.randint(5, (512, 1))
    incident = (torch.rand(512) < 0.05).float()

    def update() -> None:
        with torch.no_grad():
            least = torch.sigmoid(target(*scenes[1])).amin(1)
            targets = incident + (1.0 - incident) * least
        logits = online(*scenes[0]).gather(1, actions)[:, 0]
        loss = nn.functional.binary_cross_entropy_with_logits(logits, targets)
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(online.parameters(), 1.0)
        optimizer.step()
        with torch.no_grad():
            for slow, fast in zip(target.parameters(), online.parameters()):
                slow.lerp_(fast, 0.01)

    return update


def median_us(update, warm_up: int, seconds: float) -> float:
    for _ in range(warm_up):
        update()
    times_us = []
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        start = time.perf_counter()
        update()
        times_us.append((time.perf_counter() - start) * 1e6)
    return round(statistics.median(times_us), 1)


def main(seconds: float) -> None:
    torch.set_num_threads(1)
    torch.manual_seed(0)
    report = {
        "pytorch_update_us": median_us(dqn_update(), WARM_UP_UPDATES, seconds),
        "pytorch_critic_update_us": median_us(critic_update(), 5, seconds),
        "torch": torch.__version__,
    }
    print(json.dumps(report))


if __name__ == "__main__":
    main(float(sys.argv[1]) if len(sys.argv) > 1 else 3.0)
