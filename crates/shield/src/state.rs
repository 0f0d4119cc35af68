//! What would a memory have to be told to go on where another has ended?
//!
//! A [`MemoryState`]: all that a [`Memory`](crate::Memory) has found, as plain numbers that a file can hold.
//! [`Memory::state`](crate::Memory::state) gives it and [`Memory::recall`](crate::Memory::recall) takes it.
//!
//! **Invariant:** a memory that was recalled has the same bits as the one whose state it was.
//!
//! **Absent on purpose:** the settings, which are the rules'.

use crate::OutOfRange;
use crate::sum::Sum;

/// All that a memory has found.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MemoryState {
    /// Episodes that have ended.
    pub episodes: u64,
    /// Of these, those before the last fork.
    pub episodes_before: u64,
    /// The evidence against the critic.
    pub evidence: EvidenceState,
    /// What its risks are raised by.
    pub recalibration: RecalibrationState,
    /// The evidence that the world has changed, where scores are watched.
    pub novelty: Option<NoveltyState>,
}

/// All that an [`Evidence`](crate::Evidence) has found.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct EvidenceState {
    /// One sum for each stake.
    pub sums: [Sum; 3],
    /// Surprises seen.
    pub seen: u64,
    /// Of these, those before the last fork.
    pub seen_before: u64,
    /// After how many of them the first alarm came.
    pub alarm: Option<u64>,
}

/// All that a [`Recalibration`](crate::Recalibration) has learned.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RecalibrationState {
    /// What has been learned, in force or not yet.
    pub learned: f64,
    /// The shift in force,
    pub shift: f64,
    /// and the lift.
    pub lift: f64,
    /// What surprises have added to what is learned since the last fork.
    pub gained: f64,
}

/// All that a [`Novelty`](crate::Novelty) has found.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NoveltyState {
    /// One sum for each stake.
    pub sums: [Sum; 3],
    /// Scores seen.
    pub seen: u64,
    /// Of these, those before the last fork.
    pub seen_before: u64,
    /// After how many of them the first alarm came.
    pub alarm: Option<u64>,
    /// How many alarms there were.
    pub alarms: u64,
    /// Of these, those before the last fork.
    pub alarms_before: u64,
}

impl EvidenceState {
    pub(crate) const NONE: EvidenceState =
        EvidenceState { sums: [Sum::NONE; 3], seen: 0, seen_before: 0, alarm: None };
}

impl NoveltyState {
    pub(crate) const NONE: NoveltyState = NoveltyState {
        sums: [Sum::NONE; 3],
        seen: 0,
        seen_before: 0,
        alarm: None,
        alarms: 0,
        alarms_before: 0,
    };
}

impl MemoryState {
    /// Checks every number against what a memory of these greatest shifts and lifts can hold.
    pub(crate) fn check(&self, [max_shift, max_lift]: [f64; 2]) -> Result<(), OutOfRange> {
        let RecalibrationState { learned, shift, lift, gained } = self.recalibration;
        let up_to = |most: f64, value: f64| (0.0..=most).contains(&value);
        let fault = |field, value| Err(OutOfRange { field, value });
        let bad = |sums: &[Sum; 3]| sums.iter().find(|sum| !sum.is_usable()).map(|sum| sum.value);
        if let Some(value) = bad(&self.evidence.sums) {
            return fault("evidence.sums", value);
        }
        for (field, value, in_range) in [
            ("recalibration.learned", learned, up_to(max_shift + max_lift, learned)),
            ("recalibration.shift", shift, up_to(max_shift, shift)),
            ("recalibration.lift", lift, up_to(max_lift, lift)),
            ("recalibration.gained", gained, gained.is_finite()),
        ] {
            if !in_range {
                return fault(field, value);
            }
        }
        match self.novelty.and_then(|novelty| bad(&novelty.sums)) {
            Some(value) => fault("novelty.sums", value),
            None => Ok(()),
        }
    }
}
