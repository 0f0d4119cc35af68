//! How did each task go, regime by regime?
//!
//! For each task one table with ours and the paper's beside it, the episode's account as a figure, and
//! links to the episodes of that task that can be watched.

use std::fmt::Write as _;

use super::html::{self, escaped};
use super::{Made, Programme, words};
use crate::measure::estimate::{Cell, metric};
use crate::report::paper;
use crate::report::table::{Entry, Table};

pub(super) fn sections(made: &Made<'_>, programme: &Programme) -> String {
    made.results.tasks().into_iter().map(|task| section(made, programme, task)).collect()
}

fn section(made: &Made<'_>, programme: &Programme, task: &str) -> String {
    let mut html = format!("<h3 id=\"task-{0}\">{0}</h3>\n", escaped(task));
    html += &html::table_named(&format!("task-{task}"), &by_regime(made, task));
    let choices: Vec<_> = programme.choices.iter().filter(|choice| choice.task == task).collect();
    if !choices.is_empty() {
        html += "<details class=\"more\"><summary>Episodes to watch</summary><ul>\n";
        for choice in choices {
            let why: Vec<&str> = choice.why.iter().map(|why| words(*why)).collect();
            // Writing to a string cannot fail.
            let _ = writeln!(
                html,
                "<li><a href=\"#episode={}\">{} drift: {}</a></li>",
                escaped(&choice.id),
                escaped(&choice.regime),
                escaped(&why.join("; "))
            );
        }
        html += "</ul></details>\n";
    }
    if let Some(figure) =
        made.figures.iter().find(|figure| figure.name == format!("episode_{task}"))
    {
        let _ = writeln!(
            html,
            "<details class=\"more\"><summary>One episode's account</summary>\
             <figure class=\"chart\">{}</figure></details>",
            figure.svg
        );
    }
    html
}

fn by_regime(made: &Made<'_>, task: &str) -> Table {
    let results = made.results;
    let ours = |regime: Option<&str>, arm: &str, key: &str| {
        let metric = metric(key);
        Entry::of(results, Cell { task, regime, arm }, metric)
    };
    let place = paper::row(task);
    let theirs = |regime: Option<&str>, numbers: &paper::ByRegime, summary: &[f64; 4]| {
        let found = place.and_then(|row| match regime {
            None => Some(summary[row]),
            Some(regime) => {
                let column = paper::column(regime)?;
                Some(numbers[row][column])
            }
        });
        found.map_or(Entry::Empty, |value| Entry::Number(value, 4))
    };
    let row = |name: &str, regime: Option<&str>| {
        vec![
            Entry::words(name),
            ours(regime, "dqn", "collision_rate"),
            ours(regime, "cpss", "collision_rate"),
            theirs(regime, &paper::COLLISION_DQN, &paper::SUMMARY_DQN),
            theirs(regime, &paper::COLLISION_CPSS, &paper::SUMMARY_CPSS),
            ours(regime, "dqn", "return_mean"),
            ours(regime, "cpss", "return_mean"),
            ours(regime, "cpss", "success_rate"),
            ours(regime, "cpss", "intervention_rate"),
        ]
    };
    let mut rows: Vec<Vec<Entry>> =
        results.regimes().into_iter().map(|regime| row(regime, Some(regime))).collect();
    rows.push(row("**all**", None));
    let columns = [
        "drift",
        "collision rate, DQN",
        "collision rate, CPSS",
        "paper: DQN",
        "paper: CPSS",
        "return, DQN",
        "return, CPSS",
        "success, CPSS",
        "interventions",
    ];
    Table {
        name: "task",
        title: format!("{task}, by drift regime"),
        columns: columns.map(str::to_owned).to_vec(),
        rows,
        note: String::new(),
    }
}
