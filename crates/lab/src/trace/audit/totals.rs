//! Does the record follow from the decisions?
//!
//! [`Totals`] adds up the lines as they come and then compares: counts and sums to the last bit, since they
//! are sums of the very same numbers in the same order; speed and distance within what scenes are rounded
//! by; the ending by the task's rules. What stays as written is said, not passed over.

use cpss_shield::{Memory, Novelty};

use super::ending::Ending;
use super::finding::{Problem, near, same};
use super::step::Steps;
use crate::play::tally::DISCOUNT;
use crate::record::exact::Exact;
use crate::record::memory::{AlarmLine, MemoryLine};
use crate::record::pose::Pose;
use crate::record::what_if::{Effects, WhatIf};
use crate::trace::format::{CertificateLine, End, Header, Step, VERSION};

/// By how much a mean of rounded speeds may be off \[m/s\]: half of the last digit.
pub const SPEED_TOLERANCE: f64 = 0.005 + 1e-6;
/// By how much a distance between rounded places may be off \[m\]: half of the last digit for each of two
/// cars along each of two axes.
pub const DISTANCE_TOLERANCE: f64 = 0.01 * std::f64::consts::SQRT_2 + 1e-6;

/// What all steps come to together.
pub(super) struct Totals {
    rewards: f64,
    discounted_rewards: f64,
    close: u64,
    interventions: u64,
    in_a_row: u64,
    longest: u64,
    discounted_interventions: f64,
    discount: f64,
    speeds: f64,
    distance: f64,
    closeness: Vec<f64>,
    branches: Vec<(usize, WhatIf)>,
}

impl Totals {
    /// Before the first step.
    pub(super) fn new() -> Totals {
        Totals {
            rewards: 0.0,
            discounted_rewards: 0.0,
            close: 0,
            interventions: 0,
            in_a_row: 0,
            longest: 0,
            discounted_interventions: 0.0,
            discount: 1.0,
            speeds: 0.0,
            distance: f64::INFINITY,
            closeness: Vec::new(),
            branches: Vec::new(),
        }
    }

    /// Adds a step whose answers were derived.
    pub(super) fn add(&mut self, step: Step) {
        // A step's scene is what the step before it led to.
        if step.t > 0 {
            self.observe(&step.scene);
        }
        self.rewards += step.reward;
        self.discounted_rewards += self.discount * step.reward;
        self.close += u64::from(step.closeness.0 > 0.0);
        if step.verdict == "admit" {
            self.in_a_row = 0;
        } else {
            self.interventions += 1;
            self.discounted_interventions += self.discount;
            self.in_a_row += 1;
        }
        self.longest = self.longest.max(self.in_a_row);
        self.discount *= DISCOUNT;
        self.branches.extend(step.what_if.map(|what_if| (self.closeness.len(), what_if)));
        self.closeness.push(step.closeness.0);
    }

