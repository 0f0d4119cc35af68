"""Writes numbers drawn by NumPy itself, in many orders of calls, for tests/random.rs.

    python3 random_golden.py > ../tests/golden/random.txt

One line per call: the seed, which call it was, and every number it gave as a hexadecimal float.
The order of the calls is random and differs from seed to seed, because some calls keep half of
their bits for a later one.
"""

import random

import numpy as np

SEEDS = [*range(90), 123456789, 2**31 - 1, 2**31, 2**32 - 1, 2**32, 2**40 + 3, 2**53, 2**63, 2**64 - 1]
CALLS = 30


def draw(generator, call):
    if call == 0:
        return [generator.random()]
    if call == 1:
        return [generator.uniform(-5, 7.5)]
    if call == 2:
        return [generator.normal(1.0)]
    if call == 3:
        return [generator.integers(1, 4)]
    if call == 4:
        return [generator.choice(5)]
    if call == 5:
        return generator.choice(range(4), size=2, replace=False)
    if call == 6:
        rows = np.arange(14).reshape(7, 2).astype(float)
        generator.shuffle(rows)
        return rows[:, 0]
    return [generator.standard_normal()]


for seed in SEEDS:
    generator = np.random.Generator(np.random.PCG64(np.random.SeedSequence(seed)))
    order = random.Random(seed)
    for _ in range(CALLS):
        call = order.randrange(8)
        print(seed, call, *[float(value).hex() for value in draw(generator, call)])
