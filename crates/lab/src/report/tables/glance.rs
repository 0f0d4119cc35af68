//! What does a reader see first?
//!
//! One row per task, one number per cell where one will do: what was promised and what happened, what the policy
//! does alone, what the shield costs, and where the incidents come from. Intervals of everything else are in
//! the other tables.

use super::names;
use super::promise::promised;
use crate::measure::estimate::{Cell, Estimate, Results, metric};
use crate::play::regime::REGIMES;
use crate::report::table::{Entry, Table};

/// Everything that matters of each task, mean over regimes.
pub(super) fn at_a_glance(results: &Results<'_>) -> Table {
    let row = |task: &&str| {
        let cell = |arm| Cell { task, regime: None, arm };
        let found = |arm, key| results.estimate(cell(arm), metric(key));
        let value = |arm, key| found(arm, key).map_or(f64::NAN, |found| found.value);
        let happened = found("cpss", "collision_rate")?;
        Some(vec![
            Entry::words(task),
            Entry::Words(
                promised(results, cell("cpss"))
                    .map_or("nothing".to_owned(), |most| format!("{most:.4}")),
            ),
            Entry::Words(rate(&happened)),
            Entry::Words(or_dash(value("dqn", "collision_rate"), 4)),
            Entry::Words(arrow(value("dqn", "return_mean"), value("cpss", "return_mean"))),
            Entry::Words(format!("{:.1} %", 100.0 * value("cpss", "intervention_rate"))),
            Entry::Words(match value("cpss", "by_ledger_share") {
                share if share.is_finite() => format!("{:.0} %", 100.0 * share),
                _ => "–".to_owned(),
            }),
            Entry::Words(sum(
                happened.value,
                ["start", "chosen", "arriving"].map(|part| value("cpss", part)),
            )),
        ])
    };
    Table {
        name: "glance",
        title: format!("Promised and measured, {}", traffic(&results.regimes())),
        columns: names(&[
            "task",
            "incidents promised: at most",
            "happened [95 %]",
            "DQN alone",
            "return, DQN → CPSS",
            "interventions",
            "of these only for what was spent",
            "happened = start + chosen + surprise (+ arriving)",
        ]),
        rows: results.tasks().iter().filter_map(row).collect(),
        note: "Promised is what the critic calls unavoidable (start, and where the look-ahead is limited what arrives) \
               plus the budget. Chosen is what the shield let the policy risk; surprise is what its critic did not foresee. \
               Where a critic is not known to be conservative in such traffic, nothing is promised."
            .to_owned()
            + &few(results),
    }
}

/// What to make of rates of few episodes.
fn few(results: &Results<'_>) -> String {
    const ENOUGH: u64 = 200;
    let tasks = results.tasks();
    let regimes = results.regimes();
    let cells = tasks.iter().flat_map(|task| regimes.iter().map(move |regime| (task, regime)));
    let count = |(task, regime): (&&str, &&str)| -> u64 {
        let units = results.units(Cell { task, regime: Some(regime), arm: "cpss" });
        units.iter().map(|record| record.unit.episodes).sum()
    };
    match cells.map(count).filter(|count| *count > 0).min() {
        Some(least) if least < ENOUGH => format!(
            " With as few as {least} episodes in a task and regime one incident is {:.3} of them: such a run shows how \
             things look, and does not test a promise.",
            1.0 / least as f64
        ),
        _ => String::new(),
    }
}

fn rate(found: &Estimate) -> String {
    let Estimate { value, interval: [low, high], .. } = found;
    format!("{value:.4} [{low:.4}, {high:.4}]")
}

fn arrow(before: f64, after: f64) -> String {
    let decimals = if after.abs() >= 100.0 { 0 } else { 2 };
    format!("{} → {}", or_dash(before, decimals), or_dash(after, decimals))
}

/// A number, or a dash where nobody played.
fn or_dash(value: f64, decimals: usize) -> String {
    if value.is_nan() { "–".to_owned() } else { format!("{value:.decimals$}") }
}

/// The account of what happened. Its parts add up as they are printed: the surprise takes the rounding.
fn sum(happened: f64, parts: [f64; 3]) -> String {
    let [start, chosen, arriving] = parts.map(|part| (part * 1e4).round());
    let surprise = (happened * 1e4).round() - start - chosen - arriving;
    let number = |part: f64| format!("{:.4}", part.abs() / 1e4);
    let sign = if surprise < 0.0 { "−" } else { "+" };
    let rest = if parts[2] > 0.0 { format!(" + {}", number(arriving)) } else { String::new() };
    format!("{} + {} {sign} {}{rest}", number(start), number(chosen), number(surprise))
}

/// What the means are taken over.
pub(crate) fn traffic(regimes: &[&str]) -> String {
    match regimes {
        [only] => format!("{only} traffic"),
        all if all.len() == REGIMES.len() => {
            "mean over four regimes, from stationary to high drift".to_owned()
        }
        some => format!("mean over {}", some.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_parts_add_up_as_they_are_printed() {
        assert_eq!(sum(0.00350, [0.00168, 0.00208, 0.0]), "0.0017 + 0.0021 − 0.0003");
        assert_eq!(sum(0.01496, [0.0, 0.00014, 0.00826]), "0.0000 + 0.0001 + 0.0066 + 0.0083");
    }

    #[test]
    fn regression_where_the_policy_alone_was_not_played_there_is_a_dash() {
        assert_eq!(arrow(f64::NAN, 13.131), "– → 13.13");
        assert_eq!(arrow(672.4, 977.0), "672 → 977");
        assert_eq!((or_dash(f64::NAN, 4), or_dash(0.5, 4)), ("–".to_owned(), "0.5000".to_owned()));
    }

    #[test]
    fn the_title_says_what_the_means_are_over() {
        assert_eq!(traffic(&["stationary"]), "stationary traffic");
        assert_eq!(traffic(&["mild", "own.toml"]), "mean over mild, own.toml");
        assert!(traffic(&REGIMES).ends_with("from stationary to high drift"));
    }
}
