//! How is a shield's memory written down?
//!
//! As [`MemorySettings`], what it depends on, and a [`MemoryLine`], what it has found. Both stand in a memory
//! file and in the traces of episodes that were played with a memory. Start at [`MemorySettings::open`].
//!
//! **Invariant:** what is read back has the same bits: all numbers are finite, and JSON keeps those.

use cpss_risk::Card;
use cpss_shield::{
    Alarm, AlarmKind, EvidenceState, Memory, MemoryState, Novelty, NoveltyScale, NoveltyState,
    OutOfRange, RecalibrationState, RiskRules, RiskSpec, Sum,
};
use serde::{Deserialize, Serialize};

/// In traffic that is as it was, an alarm about it comes once in so many episodes at most, on average.
pub(crate) const ALARM_EPISODES: f64 = 1000.0;

/// How far what cannot be avoided may be lifted: one in ten million becomes one in sixty.
const MOST_LIFT: f64 = 12.0;

/// How a shield's memory learns, as a person sets it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Adaptation {
    /// By how much a surprise of 1 raises log-odds from then on.
    pub rate: f64,
    /// The most by which those of all risks are raised. What is learned beyond lifts what cannot be avoided, and changes no
    /// decision: a critic that needs so much does not know what is dangerous.
    pub max_shift: f64,
    /// What they are raised to at once, at least, when traffic is no longer the one that the critic knows.
    pub precaution: f64,
}

impl Default for Adaptation {
    /// Odds up to four and a half times as large. Chosen on tuning seeds as the most with which no more than a tenth of the
    /// return is lost in traffic that a critic never saw.
    fn default() -> Adaptation {
        Adaptation { rate: 2.0, max_shift: 1.5, precaution: 1.5 }
    }
}

/// What a memory depends on, besides the critic.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct MemorySettings {
    /// By how much a surprise of 1 shifts the log-odds of all risks.
    pub rate: f64,
    /// The greatest shift.
    pub max_shift: f64,
    /// How far beyond it what cannot be avoided may be lifted; none in what was written before there were lifts: 0.
    #[serde(default, skip_serializing_if = "is_none")]
    pub max_lift: f64,
    /// The level at which the evidence of incidents raises an alarm.
    pub alarm: f64,
    /// What an alarm of the novelty raises log-odds to, at least.
    pub precaution: f64,
    /// How scores of episodes are watched, if they are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub novelty: Option<NoveltySettings>,
}

/// How scores of episodes are watched.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct NoveltySettings {
    /// The borders between the bins.
    pub borders: [f64; 5],
    /// For each bin, an upper bound of its probability.
    pub bounds: [f64; 6],
    /// The level of the alarm.
    pub level: f64,
}

impl MemorySettings {
    /// A memory that learns at this rate, and watches no scores.
    pub fn new(rate: f64) -> MemorySettings {
        let RiskSpec { max_shift, max_lift, alarm, precaution, .. } = RiskSpec::new();
        MemorySettings { rate, max_shift, max_lift, alarm, precaution, novelty: None }
    }

    /// The memory of a critic: one that also watches what traffic is like, if the critic's card says what it was like.
    pub fn of(card: &Card, adaptation: Adaptation) -> MemorySettings {
        let novelty = card.likeness.as_ref().map(|known| NoveltySettings {
            borders: known.borders,
            bounds: known.bounds,
            level: ALARM_EPISODES,
        });
        // What is lifted speaks against the critic no more. So it is lifted only where traffic speaks, too.
        let max_lift = if novelty.is_some() { MOST_LIFT } else { 0.0 };
        MemorySettings { max_lift, novelty, ..MemorySettings::unscored(adaptation) }
    }

    /// The memory of a critic of anything else: nobody knows what its world was like. It shifts, and does not lift.
    pub fn unscored(adaptation: Adaptation) -> MemorySettings {
        let Adaptation { rate, max_shift, precaution } = adaptation;
        MemorySettings { max_shift, precaution, ..MemorySettings::new(rate) }
    }

