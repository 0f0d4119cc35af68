//! Which tables compare the learners?
//!
//! One for each task: alone, under the shield, and what training cost. One of stationary traffic: does a constraint help
//! the learner that has it? And one over all tasks and regimes: who keeps the budget?

use super::{Comparison, Side, budget_of};
use crate::measure::estimate::{Estimate, difference};
use crate::plan::baselines::{FLOOR, Method, Training};
use crate::report::table::{Entry, Table};
use crate::report::tables::{Kept, traffic};

/// The regime in which learners learned.
const STATIONARY: &str = "stationary";

const INTERVALS: &str = "In brackets 95 % intervals: of incidents the wider, at each end, of Wilson's and of a bootstrap \
    over training seeds and episodes; of returns the bootstrap's.";

/// Columns of what a method came to in a task.
const OUTCOMES: [&str; 11] = [
    "method",
    "alone: incidents",
    "alone: return",
    "under CPSS: incidents",
    "under CPSS: return",
    "interventions [%]",
    "promised: at most",
    "kept",
    "training: incidents",
    "training: episodes",
    "training: time [s]",
];

impl Comparison<'_> {
    /// What every method came to in a task, over all regimes.
    pub(super) fn outcomes_of(&self, task: &str) -> Table {
        let methods = self.plan.methods.iter().map(|method| self.outcome(*method, task));
        let mut floor = vec![Entry::words(FLOOR)];
        floor.extend(alone(Some(self.floor(task, None))));
        floor.resize(OUTCOMES.len(), Entry::Empty);
        let regimes: Vec<&str> = self.plan.regimes.iter().map(String::as_str).collect();
        Table {
            name: "baselines",
            title: format!("{task}, {}", traffic(&regimes)),
            columns: names(&OUTCOMES),
            rows: methods.chain([floor]).collect(),
            note: format!(
                "{INTERVALS} Alone, `static-shield` has the constant threshold that it learned with, and `barrier` is \
                 the shipped DQN behind its filter. Promised is what the critic calls unavoidable plus the budget. \
                 Training is per seed."
            ),
        }
    }

    /// The same of all tasks, for programs.
    pub(super) fn outcomes(&self) -> Table {
        let mut rows = Vec::new();
        for task in &self.plan.tasks {
            rows.extend(self.outcomes_of(task).rows.into_iter().map(|mut row| {
                row.insert(0, Entry::words(task));
                row
            }));
        }
        let columns = std::iter::once("task").chain(OUTCOMES).map(str::to_owned).collect();
        let title = "Learners, alone and under CPSS".to_owned();
        Table { name: "baselines", title, columns, rows, note: INTERVALS.to_owned() }
    }

    fn outcome(&self, method: Method, task: &str) -> Vec<Entry> {
        let mut row = vec![Entry::words(method.name())];
        row.extend(alone(self.alone(method, task, None)));
        row.extend(match self.shielded(method, task, None) {
            Some(side) => shielded(side),
            None => vec![Entry::Empty; 5],
        });
        let Training { episodes, incidents, seconds } = self.training(method, task);
        row.extend([incidents, episodes, seconds].map(|it| number(it, 0)));
        row
    }

    /// Does a constraint help the learner that has it, where it learned?
    pub(super) fn against_unconstrained(&self) -> Table {
        let columns = [
            "task",
            "method",
            "incidents",
            "unconstrained form",
            "its incidents",
            "difference",
            "than that",
            "random: incidents",
            "than random",
        ];
        let is_played = self.plan.regimes.iter().any(|regime| regime == STATIONARY);
        let mut rows = Vec::new();
        for task in self.plan.tasks.iter().filter(|_| is_played) {
            rows.extend(self.plan.methods.iter().filter_map(|method| self.told(*method, task)));
        }
        Table {
            name: "unconstrained",
            title: "Stationary traffic: each learner alone, against its own unconstrained form"
                .to_owned(),
            columns: names(&columns),
            rows,
            note: "Differences are Newcombe's, from both intervals; where they include 0 the two are not told apart."
                .to_owned(),
        }
    }

    fn told(&self, method: Method, task: &str) -> Option<Vec<Entry>> {
        let regime = Some(STATIONARY);
        let found = self.alone(method, task, regime)?.incidents()?;
        let plain = method.unconstrained();
        let theirs = plain.and_then(|plain| self.alone(plain, task, regime)?.incidents());
        let floor = self.floor(task, regime).incidents();
        let against = |other: &Option<Estimate>| other.map(|other| difference(&found, &other));
        let verdict = |other| said(against(other).map(|it| Told::of(&it).words()));
        Some(vec![
            Entry::words(task),
            Entry::words(method.name()),
            rate(Some(found)),
            said(plain.map(Method::name)),
            rate(theirs),
            rate(against(&theirs)),
            verdict(&theirs),
            rate(floor),
            verdict(&floor),
        ])
    }

    /// Every task in every regime.
    fn cells(&self) -> Vec<(&str, Option<&str>)> {
        let mut cells = Vec::new();
        for task in &self.plan.tasks {
            cells.extend(self.plan.regimes.iter().map(|it| (task.as_str(), Some(it.as_str()))));
        }
        cells
    }

    /// In how many cells does each method keep the budget?
    pub(super) fn who_keeps_the_budget(&self) -> Table {
        let sides = ["alone", "under CPSS"];
        let columns = sides.into_iter().flat_map(|side| {
            ["at most B", "above B", "at most V_0 + B", "above V_0 + B"]
                .map(|words| format!("{side}: {words}"))
        });
        let row = |name: &str, sides: [Vec<Side<'_>>; 2]| {
            let mut row = vec![Entry::words(name)];
            row.extend(sides.iter().flat_map(|cells| keeping(cells)));
            row
        };
        let cells = self.cells();
        let mut rows = Vec::new();
        for method in self.plan.methods.iter().copied() {
            let alone = cells.iter().filter_map(|(task, regime)| self.alone(method, task, *regime));
            let shielded =
                cells.iter().filter_map(|(task, regime)| self.shielded(method, task, *regime));
            rows.push(row(method.name(), [alone.collect(), shielded.collect()]));
        }
        let floor = cells.iter().map(|(task, regime)| self.floor(task, *regime)).collect();
        rows.push(row(FLOOR, [floor, Vec::new()]));
        Table {
            name: "budget",
            title: "Who keeps the budget? Cells of a task and a regime in which incidents are".to_owned(),
            columns: std::iter::once("method".to_owned()).chain(columns).collect(),
            rows,
            note: "B is the budget. V_0 is what the critic calls unavoidable at the start (and what arrives), and counts only \
                   in traffic in which it is known to be conservative. At most: by the rate itself. Above: by more \
                   than its 95 % interval, which a rate twice the bound would not always be. What is neither is above \
                   within its interval."
                .to_owned(),
        }
    }
}

