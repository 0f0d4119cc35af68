//! What do the three safety diagnostics say of each task, mean over regimes?

use super::canvas::Canvas;
use super::chart::{Axis, Frame, Panel, Point, Series, Style, entries, legend, values};
use super::style::{name, paper, paper_name, style};
use crate::measure::estimate::{Cell, Metric, Results, metric};
use crate::report::paper as printed;

/// Collision rate, proximity risk and minimum distance, side by side.
pub(super) fn three(results: &Results<'_>) -> Canvas {
    let tasks = results.tasks();
    // So that there is room for the name of each.
    let wide = 62.0 * tasks.len().max(4) as f64;
    let apart = wide + 70.0;
    let mut canvas =
        Canvas::new(6.0 + 3.0 * apart, 350.0, "Safety diagnostics of each task, mean over regimes");
    let short: Vec<&str> = tasks.iter().map(|task| task.trim_end_matches("-v0")).collect();
    for (place, (key, label, dqn, cpss)) in [
        (
            "collision_rate",
            "collision rate (root scale)",
            &printed::COLLISION_DQN,
            &printed::COLLISION_CPSS,
        ),
        (
            "proximity_risk",
            "proximity risk (root scale)",
            &printed::PROXIMITY_DQN,
            &printed::PROXIMITY_CPSS,
        ),
        ("min_distance", "minimum distance [m]", &printed::DISTANCE_DQN, &printed::DISTANCE_CPSS),
    ]
    .into_iter()
    .enumerate()
    {
        let metric = metric(key);
        let series = series(results, metric, [("dqn", dqn), ("cpss", cpss)]);
        let values = values(&series).into_iter();
        let y = match key {
            "min_distance" => Axis::around(label, values.chain([0.0])),
            _ => Axis::of_rates(label, values.fold(0.0, f64::max)),
        };
        if place == 0 {
            legend(&mut canvas, [62.0, 22.0], 3.0 * apart - 4.0, &entries(&series));
        }
        let title = metric.name.trim_end_matches(" [m]").to_owned();
        let panel = Panel { title, x: Axis::of_names("task", &short), y, series };
        let left = 62.0 + apart * place as f64;
        panel.draw(&mut canvas, Frame { left, top: 66.0, width: wide, height: 236.0 });
    }
    canvas
}

/// A metric of every task, ours with bars and the paper's without.
fn series(
    results: &Results<'_>,
    metric: &Metric,
    arms: [(&str, &printed::ByRegime); 2],
) -> Vec<Series> {
    let tasks = results.tasks();
    let mut all = Vec::new();
    for (turn, (arm, theirs)) in arms.into_iter().enumerate() {
        let side = 0.16 * (turn as f64 * 2.0 - 1.0);
        let ours = tasks.iter().enumerate().filter_map(|(at, task)| {
            let found = results.estimate(Cell { task, regime: None, arm }, metric)?;
            Some(Point { x: at as f64 + side, y: found.value, bar: Some(found.interval) })
        });
        // Tasks have no order, so nothing joins them.
        let style = Style { line: None, ..style(arm) };
        all.push(Series { name: name(arm), style, points: ours.collect() });
        let theirs = tasks.iter().enumerate().filter_map(|(at, task)| {
            let row = printed::row(task)?;
            let y = printed::mean_over_regimes(theirs, row);
            Some(Point { x: at as f64 + side * 1.9, y, bar: None })
        });
        let points = theirs.collect();
        all.push(Series { name: paper_name(arm), style: paper(arm), points });
    }
    all
}
