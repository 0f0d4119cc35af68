//! How does a trace fit into a page?
//!
//! A trace is written for auditors: a line per decision, each with its names and its hash. A page needs
//! the same numbers by the column, and needs them small. A [`Replay`] is that: what the shield was told
//! and what it answered, to the last bit; scenes in whole centimetres, milliradians and centimetres
//! per second, each as its difference from the one before; roads apart, since all episodes of a task
//! share one ([`Replays`]). Start at [`Replays::add`]. `viewer/episode.js` reads it.
//!
//! **Invariants:** numbers of the account are copied, never derived, but for risks, which are as the memory has raised
//! them; a trace that does not audit still
//! becomes a replay as far as it can be read, and the replay says what is wrong with it.

use anyhow::{Context, Result};
use cpss_highway::TaskId;
use cpss_shield::{Memory, RiskSpec};
use serde::Serialize;
use serde::ser::{Error, SerializeMap, Serializer};

use crate::play::branch::look_ahead;
use crate::record::EpisodeRecord;
use crate::record::exact::Exact;
use crate::record::memory::MemoryLine;
use crate::record::pose::Pose;
use crate::record::what_if::WhatIf;
use crate::trace::audit::audit;
use crate::trace::{CertificateLine, End, Header, LaneLine, Step, read_line};

/// Films, with the roads that they share.
#[derive(Clone, Debug, Default, Serialize)]
pub(crate) struct Replays {
    /// Roads; a replay names its own by place.
    pub roads: Vec<Road>,
    /// Films.
    pub films: Vec<Replay>,
}

/// What does not move.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct Road {
    /// Length and width of a car \[m\].
    pub car: [f64; 2],
    /// The lanes.
    pub lanes: Vec<LaneLine>,
    /// Bodies without a driver: x, y, heading, length, width.
    pub obstacles: Vec<[f64; 5]>,
}

/// One episode, for watching.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Replay {
    /// The trace's file name.
    pub file: String,
    /// The hash that it ends in, if it audits.
    pub chain_end: Option<String>,
    /// What is wrong with it, if it does not.
    pub unsound: Option<String>,
    /// What the audit found to be promised of the episode, if anything.
    pub promise: Option<f64>,
    /// Which episode it is, under which shield.
    #[serde(flatten, serialize_with = "without_road")]
    pub header: Header,
    /// Over how many decisions a branch is played; none for a task that nobody knows.
    pub look_ahead: Option<u64>,
    /// The place of its road.
    pub road: usize,
    /// By step: the action proposed.
    pub proposal: Column<usize>,
    /// By step: the action that the verdict calls for.
    pub allowed: Column<usize>,
    /// By step: the action that ran.
    pub ran: Column<usize>,
    /// By step: the verdict, with its reason.
    pub verdict: Column<String>,
    /// By step: the risk of every action, as it was judged: raised by the memory, where there is one.
    pub risks: Column<Vec<Short>>,
    /// By step: the least of them, which cannot be avoided.
    pub unavoidable: Column<Short>,
    /// By step: the cost of every action.
    pub costs: Column<Vec<Short>>,
    /// By step: the policy's preferences, one for each action.
    pub likes: Column<Vec<f32>>,
    /// By step: the density, rounded; only its gain enters the account.
    pub density: Column<Short>,
    /// By step: the threshold.
    pub tau: Column<Short>,
    /// By step: the budget's projection.
    pub tau_budget: Column<Short>,
    /// By step: the gain.
    pub gain: Column<Short>,
    /// By step: what was charged.
    pub charge: Column<Short>,
    /// By step: how close it came to anything.
    pub closeness: Column<Short>,
    /// By step: whether the executed action was predicted admissible and cost more.
    pub mispredicted: Column<u8>,
    /// After each step: cost spent.
    pub spent: Column<Short>,
    /// After each step: cost above the thresholds.
    pub excess: Column<Short>,
    /// After each step: the envelope.
    pub envelope: Column<Short>,
    /// By step, where a proposal was refused: what its risk is due to, the risk, and the risk without that.
    pub conflict: Column<Option<(String, f64, f64)>>,
    /// By step, where another action ran than the proposed one: what a branch of the world showed.
    pub what_if: Column<Option<WhatIf>>,
    /// Where everybody was at each step and at the end.
    pub scenes: Vec<Vec<i64>>,
    /// What came of the episode, unless the trace was cut.
    pub record: Option<EpisodeRecord>,
    /// The shield's certificate, unless the trace was cut.
    pub certificate: Option<CertificateLine>,
    /// The memory afterwards, where one goes on from episode to episode.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory_after: Option<MemoryLine>,
    /// The alarms by then, in words.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub alarms: Vec<String>,
}

