//! What does a larger or smaller budget buy, and does a constant threshold buy the same?
//!
//! One column per task, mean over regimes: incidents and return by budget, for the shield, the shield with a
//! price, and the constant threshold that makes the same promise; and below, return against incidents, where
//! constant thresholds that promise nothing can be compared too.

use super::canvas::{Anchor, Canvas};
use super::chart::{Axis, BLACK, Frame, Look, Panel, Point, Scale, Series, legend};
use super::looks::{look, name};
use crate::measure::estimate::{Cell, Estimate, Metric, Results, metric};
use crate::plan::Plan;

/// The arms that have a budget.
const ARMS: [&str; 3] = ["fixed", "priced", "cpss"];

/// The frontier, mean over regimes.
pub(super) fn by_budget(results: &Results<'_>, plan: &Plan) -> Canvas {
    let tasks = results.tasks();
    let width = 30.0 + 260.0 * tasks.len().max(2) as f64;
    let mut canvas = Canvas::new(width, 800.0, "Incidents, return and interventions by budget");
    let entries = ARMS.iter().rev().chain(&["threshold"]).map(|arm| (name(arm), look(arm)));
    legend(&mut canvas, [62.0, 22.0], width, &entries.collect::<Vec<_>>());
    canvas.text([width - 14.0, 25.6], "bars: 95 % intervals", 10.0, Anchor::End, BLACK);
    let budgets = sorted(&plan.budgets);
    for (column, task) in tasks.iter().enumerate() {
        let left = 62.0 + 260.0 * column as f64;
        let found = |arm: &str, number: f64, metric: &Metric| -> Option<Estimate> {
            let arm = format!("{arm}:{number}");
            results.estimate(Cell { task, regime: None, arm: &arm }, metric)
        };
        let by_budget = |key: &str| -> Vec<Series> {
            let series = |(place, arm): (usize, &&str)| {
                let point = |budget: &f64| {
                    let found = found(arm, *budget, metric(key))?;
                    // A little to either side, so that none hides another.
                    let x = budget * [0.92, 1.0, 1.08][place];
                    Some(Point { x, y: found.value, bar: Some(found.interval) })
                };
                let points = budgets.iter().filter_map(point).collect();
                Series { name: (*arm).to_owned(), look: look(arm), points }
            };
            ARMS.iter().enumerate().map(series).collect()
        };
        let against = |arm: &str, numbers: &[f64]| {
            let point = |number: &f64| {
                let x = found(arm, *number, metric("collision_rate"))?.value;
                let y = found(arm, *number, metric("return_mean"))?;
                Some(Point { x, y: y.value, bar: Some(y.interval) })
            };
            let points = numbers.iter().filter_map(point).collect();
            // No line: these points have no order of their own.
            Series { name: arm.to_owned(), look: Look { line: None, ..look(arm) }, points }
        };
        let mut trade: Vec<Series> = ARMS.iter().map(|arm| against(arm, &budgets)).collect();
        trade.push(against("threshold", &sorted(&plan.thresholds)));
        let values = |series: &[Series]| -> Vec<f64> {
            let points = series.iter().flat_map(|series| &series.points);
            points.flat_map(|point| point.bar.unwrap_or([point.y; 2])).collect()
        };
        let (incidents, returns) = (by_budget("collision_rate"), by_budget("return_mean"));
        let largest = values(&incidents).into_iter().fold(0.0, f64::max);
        let widest = trade.iter().flat_map(|s| &s.points).map(|p| p.x).fold(0.0, f64::max);
        let label = |words: &'static str| if column == 0 { words } else { "" };
        let panels = [
            Panel {
                title: (*task).to_owned(),
                x: budget_axis(&budgets),
                y: Axis::of_rates(label("incident rate (root scale)"), largest),
                series: incidents,
            },
            Panel {
                title: String::new(),
                x: budget_axis(&budgets),
                y: Axis::around(label("return"), values(&returns).into_iter()),
                series: returns,
            },
            Panel {
                title: String::new(),
                x: Axis::of_rates("incident rate (root scale)", widest),
                y: Axis::around(label("return"), values(&trade).into_iter()),
                series: trade,
            },
        ];
        for (row, panel) in panels.iter().enumerate() {
            let top = 64.0 + 246.0 * row as f64;
            panel.draw(&mut canvas, Frame { left, top, width: 200.0, height: 190.0 });
        }
    }
    canvas
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
