//! What does a shield remember from one episode to the next?
//!
//! How well its critic has foretold what happened: the evidence against it, and by how much its
//! risks must be raised. And where episodes have scores, whether the world is still the calibrated one.
//! Start at [`Memory::learn`]; [`Memory::end_episode`] puts the recalibration into force.
//!
//! The memories of a fleet become one: [`Memory::fork`] and [`Memory::join`].
//!
//! **Absent on purpose:** anything about a single episode, which is in the ledger and the account.

use core::fmt;

use crate::decision::Short;
use crate::sum::average;
use crate::{Evidence, MemoryState, Novelty, OutOfRange, Recalibration, RiskSpec, Surprise};

/// The evidence and the recalibration, which both learn from surprises, and the novelty, which learns from scores.
///
/// [`RiskRules::memory`](crate::RiskRules::memory) opens one; keep it from episode to episode.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Memory {
    evidence: Evidence,
    recalibration: Recalibration,
    novelty: Option<Novelty>,
    /// What the recalibration is raised to when the novelty raises an alarm.
    precaution: f64,
    episodes: u64,
    episodes_before: u64,
}

impl Memory {
    pub(crate) const fn new(spec: &RiskSpec) -> Memory {
        Memory {
            evidence: Evidence::new(spec.alarm),
            recalibration: Recalibration::new(spec.rate, spec.max_shift, spec.max_lift),
            novelty: None,
            precaution: spec.precaution,
            episodes: 0,
            episodes_before: 0,
        }
    }

    /// The same memory, which watches the scores of episodes too.
    #[must_use]
    pub const fn with_novelty(self, novelty: Novelty) -> Memory {
        Memory { novelty: Some(novelty), ..self }
    }

    /// Takes one surprise into account, as [`Account::enter`](crate::Account::enter) returns it.
    ///
    /// The evidence is about what the critic did not foresee; the recalibration about all that was not charged, since
    /// that is what a promise is about.
    pub fn learn(&mut self, surprise: Surprise) {
        self.evidence.learn(surprise.unforeseen);
        self.recalibration.learn(surprise.uncharged);
    }

    /// Takes the last surprise of an episode into account, as
    /// [`Account::close`](crate::Account::close) returns it, and puts the recalibration into force.
    ///
    /// A deployment without episodes does so whenever it opens a new account.
    pub fn end_episode(&mut self, last: Option<Surprise>) {
        self.end_episode_scored(last, None);
    }

    /// The same for an episode with a score: how badly its scenes were foretold.
    ///
    /// If that raises the first alarm of the novelty, risks are raised at once to the
    /// [`precaution`](RiskSpec::precaution) at least; surprises lower them again. Later alarms of a change that lasts are
    /// counted, and change nothing: by then surprises know better, until [`Memory::restart_evidence`]. A score that is no number
    /// counts as the worst. One that nobody measured, `None`, counts as nothing.
    pub fn end_episode_scored(&mut self, last: Option<Surprise>, score: Option<f64>) {
        if let Some(surprise) = last {
            self.learn(surprise);
        }
        if let (Some(novelty), Some(score)) = (&mut self.novelty, score)
            && novelty.learn(score)
            && novelty.alarms() == 1
        {
            self.recalibration.take_precaution(self.precaution);
        }
        self.recalibration.adopt();
        self.episodes = self.episodes.saturating_add(1);
    }

    /// The evidence that the critic, as it is recalibrated, underestimates risk.
    pub const fn evidence(&self) -> &Evidence {
        &self.evidence
    }

    /// By how much risks are raised.
    pub const fn recalibration(&self) -> &Recalibration {
        &self.recalibration
    }

    /// The evidence that the world is not the calibrated one; `None` if no scores are watched.
    pub const fn novelty(&self) -> Option<&Novelty> {
        self.novelty.as_ref()
    }

    /// Episodes that have ended.
    pub const fn episodes(&self) -> u64 {
        self.episodes
    }

