//! What went on between threshold, cost and ledger in one episode?
//!
//! Three panels on one time axis, from a trace: costs against the threshold, the ledger against its
//! envelope, the context with its gain. Refused proposals are marked.

use anyhow::{Context, Result};

use super::canvas::{Anchor, Canvas, Dash};
use super::chart::{Axis, BLACK, Frame, Panel, Point, Series, Style, entries, legend};
use super::style::{line, style};
use crate::report::selected::{Selected, Why};
use crate::trace::{Header, Step, read_line};

/// An episode that was read from its trace.
struct Episode {
    header: Header,
    steps: Vec<Step>,
}

/// The account of a selected episode under the shield.
pub(super) fn account(selected: &Selected) -> Result<Canvas> {
    let trace = selected.traces.first().context("a selected episode has no trace")?;
    let mut lines = trace.text.lines();
    let header: Header = read_line(lines.next().unwrap_or_default())?;
    let steps =
        lines.filter(|line| line.starts_with("{\"t\":")).map(read_line).collect::<Result<_>>()?;
    let episode = Episode { header, steps };
    let Episode { header, steps } = &episode;
    let why = match selected.why {
        Why::Saved => "without the shield it ends in a crash",
        Why::Lost => "it ends in a crash all the same",
        Why::LongestIntervention => "the longest intervention",
        Why::FalseAlarm => "a false alarm",
        Why::First => "the first of its cell",
    };
    let title = format!(
        "{} under {} drift, policy {}, seed {}: {why}",
        header.task, header.regime, selected.policy, header.seed
    );
    let mut canvas = Canvas::new(760.0, 640.0, &title);
    canvas.text([62.0, 22.0], &title, 12.0, Anchor::Start, BLACK);
    let most_spent =
        steps.iter().map(|step| step.ledger.1.0.max(step.ledger.4.0)).fold(1e-3, f64::max);
    let ledger = format!("Ledger (budget {})", header.shield.budget);
    let panels = [
        ("Cost", Axis::rooted("cost (root scale)", 1.15), episode.costs()),
        (&*ledger, Axis::rooted("cost (root scale)", most_spent), episode.ledger()),
        ("Context", Axis::around("share", [0.0, 1.0].into_iter()), episode.context()),
    ];
    for (row, (name, y, series)) in panels.into_iter().enumerate() {
        let top = 66.0 + 196.0 * row as f64;
        let label = if row == 2 { "time [s]" } else { "" };
        let end = steps.len().max(1) as f64 * header.decision_time;
        let times = steps.iter().map(|step| episode.time(step));
        let x = Axis { range: [0.0, end], ..Axis::around(label, times) };
        let panel = Panel { title: name.to_owned(), x, y, series };
        panel.draw(&mut canvas, Frame { left: 62.0, top, width: 680.0, height: 140.0 });
        legend(&mut canvas, [230.0, top - 11.0], 760.0, &entries(&panel.series));
    }
    Ok(canvas)
}

impl Episode {
    /// Costs against the threshold.
    fn costs(&self) -> Vec<Series> {
        let cost = |step: &Step, action: usize| step.costs.get(action).map_or(0.0, |cost| cost.0);
        let proposed = |step: &Step| cost(step, step.proposal);
        let refused = self.steps.iter().filter(|step| step.verdict != "admit");
        let refused =
            refused.map(|step| Point { x: self.time(step), y: proposed(step), bar: None });
        let hollow = Style { line: None, ..style("oracle") };
        vec![
            series("threshold τ", line("cpss", Dash::Solid, 1.9), self.of(|step| step.tau.0.0)),
            series("cost of the proposal", line("dqn", Dash::Dashed, 1.4), self.of(proposed)),
            series(
                "cost of what ran",
                line("fixed", Dash::Dotted, 1.6),
                self.of(|step| cost(step, step.ran)),
            ),
            series("refused", hollow, refused.collect()),
        ]
    }

    /// The ledger against its envelope.
    fn ledger(&self) -> Vec<Series> {
        let spent = self.after(|step| step.ledger.1.0);
        let envelope = self.after(|step| step.ledger.4.0);
        let excess = self.after(|step| step.ledger.3.0);
        vec![
            series("spent", line("cpss", Dash::Solid, 1.9), spent),
            series("envelope", line("budget-only", Dash::Mixed, 1.4), envelope),
            series("excess", line("dqn", Dash::Dashed, 1.2), excess),
        ]
    }

    /// The context with its gain.
    fn context(&self) -> Vec<Series> {
        let most = self.steps.iter().map(|step| step.density.0).fold(0.0, f64::max).max(1e-9);
        let density = format!("density, as a share of its largest, {most:.1}");
        let shares = self.of(|step| step.density.0 / most);
        vec![
            series("gain g", line("cpss", Dash::Solid, 1.9), self.of(|step| step.tau.3.0)),
            series(&density, line("oracle", Dash::Dotted, 1.4), shares),
        ]
    }

    fn time(&self, step: &Step) -> f64 {
        step.t as f64 * self.header.decision_time
    }

    fn of(&self, number: impl Fn(&Step) -> f64) -> Vec<Point> {
        let point = |step| Point { x: self.time(step), y: number(step), bar: None };
        self.steps.iter().map(point).collect()
    }

    /// A ledger stands as it is written from the end of its step on; before the first it is empty.
    fn after(&self, number: impl Fn(&Step) -> f64) -> Vec<Point> {
        let start = Point { x: 0.0, y: 0.0, bar: None };
        let shift = self.header.decision_time;
        let later = self.of(number).into_iter().map(|point| Point { x: point.x + shift, ..point });
        std::iter::once(start).chain(later).collect()
    }
}

fn series(name: &str, style: Style, points: Vec<Point>) -> Series {
    Series { name: name.to_owned(), style, points }
}
