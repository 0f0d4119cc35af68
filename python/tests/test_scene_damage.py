"""Contract: whatever numbers a scene from elsewhere holds, reading it is a ValueError or risks and costs from 0 to 1, never
a crash and never a number that is none.
"""

import random
import struct

import numpy as np
import pytest

from cpss import _native

SEED = 23
ODD = [float("nan"), float("inf"), -float("inf"), 0.0, -0.0, 1.0, -1.0, 1e308, -1e308, 5e-324, 1e6, -1e6]


def odd(draw):
    """A number that a bridge could hand over by mistake."""
    if draw.random() < 0.7:
        return draw.choice(ODD)
    return struct.unpack("<d", draw.randbytes(8))[0]


def damaged(draw, mind, bodies, cars, earlier):
    """The same scene with some of its numbers, names or counts wrong."""
    (start, end, lane), speed, place, route, steering, (low, high) = mind
    bodies = bodies.copy()
    for _ in range(draw.randrange(4)):
        bodies[draw.randrange(len(bodies)), draw.randrange(bodies.shape[1])] = odd(draw)
    match draw.randrange(9):
        case 0:
            lane = draw.choice([99, 2**40, 0])
        case 1:
            start = draw.choice(["", "nowhere", "a" * 10_000, "\0"])
        case 2:
            speed, steering = odd(draw), odd(draw)
        case 3:
            place = draw.choice([0, 3, 255])
        case 4:
            route = route * draw.choice([0, 2, 50]) + [("a", "b", draw.choice([None, 0, 70_000]))] * draw.randrange(2)
        case 5:
            low, high = odd(draw), odd(draw)
        case 6:
            cars, earlier = draw.choice([0, cars, cars + 1, 2**60]), draw.choice([0, earlier, 2**60])
        case 7:
            bodies = bodies[: draw.randrange(len(bodies) + 1)]
    return ((start, end, lane), speed, place, route, steering, (low, high)), bodies, cars, earlier


def seed_scene(id):
    """A scene with an ego on the task's first road, and cars about it."""
    lanes = {"merge-v0": ("a", "b", 1), "highway-v0": ("0", "1", 1), "intersection-v0": ("o0", "ir0", 0)}
    numbers = [[30.0 + 15.0 * place, 4.0, 0.0, 20.0, 0.0, 5.0, 2.0, 0.0, 1.0, 0.0] for place in range(5)]
    return (lanes[id], 20.0, 1, [(*lanes[id][:2], None)], 0.0, (-40.0, 40.0)), np.array(numbers), 3, 1


@pytest.mark.parametrize("id", ["merge-v0", "highway-v0", "intersection-v0"])
def test_no_numbers_bring_it_down(id):
    draw = random.Random(SEED)
    driving = _native.Driving(_native.Task(id, "{}"), _native.Critic(id, "drift"))
    good = seed_scene(id)
    driving.look(*good)
    assert (driving.assess()[2] <= 1).all()
    refused = 0
    for _ in range(3_000):
        scene = damaged(draw, *good)
        try:
            driving.look(*scene)
        except (ValueError, OverflowError) as error:
            assert str(error), scene
            refused += 1
        costs, _, risks, unavoidable = driving.assess()
        numbers = np.concatenate([costs, risks, [unavoidable, driving.closeness()]])
        assert ((numbers >= 0) & (numbers <= 1)).all(), scene
    assert 100 < refused < 2_900
