//! How long is a target tried, and what came of it?
//!
//! [`run`] damages seeds until a count or a time is up, and grows the seeds by what led to something new. The first fault
//! ends it, with the input kept in a file.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::mutate::Mutator;
use crate::targets::{Answer, Target};
use crate::watch::{Fault, Watch};

/// When is it enough?
#[derive(Clone, Copy, Debug)]
pub enum Until {
    /// After so many inputs.
    Inputs(u64),
    /// After so much time.
    Time(Duration),
}

/// What came of a campaign.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tried {
    /// Inputs that were read.
    pub inputs: u64,
    /// Of these, inputs that were taken for good.
    pub accepted: u64,
    /// Different reasons for refusals.
    pub reasons: usize,
}

/// A fault, and the input that led to it.
#[derive(Clone, Debug)]
pub struct Found {
    /// What happened.
    pub fault: Fault,
    /// Where the input is.
    pub input: PathBuf,
}

/// The most seeds; beyond, nothing new is added.
const MOST_SEEDS: usize = 2_000;

/// Letters in which reasons of one reader's place are alike, and the most seeds of such.
const BEGINNING: usize = 16;
const MOST_ALIKE: usize = 20;

/// Tries a target. The input at hand, and one that fails, lie in `folder`.
///
/// # Errors
///
/// The first fault.
pub fn run(target: &Target, seed: u64, until: Until, folder: &Path) -> Result<Tried, Found> {
    let watch = Watch::new(target, folder);
    let mut mutator = Mutator::new(target.format, seed);
    let mut seeds = target.good_files();
    let (mut tried, mut known) = (Tried::default(), BTreeSet::new());
    let mut alike: BTreeMap<String, usize> = BTreeMap::new();
    let begin = Instant::now();
    let enough = |tried: &Tried| match until {
        Until::Inputs(count) => tried.inputs >= count,
        Until::Time(time) => begin.elapsed() >= time,
    };
    let look = |input: &[u8]| {
        let found = watch.look(input);
        found.map_err(|fault| {
            let kept = folder.join(format!("{}-{seed}.failed", target.name));
            // Where it cannot be kept, the seed leads to it again.
            let _ = std::fs::write(&kept, input);
            Found { fault, input: kept }
        })
    };
    // Good files first: a reader that refuses those would pass every other test.
    for seed in seeds.clone() {
        tried.inputs += 1;
        match look(&seed)? {
            Answer::Accepted => tried.accepted += 1,
            Answer::Refused(reason) => panic!("{}: a good file is refused: {reason}", target.name),
        }
    }
    while !enough(&tried) {
        let input = mutator.next(&seeds);
        tried.inputs += 1;
        let sign = match look(&input)? {
            Answer::Accepted => {
                tried.accepted += 1;
                continue;
            }
            Answer::Refused(reason) => kind_of(&reason),
        };
        // Where a reason repeats what it was given there is always a new one: only so many of each beginning are kept.
        let alike = alike.entry(sign.chars().take(BEGINNING).collect::<String>()).or_insert(0);
        if known.insert(sign) && *alike < MOST_ALIKE && seeds.len() < MOST_SEEDS {
            *alike += 1;
            seeds.push(input);
        }
    }
    tried.reasons = known.len();
    Ok(tried)
}

/// A reason without its particulars: no numbers, nothing that is quoted, and none of the lines of a TOML file that an
/// error shows. What is left is the reader's own words, so that two inputs refused at one place are of one kind.
fn kind_of(reason: &str) -> String {
    let mut kind = String::new();
    for line in reason.lines().filter(|line| !line.contains(" | ") && !line.ends_with(" |")) {
        let mut quote = None;
        for sign in line.chars() {
            match (quote, sign) {
                (Some(open), _) if open == sign => quote = None,
                (Some(_), _) => {}
                (None, '`' | '"') => quote = Some(sign),
                (None, _) if sign.is_ascii_alphabetic() => kind.push(sign),
                (None, _) => {}
            }
        }
    }
    // The readers' own words come first; what follows may be the file's.
    kind.truncate(60);
    kind
}

impl std::fmt::Display for Tried {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Tried { inputs, accepted, reasons } = self;
        write!(f, "{inputs} inputs, {accepted} accepted, refused for {reasons} kinds of reason")
    }
}
