//! How do the learners look beside each other?
//!
//! One panel per task: incidents below, return to the left, each method alone (hollow) and under the shield (filled), with
//! a line between the two. Up and to the left is better. Absent on purpose: the floor, far below all others, which would
//! leave them no room.

use super::{Comparison, Side, budget_of};
use crate::plan::baselines::Method;
use crate::report::figure::canvas::{Anchor, Canvas, Dash, Ink};
use crate::report::figure::chart::{
    Axis, BLACK, Frame, Marker, Panel, Point, Series, Style, legend,
};

/// How methods look, in the order of tables. Neighbours differ in shape and in brightness.
const LOOKS: [(Ink, Marker); 11] = [
    ([0xd9, 0x5f, 0x0e], Marker::Circle),
    ([0x4d, 0x92, 0x21], Marker::Triangle),
    ([0x2c, 0x96, 0x9c], Marker::Diamond),
    ([0x98, 0x4e, 0xa3], Marker::Square),
    ([0xb3, 0x16, 0x1b], Marker::Triangle),
    ([0x0b, 0x35, 0x6b], Marker::Circle),
    ([0x4a, 0x8f, 0xd8], Marker::Square),
    ([0x77, 0x77, 0x77], Marker::Circle),
    ([0x8c, 0x6d, 0x1f], Marker::Triangle),
    ([0x1b, 0x1b, 0x1b], Marker::Diamond),
    ([0xd0, 0x1c, 0x8b], Marker::Square),
];

/// Panels beside each other.
const ACROSS: usize = 3;

/// Place for the legend, above the panels \[pt\].
const TOP: f64 = 84.0;

fn style(method: Method, filled: bool) -> Style {
    let place = Method::all().iter().position(|known| *known == method).unwrap_or(0);
    let (ink, marker) = LOOKS[place % LOOKS.len()];
    Style { ink, marker, filled, line: None, width: 0.7 }
}

const BUDGET: Style =
    Style { ink: BLACK, marker: Marker::Bare, filled: false, line: Some(Dash::Dashed), width: 0.9 };

impl Comparison<'_> {
    /// Return against incidents, one panel per task.
    pub(super) fn figure(&self) -> Canvas {
        let tasks = &self.plan.tasks;
        let width = 30.0 + 260.0 * ACROSS as f64;
        let rows = tasks.len().div_ceil(ACROSS) as f64;
        let height = TOP + 276.0 * rows;
        let mut canvas = Canvas::new(
            width,
            height,
            "Incidents and return of learners, alone and under the shield",
        );
        let mut entries: Vec<(String, Style)> = self
            .plan
            .methods
            .iter()
            .map(|method| (method.name().to_owned(), style(*method, true)))
            .collect();
        entries.push(("budget".to_owned(), BUDGET));
        legend(&mut canvas, [62.0, 22.0], width - 20.0, &entries);
        for (place, task) in tasks.iter().enumerate() {
            let (row, column) = (place / ACROSS, place % ACROSS);
            let (left, top) = (62.0 + 260.0 * column as f64, TOP + 276.0 * row as f64);
            let frame = Frame { left, top, width: 200.0, height: 210.0 };
            self.panel(task, column == 0).draw(&mut canvas, frame);
        }
        let note = "hollow: alone; filled: under the shield; a line joins the two. Intervals are in the tables";
        canvas.text([width - 14.0, height - 8.0], note, 9.0, Anchor::End, BLACK);
        canvas
    }

    fn panel(&self, task: &str, is_first: bool) -> Panel {
        let budget = budget_of(task);
        // The budget has a place to the right of what never happened, however few episodes were played.
        let smallest = self.smallest_rate(task).min(budget.unwrap_or(1.0) / 3.0);
        let x = Axis::of_rare_rates("incident rate (log scale)", smallest);
        let whole = self.alone(Method::DQN, task, None).and_then(|side| side.found("return_mean"));
        let whole = whole.map(|found| found.value).filter(|value| *value > 0.0);
        let point = |side: Side<'_>| {
            let y = side.found("return_mean")?.value / whole.unwrap_or(1.0);
            Some(Point { x: x.rare(side.incidents()?.value), y, bar: None })
        };
        let mut series = Vec::new();
        for method in &self.plan.methods {
            let alone = self.alone(*method, task, None).and_then(point);
            let shielded = self.shielded(*method, task, None).and_then(point);
            let name = || method.name().to_owned();
            let way =
                Style { marker: Marker::Bare, line: Some(Dash::Solid), ..style(*method, false) };
            series.extend(alone.zip(shielded).map(|(from, to)| Series {
                name: name(),
                style: way,
                points: vec![from, to],
            }));
            for (point, filled) in [(alone, false), (shielded, true)] {
                let points = point.into_iter().collect();
                series.push(Series { name: name(), style: style(*method, filled), points });
            }
        }
        // Markers go over lines.
        series.sort_by_key(|series| series.style.marker != Marker::Bare);
        let heights = series.iter().flat_map(|series| &series.points).map(|point| point.y);
        let label = match (is_first, whole) {
            (false, _) => "",
            (_, Some(_)) => "return, as a share of the DQN's",
            (_, None) => "return",
        };
        let y = Axis::around(label, heights);
        series.extend(budget.map(|budget| budget_line(budget, y.range)));
        Panel { title: task.to_owned(), x, y, series }
    }

    /// The smallest rate above 0 that so many episodes can show.
    fn smallest_rate(&self, task: &str) -> f64 {
        let episodes = |method: &Method| {
            let side = self.alone(*method, task, None)?;
            Some(side.results.units(side.cell).iter().map(|record| record.episodes.len()).sum())
        };
        let most: usize = self.plan.methods.iter().filter_map(episodes).max().unwrap_or(0);
        1.0 / most.max(1) as f64
    }
}

fn budget_line(budget: f64, [low, high]: [f64; 2]) -> Series {
    let points = [low, high].map(|y| Point { x: budget, y, bar: None }).to_vec();
    Series { name: "budget".to_owned(), style: BUDGET, points }
}
