//! How do collisions grow with drift: on the whole, and in each task?

use super::canvas::Canvas;
use super::chart::{Axis, Frame, Panel, Point, Series, entries, legend};
use super::style::{name, paper, paper_name, style};
use crate::measure::estimate::{Cell, Estimate, Results, metric};
use crate::report::paper as printed;

/// Arms on these figures, those that were played.
const ARMS: [&str; 4] = ["dqn", "cpss", "fixed", "oracle"];

/// Collision rate against drift, mean over tasks.
pub(super) fn by_drift(results: &Results<'_>) -> Canvas {
    let mut canvas = Canvas::new(560.0, 380.0, "Collision rate against drift, mean over tasks");
    let collisions = metric("collision_rate");
    // Beside the paper's mean stands that of the tasks which it has too.
    let tasks = results.tasks();
    let shared = printed::shared(&tasks);
    let rate =
        |regime: &str, arm: &str| results.mean_over_tasks(&shared, Some(regime), arm, collisions);
    let theirs = |arm: &str, column: usize| {
        let numbers = table(arm);
        Some(numbers.iter().map(|task| task[column]).sum::<f64>() / numbers.len() as f64)
    };
    let series = series(results, &rate, &theirs);
    let over = if shared == tasks { "Mean over tasks" } else { "Mean over the paper's tasks" };
    let panel = panel(over, results, series);
    legend(&mut canvas, [62.0, 22.0], 550.0, &entries(&panel.series));
    panel.draw(&mut canvas, Frame { left: 62.0, top: 76.0, width: 478.0, height: 258.0 });
    canvas
}

/// Collision rate against drift, one panel per task.
pub(super) fn by_task(results: &Results<'_>) -> Canvas {
    let tasks = results.tasks();
    let rows = tasks.len().div_ceil(2);
    let height = 60.0 + 250.0 * rows as f64;
    let mut canvas = Canvas::new(820.0, height, "Collision rate of each task against drift");
    let collisions = metric("collision_rate");
    for (place, task) in tasks.iter().enumerate() {
        let rate = |regime: &str, arm: &str| {
            results.estimate(Cell { task, regime: Some(regime), arm }, collisions)
        };
        let row = printed::row(task);
        let theirs = |arm: &str, column: usize| row.map(|row| table(arm)[row][column]);
        let panel = panel(task, results, series(results, &rate, &theirs));
        if place == 0 {
            legend(&mut canvas, [62.0, 20.0], 810.0, &entries(&panel.series));
        }
        let (left, top) = (62.0 + 400.0 * (place % 2) as f64, 76.0 + 250.0 * (place / 2) as f64);
        panel.draw(&mut canvas, Frame { left, top, width: 335.0, height: 180.0 });
    }
    canvas
}

fn table(arm: &str) -> &'static printed::ByRegime {
    if arm == "dqn" { &printed::COLLISION_DQN } else { &printed::COLLISION_CPSS }
}

/// Ours with bars, the paper's without, side by side at each regime.
fn series(
    results: &Results<'_>,
    rate: &dyn Fn(&str, &str) -> Option<Estimate>,
    theirs: &dyn Fn(&str, usize) -> Option<f64>,
) -> Vec<Series> {
    let regimes = results.regimes();
    let played = results.arms();
    let arms = ARMS.iter().filter(|arm| played.contains(arm));
    let mut all = Vec::new();
    for (turn, arm) in arms.enumerate() {
        let point = |(column, regime): (usize, &&str)| {
            let found = rate(regime, arm)?;
            let x = column as f64 + 0.11 * turn as f64 - 0.27;
            Some(Point { x, y: found.value, bar: Some(found.interval) })
        };
        let points = regimes.iter().enumerate().filter_map(point).collect();
        all.push(Series { name: name(arm), style: style(arm), points });
    }
    for (turn, arm) in ["dqn", "cpss"].into_iter().enumerate() {
        let point = |(column, regime): (usize, &&str)| {
            let known = printed::column(regime)?;
            let x = column as f64 + 0.2 + 0.1 * turn as f64;
            Some(Point { x, y: theirs(arm, known)?, bar: None })
        };
        let points: Vec<Point> = regimes.iter().enumerate().filter_map(point).collect();
        if !points.is_empty() {
            all.push(Series { name: paper_name(arm), style: paper(arm), points });
        }
    }
    all
}

fn panel(title: &str, results: &Results<'_>, series: Vec<Series>) -> Panel {
    let tops = series.iter().flat_map(|series| &series.points);
    let largest = tops.map(|point| point.bar.map_or(point.y, |bar| bar[1])).fold(0.0, f64::max);
    Panel {
        title: title.to_owned(),
        x: Axis::of_names("drift", &results.regimes()),
        y: Axis::of_rates("collision rate (root scale)", largest),
        series,
    }
}