    /// Compares the end with what was added, and returns which of its fields stay as written.
    pub(super) fn check(
        mut self,
        end: &End,
        header: &Header,
        steps: &Steps,
    ) -> Result<Vec<&'static str>, Problem> {
        let (seed, remembers) = (header.seed, header.memory.is_some());
        self.observe(&end.scene);
        let record = &end.record;
        let account = steps.certificate(record);
        let derived = CertificateLine::from(&account);
        same("end", end.end, VERSION)?;
        let mut open = self.check_ending(end, steps)?;
        if end.certificate != derived {
            let words = |line: &CertificateLine| serde_json::to_string(line).unwrap_or_default();
            let (found, derived) = (words(&end.certificate), words(&derived));
            return Err(Problem::Differs { field: "certificate", found, derived });
        }
        let memory = remembers.then_some(account.memory.as_ref()).flatten().map(MemoryLine::of);
        if end.memory != memory {
            let words = |line: &Option<MemoryLine>| serde_json::to_string(line).unwrap_or_default();
            let (found, derived) = (words(&end.memory), words(&memory));
            return Err(Problem::Differs { field: "memory", found, derived });
        }
        same("record: seed", record.seed, seed)?;
        same("record: steps", record.steps, account.steps)?;
        let exact = |field, found, derived| same(field, Exact(found), Exact(derived));
        exact("record: return", record.episode_return, self.rewards)?;
        exact("record: discounted return", record.discounted_return, self.discounted_rewards)?;
        same("record: close steps", record.close_steps, self.close)?;
        same("record: interventions", record.interventions, self.interventions)?;
        same("record: longest intervention", record.longest_intervention, self.longest)?;
        let discounted = self.discounted_interventions;
        exact("record: discounted interventions", record.discounted_interventions, discounted)?;
        same("record: infeasible", record.infeasible, account.counts.infeasible)?;
        same("record: mispredicted", record.mispredicted, account.counts.mispredicted)?;
        exact("record: budget used", record.budget_used, account.spent / account.budget)?;
        let [start, chosen, surprise, arriving] = derived.account;
        let sum = start.0 + chosen.0 + surprise.0 + arriving.0;
        let incident = f64::from(u8::from(record.failed()));
        near("certificate: the account adds up", sum, incident, 1e-9)?;
        exact("record: start", record.start, start.0)?;
        exact("record: chosen", record.chosen, chosen.0)?;
        exact("record: arriving", record.arriving, arriving.0)?;
        exact("record: evidence", record.evidence, derived.evidence.0)?;
        exact("record: recalibration", record.recalibration, derived.recalibration.0)?;
        let known = account.memory.as_ref();
        let novelty = known.and_then(Memory::novelty).map_or(0.0, Novelty::value);
        exact("record: novelty", record.novelty, novelty)?;
        let alarm =
            |alarm: Option<AlarmLine>| alarm.map_or("none".to_owned(), |alarm| alarm.to_string());
        let derived_alarm = known.and_then(Memory::alarm).map(AlarmLine::from);
        same("record: alarm", alarm(record.alarm), alarm(derived_alarm))?;
        same("record: budget kept", record.budget_kept, account.budget_kept)?;
        same("record: by ledger", record.by_ledger, steps.by_ledger())?;
        same("record: envelope held", record.envelope_held, account.envelope_held)?;
        open.extend(self.check_drive(end, steps)?);
        let branches = self.branches.iter().map(|(step, what_if)| (*step, what_if));
        let effects = Effects::of(branches, &self.closeness, record.failed(), steps.look_ahead());
        same("record: avoided", record.avoided, effects.avoided)?;
        same("record: unavoided", record.unavoided, effects.unavoided)?;
        same("record: closer", record.closer, effects.closer)?;
        same("record: false alarms", record.false_alarms, effects.nothing)?;
        // The reward that the refused action would have had is not in the trace.
        if self.branches.is_empty() {
            exact("record: reward change", record.reward_change, 0.0)?;
        } else {
            same("record: reward change is a size", record.reward_change >= 0.0, true)?;
            open.push("end.record.reward_change");
        }
        Ok(open)
    }

    /// How it ended.
    fn check_ending(&self, end: &End, steps: &Steps) -> Result<Vec<&'static str>, Problem> {
        let mut open = Vec::new();
        let record = &end.record;
        let (Ending { terminated, off_road, success }, time_is_up) = steps.ending(&end.scene)?;
        let wrecked = end.scene.first().is_some_and(|ego| ego.4 == 1);
        same("record: crashed", record.crashed, wrecked)?;
        same("record: is over", time_is_up || terminated != Some(false), true)?;
        let mut check = |field, key, found: bool, derived: Option<bool>| match derived {
            Some(derived) => same(field, found, derived),
            None => {
                open.push(key);
                Ok(())
            }
        };
        let off_road = if wrecked { Some(false) } else { off_road };
        check("record: off road", "end.record.off_road", record.off_road, off_road)?;
        check("record: success", "end.record.success", record.success, success)?;
        let last = self.closeness.last().copied().unwrap_or(0.0);
        let is_certain = wrecked || record.off_road && terminated == Some(true);
        same("record: a failure costs 1", !is_certain || last == 1.0, true)?;
        Ok(open)
    }

    /// How it was driven.
    fn check_drive(&self, end: &End, steps: &Steps) -> Result<Vec<&'static str>, Problem> {
        let mut open = Vec::new();
        let record = &end.record;
        let speed = self.speeds / self.closeness.len() as f64;
        near("record: mean speed", record.mean_speed, speed, SPEED_TOLERANCE)?;
        // An ego that steers itself may have been closer to the edge of the road than to any car, and how
        // close is not derived: the cars only say how far it can have been at most.
        let steers =
            !matches!(steps.episode().task.controls, cpss_highway::action::Controls::Meta { .. });
        let mut found = record.min_distance;
        if steers {
            open.push("end.record.min_distance");
            same("record: minimum distance is one", found >= 0.0, true)?;
            found = found.max(self.distance);
        }
        near("record: minimum distance", found, self.distance, DISTANCE_TOLERANCE)?;
        Ok(open)
    }

    /// Takes in where a step led to.
    fn observe(&mut self, scene: &[Pose]) {
        let Some((ego, others)) = scene.split_first() else { return };
        self.speeds += ego.3;
        for other in others {
            self.distance = self.distance.min((other.0 - ego.0).hypot(other.1 - ego.1));
        }
    }
}
