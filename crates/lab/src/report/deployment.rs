//! What do deployments into a changing world come to?
//!
//! Two tables, [`outcomes`] and [`alarms`], and a [`figure`]. They read finished cells and nothing else.

use crate::measure::deployment::Method;
use crate::measure::statistics::wilson;
use crate::plan::deployments::{BLOCK, Block, Change, DeployCell, DeployPlan};
use crate::report::figure::canvas::{Anchor, Canvas, Dash};
use crate::report::figure::chart::{
    Axis, BLACK, Frame, Marker, Panel, Point, Scale, Series, Style, legend,
};
use crate::report::table::{Entry, Table};

/// What each method came to after a change, once it has had twenty episodes a car to adapt.
pub(crate) fn outcomes(plan: &DeployPlan, cells: &[DeployCell]) -> Table {
    let columns = [
        "change",
        "task",
        "method",
        "fleet: incidents [95 %]",
        "start + budget",
        "surprise [95 %]",
        "return",
        "interventions",
        "log-odds raised",
        "single car: incidents [95 %]",
        "start + budget",
        "surprise [95 %]",
    ];
    let mut rows = Vec::new();
    for change in &plan.changes {
        for task in &plan.tasks {
            for method in &plan.methods {
                let find = |is_fleet: bool| {
                    cells.iter().find(|cell| {
                        cell.task == *task
                            && cell.change == *change
                            && cell.method == *method
                            && (cell.cars > 1) == is_fleet
                    })
                };
                let mut row = vec![
                    Entry::Words(change.words()),
                    Entry::words(task),
                    Entry::words(method.name()),
                ];
                row.extend(fleet_entries(find(true)));
                row.extend(single_entries(find(false)));
                rows.push(row);
            }
        }
    }
    Table {
        name: "adaptation",
        title: "After an unannounced change: from twenty episodes a car after it (single cars: from a hundred) to the end"
            .to_owned(),
        columns: columns.map(str::to_owned).to_vec(),
        rows,
        note: "Critics were learned and calibrated in stationary traffic with perfect eyes; `knew` was learned in the \
               changed world. Start + budget is what the critic calls unavoidable, as it is raised, and the budget: `kept` \
               if incidents are not above it, `within` if they are within their interval, and else `BROKEN`. Log-odds raised: those \
               of what cannot be avoided."
            .to_owned(),
    }
}

fn fleet_entries(cell: Option<&DeployCell>) -> Vec<Entry> {
    let Some(cell) = cell else { return vec![Entry::Empty; 6] };
    let after = since(cell, cell.before + BLOCK);
    let n = after.episodes;
    // Of no episode nothing can be said, least of all that something was kept.
    if n == 0.0 {
        return vec![Entry::Empty; 6];
    }
    vec![
        Entry::Words(rate(&after)),
        Entry::Words(promise(&after)),
        Entry::Words(surprise(&after)),
        Entry::Number(after.reward / n, 2),
        Entry::Words(format!("{:.1} %", 100.0 * after.interventions / after.steps.max(1.0))),
        Entry::Number(after.raised / n, 2),
    ]
}

fn single_entries(cell: Option<&DeployCell>) -> Vec<Entry> {
    let Some(cell) = cell else { return vec![Entry::Empty; 3] };
    let after = since(cell, cell.before + 5 * BLOCK);
    if after.episodes == 0.0 {
        return vec![Entry::Empty; 3];
    }
    vec![Entry::Words(rate(&after)), Entry::Words(promise(&after)), Entry::Words(surprise(&after))]
}

/// The sum of all blocks from an episode on.
pub(crate) fn since(cell: &DeployCell, first: u64) -> Block {
    let mut sum = Block::default();
    cell.blocks.iter().skip((first / BLOCK) as usize).for_each(|block| sum.add(block));
    sum
}

fn rate(block: &Block) -> String {
    let [low, high] = wilson(block.incidents as u64, block.episodes as u64);
    let rate = block.incidents / block.episodes.max(1.0);
    format!("{rate:.4} [{low:.4}, {high:.4}]")
}

/// What is unavoidable and the budget, and whether what happened is not above it, or not beyond its interval.
fn promise(block: &Block) -> String {
    let n = block.episodes.max(1.0);
    let promised = block.promise / n;
    let [low, _] = wilson(block.incidents as u64, block.episodes as u64);
    let word = match (block.incidents / n <= promised, low <= promised) {
        (true, _) => "kept",
        (false, true) => "within",
        (false, false) => "BROKEN",
    };
    format!("{promised:.4} {word}")
}

fn surprise(block: &Block) -> String {
    let (mean, [low, high]) = block.mean_surprise();
    format!("{mean:+.4} [{low:+.4}, {high:+.4}]")
}