    /// The first alarm of each kind that has one: that of the incidents before that of the novelty.
    pub fn alarms(&self) -> impl Iterator<Item = Alarm> + use<> {
        let alarm = |kind, after: Option<u64>| after.map(|after| Alarm { kind, after });
        let incidents = alarm(AlarmKind::Incidents, self.evidence.alarm());
        let novelty = self.novelty.and_then(|novelty| novelty.alarm());
        incidents.into_iter().chain(alarm(AlarmKind::Novelty, novelty))
    }

    /// The first of [`Memory::alarms`].
    pub fn alarm(&self) -> Option<Alarm> {
        self.alarms().next()
    }

    /// Forgets the evidence of both kinds and keeps the recalibration: after an alarm that was seen to.
    pub fn restart_evidence(&mut self) {
        self.evidence.restart();
        if let Some(novelty) = &mut self.novelty {
            novelty.restart();
        }
    }

    /// A memory for one system of a fleet: it goes on from this one, and remembers what it adds.
    #[must_use]
    pub fn fork(&self) -> Memory {
        Memory {
            evidence: self.evidence.fork(),
            recalibration: self.recalibration.fork(),
            novelty: self.novelty.map(Novelty::fork),
            episodes_before: self.episodes,
            ..*self
        }
    }

    /// The memory of a fleet: of one system that lived through what all these forks of this memory have, one fork after
    /// the other.
    ///
    /// - Sums of evidence compose exactly, up to rounding: over a fork's decisions `S` becomes `a S + b`, and
    ///   the fork has kept both numbers. Joint evidence is compared with the alarm level where one fork ends
    ///   and the next begins; an alarm that a fork raised by itself stays one.
    /// - What surprises have added to shift and lift is summed over the forks, and kept within its limits after each.
    ///   At the fork with the first alarm of the novelty it is raised to the precaution.
    /// - Counts are added, and the result is in force at once.
    ///
    /// ```
    /// use cpss_shield::{RiskRules, RiskSpec, Surprise};
    ///
    /// let base = RiskRules::new(RiskSpec { rate: 0.5, ..RiskSpec::new() })?.memory();
    /// let (mut one, mut other) = (base.fork(), base.fork());
    /// one.end_episode(Some(Surprise::of(0.5)));
    /// other.end_episode(Some(Surprise::of(1.0)));
    /// let fleet = base.join(&[one, other])?;
    /// assert_eq!((fleet.episodes(), fleet.recalibration().shift()), (2, 0.75));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// The first memory that is no fork of this one, or has other settings.
    pub fn join(&self, forks: &[Memory]) -> Result<Memory, JoinError> {
        let mut joint = *self;
        for (place, fork) in forks.iter().enumerate() {
            if !self.is_like(fork) {
                return Err(JoinError::OtherSettings(place));
            }
            if !self.is_base_of(fork) {
                return Err(JoinError::NoFork(place));
            }
            joint.absorb(fork);
        }
        Ok(joint)
    }

    fn absorb(&mut self, fork: &Memory) {
        self.evidence.absorb(&fork.evidence);
        self.recalibration.absorb(&fork.recalibration);
        let alarms = self.novelty.map_or(0, |novelty| novelty.alarms());
        if let (Some(novelty), Some(added)) = (&mut self.novelty, &fork.novelty)
            && novelty.absorb(added)
            && alarms == 0
        {
            self.recalibration.take_precaution(self.precaution);
        }
        self.recalibration.adopt();
        let added = fork.episodes.saturating_sub(fork.episodes_before);
        self.episodes = self.episodes.saturating_add(added);
    }

    /// Whether another has the same settings.
    fn is_like(&self, other: &Memory) -> bool {
        let watches = |memory: &Memory| memory.novelty.map(|own| (*own.scale(), own.level()));
        self.evidence.level() == other.evidence.level()
            && self.recalibration.is_like(&other.recalibration)
            && self.precaution == other.precaution
            && watches(self) == watches(other)
    }

