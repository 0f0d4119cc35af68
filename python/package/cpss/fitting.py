"""What can be known of risk from a log alone?

:func:`fit_risk` learns from what somebody did: arrays, episodes, a Minari data set, or traces of driving tasks. A log says nothing of actions that nobody
tried: their risk is taken as 1, so a shield never runs them if it can help it. Nobody has played under the shield, so the
risk is not calibrated and nothing is promised; its card says so.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from gymnasium import spaces

from cpss import _native
from cpss.card import Card
from cpss.arguments import whole
from cpss.learning import BATCH, DECISIONS_PER_UPDATE, LOOK_AHEAD, Progress, scale_of, teller
from cpss.numbers import Observations, actions_in
from cpss.playing import GOES_ON, INCIDENT, OVER, UNKNOWN, Incident, said
from cpss.risk import Risk
from cpss.traces import Traces

#: Rounds of learning, and looks at every decision, in each of them.
ROUNDS = 4
#: The fewest updates of a round: a log may be short.
FEWEST_UPDATES = 1000
#: A risk above this is that of an action that nobody tried, if no incident follows from it in the log.
SURE = 0.99

NOTE = "learned from a log alone: nobody has played under a shield with it, so it is not calibrated and nothing is promised"


@dataclass
class Logged:
    """An episode of a log: what was seen before each decision, what ran, and how it ended."""

    observations: list
    actions: list
    end: int
    #: Whether ``incident`` was asked about the end without what was seen there.
    is_unseen: bool = False


def fit_risk(
    log: Any,
    incident: Incident | None = None,
    *,
    observation_space: spaces.Space | None = None,
    action_space: spaces.Space | None = None,
    look_ahead: float = LOOK_AHEAD,
    updates: int | None = None,
    hidden: Sequence[int] = (64, 64),
    horizon: int | None = None,
    seed: int = 0,
    progress: bool | Progress = False,
) -> Risk:
    """Learns how likely an incident is after every action from a log alone.

    Args:
        log: A dictionary of arrays, one row per decision in the order in which they were made: ``observations``, ``actions``,
            ``terminations``, ``truncations`` and ``incidents`` (or ``rewards`` and ``next_observations`` for ``incident``). Or
            episodes, each such a dictionary. Or a Minari data set. Or traces of a driving task (:class:`cpss.Traces`): the path of one,
            or of a folder of them. Without ``next_observations`` the log does not show what an
            episode's last decision led to: unless that was an incident, how it ended counts as unknown, and a note says so.
        incident: What must not happen, as for :func:`cpss.learn_risk`; left out, the log's ``incidents`` say.
        observation_space, action_space: The environment's; a Minari data set and traces have their own. Actions are a list, or
            points of a bounded box.
        look_ahead: How many decisions to look ahead, on average.
        updates: Updates in all; left out, as many as fit the log's length.
        hidden: Units of the network's layers.
        horizon: A shield's horizon; left out, the longest episode of the log.
        seed: Of everything.
        progress: True to be told on stderr how it goes, or a function of a text.

    Returns:
        A :class:`cpss.Risk` that is **not calibrated**. ``risk.card.notes`` says how much was never tried.

    >>> log = {"observations": [0, 1, 0, 1], "actions": [0, 1, 0, 0], "terminations": [False, True, False, True],
    ...        "truncations": [False] * 4, "incidents": [False, False, False, True]}
    >>> two = gym.spaces.Discrete(2)
    >>> risk = cpss.fit_risk(log, observation_space=two, action_space=two)
    >>> bool(risk.predict(1)[0] > 0.8), bool(risk.predict(1)[1] < 0.2), risk.card.calibrated
    (True, True, False)
    """
    tell, seed = teller(progress), whole("seed", seed, 0)
    if not float(look_ahead) >= 1.0:
        raise ValueError(f"`look_ahead` is {look_ahead}, but has to be at least 1 decision")
    if isinstance(log, (str, os.PathLike)):
        log = Traces(log)
    observation_space = observation_space or getattr(log, "observation_space", None)
    action_space = action_space or getattr(log, "action_space", None)
    if observation_space is None or action_space is None:
        raise ValueError("`observation_space` or `action_space` is missing: the log does not hold them, but env.observation_space does")
    observations, actions = Observations(observation_space), actions_in(action_space)
    episodes = [episode for episode in episodes_of(log, incident) if episode.actions]
    if not episodes:
        raise ValueError("the log holds no decision")
    gamma = 1.0 - 1.0 / float(look_ahead)
    settings = {"gamma": gamma, "batch": BATCH, "hidden": list(hidden), "seed": seed, "critics": 2, "follow": 0.03, "follow_outcomes": 100, "as_safe": 0.002}
    learner = _native.RiskLearner(observations.count, actions.count, actions.point, settings)
    rows = [np.stack([observations.row(seen) for seen in episode.observations]) for episode in episodes]
    learner.set_scale(*scale_of(np.concatenate(rows), observations.measured))
    for episode, seen in zip(episodes, rows):
        nexts = np.full(len(seen), GOES_ON, np.uint8)
        nexts[-1] = episode.end
        ran = np.array([actions.read(action) for action in episode.actions])
        if actions.point:
            learner.push(np.hstack([seen, ran.astype(np.float32)]), np.zeros(len(ran), np.int64), nexts)
        else:
            learner.push(seen, ran, nexts)
    count, incidents = learner.counts()
    each = max(count // DECISIONS_PER_UPDATE, FEWEST_UPDATES) if updates is None else max(whole("updates", updates, 1) // ROUNDS, 1)
    learner.learn_untried(2 * each, seed)
    for turn in range(ROUNDS):
        if turn > 0:
            learner.weigh()
        loss = learner.learn(each, 0 if turn + 1 < ROUNDS else each // 2, each)
        tell(f"round {turn + 1} of {ROUNDS}: {count} decisions, {incidents} incidents, loss {loss:.4f}")
    model = learner.model()
    notes = [NOTE, untried_note(model, np.concatenate(rows))]
    unseen = sum(episode.is_unseen for episode in episodes)
    if unseen:
        notes.append(f"how {unseen} episodes ended is not known: the log has no `next_observations`, so `incident` could not see what they led to")
    if incidents == 0:
        notes.append("not one incident is in the log: nothing could be learned; does `incident` ever say true?")
    longest = max(len(episode.actions) for episode in episodes)
    card = Card(source="log", gamma=gamma, horizon=horizon or longest, steps=count, seed=seed, rounds=ROUNDS, notes=tuple(notes))
    return Risk(model, card, observation_space, action_space, incident)


def untried_note(model: _native.RiskModel, rows: np.ndarray) -> str:
    """How much nobody tried."""
    draw = np.random.default_rng(0)
    some = np.ascontiguousarray(rows[draw.permutation(len(rows))[:5000]])
    if model.point:
        # Of a box, a few points of each of some hundred observations.
        found = [model.risks_at(row, draw.uniform(-1.0, 1.0, (8, model.point)).astype(np.float32)) for row in some[:500]]
        share = float((np.concatenate(found) > SURE).mean())
    else:
        share = float((model.risks(some) > SURE).mean())
    return f"of all actions, in what was seen, {100 * share:.0f} % were never tried or always ended in an incident: their risk is taken as 1"


def episodes_of(log: Any, incident: Incident | None) -> Iterator[Logged]:
    """The episodes of a log, whatever it is."""
    if hasattr(log, "iterate_episodes"):
        for found in log.iterate_episodes():
            yield minari_episode(found, incident)
    elif isinstance(log, Mapping):
        yield from rows_of(log, incident)
    elif isinstance(log, Iterable):
        for part in log:
            if not isinstance(part, Mapping):
                raise ValueError(f"an episode of the log is {type(part).__name__}, but has to be a dictionary of arrays")
            yield from rows_of(part, incident)
    else:
        raise ValueError(f"`log` is {type(log).__name__}, but has to be a dictionary of arrays, a list of episodes, a Minari data set, or the path of a trace")


def minari_episode(found: Any, incident: Incident | None) -> Logged:
    """An episode of a Minari data set, which has one observation more than decisions."""
    if incident is None:
        raise ValueError("`incident` is missing: a Minari data set does not say what must not happen")
    count = len(found.actions)
    for step in range(count):
        seen, info = part_of(found.observations, step + 1), part_of(found.infos or {}, step + 1)
        terminated, truncated = bool(found.terminations[step]), bool(found.truncations[step])
        if said(incident(seen, float(found.rewards[step]), terminated, truncated, info)):
            count = step + 1
            break
    else:
        step = count - 1
        terminated = count > 0 and bool(found.terminations[step])
        return Logged([part_of(found.observations, i) for i in range(count)], [part_of(found.actions, i) for i in range(count)], OVER if terminated else UNKNOWN)
    return Logged([part_of(found.observations, i) for i in range(count)], [part_of(found.actions, i) for i in range(count)], INCIDENT)


def part_of(parts: Any, place: int) -> Any:
    """One entry of arrays, however they are nested."""
    if isinstance(parts, Mapping):
        return {key: part_of(part, place) for key, part in parts.items()}
    if isinstance(parts, tuple):
        return tuple(part_of(part, place) for part in parts)
    return parts[place] if place < len(parts) else None


def rows_of(log: Mapping[str, Any], incident: Incident | None) -> Iterator[Logged]:
    """Episodes of arrays with one row per decision."""
    for name in ("observations", "actions", "terminations", "truncations", *(() if incident is None else ("rewards",))):
        if log.get(name) is None:
            raise ValueError(f"the log has no `{name}`; it has {', '.join(sorted(log))}")
    if incident is None and log.get("incidents") is None:
        raise ValueError("what must not happen? Give `incident`, or `incidents` in the log")
    count = len(log["actions"])
    for name in ("observations", "terminations", "truncations", "incidents", "rewards", "next_observations"):
        # Observations may be nested, and have one more, after the last action.
        most = count + (name == "observations")
        if log.get(name) is not None and not isinstance(log[name], (Mapping, tuple)) and not count <= len(log[name]) <= most:
            raise ValueError(f"the log has {count} actions, but {len(log[name])} `{name}`")
    for name in ("terminations", "truncations", "incidents"):
        # Half of an incident, or an unknown one, is none that could be learned from.
        if name in log and (np.ma.is_masked(log[name]) or not ((flags := np.asarray(log[name])).dtype.kind in "biuf" and np.isin(flags, (0, 1)).all())):
            raise ValueError(f"`{name}` of the log have to be true or false, and none of them masked")
    episode = Logged([], [], UNKNOWN)
    for step in range(count):
        terminated, truncated = bool(log["terminations"][step]), bool(log["truncations"][step])
        is_last = terminated or truncated or step + 1 == count
        episode.observations.append(part_of(log["observations"], step))
        episode.actions.append(part_of(log["actions"], step))
        # What a decision led to is the next row, unless the episode was over.
        episode.is_unseen = incident is not None and is_last and "next_observations" not in log and "incidents" not in log
        if happened(log, step, incident, is_last):
            episode.end, episode.is_unseen = INCIDENT, False
        elif terminated and not episode.is_unseen:
            episode.end = OVER
        elif not is_last:
            continue
        yield episode
        episode = Logged([], [], UNKNOWN)


def happened(log: Mapping[str, Any], step: int, incident: Incident | None, is_last: bool) -> bool:
    """Whether a decision ended in an incident."""
    has_next = "next_observations" in log
    if incident is None or (is_last and not has_next and "incidents" in log):
        return bool(log["incidents"][step])
    if has_next:
        seen = part_of(log["next_observations"], step)
    else:
        seen = part_of(log["observations"], step if is_last else step + 1)
    info = part_of(log["infos"], step) if "infos" in log else {}
    return said(incident(seen, float(log["rewards"][step]), bool(log["terminations"][step]), bool(log["truncations"][step]), info))