    /// The rules of a critic with this memory, and the memory with nothing in it.
    ///
    /// # Errors
    ///
    /// The first number that makes no sense.
    pub fn open(&self, critic: &RiskSpec) -> Result<(RiskRules, Memory), OutOfRange> {
        let MemorySettings { rate, max_shift, max_lift, alarm, precaution, novelty } = *self;
        let spec = RiskSpec { rate, max_shift, max_lift, alarm, precaution, ..*critic };
        let rules = RiskRules::new(spec)?;
        let memory = match novelty {
            None => rules.memory(),
            Some(NoveltySettings { borders, bounds, level }) => {
                let scale = NoveltyScale { borders, bounds };
                rules.memory().with_novelty(Novelty::new(scale, level)?)
            }
        };
        Ok((rules, memory))
    }

    /// The same with a memory that goes on from what another has found.
    ///
    /// # Errors
    ///
    /// The first number that makes no sense, or that no memory can hold.
    pub fn recall(
        &self,
        critic: &RiskSpec,
        found: &MemoryLine,
    ) -> Result<(RiskRules, Memory), OutOfRange> {
        let (rules, fresh) = self.open(critic)?;
        Ok((rules, fresh.recall(&found.state())?))
    }
}

/// What a memory has found.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct MemoryLine {
    /// Episodes that have ended.
    pub episodes: u64,
    /// Of these, those before the last fork.
    pub episodes_before: u64,
    /// The evidence against the critic.
    pub evidence: EvidenceLine,
    /// What its risks are raised by.
    pub recalibration: RecalibrationLine,
    /// The evidence that the world has changed, where scores are watched.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub novelty: Option<NoveltyLine>,
}

/// A sum at one stake: its value, the product since the last fork, and what it would be if it had been 0 there.
pub type SumLine = [f64; 3];

/// The evidence against a critic.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct EvidenceLine {
    /// One for each stake.
    pub sums: [SumLine; 3],
    /// Decisions whose outcome was seen.
    pub seen: u64,
    /// Of these, those before the last fork.
    pub seen_before: u64,
    /// After how many of them the first alarm came.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub alarm: Option<u64>,
}

/// What a critic's risks are raised by.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct RecalibrationLine {
    /// What has been learned, in force or not yet.
    pub learned: f64,
    /// The shift in force,
    pub shift: f64,
    /// and the lift of what cannot be avoided; left out where there is none.
    #[serde(default, skip_serializing_if = "is_none")]
    pub lift: f64,
    /// What surprises have added since the last fork.
    pub gained: f64,
}

impl RecalibrationLine {
    /// What is in force, in all.
    pub(crate) fn raised(&self) -> f64 {
        self.shift + self.lift
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "as serde asks")]
fn is_none(lift: &f64) -> bool {
    lift.to_bits() == 0
}

/// The evidence that the world has changed.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct NoveltyLine {
    /// One for each stake.
    pub sums: [SumLine; 3],
    /// Scores seen.
    pub seen: u64,
    /// Of these, those before the last fork.
    pub seen_before: u64,
    /// After how many of them the first alarm came.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub alarm: Option<u64>,
    /// How many alarms there were.
    pub alarms: u64,
    /// Of these, those before the last fork.
    pub alarms_before: u64,
}

impl MemoryLine {
    /// What a memory has found.
    pub fn of(memory: &Memory) -> MemoryLine {
        let MemoryState { episodes, episodes_before, evidence, recalibration, novelty } =
            memory.state();
        let RecalibrationState { learned, shift, lift, gained } = recalibration;
        MemoryLine {
            episodes,
            episodes_before,
            evidence: EvidenceLine {
                sums: evidence.sums.map(line),
                seen: evidence.seen,
                seen_before: evidence.seen_before,
                alarm: evidence.alarm,
            },
            recalibration: RecalibrationLine { learned, shift, lift, gained },
            novelty: novelty.map(|novelty| NoveltyLine {
                sums: novelty.sums.map(line),
                seen: novelty.seen,
                seen_before: novelty.seen_before,
                alarm: novelty.alarm,
                alarms: novelty.alarms,
                alarms_before: novelty.alarms_before,
            }),
        }
    }

    /// Whether either evidence has raised an alarm.
    pub fn is_alarmed(&self) -> bool {
        let of_novelty = self.novelty.and_then(|novelty| novelty.alarm);
        self.evidence.alarm.or(of_novelty).is_some()
    }