    /// Whether another can have been forked from this one, by its counts.
    fn is_base_of(&self, fork: &Memory) -> bool {
        let scores = |novelty: Option<Novelty>| novelty.map(|own| (own.seen(), own.alarms()));
        let before = |novelty: Option<Novelty>| {
            novelty.map(|own| (own.state().seen_before, own.state().alarms_before))
        };
        fork.episodes_before == self.episodes
            && fork.evidence.state().seen_before == self.evidence.seen()
            && before(fork.novelty) == scores(self.novelty)
    }

    /// All that it has found, as plain numbers.
    pub fn state(&self) -> MemoryState {
        MemoryState {
            episodes: self.episodes,
            episodes_before: self.episodes_before,
            evidence: *self.evidence.state(),
            recalibration: self.recalibration.state(),
            novelty: self.novelty.map(|novelty| *novelty.state()),
        }
    }

    /// The memory that has these settings and has found what another of the same settings had.
    ///
    /// A state without a novelty leaves that one as it is.
    ///
    /// # Errors
    ///
    /// A number that no memory of these settings can hold, or a novelty where none is watched.
    pub fn recall(self, state: &MemoryState) -> Result<Memory, OutOfRange> {
        state.check(self.recalibration.limits())?;
        let novelty = match (self.novelty, state.novelty) {
            (None, Some(found)) => {
                return Err(OutOfRange { field: "novelty", value: average(&found.sums) });
            }
            (Some(novelty), Some(found)) => Some(novelty.with_state(found)),
            (watched, None) => watched,
        };
        Ok(Memory {
            evidence: self.evidence.with_state(state.evidence),
            recalibration: self.recalibration.with_state(state.recalibration),
            novelty,
            episodes: state.episodes,
            episodes_before: state.episodes_before,
            ..self
        })
    }
}

/// For people, in one line.
impl fmt::Display for Memory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Memory { evidence, recalibration, .. } = self;
        write!(f, "evidence {}", Short(evidence.value()))?;
        match evidence.alarm() {
            Some(seen) => write!(f, ": ALARM after {seen} decisions")?,
            None => write!(f, ", below the alarm at {}", Short(evidence.level()))?,
        }
        if let Some(novelty) = &self.novelty {
            write!(f, "; novelty {}", Short(novelty.value()))?;
            match novelty.alarm() {
                Some(seen) => write!(f, ": ALARM after {seen} episodes")?,
                None => write!(f, ", below the alarm at {}", Short(novelty.level()))?,
            }
        }
        write!(f, "; log-odds raised by {}", Short(recalibration.shift()))?;
        match recalibration.lift() {
            0.0 => Ok(()),
            lift => write!(f, ", and of what cannot be avoided by {} more", Short(lift)),
        }
    }
}

/// A reason to look after a critic.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Alarm {
    /// What gave it away.
    pub kind: AlarmKind,
    /// After how many decisions, of incidents, or episodes, of novelty, it came.
    pub after: u64,
}

/// What gave a critic away.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AlarmKind {
    /// Incidents were more likely than it foretold.
    Incidents,
    /// The world was not as it was calibrated in.
    Novelty,
}

/// For people: why.
impl fmt::Display for Alarm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.kind {
            AlarmKind::Incidents => write!(
                f,
                "incidents were more likely than the critic foretold (found after {} decisions)",
                self.after
            ),
            AlarmKind::Novelty => write!(
                f,
                "the world is not the one that the critic was calibrated in (found after {} episodes)",
                self.after
            ),
        }
    }
}

/// Why memories cannot become one; with the place of the first that is at fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JoinError {
    /// It has other settings.
    OtherSettings(usize),
    /// It was not forked from the memory that it is to be joined with.
    NoFork(usize),
}

impl fmt::Display for JoinError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            JoinError::OtherSettings(place) => write!(f, "memory {place} has other settings"),
            JoinError::NoFork(place) => write!(f, "memory {place} is no fork of the base"),
        }
    }
}

impl core::error::Error for JoinError {}
