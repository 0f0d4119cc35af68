//! Was what the budget promised kept?
//!
//! One panel per task: for every regime and budget, what was promised below and what happened to the left. On
//! or below the diagonal the promise was kept.

use super::canvas::{Anchor, Canvas, Dash};
use super::chart::{Axis, BLACK, Frame, Marker, Panel, Point, Series, Style, legend};
use super::style::style;
use crate::measure::estimate::{Cell, Results, metric};
use crate::play::arm::Arm;
use crate::report::tables::promised;

/// The line on which as much happens as was promised.
const DIAGONAL: Style =
    Style { ink: BLACK, marker: Marker::Bare, filled: false, line: Some(Dash::Dashed), width: 1.0 };

/// Promised against measured.
pub(super) fn kept(results: &Results<'_>) -> Canvas {
    let tasks = results.tasks();
    let width = 30.0 + 260.0 * tasks.len().max(2) as f64;
    let mut canvas = Canvas::new(width, 330.0, "Incidents promised and measured");
    let regimes = results.regimes();
    let styles: Vec<(String, Style)> = regimes
        .iter()
        .zip([Marker::Circle, Marker::Triangle, Marker::Diamond, Marker::Square].iter().cycle())
        .map(|(regime, marker)| {
            ((*regime).to_owned(), Style { marker: *marker, line: None, ..style("cpss") })
        })
        .collect();
    let kept_line = ("as many as promised".to_owned(), DIAGONAL);
    let entries: Vec<_> = styles.iter().cloned().chain([kept_line]).collect();
    legend(&mut canvas, [62.0, 22.0], width - 160.0, &entries);
    canvas.text([width - 14.0, 25.6], "bars: 95 % intervals", 10.0, Anchor::End, BLACK);
    for (column, task) in tasks.iter().enumerate() {
        let of_regime = |(regime, (name, style)): (&&str, &(String, Style))| {
            let points = points(results, task, regime);
            Series { name: name.clone(), style: *style, points }
        };
        let mut series: Vec<Series> = regimes.iter().zip(&styles).map(of_regime).collect();
        let left = 62.0 + 260.0 * column as f64;
        let points = || series.iter().flat_map(|series| &series.points);
        if points().next().is_none() {
            let words = format!("{task}: nothing is promised");
            canvas.text([left + 100.0, 164.0], &words, 10.0, Anchor::Middle, BLACK);
            continue;
        }
        let tops = points().flat_map(|point| [point.x, point.bar.map_or(point.y, |bar| bar[1])]);
        let largest = tops.fold(0.0, f64::max);
        let line = (0..=20).map(|part| largest * (f64::from(part) / 20.0).powi(2));
        let line = line.map(|at| Point { x: at, y: at, bar: None }).collect();
        series.insert(0, Series { name: String::new(), style: DIAGONAL, points: line });
        let label = if column == 0 { "incident rate measured (root scale)" } else { "" };
        let panel = Panel {
            title: (*task).to_owned(),
            x: Axis::of_rates("promised: at most", largest),
            y: Axis::of_rates(label, largest),
            series,
        };
        panel.draw(&mut canvas, Frame { left, top: 64.0, width: 200.0, height: 200.0 });
    }
    canvas
}

/// What was promised and what happened in a task and regime, at every budget.
fn points(results: &Results<'_>, task: &str, regime: &str) -> Vec<Point> {
    let is_cpss = |cell: &&Cell<'_>| {
        let is_cpss = matches!(cell.arm.parse(), Ok(Arm::Cpss(Some(_))));
        cell.task == task && cell.regime == Some(regime) && is_cpss
    };
    let point = |cell: &Cell<'_>| {
        let found = results.estimate(*cell, metric("collision_rate"))?;
        let x = promised(results, *cell)?;
        Some(Point { x, y: found.value, bar: Some(found.interval) })
    };
    results.frontier_cells().iter().filter(is_cpss).filter_map(point).collect()
}
