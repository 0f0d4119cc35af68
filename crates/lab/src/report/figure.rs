//! How do the results look?
//!
//! Each as SVG and PNG: what was promised and measured (`promise`), the paper's three (`collisions`, `diagnostics`), a frontier of
//! budgets (`frontier`), and one episode's account over time (`episode`). They read records and
//! traces and nothing else. Start at [`write_all`]; [`chart`] lays a panel out, [`canvas`] draws it.

use std::path::Path;

use anyhow::Result;

use crate::files::atomic::{folder, write_atomically};
use crate::measure::estimate::Results;
use crate::plan::Plan;
use crate::report::selected::{Selected, Why};

pub(crate) mod canvas;
pub(crate) mod chart;
mod collisions;
mod diagnostics;
mod episode;
mod frontier;
mod promise;
mod style;

use canvas::Canvas;

/// A figure that was drawn.
#[derive(Clone, Debug)]
pub(crate) struct Drawn {
    /// Its file's name, without the ending.
    pub name: String,
    /// The figure.
    pub svg: String,
}

/// Draws every figure into `figures/`.
pub(crate) fn write_all(
    results: &Results<'_>,
    plan: &Plan,
    selected: &[Selected],
    out: &Path,
) -> Result<Vec<Drawn>> {
    let place = out.join("figures");
    folder(&place)?;
    let mut figures: Vec<(String, Canvas)> = vec![
        ("collision_by_drift".to_owned(), collisions::by_drift(results)),
        ("collision_by_task".to_owned(), collisions::by_task(results)),
        ("diagnostics".to_owned(), diagnostics::three(results)),
    ];
    if !plan.budgets.is_empty() {
        figures.insert(0, ("promise".to_owned(), promise::kept(results)));
        figures.push(("budget_frontier".to_owned(), frontier::by_budget(results, plan)));
    }
    for task in results.tasks() {
        // Saved says most; where there is none, the longest intervention stands in.
        let of = |why| selected.iter().find(|chosen| chosen.task == task && chosen.why == why);
        if let Some(chosen) = of(Why::Saved).or_else(|| of(Why::LongestIntervention)) {
            figures.push((format!("episode_{task}"), episode::account(chosen)?));
        }
    }
    let mut drawn = Vec::new();
    for (name, canvas) in figures {
        let svg = canvas.svg();
        write_atomically(&place.join(format!("{name}.svg")), svg.as_bytes())?;
        write_atomically(&place.join(format!("{name}.png")), &canvas.png()?)?;
        drawn.push(Drawn { name, svg });
    }
    Ok(drawn)
}
