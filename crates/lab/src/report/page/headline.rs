//! What is the one thing to take away, and what does it leave out?
//!
//! A sentence with the collision rates, and beside it what a fair reader asks next: against the paper,
//! at what price, how often, and did the guarantee hold. What falls short is marked as such.

use std::fmt::Write as _;

use super::Made;
use super::html::escaped;
use crate::measure::estimate::{Cell, Estimate, metric};
use crate::measure::statistics::mean;
use crate::play::arm::Arm;
use crate::record::EpisodeRecord;
use crate::report::paper;
use crate::report::tables::{Kept, kept, promised};

/// The head of a report.
pub(super) struct Head {
    /// The page's title.
    pub(super) title: String,
    /// Headline, lead and facts.
    pub(super) html: String,
}

/// Something worth knowing.
struct Fact {
    name: &'static str,
    value: String,
    more: String,
    falls_short: bool,
}

pub(super) fn head(made: &Made<'_>) -> Head {
    let title = title(made);
    let mut facts = String::new();
    for Fact { name, value, more, falls_short } in facts_of(made) {
        let class = if falls_short { " class=\"short\"" } else { "" };
        // Writing to a string cannot fail.
        let _ = writeln!(
            facts,
            "<div{class}><dt>{name}</dt><dd>{}<small>{}</small></dd></div>",
            escaped(&value),
            escaped(&more)
        );
    }
    let html = format!(
        "<p class=\"kicker\">CPSS, the Constraint Projection Safety Shield: the experiment of T. Tomashevskiy, \
         <em>From Cumulative Constraints to Adaptive Runtime Safety Control for Nonstationary Reinforcement \
         Learning</em>, made again</p>\n<h1>{}</h1>\n<p class=\"lead\">{}</p>\n\
         <dl class=\"facts\">\n{facts}</dl>\n",
        escaped(&title),
        escaped(&lead(made)),
    );
    Head { title, html }
}

fn title(made: &Made<'_>) -> String {
    let results = made.results;
    let collisions = metric("collision_rate");
    let tasks = results.tasks();
    let rate =
        |arm| results.mean_over_tasks(&tasks, None, arm, collisions).map(|found| found.value);
    let cell = |task| Cell { task, regime: None, arm: "cpss" };
    let judged: Vec<&str> =
        tasks.iter().copied().filter(|task| promised(results, cell(task)).is_some()).collect();
    let of = |arm| {
        let rate = |task: &&str| {
            results.estimate(Cell { task, regime: None, arm }, collisions).map(|found| found.value)
        };
        judged.iter().map(rate).collect::<Option<Vec<f64>>>().map(|rates| mean(&rates))
    };
    let most: Vec<f64> = judged.iter().filter_map(|task| promised(results, cell(task))).collect();
    if let (Some(after), Some(before), false) = (of("cpss"), of("dqn"), judged.is_empty()) {
        return format!(
            "Promised on {}: an incident in at most {:.4} of all episodes. Measured: {after:.4}, and {before:.4} \
             without the shield",
            judged.join(", "),
            mean(&most)
        ) + &unpromised(made);
    }
    match (rate("cpss"), rate("dqn")) {
        (Some(after), Some(before)) => {
            format!("Incident rate without the shield {before:.4}, with it {after:.4}")
        }
        _ => "The paper's experiment, made again".to_owned(),
    }
}

/// What happened where nothing is promised.
fn unpromised(made: &Made<'_>) -> String {
    let rate = |task: &str, arm| {
        let found =
            made.results.estimate(Cell { task, regime: None, arm }, metric("collision_rate"));
        found.map_or("–".to_owned(), |found| format!("{:.4}", found.value))
    };
    let is_without =
        |task: &&str| promised(made.results, Cell { task, regime: None, arm: "cpss" }).is_none();
    let tell = |task: &str| {
        format!(
            ". On {task} nothing is promised: {}, and {}",
            rate(task, "cpss"),
            rate(task, "dqn")
        )
    };
    made.results.tasks().into_iter().filter(is_without).map(tell).collect()
}

/// In how many cells the promise was kept, at every budget.
fn promises(made: &Made<'_>) -> Option<Fact> {
    let results = made.results;
    let cells = results.cells().into_iter().chain(results.frontier_cells());
    let is_cpss = |cell: &Cell<'_>| matches!(cell.arm.parse(), Ok(Arm::Cpss(_)));
    let judged: Vec<Kept> = cells.filter(is_cpss).filter_map(|cell| kept(results, cell)).collect();
    let count = |wanted: Kept| judged.iter().filter(|kept| **kept == wanted).count();
    (!judged.is_empty()).then(|| Fact {
        name: "Promise kept, in every task and regime, at every budget",
        value: format!("{} of {} cells", count(Kept::Yes), judged.len()),
        more: format!(
            "{} within their interval, {} beyond it",
            count(Kept::WithinInterval),
            count(Kept::No)
        ),
        falls_short: count(Kept::No) > 0,
    })
}

