//! Contract: no reader of the project panics, hangs, takes memory that its file does not explain, or refuses without a
//! reason. A few thousand damaged files each, from a seed that is fixed; longer by hand: see the crate's first page.

#![allow(clippy::unwrap_used, reason = "a test may stop at the first surprise")]

use std::time::Duration;

use cpss_fuzz::campaign::{Until, run};
use cpss_fuzz::mutate::Format;
use cpss_fuzz::targets::{Answer, TARGETS, Target};
use cpss_fuzz::watch::{Fault, MOST_TIME, Watch};

/// What all damage follows from.
const SEED: u64 = 23;

/// Readers are not all equally fast; each takes about a second.
fn inputs(target: &Target) -> u64 {
    match target.name {
        "plan" | "regime" | "config" => 1_000,
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
            Ok(tried) => {
                let tries = tried.reasons >= 2 || (tried.reasons == 1 && tried.accepted > 0);
                assert!(tries, "{}: {tried}", target.name);
            }
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
        b"slow" => {
            std::thread::sleep(MOST_TIME + Duration::from_millis(1));
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
    assert!(matches!(fault(b"slow"), Fault::Slow(_)));
    assert_eq!(watch.look(b"good"), Ok(Answer::Refused("a reason".to_owned())));
    assert_eq!(std::fs::read(folder.path().join("wicked.current")).unwrap(), b"good");
}

/// A good file of a target, with something else in its header.
fn altered(target: &Target, from: &str, to: &str) -> Vec<u8> {
    let with = |seed: Vec<u8>| {
        let length = u64::from_le_bytes(seed[..8].try_into().unwrap()) as usize;
        let (header, numbers) = seed[8..].split_at(length);
        let header = std::str::from_utf8(header).unwrap();
        header.contains(from).then(|| {
            let header = header.replace(from, to);
            let length = (header.len() as u64).to_le_bytes();
            [&length[..], header.as_bytes(), numbers].concat()
        })
    };
    target.good_files().into_iter().find_map(with).unwrap()
}

/// Sizes in the metadata were given room before anybody looked whether the file has as many numbers.
#[test]
fn regression_a_small_file_cannot_ask_for_gigabytes() {
    let folder = tempfile::tempdir().unwrap();
    for (name, from, to) in [
        ("critic", r#"\"encoder\":[4,3]"#, r#"\"encoder\":[16384,16384]"#),
        ("critics", r#"\"head\":[4]"#, r#"\"head\":[16384,16384]"#),
        ("driving-critic", r#"\"head\":[4]"#, r#"\"head\":[16384,16384]"#),
        ("checkpoint", r#"\"hidden\":[4]"#, r#"\"hidden\":[16384,16384]"#),
    ] {
        let target = TARGETS.iter().find(|target| target.name == name).unwrap();
        let input = altered(target, from, to);
        assert!(input.len() < 10_000);
        let said = Watch::new(target, folder.path()).look(&input);
        assert!(matches!(said, Ok(Answer::Refused(_))), "{name}: {said:?}");
    }
}
