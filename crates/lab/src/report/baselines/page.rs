//! How does the comparison of learners become a page?

use std::fmt::Write as _;

use super::Comparison;
use crate::report::document::{machine, today};
use crate::report::page::html::{escaped, table_named};
use crate::report::page::shell::plain;
use crate::report::table::Table;

/// The page's file name.
pub(crate) const FILE: &str = "baselines.html";

impl Comparison<'_> {
    /// Tables and figure in the report's looks, in one file that asks for nothing. The tables are one for each task, then
    /// those that sum them up.
    pub(super) fn page(&self, tables: &[Table], figure: &str, command: &str) -> String {
        let (tasks, sums) = tables.split_at(self.plan.tasks.len().min(tables.len()));
        let mut body = format!(
            "<header class=\"top\">\n<h1>Learners, alone and under CPSS</h1>\n<p class=\"lead\">{} methods in {} tasks \
             and {} regimes, {} training seeds each; the same episodes for all. An incident is a crash, and on the \
             racetrack also leaving the road.</p>\n</header>\n<main>\n<section>\n<h2 id=\"figure\">At a glance</h2>\n\
             <figure class=\"chart\">{figure}</figure>\n",
            self.plan.methods.len(),
            self.plan.tasks.len(),
            self.plan.regimes.len(),
            self.plan.policies.len(),
        );
        // The last sums up most; the one before is long, and goes to the end.
        let (long, most) = sums.split_at(sums.len().saturating_sub(1));
        most.iter().for_each(|table| body += &table_named(table.name, table));
        body += "</section>\n<section>\n<h2 id=\"tasks\">Task by task</h2>\n";
        // The same holds for all of them, and is said once. Writing to a string cannot fail, here and below.
        if let Some(table) = tasks.first() {
            let _ = writeln!(body, "<p class=\"note\">{}</p>", escaped(&table.note));
        }
        for (task, table) in self.plan.tasks.iter().zip(tasks) {
            body += &table_named(task, &Table { note: String::new(), ..table.clone() });
        }
        if !long.is_empty() {
            body += "</section>\n<section>\n<h2 id=\"stationary\">Does a constraint help where it was learned?</h2>\n";
            long.iter().for_each(|table| body += &table_named(table.name, table));
        }
        let _ = write!(
            body,
            "</section>\n</main>\n<footer class=\"foot\">Made by <code>{}</code> on {}, {}.</footer>",
            escaped(command),
            today(),
            escaped(&machine()),
        );
        plain("CPSS: learners, alone and under the shield", &body)
    }
}
