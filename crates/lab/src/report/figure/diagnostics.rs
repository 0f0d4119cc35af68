//! What do the three safety diagnostics say of each task, mean over regimes?

use super::canvas::Canvas;
use super::chart::{Axis, Frame, Panel, Point, Series, legend};
use super::looks::{look, name, paper, paper_name};
use crate::measure::estimate::{Cell, Results, metric};
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
        let mut series = Vec::new();
        for (turn, (arm, theirs)) in [("dqn", dqn), ("cpss", cpss)].into_iter().enumerate() {
            let side = 0.16 * (turn as f64 * 2.0 - 1.0);
            let ours = tasks.iter().enumerate().filter_map(|(at, task)| {
                let found = results.estimate(Cell { task, regime: None, arm }, metric)?;
                Some(Point { x: at as f64 + side, y: found.value, bar: Some(found.interval) })
            });
            // Tasks have no order, so nothing joins them.
            let look = super::chart::Look { line: None, ..look(arm) };
            series.push(Series { name: name(arm), look, points: ours.collect() });
            let theirs = tasks.iter().enumerate().filter_map(|(at, task)| {
                let row = printed::TASKS.iter().position(|known| known == task)?;
                let y = printed::mean_over_regimes(theirs, row);
                Some(Point { x: at as f64 + side * 1.9, y, bar: None })
            });
            let name = paper_name(arm);
            series.push(Series { name, look: paper(arm), points: theirs.collect() });
        }
        let tops = series.iter().flat_map(|series| &series.points);
        let values = tops.flat_map(|point| point.bar.unwrap_or([point.y; 2]).into_iter());
        let y = match key {
            "min_distance" => Axis::around(label, values.chain([0.0])),
            _ => Axis::of_rates(label, values.fold(0.0, f64::max)),
        };
        if place == 0 {
            let entries: Vec<_> = series.iter().map(|s| (s.name.clone(), s.look)).collect();
            legend(&mut canvas, [62.0, 22.0], 3.0 * apart - 4.0, &entries);
        }
        let title = metric.name.trim_end_matches(" [m]").to_owned();
        let panel = Panel { title, x: Axis::of_names("task", &short), y, series };
        let left = 62.0 + apart * place as f64;
        panel.draw(&mut canvas, Frame { left, top: 66.0, width: wide, height: 236.0 });
    }
    canvas
}