impl Replays {
    /// Takes a trace in, audits it on the way, and returns the place of its replay.
    pub(crate) fn add(&mut self, file: &str, text: &[u8]) -> Result<usize> {
        let audited = audit(text);
        let text = String::from_utf8_lossy(text);
        let mut lines = text.lines();
        let header: Header = read_line(lines.next().unwrap_or_default())
            .context("its first line is not the header of a trace")?;
        // As far as it can be read; what is wrong with the rest, the audit has said.
        let mut steps: Vec<Step> = Vec::new();
        let mut end: Option<End> = None;
        for line in lines {
            if let Ok(step) = read_line(line) {
                steps.push(step);
            } else {
                end = read_line(line).ok();
                break;
            }
        }
        let Header { car, lanes, obstacles, .. } = header.clone();
        let road = self.place_of(Road { car, lanes, obstacles });
        let mut replay = Replay::new(file, header, road, &steps, end);
        match audited {
            Ok(report) => {
                replay.chain_end = Some(report.chain_end);
                replay.promise = report.promise;
            }
            Err(finding) => replay.unsound = Some(finding.to_string()),
        }
        self.films.push(replay);
        Ok(self.films.len() - 1)
    }

    fn place_of(&mut self, road: Road) -> usize {
        self.roads.iter().position(|known| *known == road).unwrap_or_else(|| {
            self.roads.push(road);
            self.roads.len() - 1
        })
    }
}

impl Replay {
    fn new(file: &str, header: Header, road: usize, steps: &[Step], end: Option<End>) -> Replay {
        let task: Option<TaskId> = header.task.parse().ok();
        let number = |of: &dyn Fn(&Step) -> Exact| column(steps, |step| Short(of(step).0));
        let poses = steps.iter().map(|step| &step.scene).chain(end.as_ref().map(|end| &end.scene));
        let start = header.memory;
        let recall = |found: Option<MemoryLine>| {
            let recalled = start?.settings.recall(&RiskSpec::new(), &found?).ok();
            recalled.map(|(_, memory)| memory)
        };
        let before = recall(start.map(|memory| memory.found));
        let raised = |risks: &[Exact]| match &before {
            None => risks.to_vec(),
            Some(memory) => {
                let risks: Vec<f64> = risks.iter().map(|risk| risk.0).collect();
                let raising = memory.recalibration().raising(&risks);
                risks.into_iter().map(|risk| Exact(raising.raise(risk))).collect()
            }
        };
        let after = recall(end.as_ref().and_then(|end| end.memory));
        let alarms = after.iter().flat_map(Memory::alarms).map(|alarm| alarm.to_string()).collect();
        Replay {
            file: file.to_owned(),
            chain_end: None,
            unsound: None,
            promise: None,
            look_ahead: task.map(|_| look_ahead(header.decision_time)),
            header,
            road,
            proposal: column(steps, |step| step.proposal),
            allowed: column(steps, |step| step.allowed),
            ran: column(steps, |step| step.ran),
            verdict: column(steps, |step| step.verdict.clone()),
            risks: column(steps, |step| shorts(&raised(&step.risks))),
            unavoidable: number(&|step| step.unavoidable),
            costs: column(steps, |step| shorts(&step.costs)),
            likes: column(steps, |step| step.preferences.clone()),
            density: number(&|step| Exact((step.density.0 * 1e4).round() / 1e4)),
            tau: number(&|step| step.tau.0),
            tau_budget: number(&|step| step.tau.2),
            gain: number(&|step| step.tau.3),
            charge: number(&|step| step.charge),
            closeness: number(&|step| step.closeness),
            mispredicted: column(steps, |step| u8::from(step.mispredicted)),
            spent: number(&|step| step.ledger.1),
            excess: number(&|step| step.ledger.3),
            envelope: number(&|step| step.ledger.4),
            conflict: column(steps, |step| step.conflict.clone()),
            what_if: column(steps, |step| step.what_if.clone()),
            scenes: differences(poses),
            record: end.as_ref().map(|end| end.record),
            memory_after: end.as_ref().and_then(|end| end.memory),
            alarms,
            certificate: end.map(|end| end.certificate),
        }
    }
}

/// A header, but for what does not move, which films share, and what nobody is shown.
fn without_road<S: Serializer>(header: &Header, serializer: S) -> Result<S::Ok, S::Error> {
    let mut fields = serde_json::to_value(header).map_err(S::Error::custom)?;
    if let Some(fields) = fields.as_object_mut() {
        for name in ["cpss_trace", "risk", "car", "lanes", "obstacles"] {
            fields.remove(name);
        }
    }
    fields.serialize(serializer)
}

