//! Was what the budget promised kept?
//!
//! One panel per task: for every regime and budget, what was promised below and what happened to the left. On
//! or below the diagonal the promise was kept.

use super::canvas::{Anchor, Canvas, Dash};
use super::chart::{Axis, BLACK, Frame, Look, Marker, Panel, Point, Series, legend};
use super::looks::look;
use crate::measure::estimate::{Cell, Results, metric};
use crate::play::arm::Arm;
use crate::report::tables::promised;

/// Promised against measured.
pub(super) fn kept(results: &Results<'_>) -> Canvas {
    let tasks = results.tasks();
    let width = 30.0 + 260.0 * tasks.len().max(2) as f64;
    let mut canvas = Canvas::new(width, 330.0, "Incidents promised and measured");
    let regimes = results.regimes();
    let looks: Vec<(String, Look)> = regimes
        .iter()
        .zip([Marker::Circle, Marker::Triangle, Marker::Diamond, Marker::Square].iter().cycle())
        .map(|(regime, marker)| {
            ((*regime).to_owned(), Look { marker: *marker, line: None, ..look("cpss") })
        })
        .collect();
    let diagonal = Look {
        ink: BLACK,
        marker: Marker::Bare,
        filled: false,
        line: Some(Dash::Dashed),
        width: 1.0,
    };
    let kept_line = ("as many as promised".to_owned(), diagonal);
    let entries: Vec<_> = looks.iter().cloned().chain([kept_line]).collect();
    legend(&mut canvas, [62.0, 22.0], width - 160.0, &entries);
    canvas.text([width - 14.0, 25.6], "bars: 95 % intervals", 10.0, Anchor::End, BLACK);
    for (column, task) in tasks.iter().enumerate() {
        let mut series = Vec::new();
        for (regime, (name, look)) in regimes.iter().zip(&looks) {
            let is_cpss = |cell: &&Cell<'_>| {
                let arm = cell.arm.parse::<Arm>();
                cell.task == *task
                    && cell.regime == Some(*regime)
                    && matches!(arm, Ok(Arm::Cpss(Some(_))))
            };
            let point = |cell: &Cell<'_>| {
                let found = results.estimate(*cell, metric("collision_rate"))?;
                let x = promised(results, *cell)?;
                Some(Point { x, y: found.value, bar: Some(found.interval) })
            };
            let cells = results.frontier_cells();
            let points = cells.iter().filter(is_cpss).filter_map(point).collect();
            series.push(Series { name: name.clone(), look: *look, points });
        }
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
        series.insert(0, Series { name: String::new(), look: diagonal, points: line });
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
