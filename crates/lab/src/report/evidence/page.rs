//! How does the evidence become a page?

use std::fmt::Write as _;

use super::cell::CellEvidence;
use super::{Document, Evidence};
use crate::measure::estimate::Estimate;
use crate::report::page::html::{escaped, table};
use crate::report::page::shell::plain;
use crate::report::table::{Entry, Table};

/// The whole page.
pub(super) fn page(evidence: &Evidence) -> String {
    let Document { identity, traces, made_on, machine, not_shown, .. } = &evidence.document;
    let mut body = format!(
        "<main>\n<h1>Evidence</h1>\n<p class=\"lead\">{}.</p>\n\
         <p>Made on {} with {} (sources {}), {}, which also made the records.</p>\n",
        escaped(&evidence.headline()),
        escaped(made_on),
        escaped(&identity.program),
        escaped(identity.sources),
        escaped(machine),
    );
    let tables =
        [promises(&evidence.document.cells), actions(&evidence.document.cells), hashes(evidence)];
    for one in &tables {
        body += &table(one);
    }
    // Writing to a string cannot fail.
    let _ = write!(
        body,
        "<h2>Traces</h2>\n<p>{} of {} traces were derived again, decision by decision, and found sound.</p>\n",
        traces.sound, traces.audited
    );
    if traces.audited == 0 {
        body += "<p><strong>The records were compared with nothing.</strong></p>\n";
    }
    for (file, finding) in &traces.unsound {
        let _ = writeln!(body, "<p><strong>{}: {}</strong></p>", escaped(file), escaped(finding));
    }
    if !traces.ends.is_empty() {
        body += "<details><summary>The hashes that they end in</summary><ul>\n";
        for (file, end) in &traces.ends {
            let _ = writeln!(body, "<li><code>{end}</code> {}</li>", escaped(file));
        }
        body += "</ul></details>\n";
    }
    body += "<h2>What this does not show</h2>\n<ul>\n";
    for words in not_shown {
        let _ = writeln!(body, "<li>{}</li>", escaped(words));
    }
    plain("CPSS: evidence", &(body + "</ul>\n</main>"))
}

fn columns(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

fn first(cell: &CellEvidence) -> Vec<Entry> {
    [&cell.task, &cell.regime, &cell.arm].map(|words| Entry::words(words)).to_vec()
}

fn promises(cells: &[CellEvidence]) -> Table {
    let row = |cell: &CellEvidence| {
        let estimate =
            |value, interval| Entry::Estimate(Estimate { value, interval, deviation: None }, 4);
        let mut row = first(cell);
        row.extend([
            Entry::Number(cell.episodes as f64, 0),
            cell.promised.map_or(Entry::words("nothing"), |most| Entry::Number(most, 4)),
            estimate(cell.incident_rate, cell.incident_rate_ci95),
            Entry::words(cell.kept.unwrap_or("–")),
            Entry::Number(cell.start, 4),
            Entry::Number(cell.chosen, 4),
            estimate(cell.surprise, cell.surprise_ci95),
            Entry::Number(cell.arriving, 4),
        ]);
        row
    };
    Table {
        name: "promises",
        title: "What was promised, and what happened".to_owned(),
        columns: columns(&[
            "task", "regime", "arm", "episodes", "promised: at most", "incidents", "kept", "start", "chosen",
            "surprise", "arriving",
        ]),
        rows: cells.iter().map(row).collect(),
        note: "Incidents per episode with 95 % intervals. Promised is what could not be avoided (start and arriving) plus \
               the budget; the parts of the account add up to what happened."
            .to_owned(),
    }
}

fn actions(cells: &[CellEvidence]) -> Table {
    let row =
        |cell: &CellEvidence| {
            let mut row = first(cell);
            let counts = [
                cell.decisions,
                cell.interventions,
                cell.by_ledger,
                cell.judged,
                cell.avoided,
                cell.false_alarms,
                cell.infeasible,
                cell.mispredicted,
                cell.budgets_overdrawn as u64,
            ];
            row.extend(counts.map(|count| Entry::Number(count as f64, 0)));
            row.push(Entry::Number(cell.evidence, 1));
            row.push(cell.alarm.map_or(Entry::words("none"), |after| {
                Entry::Words(format!("after {after} episodes"))
            }));
            row
        };
    Table {
        name: "actions",
        title: "What the shield did, and what speaks against its critic".to_owned(),
        columns: columns(&[
            "task",
            "regime",
            "arm",
            "decisions",
            "interventions",
            "only for what was spent",
            "judged",
            "avoided an incident",
            "false alarms",
            "nothing admissible",
            "mispredicted",
            "budgets overdrawn",
            "evidence",
            "alarm",
        ]),
        rows: cells.iter().map(row).collect(),
        note: format!(
            "Judged are interventions whose refused action was tried in a copy of the world, which is asked at the usual budget only. The evidence is over the \
             surprises of the episodes in a row; it grows by about 1 an episode without cause, and an alarm is evidence of {}: if the critic is \
             right, that takes as many episodes on average, or more.",
            cpss_shield::RiskSpec::new().alarm
        ),
    }
}

fn hashes(evidence: &Evidence) -> Table {
    let identity = &evidence.document.identity;
    let mut rows = vec![vec![
        Entry::words("records"),
        Entry::Words(format!("{} files", identity.records)),
        Entry::words(&identity.records_sha256),
    ]];
    for task in &identity.tasks {
        let known = if task.critic_is_conservative {
            "conservative"
        } else {
            "not known to be conservative"
        };
        let critic = format!("critic, {known} on {} episodes", task.calibrated_on_episodes);
        rows.push(vec![
            Entry::words(&task.task),
            Entry::Words(critic),
            Entry::words(&task.critic_sha256),
        ]);
        rows.push(vec![
            Entry::words(&task.task),
            Entry::words("shield settings"),
            Entry::words(&task.shield_sha256),
        ]);
        for (seed, policy) in &task.policies_sha256 {
            rows.push(vec![
                Entry::words(&task.task),
                Entry::Words(format!("policy {seed}")),
                Entry::words(policy),
            ]);
        }
    }
    Table {
        name: "hashes",
        title: "What it depends on".to_owned(),
        columns: columns(&["of", "what", "sha256"]),
        rows,
        note: String::new(),
    }
}
