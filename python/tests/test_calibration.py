"""Contract: what a card claims is bounded exactly, comes from whole episodes, and is that of the best of the last rounds."""

import dataclasses
import itertools
import math

import numpy as np
import pytest
from ledge import Ledge, fell

import cpss
from cpss import calibration
from cpss.calibration import RESOLUTIONS, SURELY, Resolved, Trial, best_of, resolved
from cpss.card import account_of, fewest_episodes, least_likely, most_likely
from cpss.playing import INCIDENT, OVER, Played, Stage


@pytest.mark.parametrize("happened, count", [(0, 10), (0, 150), (1, 20), (5, 100), (99, 100), (40, 2000)])
def test_bounds_are_exact(happened, count):
    most, least = most_likely(happened, count), least_likely(happened, count)
    below = lambda chance, most: sum(math.comb(count, k) * chance**k * (1 - chance) ** (count - k) for k in range(most + 1))  # noqa: E731
    assert below(most, happened) == pytest.approx(0.05, rel=1e-6)
    if happened > 0:
        assert 1 - below(least, happened - 1) == pytest.approx(0.05, rel=1e-6)
    assert least <= happened / count <= most


def test_as_many_episodes_as_it_takes_to_confirm_a_budget_and_not_one_fewer():
    for budget in (0.01, 0.02, 0.3):
        fewest = fewest_episodes(budget)
        assert most_likely(0, fewest) <= budget < most_likely(0, fewest - 1)
    assert most_likely(3, 3) == 1.0 and least_likely(0, 3) == 0.0


def test_too_few_episodes_promise_nothing_and_the_card_says_how_many_it_takes():
    # Of so many steps enough is learned: risks that are too high by far would keep any promise.
    card = cpss.learn_risk(Ledge, fell, steps=20_000, rounds=2, calibration_episodes=20, hidden=(32,), budgets=0.001).card
    assert not card.calibrated
    assert any("at least 2995" in note for note in card.notes), card.notes


class Limited(Ledge):
    """A ledge that is left after 20 steps by itself, as its spec says."""

    class spec:
        id, max_episode_steps = "Limited-v0", 20


def test_episodes_to_learn_from_may_be_cut_short_and_those_that_calibrate_are_whole(monkeypatch):
    lengths, play = {True: [], False: []}, Stage.play

    def watched(stage, behaviours, by=None, decisions=None):
        played = play(stage, behaviours, by, decisions)
        lengths[decisions is not None] += [episode.steps for episode in played]
        return played

    monkeypatch.setattr(Stage, "play", watched)
    card = cpss.learn_risk(Limited, fell, steps=4000, rounds=2, calibration_episodes=20, hidden=(16,), max_episode_steps=7).card
    assert max(lengths[True]) == 7 and max(lengths[False]) == 20 and card.horizon == 20


class Told:
    """A stage on which episodes end in incidents this often under each of the thresholds, and never under finer ones."""

    def __init__(self, *rates):
        self._rates, self.seeds = {**dict.fromkeys(RESOLUTIONS, 0.0), **dict(zip(RESOLUTIONS, rates))}, []

    def play(self, behaviours, by):
        def episode(behaviour):
            rate = self._rates[behaviour.threshold]
            self.seeds.append((behaviour.threshold, behaviour.seed))
            happens = int((behaviour.seed + 1) * rate + 1e-9) > int(behaviour.seed * rate + 1e-9)
            return Played(actions=[0], end=INCIDENT if happens else OVER)

        return [episode(behaviour) for behaviour in behaviours]


def told(stage):
    return Trial(stage, (0.02,), 0.99, 300, 0, lambda _text: None)


@pytest.mark.parametrize(
    "rates, threshold",
    [
        ((0.5, 0.0), 0.03),
        ((0.5, 0.3, 0.03, 0.02, 0.01), 0.01),
        # A finer one may be better though the one before was worse,
        ((0.5, 0.4, 0.6, 0.1, 0.3), 0.003),
        # and what the least budget allows is not worth a finer one.
        ((0.4, 0.3, 0.2, 0.034, 0.015), 0.003),
        ((0.4, 0.3, 0.2, 0.060, 0.015), 0.001),
    ],
)
def test_the_resolution_is_the_coarsest_threshold_that_is_about_as_good_as_the_best(rates, threshold):
    assert resolved(told(Told(*rates)), "model").resolution == threshold


def test_thresholds_that_are_out_of_the_question_are_not_played_to_the_end():
    stage = Told(0.5, 0.4, 0.03, 0.02, 0.01)
    resolved(told(stage), "model")
    assert len(stage.seeds) == len(set(stage.seeds)), "no episode twice"
    counts = [sum(threshold == place for threshold, _ in stage.seeds) for place in RESOLUTIONS]
    assert counts == [33, 33, 100, 100, 100]


