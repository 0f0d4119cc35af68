//! What does a reproduction come to, for a person who has never seen it?
//!
//! `report.html`: one file that opens from disk and asks for nothing. The result first (headline, the
//! paper's table beside ours, figures), then episodes to watch, then every task and regime, the
//! interventions, how it was made, and where the paper's own tables disagree. Everything in it is made
//! of records and traces. Start at [`write()`]; [`shell`] puts the file together, [`replay`] makes traces
//! small enough to be in it.
//!
//! **Invariants:** no number is typed here; each comes from [`Results`], a [`Table`] or a trace. The
//! sources of the page's looks and of its player are in `viewer/`.

use std::fmt::Write as _;
use std::path::Path;

use anyhow::{Context, Result, bail};
use serde::Serialize;

use crate::files::atomic::write_atomically;
use crate::measure::estimate::Results;
use crate::plan::Plan;
use crate::report::document::{machine, today};
use crate::report::figure::Drawn;
use crate::report::paper;
use crate::report::selected::{Selected, Why};
use crate::report::table::Table;

mod headline;
pub(crate) mod html;
mod methods;
mod replay;
pub(crate) mod shell;
pub(crate) mod single;
mod tasks;

use html::escaped;
use replay::Replays;

/// The report's file name.
pub(crate) const FILE: &str = "report.html";

/// Everything that a report is made of.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Made<'a> {
    /// The records.
    pub results: &'a Results<'a>,
    /// What was asked for.
    pub plan: &'a Plan,
    /// The tables.
    pub tables: &'a [Table],
    /// The figures.
    pub figures: &'a [Drawn],
    /// The chosen episodes.
    pub selected: &'a [Selected],
}

/// What the page's player shows.
#[derive(Clone, Debug, Default, Serialize)]
pub(crate) struct Programme {
    /// Films and their roads.
    #[serde(flatten)]
    pub replays: Replays,
    /// What a reader can choose.
    pub choices: Vec<Choice>,
}

/// An episode that can be watched, with and without the shield.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Choice {
    /// Its name in an address.
    pub id: String,
    /// Task id.
    pub task: String,
    /// Regime.
    pub regime: String,
    /// Its name in a list.
    pub name: String,
    /// Why it was chosen.
    pub why: Vec<Why>,
    /// Arms, in the order of the screen, with the places of their films.
    pub films: Vec<(String, usize)>,
}

/// Writes the report.
pub(crate) fn write(made: &Made<'_>, command: &str, out: &Path) -> Result<()> {
    let programme = programme(made.selected)?;
    let head = headline::head(made);
    let page = shell::page(&head.title, &body(made, &head, &programme, command), &programme)?;
    write_atomically(&out.join(FILE), page.as_bytes())
}

fn body(made: &Made<'_>, head: &headline::Head, programme: &Programme, command: &str) -> String {
    let table = |name: &str| {
        made.tables.iter().find(|table| table.name == name).map_or(String::new(), html::table)
    };
    let mut contents = String::new();
    let mut sections = String::new();
    for (id, title, text) in [
        (
            "result",
            "The result",
            ["glance", "promise", "collision_summary", "price"].map(table).concat(),
        ),
        ("figures", "Figures", figures(made.figures)),
        ("watch", "Watch it happen", watch(programme)),
        ("tasks", "Task by task", tasks::sections(made, programme)),
        ("interventions", "What the interventions did", interventions(made.tables)),
        ("methods", "How it was made", methods::section(made, command)),
        ("paper", "Where the paper's tables disagree with each other", doubts()),
    ] {
        if !text.is_empty() {
            // Writing to a string cannot fail, here and below.
            let _ = write!(contents, "<li><a href=\"#{id}\">{title}</a></li>");
            let _ = writeln!(
                sections,
                "<section aria-labelledby=\"{id}\">\n<h2 id=\"{id}\">{title}</h2>\n{text}</section>"
            );
        }
    }
    format!(
        "<a class=\"skip\" href=\"#result\">Skip to the result</a>\n<header class=\"top\">\n{}\
         <nav aria-label=\"Contents\"><ul class=\"contents\">{contents}</ul></nav>\n</header>\n\
         <main>\n{sections}</main>\n<footer class=\"foot\">Made by <code>{}</code> on {}, {}. Traces \
         are in <code>traces/</code> beside this file; <code>cpss audit</code> derives each of them \
         again.</footer>\n",
        head.html,
        escaped(command),
        today(),
        escaped(&machine()),
    )
}

fn figures(figures: &[Drawn]) -> String {
    let of = |figure: &&Drawn| !figure.name.starts_with("episode_");
    let chart = |figure: &Drawn| {
        let small = if figure.name == "collision_by_drift" { " small" } else { "" };
        format!(
            "<figure class=\"chart{small}\" id=\"figure-{}\">{}</figure>\n",
            figure.name, figure.svg
        )
    };
    figures.iter().filter(of).map(chart).collect()
}

