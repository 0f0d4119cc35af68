//! What does a larger or smaller budget buy, and does a constant threshold buy the same?
//!
//! One column per task, mean over regimes: incidents and return by budget, for the shield, the shield with a
//! price, and the constant threshold that makes the same promise; and below, return against incidents, where
//! constant thresholds that promise nothing can be compared too.

use super::canvas::{Anchor, Canvas};
use super::chart::{Axis, BLACK, Frame, Panel, Point, Scale, Series, Style, legend, values};
use super::style::{name, style};
use crate::measure::estimate::{Cell, Estimate, Results, metric};
use crate::plan::Plan;

/// The arms that have a budget.
const ARMS: [&str; 3] = ["fixed", "priced", "cpss"];

/// The frontier, mean over regimes.
pub(super) fn by_budget(results: &Results<'_>, plan: &Plan) -> Canvas {
    let tasks = results.tasks();
    let width = 30.0 + 260.0 * tasks.len().max(2) as f64;
    let mut canvas = Canvas::new(width, 800.0, "Incidents, return and interventions by budget");
    let entries = ARMS.iter().rev().chain(&["threshold"]).map(|arm| (name(arm), style(arm)));
    legend(&mut canvas, [62.0, 22.0], width, &entries.collect::<Vec<_>>());
    canvas.text([width - 14.0, 25.6], "bars: 95 % intervals", 10.0, Anchor::End, BLACK);
    let (budgets, thresholds) = (sorted(&plan.budgets), sorted(&plan.thresholds));
    for (column, task) in tasks.iter().enumerate() {
        let of_task = OfTask { results, task, budgets: &budgets };
        for (row, panel) in of_task.panels(column == 0, &thresholds).iter().enumerate() {
            let (left, top) = (62.0 + 260.0 * column as f64, 64.0 + 246.0 * row as f64);
            panel.draw(&mut canvas, Frame { left, top, width: 200.0, height: 190.0 });
        }
    }
    canvas
}

/// One task's part of the frontier.
struct OfTask<'a> {
    results: &'a Results<'a>,
    task: &'a str,
    budgets: &'a [f64],
}

impl OfTask<'_> {
    fn panels(&self, is_first: bool, thresholds: &[f64]) -> [Panel; 3] {
        let (incidents, returns) =
            (self.by_budget("collision_rate"), self.by_budget("return_mean"));
        let mut trade: Vec<Series> =
            ARMS.iter().map(|arm| self.against(arm, self.budgets)).collect();
        trade.push(self.against("threshold", thresholds));
        let largest = values(&incidents).into_iter().fold(0.0, f64::max);
        let widest = trade.iter().flat_map(|s| &s.points).map(|p| p.x).fold(0.0, f64::max);
        let label = |words: &'static str| if is_first { words } else { "" };
        [
            Panel {
                title: self.task.to_owned(),
                x: budget_axis(self.budgets),
                y: Axis::of_rates(label("incident rate (root scale)"), largest),
                series: incidents,
            },
            Panel {
                title: String::new(),
                x: budget_axis(self.budgets),
                y: Axis::around(label("return"), values(&returns).into_iter()),
                series: returns,
            },
            Panel {
                title: String::new(),
                x: Axis::of_rates("incident rate (root scale)", widest),
                y: Axis::around(label("return"), values(&trade).into_iter()),
                series: trade,
            },
        ]
    }

    fn found(&self, arm: &str, number: f64, key: &str) -> Option<Estimate> {
        let arm = format!("{arm}:{number}");
        self.results.estimate(Cell { task: self.task, regime: None, arm: &arm }, metric(key))
    }

    /// A metric by budget, for each arm.
    fn by_budget(&self, key: &str) -> Vec<Series> {
        let series = |(place, arm): (usize, &&str)| {
            let point = |budget: &f64| {
                let found = self.found(arm, *budget, key)?;
                // A little to either side, so that none hides another.
                let x = budget * [0.92, 1.0, 1.08][place];
                Some(Point { x, y: found.value, bar: Some(found.interval) })
            };
            let points = self.budgets.iter().filter_map(point).collect();
            Series { name: (*arm).to_owned(), style: style(arm), points }
        };
        ARMS.iter().enumerate().map(series).collect()
    }

    /// Return against incidents, of an arm with each of some numbers.
    fn against(&self, arm: &str, numbers: &[f64]) -> Series {
        let point = |number: &f64| {
            let x = self.found(arm, *number, "collision_rate")?.value;
            let y = self.found(arm, *number, "return_mean")?;
            Some(Point { x, y: y.value, bar: Some(y.interval) })
        };
        let points = numbers.iter().filter_map(point).collect();
        // No line: these points have no order of their own.
        Series { name: arm.to_owned(), style: Style { line: None, ..style(arm) }, points }
    }
}

/// Numbers from small to large, each once.
fn sorted(numbers: &[f64]) -> Vec<f64> {
    let mut numbers = numbers.to_vec();
    numbers.sort_by(f64::total_cmp);
    numbers.dedup();
    numbers
}

pub(super) fn budget_axis(budgets: &[f64]) -> Axis {
    let (low, high) = (budgets[0], budgets[budgets.len() - 1]);
    Axis {
        label: "budget B".to_owned(),
        scale: Scale::Log,
        range: [low / 1.25, high * 1.25],
        ticks: budgets.iter().map(|budget| (*budget, budget.to_string())).collect(),
    }
}
