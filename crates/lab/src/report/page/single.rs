//! What does the page of one trace say?

use anyhow::Result;

use super::html::escaped;
use super::replay::{Replay, Replays};
use super::{Choice, Programme, address, shell};

/// The page of one trace.
pub(crate) struct Single {
    /// The page.
    pub page: String,
    /// What is wrong with the trace, if it does not audit.
    pub unsound: Option<String>,
}

/// Makes the page that replays a trace.
pub(crate) fn single(file: &str, bytes: &[u8]) -> Result<Single> {
    let programme = programme(file, bytes)?;
    let replay = &programme.replays.films[0];
    let page = shell::page(&title(replay), &body(replay), &programme)?;
    Ok(Single { page, unsound: replay.unsound.clone() })
}

fn programme(file: &str, bytes: &[u8]) -> Result<Programme> {
    let mut replays = Replays::default();
    let place = replays.add(file, bytes)?;
    let replay = &replays.films[place];
    let choice = Choice {
        id: address(&[
            &replay.header.task,
            &replay.header.regime,
            &replay.header.policy,
            &replay.header.seed.to_string(),
        ]),
        task: replay.header.task.clone(),
        regime: replay.header.regime.clone(),
        name: format!("seed {}", replay.header.seed),
        why: Vec::new(),
        films: vec![(replay.header.arm.clone(), place)],
    };
    Ok(Programme { replays, choices: vec![choice] })
}

fn title(replay: &Replay) -> String {
    format!(
        "{}, {}, {} drift, seed {}",
        replay.header.task, replay.header.arm, replay.header.regime, replay.header.seed
    )
}

fn body(replay: &Replay) -> String {
    let audit = match (&replay.unsound, &replay.chain_end) {
        (Some(problem), _) => format!(
            "<p class=\"banner\" role=\"alert\">This trace does not audit: {}. What is shown may be false.</p>",
            escaped(problem)
        ),
        (None, end) => format!(
            "<p class=\"note\">Audited when this page was made: every threshold, verdict, charge and the \
             certificate come out of the trace again, to the last bit. It ends in the hash <code>{}</code>.</p>",
            escaped(end.as_deref().unwrap_or_default())
        ),
    };
    format!(
        "<main>\n<h1 class=\"single\">{}</h1>\n<p>Policy {}, written by {}, from <code>{}</code>.</p>\n{audit}\n{}</main>\n",
        escaped(&title(replay)),
        escaped(&replay.header.policy),
        escaped(&replay.header.program),
        escaped(&replay.file),
        shell::PLAYER
    )
}
