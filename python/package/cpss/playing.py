"""How are many episodes of any environment played, and what is kept of them?

A :class:`Stage` holds several copies of the environment and steps them side by side, so that the policy and the critic
are asked about all of them at once. How an episode is played is a :class:`Behaviour`; what came of it is a
:class:`Played`. Start at :meth:`Stage.play`.

Invariants: an episode's randomness comes from its own seed, so that the same behaviours give the same episodes, if the
environment and the policy follow their seeds; an incident ends an episode, whatever the environment says.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import gymnasium as gym
import numpy as np

from cpss import _native
from cpss.numbers import ActionPoints, Observations, actions_in

#: What came of a decision, as the learner counts it.
GOES_ON, OVER, INCIDENT, UNKNOWN = 0, 1, 2, 3

#: Copies of the environment that are stepped side by side.
COPIES = 32
#: After so many steps nobody looks further, where the environment has no limit of its own.
LONGEST = 1000
#: The risk that is noted where an observation cannot be read; a shield is told that nobody knows.
UNREAD = 1.0

Incident = Callable[[Any, float, bool, bool, dict], Any]


@dataclass(frozen=True)
class Behaviour:
    """How an episode is played."""

    seed: int
    #: The share of proposals that are random.
    random: float = 0.0
    #: The avoidable risk that is let through; infinite without a shield.
    threshold: float = np.inf
    #: The share of decisions on which a random action runs, whatever it risks.
    explore: float = 0.0
    #: Whether, after the first such action, the least risky one runs ever after: what a risk is the probability of.
    then_safest: bool = False
    #: Which of the shields judges; none if the threshold does.
    shield: int | None = None


@dataclass
class Played:
    """What came of an episode."""

    rows: list = field(default_factory=list)
    actions: list = field(default_factory=list)
    end: int = GOES_ON
    total: float = 0.0
    refused: int = 0
    #: The unavoidable risk, and the risk of what ran, of every decision.
    least: list = field(default_factory=list)
    risk: list = field(default_factory=list)
    #: Of a shield: promise, start, chosen, surprise, arriving, evidence.
    account: Any = None
    #: Which of the shields judged.
    shield: int = 0
    #: Of an action that was tried out with the least risky ever after: the risk foretold, and at which decision.
    tried: tuple[int, float] | None = None

    @property
    def incident(self) -> bool:
        return self.end == INCIDENT

    @property
    def steps(self) -> int:
        return len(self.actions)


@dataclass
class Shielding:
    """Whose word is asked while episodes are played: a model of risk, and shields with budgets."""

    model: _native.RiskModel
    resolution: float = 0.0
    shields: list[_native.Shields] = field(default_factory=list)


class Stage:
    """Copies of an environment, with who proposes and what must not happen."""

    def __init__(self, make_env: Any, incident: Incident, policy: Any, limit: int | None = None, copies: int = COPIES) -> None:
        self._own: list[gym.Env] = []
        self.envs = self._environments(make_env, copies)
        env = self.envs[0]
        self.observations, self.actions = Observations(env.observation_space), actions_in(env.action_space)
        self.incident, self._propose = incident, proposals_of(policy, self.actions)
        spec = getattr(env, "spec", None)
        own = None if spec is None else spec.max_episode_steps
        self.name = "" if spec is None else spec.id
        #: Steps of an episode, and of one to learn from, which may be cut short.
        self.horizon = own or limit or LONGEST
        self.limit = min(limit or self.horizon, self.horizon)
        #: The same, if anybody has said so.
        self.known_horizon: int | None = own or limit

    def _environments(self, make_env: Any, copies: int) -> list[gym.Env]:
        if isinstance(make_env, gym.Env):
            return [make_env]
        if isinstance(make_env, gym.vector.SyncVectorEnv):
            return list(make_env.envs)
        if isinstance(make_env, gym.vector.VectorEnv):
            raise ValueError(f"`make_env` is a {type(make_env).__name__}, whose episodes cannot be started one by one: give a function that makes one environment")
        if isinstance(make_env, str):
            name = make_env
            make_env = lambda: gym.make(name)  # noqa: E731
        if not callable(make_env):
            raise ValueError(f"`make_env` is {make_env!r}, but has to be a function that makes an environment, such as lambda: gym.make(...)")
        first = make_env()
        if not isinstance(first, gym.Env):
            raise ValueError(f"`make_env` gave {first!r}, but has to give a Gymnasium environment")
        self._own = [first, *(make_env() for _ in range(copies - 1))]
        return self._own

    def has_happened(self, *outcome: Any) -> bool:
        """Whether what must not happen has happened.

        Raises:
            ValueError: if the user's function cannot be asked, or does not say.
        """
        try:
            return said(self.incident(*outcome))
        except (TypeError, ValueError) as error:
            raise ValueError(f"`incident` has to be a function of (observation, reward, terminated, truncated, info) that says true or false; {type(error).__name__}: {error}") from error

    def close(self) -> None:
        """Closes the environments that were made here."""
        for env in self._own:
            env.close()

    def play(self, behaviours: Iterable[Behaviour], by: Shielding | None = None, decisions: int | None = None) -> list[Played]:
        """Plays episodes, in the order of their behaviours; with ``decisions``, until there are so many, and whoever is
        still playing then is cut off."""
        todo: Iterator[tuple[int, Behaviour]] = enumerate(behaviours)
        done: dict[int, Played] = {}
        free, playing, count = list(range(len(self.envs)))[::-1], [], 0
        while True:
            while free and (decisions is None or count < decisions):
                following = next(todo, None)
                if following is None:
                    break
                playing.append(Episode(self, free.pop(), *following, by, self.horizon if decisions is None else self.limit))
            if not playing:
                return [done[place] for place in sorted(done)]
            self._decide(playing, by)
            going = []
            for episode in playing:
                episode.step(self, by)
                count += 1
                if episode.played.end == GOES_ON and decisions is not None and count >= decisions:
                    episode.played.end = UNKNOWN
                if episode.played.end == GOES_ON:
                    going.append(episode)
                else:
                    done[episode.place] = episode.played
                    free.append(episode.slot)
            playing = going

    def _decide(self, playing: list[Episode], by: Shielding | None) -> None:
        """Says what each episode runs next."""
        proposals = self._propose([episode.observation for episode in playing], [episode.random for episode in playing])
        for episode, proposal in zip(playing, proposals):
            episode.propose(proposal, self.actions)
        if by is None:
            return
        if isinstance(self.actions, ActionPoints):
            for episode in playing:
                episode.judge_points(self.actions, by)
            return
        told = by.model.risks(np.stack([episode.row for episode in playing]))
        risks = np.nan_to_num(told, nan=UNREAD)
        least = risks.min(axis=1)
        for index, episode in enumerate(playing):
            episode.judge(risks[index], least[index], by)
        for number, shields in enumerate(by.shields):
            places = [i for i, episode in enumerate(playing) if episode.behaviour.shield == number]
            if places:
                slots = np.array([playing[i].slot for i in places])
                proposed = np.array([playing[i].proposal for i in places])
                executed, *_ = shields.decide(slots, proposed, np.ascontiguousarray(told[places]))
                for i, action in zip(places, executed.tolist()):
                    playing[i].run(action, risks[i])


class Episode:
    """An episode in progress."""

    def __init__(self, stage: Stage, slot: int, place: int, behaviour: Behaviour, by: Shielding | None, longest: int) -> None:
        self.slot, self.place, self.behaviour, self._longest = slot, place, behaviour, longest
        self.random = np.random.Generator(np.random.PCG64(behaviour.seed))
        self.env, self.played = stage.envs[slot], Played(shield=behaviour.shield or 0)
        self.observation, _ = self.env.reset(seed=int(behaviour.seed) % 2**31)
        self.row = stage.observations.row(self.observation)
        self.proposal: Any = 0
        self._executed: Any = 0
        self._own: Any = None
        if by is not None and behaviour.shield is not None:
            by.shields[behaviour.shield].reset(slot)

    def propose(self, proposal: Any, actions: Any) -> None:
        """What the policy proposes, or what chance does."""
        random, share = self.random, self.behaviour.random
        if proposal is None or (share > 0.0 and random.random() < share):
            proposal = self._any(actions)
        self.proposal = self._executed = proposal

    def _any(self, actions: Any) -> Any:
        if actions.point:
            return self.random.uniform(-1.0, 1.0, actions.point).astype(np.float32)
        return int(self.random.integers(actions.count))

    def judge(self, risks: np.ndarray, least: float, by: Shielding) -> None:
        """Lets the proposal run if its avoidable risk is at most the threshold."""
        behaviour, played = self.behaviour, self.played
        played.least.append(float(least))
        if behaviour.shield is not None:
            return
        tried = played.tried is not None and behaviour.then_safest
        action = self.proposal
        if tried or risks[action] - least > max(behaviour.threshold, by.resolution):
            action = int(risks.argmin())
        if not tried and behaviour.explore > 0.0 and self.random.random() < behaviour.explore:
            action = int(self.random.integers(len(risks)))
            played.tried = (played.steps, float(risks[action]))
        self.run(action, risks)

    def judge_points(self, actions: ActionPoints, by: Shielding) -> None:
        """The same for points: the proposal is compared with the least risky point, and with the nearest admissible one."""
        behaviour = self.behaviour
        shields = None if behaviour.shield is None else by.shields[behaviour.shield]
        threshold = behaviour.threshold if shields is None else shields.threshold(self.slot)
        points, told = by.model.project(self.row, self.proposal, effective(threshold, by.resolution))
        risks = np.nan_to_num(told, nan=UNREAD)
        self.proposal = 0
        self.judge_found(points, risks, by)
        if shields is not None:
            executed, *_ = shields.decide(np.array([self.slot]), np.array([0]), told[None], -((points - points[0]) ** 2).sum(axis=1, dtype=np.float64)[None])
            self.run(int(executed[0]), risks)
        self._executed = points[self._executed] if self._own is None else self._own

    def judge_found(self, points: np.ndarray, risks: np.ndarray, by: Shielding) -> None:
        """Lets the proposal run, or the nearest admissible point, or any point at all."""
        behaviour, played, self._own = self.behaviour, self.played, None
        least = float(risks.min())
        played.least.append(least)
        if behaviour.shield is not None:
            return
        tried = played.tried is not None and behaviour.then_safest
        admissible = risks[0] - least <= effective(behaviour.threshold, by.resolution)
        action = 1 if tried else 0 if admissible else 2
        if not tried and behaviour.explore > 0.0 and self.random.random() < behaviour.explore:
            self._own = np.asarray(self.random.uniform(-1.0, 1.0, points.shape[1]), np.float32)
            risk = float(np.nan_to_num(by.model.risks_at(self.row, self._own[None])[0], nan=UNREAD))
            played.tried = (played.steps, risk)
            played.risk.append(risk)
            played.refused += 1
            return
        self.run(action, risks)

    def run(self, action: int, risks: np.ndarray) -> None:
        """This runs next."""
        self._executed = action
        self.played.risk.append(float(risks[action]))
        self.played.refused += action != self.proposal

    def step(self, stage: Stage, by: Shielding | None) -> None:
        """Runs what was decided."""
        played = self.played
        played.rows.append(self.row)
        played.actions.append(self._executed)
        observation, reward, terminated, truncated, info = self.env.step(stage.actions.write(self._executed))
        played.total += float(reward)
        if stage.has_happened(observation, float(reward), terminated, truncated, info):
            played.end = INCIDENT
        elif terminated:
            played.end = OVER
        elif truncated or played.steps >= self._longest:
            # Only the time is up: what would have come is not known.
            played.end = UNKNOWN
        self.observation, self.row = observation, stage.observations.row(observation)
        if played.end != GOES_ON and by is not None and self.behaviour.shield is not None:
            played.account = by.shields[self.behaviour.shield].close(self.slot, played.incident)


def said(found: Any) -> bool:
    """What a function that says whether something happened has said.

    Raises:
        ValueError: if it gave nothing: then it is not known, and not the same as no.
    """
    if found is None:
        raise ValueError("it gave None: does it return anything?")
    return bool(found)


def effective(threshold: float, resolution: float) -> float:
    """The avoidable risk that is let through: what lies below the resolution counts as none."""
    return max(min(threshold, 1.0), np.nextafter(resolution, 0.0))


def proposals_of(policy: Any, actions: Any) -> Callable[[Sequence[Any], Sequence[Any]], Sequence[Any]]:
    """A function that gives the policy's proposal for each of some observations, as places in the list of actions or as
    points; None where chance proposes."""
    if policy is None:
        return lambda observations, _: [None] * len(observations)
    if hasattr(policy, "predict"):

        def predict(observations, _):
            first = observations[0]
            if isinstance(first, dict):
                batch: Any = {key: np.stack([observation[key] for observation in observations]) for key in first}
            else:
                batch = np.stack([np.asarray(observation) for observation in observations])
            found, _ = policy.predict(batch, deterministic=True)
            return [actions.read(action) for action in found]

        return predict
    if not callable(policy):
        raise ValueError(f"`policy` is {policy!r}, but has to be a model with `predict`, a function of an observation, or None for random actions")
    return lambda observations, _: [actions.read(policy(observation)) for observation in observations]
