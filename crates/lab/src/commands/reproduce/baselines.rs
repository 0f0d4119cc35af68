//! How are learners compared? (`cpss reproduce --baselines`)

use std::path::Path;

use anyhow::Result;
use serde_json::json;

use super::Options;
use crate::files::lock::{Claim, Lock};
use crate::plan::baselines::{BaselinePlan, Method, Trainings};
use crate::report::baselines::{Comparison, FILE};
use crate::report::document::{BASELINES, together};
use crate::report::table::Table;
use crate::terminal::{note, say};

/// Where the results go, unless said.
const OUT: &str = "out/baselines";

/// Compares learners whose policies are in a folder.
pub(super) fn run(options: &Options, policies: &Path) -> Result<()> {
    let mut plan = BaselinePlan::load(options.plan.as_deref(), &options.methods)?;
    if options.quick {
        plan = plan.quick();
    }
    if let Some(document) = &options.write {
        BASELINES.check(document)?;
    }
    let command = command_of(options, policies);
    let out = options.out.as_deref().unwrap_or(Path::new(OUT));
    let _lock = Lock::take(out, Claim::Alone, &command)?;
    // Nobody wants to hear of a damaged table when all is played.
    Trainings::load(policies)?;
    let played = plan.play(policies, out, &|name| note!("{name}"))?;
    let tables = Comparison::new(&plan, policies, &played)?.write(out, &command)?;
    if let Some(document) = &options.write {
        BASELINES.put(document, &together(&command, &tables))?;
    }
    if options.json {
        let document = json!({
            "schema": 1,
            "out": out,
            "page": out.join(FILE),
            "tables": tables.iter().map(Table::json).collect::<Vec<_>>(),
        });
        return say!("{}", serde_json::to_string_pretty(&document)?);
    }
    say!("{}", together(&command, &tables))?;
    say!("records, tables and the figure: {}", out.display())?;
    say!("page: {}", out.join(FILE).display())
}

/// The command that makes the same results again.
fn command_of(options: &Options, policies: &Path) -> String {
    let mut command = "cpss reproduce --baselines".to_owned();
    if policies != Path::new(super::POLICIES) {
        command += &format!(" {}", policies.display());
    }
    if options.quick {
        command += " --quick";
    }
    if let Some(plan) = &options.plan {
        command += &format!(" --plan {}", plan.display());
    }
    if !options.methods.is_empty() {
        let names: Vec<&str> = options.methods.iter().copied().map(Method::name).collect();
        command += &format!(" --methods {}", names.join(","));
    }
    command
}