fn lead(made: &Made<'_>) -> String {
    let plan = made.plan;
    const WORDS: [&str; 10] =
        ["No", "One", "Two", "Three", "Four", "Five", "Six", "Seven", "Eight", "Nine"];
    let count = |count: usize, one: &str, many: &str| {
        let number = WORDS.get(count).map_or_else(|| count.to_string(), |word| (*word).to_owned());
        format!("{number} {}", if count == 1 { one } else { many })
    };
    format!(
        "{}, {}, {} and {} episodes of each in every cell{}. \
         The paper reports {} and {}, {:.1} % fewer; its traffic, policies and risk estimates are its own, so \
         rates can be compared only roughly, and reductions better.",
        count(made.results.tasks().len(), "driving task", "driving tasks"),
        count(made.results.regimes().len(), "drift regime", "drift regimes").to_lowercase(),
        count(plan.policies.len(), "trained policy", "trained policies").to_lowercase(),
        match made.plan.decisions {
            None => plan.episodes.to_string(),
            Some(_) => format!("up to {}", plan.episodes),
        },
        match ["dqn", "cpss"].iter().all(|arm| made.results.arms().contains(arm)) {
            true => ", the same episodes without and with the shield",
            false => "",
        },
        paper::MEAN_DQN,
        paper::MEAN_CPSS,
        100.0 * (1.0 - paper::MEAN_CPSS / paper::MEAN_DQN),
    )
}

fn facts_of(made: &Made<'_>) -> Vec<Fact> {
    let of = |task: &str, arm: &str, key: &str| {
        let cell = Cell { task, regime: None, arm };
        made.results.estimate(cell, metric(key)).map(|found| found.value)
    };
    let printed = |task: &str| {
        let place = paper::row(task)?;
        Some(paper::SUMMARY_CPSS[place])
    };
    let below_paper = |task: &str| Some(of(task, "cpss", "collision_rate")? <= printed(task)?);
    let keeps_return =
        |task: &str| Some(of(task, "cpss", "return_mean")? >= of(task, "dqn", "return_mean")?);
    let tasks = made.results.tasks();
    [
        promises(made),
        fewer(made),
        compared("Collision rate at or below the paper's", &tasks, &below_paper, "above it"),
        compared("Return at least the DQN's", &tasks, &keeps_return, "below it"),
        interventions(&tasks, &|task| of(task, "cpss", "intervention_rate")),
    ]
    .into_iter()
    .chain(episodes(made))
    .flatten()
    .collect()
}

/// How many collisions fewer.
fn fewer(made: &Made<'_>) -> Option<Fact> {
    let tasks = made.results.tasks();
    let Estimate { value, interval: [low, high], .. } =
        made.results.reduction(&paper::shared(&tasks), "dqn", "cpss")?;
    let theirs = 1.0 - paper::MEAN_CPSS / paper::MEAN_DQN;
    let [low, high, printed] = [low, high, theirs].map(|share| share * 100.0);
    Some(Fact {
        name: "Fewer collisions, on the same episodes",
        value: format!("{:.1} %", value * 100.0),
        more: format!("95 %: {low:.1} to {high:.1}; the paper's {printed:.1} %"),
        falls_short: value < theirs,
    })
}

/// Tasks on which ours is at least as good as something, and those on which it is not.
fn compared(
    name: &'static str,
    tasks: &[&str],
    good: &dyn Fn(&str) -> Option<bool>,
    missed: &str,
) -> Option<Fact> {
    let judged: Vec<(&str, bool)> =
        tasks.iter().filter_map(|task| Some((*task, good(task)?))).collect();
    let short: Vec<&str> = judged.iter().filter(|(_, good)| !good).map(|(task, _)| *task).collect();
    let more = match short.is_empty() {
        true => "all of them".to_owned(),
        false => format!("{missed} on {}", short.join(", ")),
    };
    let value = format!("{} of {} tasks", judged.len() - short.len(), judged.len());
    (!judged.is_empty()).then_some(Fact { name, value, more, falls_short: !short.is_empty() })
}

fn interventions(tasks: &[&str], rate: &dyn Fn(&str) -> Option<f64>) -> Option<Fact> {
    let rates = tasks.iter().filter_map(|task| Some((rate(task)?, *task)));
    let mut rates: Vec<(f64, &str)> = rates.collect();
    rates.sort_by(|a, b| a.0.total_cmp(&b.0));
    let ((least, calm), (most, busy)) = (rates.first()?, rates.last()?);
    let (value, more) = match rates.len() {
        1 => (format!("{:.1} %", most * 100.0), format!("on {busy}")),
        _ => (
            format!("{:.1} to {:.1} %", least * 100.0, most * 100.0),
            format!("least on {calm}, most on {busy}"),
        ),
    };
    Some(Fact { name: "Decisions intervened in", value, more, falls_short: *most > 0.2 })
}

/// What the shielded episodes say, added up.
fn episodes(made: &Made<'_>) -> [Option<Fact>; 2] {
    let tasks = made.results.tasks();
    let shielded =
        tasks.iter().flat_map(|task| made.results.units(Cell { task, regime: None, arm: "cpss" }));
    let episodes: Vec<_> = shielded.flat_map(|record| &record.episodes).collect();
    let sum =
        |of: fn(&EpisodeRecord) -> u64| episodes.iter().map(|episode| of(episode)).sum::<u64>();
    let replaced = sum(EpisodeRecord::replaced);
    let percent = |count: u64| format!("{:.1} %", 100.0 * count as f64 / replaced as f64);
    let avoided = (replaced > 0).then(|| Fact {
        name: "Replaced actions that avoided a crash",
        value: percent(sum(|episode| episode.avoided)),
        more: format!(
            "of {replaced}; {} were false alarms",
            percent(sum(|episode| episode.false_alarms))
        ),
        falls_short: false,
    });
    let overspent = sum(|episode| u64::from(!episode.budget_kept));
    let broken = sum(|episode| u64::from(!episode.envelope_held));
    let spent = (!episodes.is_empty()).then(|| Fact {
        name: "Episodes that spent more than the budget",
        value: format!("{overspent} of {}", episodes.len()),
        more: format!("{broken} over the anytime envelope, checked at every decision"),
        falls_short: broken + overspent > 0,
    });
    [avoided, spent]
}
