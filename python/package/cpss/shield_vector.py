"""How are many copies of any environment shielded at once?

:class:`ShieldVectorWrapper` goes around any Gymnasium ``VectorEnv``, with a learned risk or with costs of the user's, and every copy
has a ledger and an account of its own. Who judges is in :mod:`cpss.judges`. Start at :meth:`ShieldVectorWrapper.step`.

Invariants: each copy is judged as :class:`cpss.ShieldWrapper` judges it; a step that only resets a copy is not judged; a ledger
is renewed when its copy's next episode begins, and nowhere else; after a step that failed nothing is judged until a reset.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium.vector import AutoresetMode, VectorEnv, VectorWrapper
from gymnasium.vector.utils import iterate

from cpss.actions import CANDIDATES, Box, actions_of
from cpss.judges import NUMBERS, Each, Together
from cpss.learned import trust
from cpss.notices import Notices
from cpss.outcome import has_happened
from cpss.risk import Risk
from cpss.settings import Source, check_single, whole_settings
from cpss.shield import ShieldWrapper
from cpss.situation import apart, number_of


class ShieldVectorWrapper(VectorWrapper):
    """Lets an action of each copy run only if what it costs fits what is left of that copy's budget.

    Args:
        env: Any vector environment whose actions are a list, or a bounded box of at most 16 dimensions.
        risk: A :class:`cpss.Risk`; an action then costs its avoidable risk.
        budget: How likely an incident may be in an episode, beyond what cannot be avoided; with a ``cost``, how much cost an episode
            may spend.
        cost: In place of a risk, a function ``cost(envs, observations)`` that is given a list of observations, one of each copy that
            is judged (those that are only reset are not), and gives a row of costs for each, one per action. For a box it is
            ``cost(envs, observations, candidates)``, with the points to be judged of each copy.
        observed: With a ``cost``, a function ``observed(envs, observation, terminated, info)`` of one copy that says what a step really
            cost, as for :class:`cpss.ShieldWrapper`; left out, its ``info["cost"]`` or what was predicted is charged.
        horizon, pace, mode, charge, last_resort, candidates, radius: As for :class:`cpss.ShieldWrapper`.
        incident: With a risk, what must not happen, if it was read from a file.
        uncalibrated: What to do with a risk that is not calibrated: ``"warn"`` or ``"raise"``.
        **settings: Any other of a shield's settings.

    ``infos["shield"]`` has an array for each of the numbers that ``info["shield"]`` of :class:`cpss.ShieldWrapper` has, of the
    decision that this step made; where a copy was only reset, the verdict is ``"reset"``.

    >>> def fell(observation, reward, terminated, truncated, info):
    ...     return terminated
    >>> risk = cpss.learn_risk("CartPole-v1", incident=fell, steps=20_000, calibration_episodes=50, budgets=0.06)
    >>> envs = cpss.ShieldVectorWrapper(gym.make_vec("CartPole-v1", num_envs=3, vectorization_mode="sync"), risk=risk, budget=0.06)
    >>> observations, infos = envs.reset(seed=1)
    >>> observations, rewards, terminations, truncations, infos = envs.step([0, 0, 1])
    >>> infos["shield"]["verdict"].shape, envs.action_masks().shape
    ((3,), (3, 2))
    """

    def __init__(
        self,
        env: VectorEnv,
        risk: Risk | None = None,
        budget: float | None = None,
        *,
        cost: Callable | None = None,
        observed: Callable | None = None,
        horizon: int | None = None,
        pace: float | None = None,
        mode: str = "enforce",
        charge: str | None = None,
        last_resort: Any = None,
        candidates: int = CANDIDATES,
        radius: Any = None,
        incident: Callable | None = None,
        uncalibrated: str = "warn",
        **settings: Any,
    ) -> None:
        if not isinstance(env, VectorEnv):
            raise ValueError(f"`env` is {env!r}, but has to be a VectorEnv: for one environment there is cpss.ShieldWrapper")
        if cost is None and not isinstance(risk, Risk):
            raise ValueError(f"`risk` is {risk!r}, but has to be a cpss.Risk, from cpss.learn_risk or cpss.fit_risk; or give a `cost` of yours")
        for copy in getattr(env.unwrapped, "envs", ()):
            check_single(copy, ShieldWrapper)
        super().__init__(env)
        single: Any = Single(env)
        source = Source.of(single, "driving" if cost is None else cost, risk, incident, budget, observed, False)
        self._learned = source.learned
        if source.learned is not None:
            trust(source.learned.risk, number_of(budget), uncalibrated)
            candidates = 4
        if observed is not None and (not callable(observed) or charge == "predicted"):
            raise ValueError(f"`observed` is {observed!r}, but has to be a function, and `charge` not 'predicted'")
        given = {"budget": budget, "horizon": horizon, "pace": pace, "charge": charge}
        settings = whole_settings({**source.settings, **settings}, given, mode)
        self._actions = actions_of(env.single_action_space, last_resort, candidates, radius, None, settings)
        self._judge: Together | Each
        if source.learned is not None and not isinstance(self._actions, Box) and settings.get("charge") == "predicted":
            self._judge = Together(source.learned, settings, self._actions, env.num_envs)
        else:
            self._judge = Each(env, source.learned, cost, observed, settings, self._actions, env.num_envs)
        self._mode = autoreset_of(env)
        self._seen: list[Any] | None = None
        self._over = np.zeros(env.num_envs, bool)
        self._notices = Notices()

    def reset(self, *, seed: Any = None, options: dict[str, Any] | None = None):
        """Begins episodes, each with a fresh ledger; with ``options["reset_mask"]``, only where that says so."""
        mask = None if options is None else options.get("reset_mask")
        if self._seen is None and mask is not None and not np.all(mask):
            raise gym.error.ResetNeeded("reset all copies first: nobody knows how those that the mask leaves out stand")
        self._seen = None
        observations, infos = self.env.reset(seed=seed, options=options)
        if "shield" in infos:
            raise ValueError("there are shields in the copies of this environment already: leave them out, or this one")
        for place in range(self.num_envs) if mask is None else np.flatnonzero(mask):
            self._judge.reset(int(place))
            self._over[place] = False
        self._look(observations)
        return observations, infos

    def step(self, actions: Any):
        """Judges an action of each copy, runs it or another, and keeps the accounts."""
        if self._seen is None:
            raise gym.error.ResetNeeded("call `reset` first: episodes have not begun, or the last step failed")
        if self._mode is AutoresetMode.DISABLED and self._over.any():
            raise gym.error.ResetNeeded('some episodes are over: reset them with options={"reset_mask": ...}')
        proposed = self._read(actions)
        judged = np.flatnonzero(~self._over)
        executed: list = list(proposed)
        told = np.full((self.num_envs, len(NUMBERS) + 1), np.nan)
        verdicts, reasons = np.full(self.num_envs, "reset", object), np.full(self.num_envs, "", object)
        if len(judged):
            decided = self._judge.decide(judged, [proposed[place] for place in judged], [self._seen[place] for place in judged])
            told[judged], verdicts[judged], reasons[judged] = decided.told, decided.verdicts, decided.reasons
            for place, action in zip(judged.tolist(), decided.executed):
                executed[place] = action
        # Copies, since an environment may scale or clip in place what it is given.
        given = np.array(executed, self.action_space.dtype).reshape(self.action_space.shape)
        shown = np.array(proposed, self.action_space.dtype).reshape(given.shape), given.copy()
        # If this fails, some copies may have moved and others not, so what was seen is not to be judged by again.
        self._seen = None
        try:
            observations, rewards, terminations, truncations, infos = self.env.step(given)
        except BaseException:
            for place in judged.tolist():
                self._judge.settle(place, told[place], None)
            raise
        over = terminations | truncations
        for place, outcome in zip(judged.tolist(), self._outcomes(judged, observations, rewards, terminations, truncations, infos)):
            observation, _, terminated, _, info = outcome
            said, _ = self._judge.settle(place, told[place], (observation, terminated, bool(over[place]), info))
            reasons[place] = said or reasons[place]
            self._book(place, outcome, told[place])
        infos = {**infos, "shield": report(shown, told, verdicts, reasons)}
        self._begin_again(over)
        self._look(observations)
        return observations, rewards, terminations, truncations, infos

    def action_masks(self) -> np.ndarray:
        """Which actions each copy's shield would let through now; where none, the one that it would run."""
        if self._seen is None:
            raise gym.error.ResetNeeded("call `reset` first")
        return self._judge.masks(self._seen)

    def certificates(self) -> list[dict[str, Any]]:
        """What can be said of each copy's episode so far."""
        return [self._judge.certificate(place) for place in range(self.num_envs)]

    def _read(self, actions: Any) -> list:
        """One action for each copy."""
        if np.ma.is_masked(actions):
            raise ValueError("an action is masked: what is behind a mask is no proposal")
        found = list(iterate(self.action_space, np.asarray(actions)))
        if len(found) != self.num_envs:
            raise ValueError(f"there are {len(found)} actions, but {self.num_envs} copies")
        # Those of copies that are only reset are read too: a mistake is one wherever it is.
        for action in found:
            self._actions.read(action)
        return found

    def _look(self, observations: Any) -> None:
        # Copies: what the caller does with the arrays must not blind the next decision.
        self._seen = [apart(seen) for seen in iterate(self.env.observation_space, observations)]

    def _outcomes(self, judged: np.ndarray, observations, rewards, terminations, truncations, infos):
        """What came of each copy's step: the five of ``env.step``, the last observation and info of an episode that is over."""
        rows = list(iterate(self.env.observation_space, observations))
        for place in judged.tolist():
            over = bool(terminations[place] or truncations[place])
            observation, info = rows[place], info_at(infos, place, self.num_envs)
            if over and self._mode is AutoresetMode.SAME_STEP and "final_obs" in infos:
                observation, info = infos["final_obs"][place], info_at(infos.get("final_info", {}), place, self.num_envs)
            yield observation, float(rewards[place]), bool(terminations[place]), bool(truncations[place]), info

    def _book(self, place: int, outcome: tuple, told: np.ndarray) -> None:
        """Closes a copy's account, if its episode is over or has seen an incident."""
        if self._learned is None or not self._learned.knows_incidents:
            return
        happened, trouble = has_happened(self._learned, *outcome)
        self._notices.troubles(trouble)
        if happened or outcome[2] or outcome[3]:
            told[8:14] = self._judge.close(place, happened)

    def _begin_again(self, over: np.ndarray) -> None:
        """Renews the ledgers of copies whose next episode has begun."""
        if self._mode is AutoresetMode.SAME_STEP:
            fresh = np.flatnonzero(over)
        elif self._mode is AutoresetMode.NEXT_STEP:
            fresh = np.flatnonzero(self._over)
            self._over = over.copy()
        else:
            fresh, self._over = np.array([], int), over.copy()
        for place in fresh.tolist():
            self._judge.reset(place)