def under(budgets, rates, episodes):
    """The account of so many episodes under each of the budgets, half of which is chosen, with incidents this often."""

    def episode(place, index):
        happens, chosen = int((index + 1) * rates[place] + 1e-9) > int(index * rates[place] + 1e-9), budgets[place] / 2
        return Played(actions=[0], end=INCIDENT if happens else OVER, account=(0.0, 0.001, chosen, happens - 0.001 - chosen, 0.0, 0.0), shield=place)

    return account_of([episode(place, index) for index in range(episodes) for place in range(len(budgets))], len(budgets))


def test_the_promise_of_a_budget_is_judged_by_the_episodes_under_it():
    budgets = (0.01, 0.2)
    chance = under(budgets, (0.0, 0.14), 300)
    assert chance.keeps(budgets), "surprise under the great budget is not held against the small one"
    assert not dataclasses.replace(chance, surprise_each=()).keeps(budgets), "but that of all together would be"
    broken = under(budgets, (0.02, 0.0), 300)
    assert not broken.keeps(budgets), "nor does the great one make up for the small one"
    assert dataclasses.replace(broken, surprise_each=()).keeps(budgets), "as that of all together would"
    assert not under(budgets, (0.0, 0.3), 300).keeps(budgets), "and the great one has to hold too"


def test_of_too_few_episodes_under_each_budget_all_together_have_to_do():
    budgets = (0.01, 0.2)
    fewest = fewest_episodes(0.01)
    assert under(budgets, (0.0, 0.0), fewest).tells_each(budgets) and not under(budgets, (0.0, 0.0), fewest - 1).tells_each(budgets)
    few = under(budgets, (0.0, 0.14), fewest - 1)
    assert not few.keeps(budgets)
    assert few.keeps(budgets) == dataclasses.replace(few, surprise_each=()).keeps(budgets)


def test_a_margin_is_asked_for_only_where_something_was_seen_to_vary():
    budgets = (0.01, 0.2)
    quiet, restless = under(budgets, (0.0, 0.05), 300), under(budgets, (0.0, 0.14), 300)
    assert quiet.keeps(budgets, SURELY), "without an incident under the small budget, nothing but more episodes could tell more"
    assert restless.keeps(budgets) and not restless.keeps(budgets, SURELY)


def test_of_the_last_rounds_the_best_is_handed_out(monkeypatch):
    def incidents(rates):
        monkeypatch.setattr(calibration, "resolved", lambda trial, model, thresholds=RESOLUTIONS: Resolved(model, thresholds[0], rates[model], 0.01))
        return best_of(Trial(None, (0.02,), 0.99, 300, 0, lambda _text: None), list(rates))

    found, ago = incidents({"first": 0.2, "second": 0.03, "third": 0.1})
    assert (found.model, ago) == ("second", 1)
    found, ago = incidents({"first": 0.2, "second": 0.095, "third": 0.1})
    assert (found.model, ago) == ("third", 0), "better by chance alone"
    assert incidents({"only": 0.5})[1] == 0


def test_an_evaluation_plays_the_same_seeds_and_says_whether_the_promise_was_kept(monkeypatch):
    risk = cpss.learn_risk(Ledge, fell, steps=30_000, rounds=3, calibration_episodes=150, budgets=(0.02, 0.05), hidden=(32,))
    found = cpss.evaluate(Ledge, risk, budget=0.02, episodes=60)
    assert found.alone.incidents > 0.5 and found.cut > 0.5 and found.promise_kept and "promised" in str(found)
    assert repr(found) == repr(cpss.evaluate(Ledge, risk, budget=0.02, episodes=60))
    assert repr(found.alone) != repr(cpss.evaluate(Ledge, risk, budget=0.02, episodes=60, seed=1000).alone)
    beyond = cpss.evaluate(Ledge, risk, budget=0.5, episodes=5)
    assert beyond.promise is None and beyond.promise_kept is None
    loaded = cpss.Risk.from_bytes(risk.to_bytes())
    with pytest.raises(ValueError, match="`incident` is missing"):
        cpss.evaluate(Ledge, loaded, budget=0.02)
    with pytest.raises(ValueError, match="observation space"):
        cpss.evaluate(lambda: Ledge("box"), risk, budget=0.02)
    # Under the wrapper, the same episodes come out the same.
    env = cpss.ShieldWrapper(Ledge(), risk=risk, budget=0.02)
    draws = [np.random.Generator(np.random.PCG64((1 << 29) + index)) for index in range(60)]
    incidents = 0
    for index, draw in enumerate(draws):
        env.reset(seed=((1 << 29) + index) % 2**31)
        for _ in itertools.count():
            *_, terminated, truncated, info = env.step(int(draw.integers(3)) - 1)
            if terminated or truncated:
                break
        incidents += env.certificate()["incident"]
    assert incidents / 60 == pytest.approx(found.shielded.incidents)
