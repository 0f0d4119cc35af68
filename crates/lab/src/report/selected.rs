//! Which episodes are worth watching?
//!
//! Chosen from the records by rule: for each task and regime the first that the policy alone fails and
//! the shield saves, the first that the shield fails as well, and the first of all, whatever came of
//! it; for each task the one with the longest intervention, and one whose interventions were all false
//! alarms. Rougher regimes come first, then lower
//! training seeds, then lower seeds, so the choice is the same every time, and the first of a
//! reason is the one to show first. Each is played again before a
//! [`TraceWriter`](crate::trace::TraceWriter), with the shield and without, and must come out as its
//! record says; `index.json` says why each was chosen and which hash its trace ends in.

use std::path::Path;
use std::sync::Arc;

use anyhow::{Result, bail};
use rayon::prelude::*;
use serde::Serialize;

use crate::files::atomic::{folder, write_atomically};
use crate::measure::estimate::{Cell, Results};
use crate::measure::unit::{Unit, UnitRecord};
use crate::record::EpisodeRecord;

/// Why an episode was chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Why {
    /// The policy alone fails, the shield does not.
    Saved,
    /// The shield fails.
    Lost,
    /// No other is intervened in for so long without a break.
    LongestIntervention,
    /// The shield replaced actions, none of which would have led to anything worse; nobody fails.
    FalseAlarm,
    /// The first of its cell: chosen without looking.
    First,
}

/// A chosen episode.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Selected {
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
pub(crate) struct Kept {
    /// Arm.
    pub arm: String,
    /// File name.
    pub file: String,
    /// The hash that it ends in.
    pub chain_end: String,
    /// The trace itself.
    #[serde(skip)]
    pub text: Arc<str>,
}

/// Chooses episodes, plays them again and writes their traces.
pub(crate) fn write_all(results: &Results<'_>, out: &Path) -> Result<Vec<Selected>> {
    let place = out.join("traces");
    folder(&place)?;
    let chosen: Vec<Chosen<'_>> =
        results.tasks().into_iter().flat_map(|task| choose(results, task)).collect();
    // An episode may be chosen for several reasons, and is played once.
    let mut distinct: Vec<&Chosen<'_>> = Vec::new();
    for one in &chosen {
        if !distinct.iter().any(|known| known.is_episode_of(one)) {
            distinct.push(one);
        }
    }
    let played = distinct
        .par_iter()
        .map(|one| Ok((*one, one.play_again(&place)?)))
        .collect::<Result<Vec<_>>>()?;
    let tell = |one: &Chosen<'_>| {
        let (_, traces) = played.iter().find(|(known, _)| known.is_episode_of(one))?;
        let Unit { task, regime, policy, .. } = one.unit.clone();
        let (why, seed, traces) = (one.why, one.with.seed, traces.clone());
        Some(Selected { task, why, regime, policy, seed, traces })
    };
    let all: Vec<Selected> = chosen.iter().filter_map(tell).collect();
    write_atomically(&place.join("index.json"), &serde_json::to_vec_pretty(&all)?)?;
    Ok(all)
}

/// An episode with a reason, and what its records say of it.
#[derive(Clone, Copy, Debug)]
struct Chosen<'a> {
    why: Why,
    unit: &'a Unit,
    with: &'a EpisodeRecord,
    without: &'a EpisodeRecord,
}

impl Chosen<'_> {
    fn is_episode_of(&self, other: &Chosen<'_>) -> bool {
        self.unit == other.unit && self.with.seed == other.with.seed
    }

    /// Plays it with the shield and without, and writes both traces.
    fn play_again(&self, place: &Path) -> Result<Vec<Kept>> {
        let arms = [("cpss", self.with), ("dqn", self.without)];
        let play = |(arm, record): (&str, &EpisodeRecord)| {
            let unit = Unit { arm: arm.to_owned(), ..self.unit.clone() };
            unit.within(|contest| {
                let traced = contest.trace(record.seed)?;
                let file = contest.trace_name(record.seed);
                check(&file, &traced.record, record)?;
                write_atomically(&place.join(&file), traced.text.as_bytes())?;
                let (text, chain_end) = (traced.text.into(), traced.chain_end);
                Ok(Kept { arm: arm.to_owned(), file, chain_end, text })
            })
        };
        arms.into_iter().map(play).collect()
    }
}

/// An episode played twice is the same episode, or a trace would vouch for something else.
fn check(file: &str, played: &EpisodeRecord, recorded: &EpisodeRecord) -> Result<()> {
    if played == recorded {
        return Ok(());
    }
    bail!(
        "{file}: played again, the episode does not come out as its record says; delete the folder \
         `records` and run it again\n  record: {recorded:?}\n  played: {played:?}"
    )
}

