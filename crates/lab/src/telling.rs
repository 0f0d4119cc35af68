//! Which episodes are worth watching?
//!
//! Chosen from the records by rule, for each task: one that the policy alone fails and the shield
//! saves, one that the shield fails as well, and the one with the longest intervention. Rougher
//! regimes come first, then lower training seeds, then lower seeds, so the choice is the same every
//! time. Each is played again before a [`TraceWriter`](crate::trace::TraceWriter), with the shield and
//! without; `index.json` says why each was chosen and which hash its trace ends in.

use std::path::Path;

use anyhow::Result;
use serde::Serialize;

use crate::episode::EpisodeRecord;
use crate::estimate::{Cell, Results};
use crate::keep::{folder, keep};
use crate::plan::{Unit, UnitRecord};

/// Why an episode was chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Why {
    /// The policy alone fails, the shield does not.
    Saved,
    /// The shield fails.
    Lost,
    /// No other is intervened in for so long without a break.
    LongestIntervention,
}

/// A chosen episode.
#[derive(Clone, Debug, Serialize)]
pub struct Telling {
    /// Task id.
    pub task: String,
    /// Why it was chosen.
    pub why: Why,
    /// Regime.
    pub regime: String,
    /// Training seed of the policy.
    pub policy: usize,
    /// The episode's seed.
    pub seed: u64,
    /// Its traces: with the shield, then without.
    pub traces: Vec<Kept>,
}

/// A trace that was written.
#[derive(Clone, Debug, Serialize)]
pub struct Kept {
    /// Arm.
    pub arm: String,
    /// File name.
    pub file: String,
    /// The hash that it ends in.
    pub chain_end: String,
    /// The trace itself.
    #[serde(skip)]
    pub text: String,
}

/// Chooses episodes, plays them again and writes their traces.
///
/// # Errors
///
/// A folder that cannot be written.
pub fn write_all(results: &Results<'_>, out: &Path) -> Result<Vec<Telling>> {
    let place = out.join("traces");
    folder(&place)?;
    let mut all = Vec::new();
    for task in results.tasks() {
        all.extend(choose(results, task).into_iter().map(|(why, unit, seed)| -> Result<Telling> {
            let traces = ["cpss", "dqn"].map(|arm| -> Result<Kept> {
                let unit = Unit { arm: arm.to_owned(), ..unit.clone() };
                unit.within(|contest| {
                    let (text, chain_end) = contest.trace(seed)?;
                    let file = contest.trace_name(seed);
                    keep(&place.join(&file), text.as_bytes())?;
                    Ok(Kept { arm: arm.to_owned(), file, chain_end, text })
                })
            });
            let traces = traces.into_iter().collect::<Result<_>>()?;
            let Unit { task, regime, policy, .. } = unit.clone();
            Ok(Telling { task, why, regime, policy, seed, traces })
        }));
    }
    let all = all.into_iter().collect::<Result<Vec<_>>>()?;
    keep(&place.join("index.json"), &serde_json::to_vec_pretty(&all)?)?;
    Ok(all)
}

/// The chosen episodes of a task, each at most once for each reason.
fn choose<'a>(results: &Results<'a>, task: &str) -> Vec<(Why, &'a Unit, u64)> {
    let regimes = results.regimes();
    let rough_first = || {
        regimes.iter().rev().flat_map(|regime| {
            let units = |arm| results.units(Cell { task, regime: Some(regime), arm });
            let without = units("dqn");
            let twin = move |record: &UnitRecord| {
                without.iter().find(|r| r.unit.policy == record.unit.policy).copied()
            };
            units("cpss").into_iter().flat_map(move |record| {
                let twins = twin(record).map_or(&[][..], |twin| &twin.episodes);
                record
                    .episodes
                    .iter()
                    .zip(twins)
                    .map(move |(with, without)| (record, with, without))
            })
        })
    };
    type Pair<'a> = (&'a UnitRecord, &'a EpisodeRecord, &'a EpisodeRecord);
    let saved = rough_first().find(|(_, with, without)| !with.failed() && without.failed());
    let lost = rough_first().find(|(_, with, _)| with.failed());
    let longest = rough_first().fold(None, |best: Option<Pair<'a>>, pair| match best {
        // The first of equals stays.
        Some(best) if best.1.longest_intervention >= pair.1.longest_intervention => Some(best),
        _ => Some(pair),
    });
    let longest = longest.filter(|(_, with, _)| with.longest_intervention > 0);
    [(Why::Saved, saved), (Why::Lost, lost), (Why::LongestIntervention, longest)]
        .into_iter()
        .filter_map(|(why, found)| found.map(|(record, with, _)| (why, &record.unit, with.seed)))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Three episodes of an arm; which of them failed, and how long each was intervened in.
    fn record(regime: &str, arm: &str, failed: [bool; 3], longest: [u64; 3]) -> UnitRecord {
        let unit = Unit {
            task: "merge-v0".to_owned(),
            regime: regime.to_owned(),
            arm: arm.to_owned(),
            policy: 0,
            first_seed: 7,
            episodes: 3,
        };
        let episode = |place: usize| EpisodeRecord {
            seed: 7 + place as u64,
            crashed: failed[place],
            longest_intervention: longest[place],
            ..EpisodeRecord::default()
        };
        let episodes = (0..3).map(episode).collect();
        UnitRecord { unit, fingerprint: String::new(), episodes, refusals: Vec::new() }
    }

    fn chosen(records: &[UnitRecord]) -> Vec<(Why, String, u64)> {
        let found = choose(&Results::new(records), "merge-v0");
        found.into_iter().map(|(why, unit, seed)| (why, unit.regime.clone(), seed)).collect()
    }

    #[test]
    fn the_rough_come_first_and_each_reason_has_one() {
        let records = [
            record("stationary", "dqn", [true, true, true], [0; 3]),
            record("stationary", "cpss", [false, true, false], [1, 9, 9]),
            record("high", "dqn", [false, true, true], [0; 3]),
            record("high", "cpss", [false, true, false], [1, 2, 3]),
        ];
        let expected = [
            (Why::Saved, "high".to_owned(), 9),
            (Why::Lost, "high".to_owned(), 8),
            (Why::LongestIntervention, "stationary".to_owned(), 8),
        ];
        assert_eq!(chosen(&records), expected);
    }

    #[test]
    fn nothing_to_tell_is_nothing() {
        let calm =
            [record("high", "dqn", [false; 3], [0; 3]), record("high", "cpss", [false; 3], [0; 3])];
        assert!(chosen(&calm).is_empty());
        assert!(chosen(&calm[..1]).is_empty());
    }
}
