//! Contract: no reader of the project panics, hangs, takes memory that its file does not explain, or refuses without a
//! reason. A few thousand damaged files each, from a seed that is fixed; longer by hand: see the crate's first page.

#![allow(clippy::unwrap_used, reason = "a test may stop at the first surprise")]

use cpss_fuzz::campaign::{Until, run};
use cpss_fuzz::mutate::Format;
use cpss_fuzz::targets::{Answer, TARGETS, Target};
use cpss_fuzz::watch::{Fault, Watch};

/// What all damage follows from.
const SEED: u64 = 23;

/// Readers are not all equally fast; each takes about a second.
fn inputs(target: &Target) -> u64 {
    match target.name {
        "regime" | "config" => 1_000,
        "trace" | "record" => 2_000,
        _ => 5_000,
    }
}

#[test]
fn no_reader_is_brought_down() {
    let folder = tempfile::tempdir().unwrap();
    let mut faults = Vec::new();
    for target in &TARGETS {
        let until = Until::Inputs(inputs(target));
        match run(target, SEED, until, folder.path()) {
            // Damage that is always refused in one way, or never, tries nothing.
            Ok(tried) if target.name == "scene" => assert!(tried.accepted > 100, "{tried}"),
            Ok(tried) => assert!(tried.reasons >= 1, "{}: {tried}", target.name),
            Err(found) => {
                let input =
                    String::from_utf8_lossy(&std::fs::read(&found.input).unwrap()).into_owned();
                faults.push(format!(
                    "{}, seed {SEED}: {}\n{:.2000}",
                    target.name, found.fault, input
                ));
            }
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

/// A target that does what its input says.
fn wicked(input: &[u8]) -> Answer {
    match input {
        b"panic" => panic!("on purpose"),
        b"greedy" => {
            std::hint::black_box(vec![1_u8; 100 << 20]);
            Answer::Accepted
        }
        b"silent" => Answer::Refused(" ".to_owned()),
        _ => Answer::Refused("a reason".to_owned()),
    }
}

#[test]
fn every_fault_is_noticed() {
    let seeds = || vec![b"good".to_vec()];
    let target = Target { name: "wicked", format: Format::Text, seeds, read: wicked };
    let folder = tempfile::tempdir().unwrap();
    let watch = Watch::new(&target, folder.path());
    let fault = |input: &[u8]| watch.look(input).unwrap_err();
    assert!(matches!(fault(b"panic"), Fault::Panic(said) if said.contains("on purpose")));
    assert!(matches!(fault(b"greedy"), Fault::Greedy(_)));
    assert_eq!(fault(b"silent"), Fault::Silent);
    assert_eq!(watch.look(b"good"), Ok(Answer::Refused("a reason".to_owned())));
    assert_eq!(std::fs::read(folder.path().join("wicked.current")).unwrap(), b"good");
}