/// The chosen episodes of a task.
fn choose<'a>(results: &Results<'a>, task: &str) -> Vec<Chosen<'a>> {
    let rough_first: Vec<Vec<Chosen<'a>>> =
        results.regimes().iter().rev().map(|regime| pairs(results, task, regime)).collect();
    let mut chosen = Vec::new();
    let mut first_of_each = |why: Why, wanted: fn(&Chosen<'_>) -> bool| {
        let found = rough_first.iter().filter_map(|pairs| pairs.iter().find(|pair| wanted(pair)));
        chosen.extend(found.map(|pair| Chosen { why, ..*pair }));
    };
    first_of_each(Why::Saved, |pair| !pair.with.failed() && pair.without.failed());
    first_of_each(Why::Lost, |pair| pair.with.failed());
    first_of_each(Why::First, |_| true);
    let longest = rough_first.iter().flatten().fold(None, |best: Option<&Chosen<'_>>, pair| {
        match best {
            // The first of equals stays.
            Some(best) if best.with.longest_intervention >= pair.with.longest_intervention => {
                Some(best)
            }
            _ => Some(pair),
        }
    });
    let longest = longest.filter(|pair| pair.with.longest_intervention > 0);
    chosen.extend(longest.map(|pair| Chosen { why: Why::LongestIntervention, ..*pair }));
    let for_nothing = |pair: &&Chosen<'_>| {
        let calm = !pair.with.failed() && !pair.without.failed();
        calm && pair.with.false_alarms > 0 && pair.with.false_alarms == pair.with.replaced()
    };
    let alarm = rough_first.iter().flatten().find(for_nothing);
    chosen.extend(alarm.map(|pair| Chosen { why: Why::FalseAlarm, ..*pair }));
    chosen
}

/// The episodes of a cell, with the shield and without.
fn pairs<'a>(results: &Results<'a>, task: &str, regime: &str) -> Vec<Chosen<'a>> {
    let units = |arm| results.units(Cell { task, regime: Some(regime), arm });
    let without = units("dqn");
    let of = |record: &'a UnitRecord| {
        let twin = without.iter().find(|twin| twin.unit.policy == record.unit.policy);
        let twins = twin.map_or(&[][..], |twin| &twin.episodes);
        let both = record.episodes.iter().zip(twins);
        both.map(|(with, without)| Chosen { why: Why::First, unit: &record.unit, with, without })
    };
    units("cpss").into_iter().flat_map(of).collect()
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
            own: None,
            sensor: "perfect".to_owned(),
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
        found.into_iter().map(|c| (c.why, c.unit.regime.clone(), c.with.seed)).collect()
    }

    #[test]
    fn the_rough_come_first_in_every_reason() {
        let records = [
            record("stationary", "dqn", [true, true, true], [0; 3]),
            record("stationary", "cpss", [false, true, false], [1, 9, 9]),
            record("high", "dqn", [false, true, true], [0; 3]),
            record("high", "cpss", [false, true, false], [1, 2, 3]),
        ];
        let expected = [
            (Why::Saved, "high", 9),
            (Why::Saved, "stationary", 7),
            (Why::Lost, "high", 8),
            (Why::Lost, "stationary", 8),
            (Why::First, "high", 7),
            (Why::First, "stationary", 7),
            (Why::LongestIntervention, "stationary", 8),
        ];
        let expected = expected.map(|(why, regime, seed)| (why, regime.to_owned(), seed));
        assert_eq!(chosen(&records), expected);
    }

    #[test]
    fn a_calm_cell_has_its_first_episode_only() {
        let calm =
            [record("high", "dqn", [false; 3], [0; 3]), record("high", "cpss", [false; 3], [0; 3])];
        assert_eq!(chosen(&calm), [(Why::First, "high".to_owned(), 7)]);
        assert!(chosen(&calm[..1]).is_empty());
    }

    #[test]
    fn a_false_alarm_is_one_without_anything_better() {
        let mut shielded = record("high", "cpss", [false; 3], [0; 3]);
        shielded.episodes[1].false_alarms = 2;
        shielded.episodes[1].avoided = 1;
        shielded.episodes[2].false_alarms = 1;
        let records = [record("high", "dqn", [false; 3], [0; 3]), shielded];
        assert!(chosen(&records).contains(&(Why::FalseAlarm, "high".to_owned(), 9)));
        assert!(!chosen(&records).contains(&(Why::FalseAlarm, "high".to_owned(), 8)));
    }

    #[test]
    fn an_episode_that_comes_out_differently_is_an_error() {
        let record = EpisodeRecord { seed: 3, episode_return: 1.0, ..EpisodeRecord::default() };
        assert!(check("a.jsonl", &record, &record).is_ok());
        let other = EpisodeRecord { episode_return: 1.0_f64.next_up(), ..record };
        let error = check("a.jsonl", &other, &record).unwrap_err().to_string();
        assert!(error.starts_with("a.jsonl: played again"), "{error}");
    }
}