def report(shown: tuple[np.ndarray, np.ndarray], told: np.ndarray, verdicts: np.ndarray, reasons: np.ndarray) -> dict[str, np.ndarray]:
    """``infos["shield"]``."""
    found = {"proposed_action": shown[0], "executed_action": shown[1], "verdict": verdicts.astype(str), "reason": reasons}
    found.update({name: told[:, index] for index, name in enumerate(NUMBERS)})
    found["budget_kept"] = told[:, len(NUMBERS)] == 1.0
    return found


class Single:
    """What is known of one copy: its spaces, and what it was made by, if that is said."""

    def __init__(self, env: VectorEnv) -> None:
        self.observation_space, self.action_space = env.single_observation_space, env.single_action_space
        copies = getattr(env.unwrapped, "envs", ())
        self.spec = env.spec or getattr(next(iter(copies), None), "spec", None)


def autoreset_of(env: VectorEnv) -> AutoresetMode:
    """When a vector environment begins its next episodes. A guess would have ledgers renewed at the wrong step.

    Raises:
        ValueError: if it does not say.
    """
    places = (getattr(env, "autoreset_mode", None), getattr(env.unwrapped, "autoreset_mode", None), (env.metadata or {}).get("autoreset_mode"))
    found = next((place for place in places if place is not None), None)
    try:
        return AutoresetMode(found)
    except ValueError:
        known = ", ".join(f"AutoresetMode.{mode.name}" for mode in AutoresetMode)
        raise ValueError(
            f"the vector environment's autoreset mode is {found!r}, but has to be one of {known}: without it nobody knows when an episode "
            'begins; set env.metadata["autoreset_mode"]'
        ) from None


def info_at(infos: Any, place: int, count: int) -> dict[str, Any]:
    """One copy's info, as the copy gave it; what is not one entry per copy is everybody's."""
    found: dict[str, Any] = {}
    if not isinstance(infos, dict):
        return found
    for name, part in infos.items():
        if not isinstance(name, str) or name.startswith("_") or name in ("final_obs", "final_info"):
            continue
        known: Any = infos.get(f"_{name}")
        if is_each(known, count) and not known[place]:
            continue
        if isinstance(part, dict):
            found[name] = info_at(part, place, count)
        else:
            found[name] = part[place] if is_each(part, count) else part
    return found


def is_each(part: Any, count: int) -> bool:
    """Whether something has one entry per copy."""
    if isinstance(part, np.ndarray):
        return part.ndim > 0 and len(part) == count
    return isinstance(part, (list, tuple)) and len(part) == count
