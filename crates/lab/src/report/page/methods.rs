//! How was it made, so that anyone can make it again?
//!
//! Command, machine, seeds, arms, metrics and shield settings, then the tables that are too long for
//! the top of a report.

use std::fmt::Write as _;

use cpss_highway::TaskId;
use cpss_shield::{Fallback, GainSpec};

use super::Made;
use super::html::{self, escaped};
use crate::plan::Plan;
use crate::play::arm::ShieldSettings;
use crate::report::document::{machine, today};
use crate::report::table::{Entry, Table};

/// Tables that stand elsewhere in the report, or are too long for any page.
const ELSEWHERE: [&str; 5] = ["glance", "promise", "collision_summary", "price", "cells"];

pub(super) fn section(made: &Made<'_>, command: &str) -> String {
    let mut html = "<dl class=\"run\">\n".to_owned();
    for (name, value) in facts(made.plan, command) {
        if !value.is_empty() {
            // Writing to a string cannot fail, here and below.
            let _ = writeln!(html, "<dt>{name}</dt><dd>{value}</dd>");
        }
    }
    html += "</dl>\n";
    html += &html::table(&shields(&made.results.tasks()));
    html += "<p>METHODOLOGY.md of the project says how each number is made, how settings were chosen, and what \
             still fails.</p>\n";
    for table in made.tables {
        if !ELSEWHERE.contains(&table.name) && !table.name.starts_with("what_if") {
            let _ = writeln!(
                html,
                "<details class=\"more\"><summary>{}</summary>\n{}</details>",
                escaped(&table.title),
                html::table(table)
            );
        }
    }
    html + "<p class=\"note\">Every metric of every cell and arm, unrounded, is in \
            <code>tables/cells.csv</code>.</p>\n"
}

/// What the run was, by name.
fn facts(plan: &Plan, command: &str) -> [(&'static str, String); 12] {
    let list = |names: &[String]| names.join(", ");
    let at_most = |decisions: Option<u64>| match decisions {
        Some(most) => {
            format!(", or about {most} decisions of all policies where episodes are long")
        }
        None => String::new(),
    };
    [
        ("command", format!("<code>{}</code>", escaped(command))),
        ("day, machine", format!("{}, {}", today(), escaped(&machine()))),
        ("program", escaped(concat!("cpss ", env!("CARGO_PKG_VERSION")))),
        ("tasks", escaped(&list(&plan.tasks))),
        ("drift regimes", escaped(&list(&plan.regimes))),
        ("arms", escaped(&list(&plan.arms))),
        (
            "policies",
            escaped(&policies(plan)),
        ),
        (
            "episodes",
            format!(
                "{} of each policy in each cell{} ({} with the oracle; {} at each point of the frontier{})",
                plan.episodes,
                at_most(plan.decisions),
                plan.oracle_episodes,
                plan.frontier_episodes,
                at_most(plan.frontier_decisions)
            ),
        ),
        (
            "seeds",
            format!(
                "from {} on, every policy and regime with its own; every arm plays the same. Below 1000000 are \
                 training seeds, from there to 1999999 tuning seeds, above reporting seeds.",
                plan.first_seed
            ),
        ),
        (
            "intervals",
            "95 %: Wilson's for shares of episodes, bootstraps over training seeds and episodes for the rest"
                .to_owned(),
        ),
        (
            "collision rate",
            "share of episodes in which the ego crashed; on the racetrack, or left the road".to_owned(),
        ),
        (
            "interventions",
            "share of decisions on which the proposal was refused".to_owned(),
        ),
    ]
}

/// Which policies drove.
fn policies(plan: &Plan) -> String {
    let own = plan.own.iter().map(|(task, own)| format!("for {task} {}", own.files.join(", ")));
    match own.collect::<Vec<_>>() {
        own if own.is_empty() => {
            format!("{} trained without drift, shipped with the program", plan.policies.len())
        }
        own if own.len() == plan.tasks.len() => own.join("; "),
        own => format!("{} shipped with the program, but {}", plan.policies.len(), own.join("; ")),
    }
}

/// The shield of each task, one for all regimes.
fn shields(tasks: &[&str]) -> Table {
    let row = |task: &&str| {
        let id: TaskId = task.parse().ok()?;
        let shield = ShieldSettings::shipped(id).ok()?.spec;
        let fallback = match shield.fallback {
            Fallback::MinRisk => "least risk",
            Fallback::BestAdmissible => "best admissible",
        };
        let gain = match shield.gain {
            GainSpec::Constant => "none".to_owned(),
            GainSpec::Exponential { k_density, k_change, .. }
            | GainSpec::Rational { k_density, k_change, .. } => {
                format!("{k_density} and {k_change}")
            }
        };
        Some(vec![
            Entry::words(task),
            Entry::Words(shield.budget.to_string()),
            Entry::Words(shield.pace.to_string()),
            Entry::Words(shield.horizon.to_string()),
            Entry::Words(shield.tau_cap.to_string()),
            Entry::Words(gain),
            Entry::words(fallback),
        ])
    };
    let columns = [
        "task",
        "budget B",
        "pace k",
        "horizon T",
        "cap on τ",
        "gain: strength of density and of its change",
        "fallback",
    ];
    Table {
        name: "shields",
        title: "The shields, one per task for all regimes".to_owned(),
        columns: columns.map(str::to_owned).to_vec(),
        rows: tasks.iter().filter_map(row).collect(),
        note: String::new(),
    }
}