/// A number by step. Where it seldom changes, only the changes are written: `{"at":[0,7],"is":[a,b]}`.
#[derive(Clone, Debug)]
pub(crate) struct Column<T>(Vec<T>);

impl<T: PartialEq + Serialize> Serialize for Column<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let is_new = |place: &usize| *place == 0 || self.0[*place] != self.0[*place - 1];
        let at: Vec<usize> = (0..self.0.len()).filter(is_new).collect();
        if at.len() * 2 >= self.0.len() {
            return serializer.collect_seq(&self.0);
        }
        let is: Vec<&T> = at.iter().map(|place| &self.0[*place]).collect();
        let mut map = serializer.serialize_map(Some(3))?;
        map.serialize_entry("length", &self.0.len())?;
        map.serialize_entry("at", &at)?;
        map.serialize_entry("is", &is)?;
        map.end()
    }
}

/// A double that reads back to the same bits, without the point of a whole number.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Short(f64);

impl PartialEq for Short {
    fn eq(&self, other: &Short) -> bool {
        Exact(self.0) == Exact(other.0)
    }
}

impl Serialize for Short {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let whole = self.0 as i64;
        // A negative zero is no whole number here: as an integer it would lose its sign.
        if whole.unsigned_abs() < 1 << 53 && (whole as f64).to_bits() == self.0.to_bits() {
            return serializer.serialize_i64(whole);
        }
        Exact(self.0).serialize(serializer)
    }
}

fn shorts(numbers: &[Exact]) -> Vec<Short> {
    numbers.iter().map(|number| Short(number.0)).collect()
}

fn column<T>(steps: &[Step], of: impl Fn(&Step) -> T) -> Column<T> {
    Column(steps.iter().map(of).collect())
}

/// Scenes as whole numbers, five per car; one with as many cars as the scene before it is written as
/// the difference, behind a leading 1 instead of 0.
fn differences<'a>(scenes: impl Iterator<Item = &'a Vec<Pose>>) -> Vec<Vec<i64>> {
    let mut before: Vec<i64> = Vec::new();
    scenes
        .map(|scene| {
            let whole = |value: f64, fraction: f64| (value * fraction).round() as i64;
            let now: Vec<i64> = scene
                .iter()
                .flat_map(|(x, y, heading, speed, crashed)| {
                    let place = [whole(*x, 1e2), whole(*y, 1e2), whole(*heading, 1e3)];
                    place.into_iter().chain([whole(*speed, 1e2), i64::from(*crashed)])
                })
                .collect();
            let coded: Vec<i64> = if now.len() == before.len() {
                let gaps = now.iter().zip(&before).map(|(now, before)| now.wrapping_sub(*before));
                std::iter::once(1).chain(gaps).collect()
            } else {
                std::iter::once(0).chain(now.iter().copied()).collect()
            };
            before = now;
            coded
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_seldom_changes_is_written_where_it_does() {
        let json = |values: &[u64]| serde_json::to_string(&Column(values.to_vec())).unwrap();
        assert_eq!(json(&[3, 3, 3, 3, 5, 5]), r#"{"length":6,"at":[0,4],"is":[3,5]}"#);
        assert_eq!(json(&[1, 2, 1]), "[1,2,1]");
        assert_eq!(json(&[]), "[]");
    }

    #[test]
    fn short_numbers_keep_their_bits() {
        let values = [0.0, -0.0, 1.0, -3.0, 0.1, 1e300, 1e-310, 9_007_199_254_740_993.0];
        for value in values {
            let text = serde_json::to_string(&Short(value)).unwrap();
            let back: Exact = serde_json::from_str(&text).unwrap();
            assert_eq!(back, Exact(value), "{text}");
        }
        assert_eq!(serde_json::to_string(&Short(2.0)).unwrap(), "2");
        assert_eq!(serde_json::to_string(&Short(f64::NAN)).unwrap(), "\"nan\"");
    }

    #[test]
    fn scenes_add_up_again() {
        let scenes = [
            vec![(1.0, 2.0, 0.5, 20.0, 0), (4.25, 0.0, 0.0, 3.1, 0)],
            vec![(1.5, 2.0, 0.4, 20.5, 1), (4.0, 0.0, 0.0, 3.1, 0)],
            vec![(2.0, 2.0, 0.4, 20.5, 1)],
        ];
        let coded = differences(scenes.iter());
        assert_eq!(coded[0], [0, 100, 200, 500, 2000, 0, 425, 0, 0, 310, 0]);
        assert_eq!(coded[1], [1, 50, 0, -100, 50, 1, -25, 0, 0, 0, 0]);
        assert_eq!(coded[2], [0, 200, 200, 400, 2050, 1]);
    }
}
