//! What does a cell come to, in numbers?

use cpss_shield::Alarm;
use serde::Serialize;

use super::contest::Played;
use super::statistics::{mean, wilson};
use crate::record::memory::AlarmLine;
use crate::record::{Account, EpisodeRecord};

/// What a cell came to.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct Summary {
    /// Episodes played.
    pub episodes: u64,
    /// Share of episodes in which the ego crashed (racetrack: or left the road).
    pub collision_rate: f64,
    /// Its 95 % Wilson interval.
    pub collision_ci95: [f64; 2],
    /// Share of episodes that ended off the road without a crash.
    pub offroad_rate: f64,
    /// Share of decision steps that came close to something.
    pub proximity_risk: f64,
    /// Mean over episodes of the smallest distance \[m\].
    pub min_distance: f64,
    /// Mean return.
    pub return_mean: f64,
    /// Mean over episodes of the mean speed \[m/s\].
    pub mean_speed: f64,
    /// Share of episodes that arrived, or lasted.
    pub success_rate: f64,
    /// Share of steps on which the proposal was refused.
    pub intervention_rate: f64,
    /// Steps on which another action ran than the proposed one.
    pub replaced_steps: u64,
    /// Share of these in which the proposed one would have led to a failure that did not come; `None`
    /// of none, here and below.
    pub avoided_share: Option<f64>,
    /// The same for a failure that came all the same.
    pub unavoided_share: Option<f64>,
    /// The same for a closer call.
    pub closer_share: Option<f64>,
    /// The same for nothing worse than what happened.
    pub false_alarm_share: Option<f64>,
    /// Share of steps on which no action was admissible.
    pub infeasible_rate: f64,
    /// Share of steps on which the risk that could not be avoided was above the shield's cap on what one action may add to
    /// it; the same cap for every arm.
    pub endangered_rate: f64,
    /// Share of steps that cost more than the threshold though predicted admissible.
    pub misprediction_rate: f64,
    /// Mean share of the budget that was spent; `None` where the arm's budget limits nothing.
    pub budget_used: Option<f64>,
    /// Episodes in which the envelope did not hold at every step.
    pub envelope_violations: u64,
    /// Decisions per second, on all threads together.
    pub steps_per_second: f64,
    /// What the shield added to a decision, in the middle and for all but one in a hundred \[µs\]: every action's risk, the
    /// verdict and the settlement. `cpss bench` also times observing the scene and the tracker. `None` for arms whose costs
    /// are no critic's.
    pub decision_p50_us: Option<f64>,
    /// The latter.
    pub decision_p99_us: Option<f64>,
    /// What was promised: the incident rate is at most this, if the critic is conservative. What could not be
    /// avoided, and the budget; `None` for an arm that promises nothing, or a critic that is not known to be.
    pub promise: Option<f64>,
    /// Episodes in which more than the budget was spent.
    pub budget_violations: u64,
    /// Share of interventions that happened only because of what had been spent before; `None` of none.
    pub ledger_share: Option<f64>,
    /// Where the incidents come from, on average per episode; the four add up to their rate.
    pub account: Account,
    /// The evidence that the critic underestimates risk: the largest, at the end of any episode.
    pub evidence: f64,
    /// By how much the log-odds of what cannot be avoided are raised, after the last episode.
    pub recalibration: f64,
    /// The evidence that the world is not the one that the critic was calibrated in: the largest, at the end of any
    /// episode; 0 where no scores are watched.
    pub novelty: f64,
    /// The alarms of a memory, with their reasons.
    pub alarms: Vec<AlarmSaid>,
}

/// An alarm, with its reason in words.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct AlarmSaid {
    /// What gave the critic away, and when.
    #[serde(flatten)]
    pub alarm: AlarmLine,
    /// Why.
    pub reason: String,
}

impl From<Alarm> for AlarmSaid {
    fn from(alarm: Alarm) -> AlarmSaid {
        AlarmSaid { alarm: alarm.into(), reason: alarm.to_string() }
    }
}

impl Summary {
    /// Sums some episodes up.
    pub(crate) fn of(played: &Played, seconds: f64) -> Summary {
        let records = &played.episodes;
        let episodes = records.len() as u64;
        let count = |fact: fn(&EpisodeRecord) -> bool| {
            records.iter().filter(|record| fact(record)).count() as u64
        };
        let total = |number: fn(&EpisodeRecord) -> u64| records.iter().map(number).sum::<u64>();
        let average = |number: fn(&EpisodeRecord) -> f64| {
            mean(&records.iter().map(number).collect::<Vec<_>>())
        };
        let steps = total(|record| record.steps).max(1) as f64;
        let failures = count(|record| record.crashed || record.off_road);
        let share = |number: u64| number as f64 / episodes.max(1) as f64;
        let replaced_steps = total(EpisodeRecord::replaced);
        let interventions = total(|record| record.interventions);
        let of_replaced = |number: fn(&EpisodeRecord) -> u64| {
            (replaced_steps > 0).then(|| total(number) as f64 / replaced_steps as f64)
        };
        Summary {
            episodes,
            collision_rate: share(failures),
            collision_ci95: wilson(failures, episodes),
            offroad_rate: share(count(|record| record.off_road)),
            proximity_risk: total(|record| record.close_steps) as f64 / steps,
            min_distance: average(|record| record.min_distance),
            return_mean: average(|record| record.episode_return),
            mean_speed: average(|record| record.mean_speed),
            success_rate: share(count(|record| record.success)),
            intervention_rate: interventions as f64 / steps,
            replaced_steps,
            avoided_share: of_replaced(|record| record.avoided),
            unavoided_share: of_replaced(|record| record.unavoided),
            closer_share: of_replaced(|record| record.closer),
            false_alarm_share: of_replaced(|record| record.false_alarms),
            infeasible_rate: total(|record| record.infeasible) as f64 / steps,
            endangered_rate: played.endangered as f64 / steps,
            misprediction_rate: total(|record| record.mispredicted) as f64 / steps,
            budget_used: Some(average(|record| record.budget_used)),
            envelope_violations: count(|record| !record.envelope_held),
            steps_per_second: total(|record| record.steps) as f64 / seconds.max(1e-9),
            decision_p50_us: played.latencies.at_most_us(0.5),
            decision_p99_us: played.latencies.at_most_us(0.99),
            promise: None,
            budget_violations: count(|record| !record.budget_kept),
            ledger_share: (interventions > 0)
                .then(|| total(|record| record.by_ledger) as f64 / interventions as f64),
            account: mean_account(records),
            evidence: records.iter().map(|record| record.evidence).fold(0.0, f64::max),
            recalibration: records.last().map_or(0.0, |record| record.recalibration),
            novelty: records.iter().map(|record| record.novelty).fold(0.0, f64::max),
            alarms: Vec::new(),
        }
    }
}

/// The mean over some episodes.
fn mean_account(records: &[EpisodeRecord]) -> Account {
    let average = |part: fn(&Account) -> f64| {
        mean(&records.iter().map(|record| part(&record.account())).collect::<Vec<_>>())
    };
    Account {
        start: average(|account| account.start),
        chosen: average(|account| account.chosen),
        surprise: average(|account| account.surprise),
        arriving: average(|account| account.arriving),
    }
}
