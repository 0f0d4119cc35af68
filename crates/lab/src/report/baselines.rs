//! What do learners come to, alone and under the shield?
//!
//! A [`Comparison`] holds the records of every method; [`Comparison::write`] makes tables, a figure and a page of them.
//! They read finished records and what training left behind, and nothing else. Which tables there are is in
//! [`tables`], how it looks in [`figure`] and [`page`].

use std::path::Path;

use anyhow::Result;
use serde_json::json;

use crate::files::atomic::{folder, write_atomically};
use crate::measure::estimate::{Cell, Estimate, Results, metric};
use crate::plan::baselines::{BaselinePlan, FLOOR, Method, Played, Training, Trainings};
use crate::play::arm::ShieldSettings;
use crate::report::document::together;
use crate::report::table::Table;
use crate::report::tables::{allowed, promised};

mod figure;
mod page;
mod tables;

#[cfg(test)]
mod tests;

pub(crate) use page::FILE;

/// The records of every method, and what their policies cost to train.
#[derive(Debug)]
pub(crate) struct Comparison<'a> {
    plan: &'a BaselinePlan,
    policies: &'a Path,
    methods: Vec<(Method, Results<'a>)>,
    floor: Results<'a>,
    trainings: Trainings,
}

/// One method in one arm, in some traffic of a task.
#[derive(Clone, Copy, Debug)]
struct Side<'a> {
    results: &'a Results<'a>,
    cell: Cell<'a>,
}

impl Side<'_> {
    fn incidents(&self) -> Option<Estimate> {
        self.results.incidents(self.cell)
    }

    /// A number without how much training seeds differ, which its interval knows.
    fn found(&self, key: &str) -> Option<Estimate> {
        let found = self.results.estimate(self.cell, metric(key))?;
        Some(Estimate { deviation: None, ..found })
    }

    /// What the budget allows here, where the critic is known to be conservative.
    fn allowed(&self) -> Option<f64> {
        allowed(self.results, self.cell)
    }

    /// What is promised here.
    fn promised(&self) -> Option<f64> {
        promised(self.results, self.cell)
    }
}

impl<'a> Comparison<'a> {
    /// A comparison of what was played, with the policies of a folder.
    ///
    /// # Errors
    ///
    /// A table of trainings that is not one.
    pub(crate) fn new(
        plan: &'a BaselinePlan,
        policies: &'a Path,
        played: &'a Played,
    ) -> Result<Comparison<'a>> {
        let of = |(method, records): &'a (Method, Vec<_>)| (*method, Results::new(records));
        let methods: Vec<_> = played.methods.iter().map(of).collect();
        let trainings = Trainings::load(policies)?;
        let floor = Results::new(&played.floor);
        Ok(Comparison { plan, policies, methods, floor, trainings })
    }

    /// Writes tables, figure and page, and returns the tables.
    ///
    /// # Errors
    ///
    /// A folder that cannot be written.
    pub(crate) fn write(&self, out: &Path, command: &str) -> Result<Vec<Table>> {
        self.methods.iter().for_each(|(_, results)| results.prepare());
        let place = out.join("tables");
        folder(&place)?;
        let tables = self.tables();
        for table in std::iter::once(&self.outcomes()).chain(&tables[self.plan.tasks.len()..]) {
            write_atomically(&place.join(format!("{}.csv", table.name)), table.csv().as_bytes())?;
        }
        let document = json!({
            "schema": 1,
            "command": command,
            "tables": tables.iter().map(Table::json).collect::<Vec<_>>(),
        });
        let document = serde_json::to_string_pretty(&document)? + "\n";
        write_atomically(&out.join("baselines.json"), document.as_bytes())?;
        write_atomically(
            &out.join("baselines.md"),
            (together(command, &tables) + "\n").as_bytes(),
        )?;
        let canvas = self.figure();
        write_atomically(&out.join("baselines.svg"), canvas.svg().as_bytes())?;
        write_atomically(&out.join("baselines.png"), &canvas.png()?)?;
        let page = self.page(&tables, &canvas.svg(), command);
        write_atomically(&out.join(FILE), page.as_bytes())?;
        Ok(tables)
    }

    /// What people read: a table for each task, and two that sum them up.
    fn tables(&self) -> Vec<Table> {
        let mut tables: Vec<Table> =
            self.plan.tasks.iter().map(|task| self.outcomes_of(task)).collect();
        tables.extend([self.against_unconstrained(), self.who_keeps_the_budget()]);
        // Without stationary traffic there is nothing to say of it.
        tables.retain(|table| !table.rows.is_empty());
        tables
    }

    /// A method without our shield; `None` for one that was not played.
    fn alone(&'a self, method: Method, task: &'a str, regime: Option<&'a str>) -> Option<Side<'a>> {
        let (_, results) = self.methods.iter().find(|(known, _)| *known == method)?;
        Some(Side { results, cell: Cell { task, regime, arm: method.alone() } })
    }

    /// A method under it; `None` for one that is not played under it.
    fn shielded(
        &'a self,
        method: Method,
        task: &'a str,
        regime: Option<&'a str>,
    ) -> Option<Side<'a>> {
        let arm = method.shielded()?;
        let side = self.alone(method, task, regime)?;
        Some(Side { cell: Cell { arm, ..side.cell }, ..side })
    }

    /// The driver that has learned nothing.
    fn floor(&'a self, task: &'a str, regime: Option<&'a str>) -> Side<'a> {
        Side { results: &self.floor, cell: Cell { task, regime, arm: FLOOR } }
    }

    fn training(&self, method: Method, task: &str) -> Training {
        self.trainings.of(method, self.policies, task, &self.plan.policies)
    }
}

/// The budget of a task's shield.
fn budget_of(task: &str) -> Option<f64> {
    Some(ShieldSettings::shipped(task.parse().ok()?).ok()?.spec.budget)
}