/// The selected episodes as links, and the player.
fn watch(programme: &Programme) -> String {
    if programme.choices.is_empty() {
        return String::new();
    }
    // The first of each reason in each task, by task.
    let mut chosen: Vec<(&str, Vec<(Why, &Choice)>)> = Vec::new();
    for choice in &programme.choices {
        if chosen.last().is_none_or(|(task, _)| *task != choice.task) {
            chosen.push((&choice.task, Vec::new()));
        }
        let Some((_, links)) = chosen.last_mut() else { continue };
        for why in choice.why.iter().filter(|why| **why != Why::First) {
            if !links.iter().any(|(known, _)| known == why) {
                links.push((*why, choice));
            }
        }
    }
    let mut rows = String::new();
    for (task, mut links) in chosen {
        links.sort_by_key(|(why, _)| *why);
        let _ = write!(rows, "<li><strong>{}</strong><div>", escaped(task));
        for (why, Choice { id, regime, .. }) in links {
            let (id, regime) = (escaped(id), escaped(regime));
            let words = words(why);
            let _ =
                write!(rows, "<a href=\"#episode={id}\">{words}<small>{regime} drift</small></a>");
        }
        rows += "</div></li>\n";
    }
    format!(
        "<p>Episodes that were chosen by rule: rougher drift first, then lower seeds. Without and with the \
         shield, the same seed on one clock. Every trace below was audited when this page was made.</p>\n\
         <ul class=\"told\">\n{rows}</ul>\n{}",
        shell::PLAYER
    )
}

/// What a reason is called.
pub(crate) fn words(why: Why) -> &'static str {
    match why {
        Why::Saved => "The DQN fails, CPSS does not",
        Why::Lost => "CPSS fails all the same",
        Why::LongestIntervention => "The longest intervention",
        Why::FalseAlarm => "A false alarm",
        Why::First => "The first episode, whatever came of it",
    }
}

fn interventions(tables: &[Table]) -> String {
    let of = |table: &&Table| table.name.starts_with("what_if");
    tables.iter().filter(of).map(html::table).collect()
}

fn doubts() -> String {
    let mut list = String::new();
    for doubt in paper::doubts() {
        let _ = writeln!(
            list,
            "<li>{} <span class=\"cells\">{}.</span></li>",
            escaped(&doubt.claim),
            escaped(&doubt.places.join("; "))
        );
    }
    format!(
        "<p>Found by comparing the paper's numbers with each other, and with nothing of ours. They are listed \
         because they limit what a comparison with those columns can say.</p>\n\
         <ol class=\"doubts\">\n{list}</ol>\n"
    )
}

/// The chosen episodes as films, each once.
fn programme(selected: &[Selected]) -> Result<Programme> {
    let mut programme = Programme::default();
    // By place: which episode a choice is. Addresses do not tell, since two regimes may share one.
    let mut episodes = Vec::new();
    for chosen in selected {
        let Selected { task, regime, policy, seed, why, .. } = chosen;
        let episode = (task, regime, policy, seed);
        if let Some(place) = episodes.iter().position(|known| *known == episode) {
            programme.choices[place].why.push(*why);
            continue;
        }
        episodes.push(episode);
        let mut id = address(&[task, regime, &policy.to_string(), &seed.to_string()]);
        while programme.choices.iter().any(|choice| choice.id == id) {
            id.push_str("-other");
        }
        let mut films = Vec::new();
        // The policy alone on the left, the shield on the right.
        for trace in chosen.traces.iter().rev() {
            let place = programme
                .replays
                .add(&trace.file, trace.text.as_bytes())
                .with_context(|| format!("the trace {}", trace.file))?;
            // The page says that every trace was audited, so one that is unsound is no part of it.
            if let Some(finding) = &programme.replays.films[place].unsound {
                bail!("the trace {} does not audit: {finding}; play it again", trace.file);
            }
            films.push((trace.arm.clone(), place));
        }
        let (task, regime) = (task.clone(), regime.clone());
        let (name, why) = (format!("seed {seed}, policy {policy}"), vec![*why]);
        programme.choices.push(Choice { id, task, regime, name, why, films });
    }
    for choice in &mut programme.choices {
        choice.why.sort();
        let why: Vec<&str> = choice.why.iter().map(|why| words(*why)).collect();
        choice.name = format!("{}: {}", choice.name, why.join("; "));
    }
    Ok(programme)
}

/// An episode's name in an address. A regime or a policy may be a path with any sign in it; what has a
/// meaning in an address is replaced.
pub(crate) fn address(parts: &[&str]) -> String {
    let plain = |sign: char| sign.is_ascii_alphanumeric() || "-_./".contains(sign);
    parts.join("/").chars().map(|sign| if plain(sign) { sign } else { '-' }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_holds_nothing_that_an_address_would_misread() {
        let parts = ["merge-v0", "my regimes/a&b=c#1.toml", "builtin:0", "7"];
        assert_eq!(address(&parts), "merge-v0/my-regimes/a-b-c-1.toml/builtin-0/7");
    }

    fn chosen(regime: &str, why: Why) -> Selected {
        let (task, regime) = ("merge-v0".to_owned(), regime.to_owned());
        Selected { task, why, regime, policy: 0, seed: 7, traces: Vec::new() }
    }

    #[test]
    fn episodes_that_share_an_address_stay_two() {
        let selected =
            [chosen("a&b", Why::First), chosen("a=b", Why::First), chosen("a=b", Why::FalseAlarm)];
        let choices = programme(&selected).unwrap().choices;
        let found: Vec<_> = choices
            .iter()
            .map(|one| (one.id.as_str(), one.regime.as_str(), one.why.len()))
            .collect();
        let ids = ["merge-v0/a-b/0/7", "merge-v0/a-b/0/7-other"];
        assert_eq!(found, [(ids[0], "a&b", 1), (ids[1], "a=b", 2)]);
    }
}
