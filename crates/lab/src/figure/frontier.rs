//! What does a larger or smaller budget buy, and does a fixed threshold buy the same?
//!
//! One column per task: collisions and return as the budget of `cpss`, and beside it the threshold of
//! `fixed`, is scaled; and below, collisions against interventions, where the two can be compared at
//! the same number of interventions.

use super::canvas::{Anchor, Canvas};
use super::chart::{Axis, BLACK, Frame, Look, Panel, Point, Scale, Series, legend};
use super::looks::{look, name};
use crate::estimate::{Cell, Estimate, Metric, Results, metric};
use crate::plan::Plan;

/// The frontier under the plan's regime for it.
pub(super) fn by_budget(results: &Results<'_>, plan: &Plan) -> Canvas {
    let tasks = results.tasks();
    let width = 30.0 + 260.0 * tasks.len().max(2) as f64;
    let mut canvas = Canvas::new(width, 800.0, "Collisions, return and interventions by budget");
    let entries = ["cpss", "fixed"].map(|arm| (format!("{}, scaled", name(arm)), look(arm)));
    legend(&mut canvas, [62.0, 22.0], width, &entries);
    let note = format!("regime: {}; bars: 95 % intervals", plan.frontier_regime);
    canvas.text([width - 14.0, 25.6], &note, 10.0, Anchor::End, BLACK);
    let scales = sorted_scales(plan);
    for (column, task) in tasks.iter().enumerate() {
        let left = 62.0 + 260.0 * column as f64;
        let found = |arm: &str, scale: f64, metric: &Metric| -> Option<Estimate> {
            let scaled = format!("{arm}*{scale}");
            let regime = Some(plan.frontier_regime.as_str());
            results.estimate(Cell { task, regime, arm: &scaled }, metric)
        };
        let by_scale = |key: &str| -> Vec<Series> {
            let series = |arm: &str| {
                let point = |scale: &f64| {
                    let found = found(arm, *scale, metric(key))?;
                    // A little to either side, so that neither hides the other.
                    let x = scale * if arm == "cpss" { 0.95 } else { 1.05 };
                    Some(Point { x, y: found.value, bar: Some(found.interval) })
                };
                let points = scales.iter().filter_map(point).collect();
                Series { name: arm.to_owned(), look: look(arm), points }
            };
            ["fixed", "cpss"].map(series).to_vec()
        };
        let against_interventions = || -> Vec<Series> {
            let series = |arm: &str| {
                let point = |scale: &f64| {
                    let rate = found(arm, *scale, metric("collision_rate"))?;
                    let x = found(arm, *scale, metric("intervention_rate"))?.value;
                    Some(Point { x, y: rate.value, bar: Some(rate.interval) })
                };
                let points = scales.iter().filter_map(point).collect();
                // No line: these points have no order of their own.
                let look = Look { line: None, ..look(arm) };
                Series { name: arm.to_owned(), look, points }
            };
            ["fixed", "cpss"].map(series).to_vec()
        };
        let values = |series: &[Series]| -> Vec<f64> {
            let points = series.iter().flat_map(|series| &series.points);
            points.flat_map(|point| point.bar.unwrap_or([point.y; 2])).collect()
        };
        let (collisions, returns) = (by_scale("collision_rate"), by_scale("return_mean"));
        let against = against_interventions();
        let largest = values(&collisions).into_iter().fold(0.0, f64::max);
        let label = |words: &'static str| if column == 0 { words } else { "" };
        let shares: Vec<f64> = against.iter().flat_map(|s| &s.points).map(|p| p.x).collect();
        let panels = [
            Panel {
                title: (*task).to_owned(),
                x: scale_axis(&scales),
                y: Axis::of_rates(label("collision rate (root scale)"), largest),
                series: collisions,
            },
            Panel {
                title: String::new(),
                x: scale_axis(&scales),
                y: Axis::around(label("return"), values(&returns).into_iter()),
                series: returns,
            },
            Panel {
                title: String::new(),
                x: Axis::around("interventions, share of steps", shares.into_iter()),
                y: Axis::of_rates(label("collision rate (root scale)"), largest),
                series: against,
            },
        ];
        for (row, panel) in panels.iter().enumerate() {
            let top = 64.0 + 246.0 * row as f64;
            panel.draw(&mut canvas, Frame { left, top, width: 200.0, height: 190.0 });
        }
    }
    canvas
}

/// The plan's scales, from small to large.
fn sorted_scales(plan: &Plan) -> Vec<f64> {
    let mut scales = plan.frontier.clone();
    scales.sort_by(f64::total_cmp);
    scales.dedup();
    scales
}

fn scale_axis(scales: &[f64]) -> Axis {
    let (low, high) = (scales[0], scales[scales.len() - 1]);
    Axis {
        label: "times the usual budget or threshold".to_owned(),
        scale: Scale::Log,
        range: [low / 1.25, high * 1.25],
        ticks: scales.iter().map(|scale| (*scale, scale.to_string())).collect(),
    }
}
