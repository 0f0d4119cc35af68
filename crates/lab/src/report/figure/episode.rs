//! What went on between threshold, cost and ledger in one episode?
//!
//! Three panels on one time axis, from a trace: costs against the threshold, the ledger against its
//! envelope, the context with its gain. Refused proposals are marked.

use anyhow::{Context, Result};

use super::canvas::{Anchor, Canvas, Dash};
use super::chart::{Axis, BLACK, Frame, Look, Panel, Point, Series, legend};
use super::looks::{line, look};
use crate::report::selected::{Telling, Why};
use crate::trace::{Header, Step};

/// The account of a chosen episode under the shield.
pub(super) fn account(told: &Telling) -> Result<Canvas> {
    let trace = told.traces.first().context("a chosen episode has no trace")?;
    let mut lines = trace.text.lines();
    let header: Header = read(lines.next().unwrap_or_default())?;
    let steps: Vec<Step> =
        lines.filter(|line| line.starts_with("{\"t\":")).map(read).collect::<Result<_>>()?;
    let time = |step: &Step| step.t as f64 * header.decision_time;
    let of = |number: &dyn Fn(&Step) -> f64| -> Vec<Point> {
        steps.iter().map(|step| Point { x: time(step), y: number(step), bar: None }).collect()
    };
    let series =
        |name: &str, look: Look, points: Vec<Point>| Series { name: name.to_owned(), look, points };
    let cost = |step: &Step, action: usize| step.costs.get(action).map_or(0.0, |cost| cost.0);
    let refused: Vec<Point> = steps
        .iter()
        .filter(|step| step.verdict != "admit")
        .map(|step| Point { x: time(step), y: cost(step, step.proposal), bar: None })
        .collect();
    let hollow = Look { line: None, ..look("oracle") };

    let costs = vec![
        series("threshold τ", line("cpss", Dash::Solid, 1.9), of(&|step| step.tau.0.0)),
        series(
            "cost of the proposal",
            line("dqn", Dash::Dashed, 1.4),
            of(&|s| cost(s, s.proposal)),
        ),
        series("cost of what ran", line("fixed", Dash::Dotted, 1.6), of(&|s| cost(s, s.ran))),
        series("refused", hollow, refused),
    ];
    let budget = header.shield.budget;
    // A ledger stands as it is written from the end of its step on; before the first it is empty.
    let after = |number: &dyn Fn(&Step) -> f64| -> Vec<Point> {
        let start = Point { x: 0.0, y: 0.0, bar: None };
        let later = of(number).into_iter().map(|p| Point { x: p.x + header.decision_time, ..p });
        std::iter::once(start).chain(later).collect()
    };
    let ledger = vec![
        series("spent", line("cpss", Dash::Solid, 1.9), after(&|step| step.ledger.1.0)),
        series("envelope", line("budget-only", Dash::Mixed, 1.4), after(&|step| step.ledger.4.0)),
        series("excess", line("dqn", Dash::Dashed, 1.2), after(&|step| step.ledger.3.0)),
    ];
    let most = steps.iter().map(|step| step.density.0).fold(0.0, f64::max).max(1e-9);
    let density = format!("density, as a share of its largest, {most:.1}");
    let context = vec![
        series("gain g", line("cpss", Dash::Solid, 1.9), of(&|step| step.tau.3.0)),
        series(&density, line("oracle", Dash::Dotted, 1.4), of(&|step| step.density.0 / most)),
    ];

    let why = match told.why {
        Why::Saved => "without the shield it ends in a crash",
        Why::Lost => "it ends in a crash all the same",
        Why::LongestIntervention => "the longest intervention",
        Why::FalseAlarm => "a false alarm",
        Why::First => "the first of its cell",
    };
    let title = format!(
        "{} under {} drift, policy {}, seed {}: {why}",
        header.task, header.regime, told.policy, header.seed
    );
    let mut canvas = Canvas::new(760.0, 640.0, &title);
    canvas.text([62.0, 22.0], &title, 12.0, Anchor::Start, BLACK);
    let most_spent =
        steps.iter().map(|step| step.ledger.1.0.max(step.ledger.4.0)).fold(1e-3, f64::max);
    for (row, (name, y, series)) in [
        ("Cost", Axis::rooted("cost (root scale)", 1.15), costs),
        (
            &*format!("Ledger (budget {budget})"),
            Axis::rooted("cost (root scale)", most_spent),
            ledger,
        ),
        ("Context", Axis::around("share", [0.0, 1.0].into_iter()), context),
    ]
    .into_iter()
    .enumerate()
    {
        let top = 66.0 + 196.0 * row as f64;
        let entries: Vec<_> = series.iter().map(|s| (s.name.clone(), s.look)).collect();
        let label = if row == 2 { "time [s]" } else { "" };
        let x = Axis {
            range: [0.0, end_time(&steps, &header)],
            ..Axis::around(label, steps.iter().map(time))
        };
        let panel = Panel { title: name.to_owned(), x, y, series };
        panel.draw(&mut canvas, Frame { left: 62.0, top, width: 680.0, height: 140.0 });
        legend(&mut canvas, [230.0, top - 11.0], 760.0, &entries);
    }
    Ok(canvas)
}

fn end_time(steps: &[Step], header: &Header) -> f64 {
    steps.len().max(1) as f64 * header.decision_time
}

fn read<T: serde::de::DeserializeOwned>(line: &str) -> Result<T> {
    // The hash is not one of a line's own fields; whoever doubts it audits the trace.
    let (body, _) = line.rsplit_once(",\"h\":").context("a line of a trace has no hash")?;
    serde_json::from_str(&format!("{body}}}")).context("a line of a trace")
}