    /// The same as the shield's own numbers; a memory that recalls them checks them.
    pub fn state(&self) -> MemoryState {
        let MemoryLine { episodes, episodes_before, evidence, recalibration, novelty } = *self;
        let RecalibrationLine { learned, shift, lift, gained } = recalibration;
        MemoryState {
            episodes,
            episodes_before,
            evidence: EvidenceState {
                sums: evidence.sums.map(sum),
                seen: evidence.seen,
                seen_before: evidence.seen_before,
                alarm: evidence.alarm,
            },
            recalibration: RecalibrationState { learned, shift, lift, gained },
            novelty: novelty.map(|novelty| NoveltyState {
                sums: novelty.sums.map(sum),
                seen: novelty.seen,
                seen_before: novelty.seen_before,
                alarm: novelty.alarm,
                alarms: novelty.alarms,
                alarms_before: novelty.alarms_before,
            }),
        }
    }
}

fn line(sum: Sum) -> SumLine {
    [sum.value, sum.product, sum.own]
}

fn sum([value, product, own]: SumLine) -> Sum {
    Sum { value, product, own }
}

/// An alarm, as a record has it.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct AlarmLine {
    /// What gave the critic away.
    pub kind: AlarmWord,
    /// After how many decisions, of incidents, or episodes, of novelty.
    pub after: u64,
}

/// What gave a critic away.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum AlarmWord {
    /// Incidents were more likely than it foretold.
    Incidents,
    /// The world was not as it was calibrated in.
    Novelty,
}

impl From<Alarm> for AlarmLine {
    fn from(alarm: Alarm) -> AlarmLine {
        let kind = match alarm.kind {
            AlarmKind::Incidents => AlarmWord::Incidents,
            AlarmKind::Novelty => AlarmWord::Novelty,
        };
        AlarmLine { kind, after: alarm.after }
    }
}

/// In words, as the shield says it.
impl std::fmt::Display for AlarmLine {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let kind = match self.kind {
            AlarmWord::Incidents => AlarmKind::Incidents,
            AlarmWord::Novelty => AlarmKind::Novelty,
        };
        Alarm { kind, after: self.after }.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use cpss_shield::Surprise;

    use super::*;

    #[test]
    fn a_memory_is_written_and_read_back_to_the_same_bits() {
        let novelty = NoveltySettings {
            borders: [0.1, 0.2, 0.3, 0.4, 0.7],
            bounds: [0.5, 0.31, 0.2, 0.1, 0.1, 1.0 / 30.0],
            level: 30.0,
        };
        let settings =
            MemorySettings { precaution: 0.1, novelty: Some(novelty), ..MemorySettings::new(0.3) };
        let (_, fresh) = settings.open(&RiskSpec::new()).unwrap();
        let mut memory = fresh;
        for episode in 0..40 {
            memory.learn(Surprise::of((f64::from(episode) * 0.7).sin()));
            memory.end_episode_scored(
                Some(Surprise::of(-0.1)),
                Some((f64::from(episode) * 1.3).sin()),
            );
        }
        let text = serde_json::to_string(&MemoryLine::of(&memory.fork())).unwrap();
        let line: MemoryLine = serde_json::from_str(&text).unwrap();
        assert_eq!(fresh.recall(&line.state()).unwrap(), memory.fork());
        assert!(memory.alarm().is_some(), "alarms are among what is kept");
        let said = AlarmLine::from(memory.alarm().unwrap());
        assert_eq!(said.to_string(), memory.alarm().unwrap().to_string());
        let text = serde_json::to_string(&settings).unwrap();
        assert_eq!(serde_json::from_str::<MemorySettings>(&text).unwrap(), settings);
        assert!(serde_json::from_str::<MemorySettings>(&text.replace("rate", "pace")).is_err());
    }

    /// Files are sealed over what they read as, so what was written before there were lifts has to read as it was.
    #[test]
    fn what_was_written_before_there_were_lifts_keeps_its_words() {
        let before = r#"{"rate":0.3,"max_shift":3.0,"alarm":10000.0,"precaution":0.5}"#;
        let settings: MemorySettings = serde_json::from_str(before).unwrap();
        assert_eq!(settings.max_lift, 0.0);
        assert_eq!(serde_json::to_string(&settings).unwrap(), before);
        let before = r#"{"learned":1.5,"shift":1.0,"gained":0.25}"#;
        let line: RecalibrationLine = serde_json::from_str(before).unwrap();
        assert_eq!((line.lift, line.raised()), (0.0, 1.0));
        assert_eq!(serde_json::to_string(&line).unwrap(), before);
    }
}