/// Incidents and return without our shield.
fn alone(side: Option<Side<'_>>) -> [Entry; 2] {
    let incidents = side.and_then(|side| side.incidents());
    [rate(incidents), returns(side.and_then(|side| side.found("return_mean")))]
}

/// Incidents, return and interventions under it, what it promised, and whether that was kept.
fn shielded(side: Side<'_>) -> Vec<Entry> {
    let (incidents, promised) = (side.incidents(), side.promised());
    let kept = incidents.zip(promised).map(|(found, most)| Kept::of(&found, most));
    let interventions = side.found("intervention_rate").map(|found| 100.0 * found.value);
    vec![
        rate(incidents),
        returns(side.found("return_mean")),
        number(interventions, 1),
        promised.map_or(Entry::words("nothing"), |most| Entry::Number(most, 4)),
        said(kept.map(Kept::words)),
    ]
}

/// In how many cells incidents are at most the budget, and above it by more than chance; and the same with what could not
/// be avoided.
fn keeping(cells: &[Side<'_>]) -> [Entry; 4] {
    if cells.is_empty() {
        return std::array::from_fn(|_| Entry::Empty);
    }
    let bare = verdicts(cells, |side| budget_of(side.cell.task));
    let whole = verdicts(cells, |side| side.allowed());
    let count = |verdicts: &[Kept], wanted: Kept| {
        let found = verdicts.iter().filter(|verdict| **verdict == wanted).count();
        Entry::Words(format!("{found} of {}", verdicts.len()))
    };
    [
        count(&bare, Kept::Yes),
        count(&bare, Kept::No),
        count(&whole, Kept::Yes),
        count(&whole, Kept::No),
    ]
}

/// For each cell that has a bound, whether incidents keep to it.
fn verdicts(cells: &[Side<'_>], bound: impl Fn(&Side<'_>) -> Option<f64>) -> Vec<Kept> {
    let verdict = |side: &Side<'_>| Some(Kept::of(&side.incidents()?, bound(side)?));
    cells.iter().filter_map(verdict).collect()
}

/// Whether two rates can be told apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Told {
    Fewer,
    More,
    NotApart,
}

impl Told {
    fn of(difference: &Estimate) -> Told {
        match difference.interval {
            [_, high] if high < 0.0 => Told::Fewer,
            [low, _] if low > 0.0 => Told::More,
            _ => Told::NotApart,
        }
    }

    fn words(self) -> &'static str {
        match self {
            Told::Fewer => "fewer",
            Told::More => "more",
            Told::NotApart => "not told apart",
        }
    }
}

/// A rate with its interval alone.
fn rate(found: Option<Estimate>) -> Entry {
    Entry::estimate(found.map(|found| Estimate { deviation: None, ..found }), 4)
}

fn returns(found: Option<Estimate>) -> Entry {
    let decimals = found.map_or(2, |found| if found.value.abs() >= 100.0 { 0 } else { 2 });
    Entry::estimate(found, decimals)
}

fn said(words: Option<&str>) -> Entry {
    words.map_or(Entry::Empty, Entry::words)
}

fn number(found: Option<f64>, decimals: usize) -> Entry {
    found.map_or(Entry::Empty, |found| Entry::Number(found, decimals))
}

fn names(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}