/// How soon alarms about traffic came, and how many came without a change.
pub(crate) fn alarms(plan: &DeployPlan, cells: &[DeployCell]) -> Table {
    let columns = [
        "change",
        "task",
        "alarm within 5 episodes",
        "half of them within",
        "false alarms before",
        "decisions",
    ];
    let mut rows = Vec::new();
    for change in &plan.changes {
        for task in &plan.tasks {
            let of = |cell: &&DeployCell| {
                cell.task == *task
                    && cell.change == *change
                    && cell.cars == 1
                    && cell.method == Method::All
            };
            let Some(cell) = cells.iter().find(of) else { continue };
            let soon = cell.alarms.iter().filter(|after| after.is_some_and(|after| after <= 5));
            let mut sorted: Vec<u64> =
                cell.alarms.iter().map(|it| it.unwrap_or(u64::MAX)).collect();
            sorted.sort_unstable();
            let half = sorted.get(sorted.len().saturating_sub(1) / 2).filter(|it| **it < u64::MAX);
            rows.push(vec![
                Entry::Words(change.words()),
                Entry::words(task),
                Entry::Words(format!("{} of {}", soon.count(), cell.alarms.len())),
                Entry::Words(half.map_or("never".to_owned(), u64::to_string)),
                Entry::Number(cell.false_alarms as f64, 0),
                Entry::Number(cell.quiet_decisions as f64, 0),
            ]);
        }
    }
    Table {
        name: "alarms",
        title: "Single cars: how soon they notice".to_owned(),
        columns: columns.map(str::to_owned).to_vec(),
        rows,
        note: "An alarm about traffic: episodes are no longer like those that the critic was calibrated in.".to_owned(),
    }
}

/// The methods of the figure, and how they look.
const DRAWN: [(Method, &str, Style); 4] = [
    (
        Method::Fixed,
        "constant threshold, tuned before the change",
        styled([0x4d, 0x92, 0x21], Marker::Triangle),
    ),
    (Method::Budget, "budget, no adaptation", styled([0xd9, 0x5f, 0x0e], Marker::Circle)),
    (Method::All, "with evidence and recalibration", styled([0x0b, 0x35, 0x6b], Marker::Square)),
    (Method::Knew, "critic that knew the change", styled([0x77, 0x77, 0x77], Marker::Diamond)),
];

const fn styled(ink: [u8; 3], marker: Marker) -> Style {
    Style { ink, marker, filled: true, line: Some(Dash::Solid), width: 1.4 }
}

/// Incidents of fleets before and after each change, block by block.
pub(crate) fn figure(plan: &DeployPlan, cells: &[DeployCell]) -> Canvas {
    let width = 30.0 + 260.0 * plan.tasks.len().max(2) as f64;
    let height = 90.0 + 230.0 * plan.changes.len() as f64;
    let mut canvas = Canvas::new(width, height, "Incidents before and after an unannounced change");
    let mut entries: Vec<(String, Style)> =
        DRAWN.iter().map(|(_, name, style)| ((*name).to_owned(), *style)).collect();
    entries.push(("start + budget, with adaptation".to_owned(), promised()));
    legend(&mut canvas, [62.0, 22.0], width, &entries);
    for (row, change) in plan.changes.iter().enumerate() {
        for (column, task) in plan.tasks.iter().enumerate() {
            let panel = panel(plan, cells, (change, task), column == 0);
            let (left, top) = (62.0 + 260.0 * column as f64, 74.0 + 230.0 * row as f64);
            panel.draw(&mut canvas, Frame { left, top, width: 200.0, height: 170.0 });
        }
    }
    let note = "each point: twenty episodes of every car of the fleet";
    canvas.text([width - 14.0, height - 8.0], note, 9.0, Anchor::End, BLACK);
    canvas
}

fn promised() -> Style {
    Style { marker: Marker::Bare, line: Some(Dash::Dashed), ..styled(BLACK, Marker::Bare) }
}

fn panel(
    plan: &DeployPlan,
    cells: &[DeployCell],
    (change, task): (&Change, &str),
    is_first: bool,
) -> Panel {
    let of = |method: Method| {
        cells.iter().find(|cell| {
            cell.task == task && cell.change == *change && cell.method == method && cell.cars > 1
        })
    };
    let points = |cell: &DeployCell, number: fn(&Block) -> f64| -> Vec<Point> {
        let at = |(place, block): (usize, &Block)| Point {
            x: (place as f64 + 0.5) * BLOCK as f64 - cell.before as f64,
            y: number(block) / block.episodes.max(1.0),
            bar: None,
        };
        cell.blocks.iter().enumerate().map(at).collect()
    };
    let mut series: Vec<Series> = DRAWN
        .iter()
        .filter_map(|(method, name, style)| {
            let points = points(of(*method)?, |block| block.incidents);
            Some(Series { name: (*name).to_owned(), style: *style, points })
        })
        .collect();
    if let Some(cell) = of(Method::All) {
        let points = points(cell, |block| block.promise);
        series.push(Series { name: "promised".to_owned(), style: promised(), points });
    }
    let largest = series.iter().flat_map(|it| &it.points).map(|point| point.y).fold(0.01, f64::max);
    let [from, to] = [-(plan.change as f64), (plan.episodes - plan.change) as f64];
    let ticks = [from, from / 2.0, 0.0, to / 2.0, to].map(|at| (at, format!("{at:+.0}")));
    let label = |words: &str| if is_first { words.to_owned() } else { String::new() };
    Panel {
        title: format!("{task}: {}", change.words()),
        x: Axis {
            label: "episodes of each car since the change".to_owned(),
            scale: Scale::Linear,
            range: [from, to],
            ticks: ticks.to_vec(),
        },
        y: Axis::of_rates(&label("incident rate (root scale)"), largest),
        series,
    }
}
