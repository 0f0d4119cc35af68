//! Contract: whatever is done to the bytes of a trace is found, and the line named; whoever hashes anew is
//! found by what does not follow, or has changed nothing but what the audit lists as taken as written; and
//! no bytes at all make it panic.

#![allow(clippy::unwrap_used, reason = "a test may stop at the first surprise")]

mod traces;

use cpss::play::arm::Arm;
use cpss::trace::RiskLine;
use cpss::trace::audit::{DISTANCE_TOLERANCE, Finding, Problem, Report, SPEED_TOLERANCE, audit};
use cpss_highway::TaskId;
use cpss_highway::random::Generator;
use cpss_shield::ShieldSpec;
use rayon::prelude::*;
use traces::{Parts, first_replaced_well, joined, lines, resealed, trace_of};

fn merge_trace() -> String {
    first_replaced_well().sealed()
}

fn finding(trace: &str) -> Finding {
    audit(trace.as_bytes()).unwrap_err()
}

/// The line of a byte, from 1.
fn line_of(trace: &[u8], place: usize) -> usize {
    1 + trace[..place].iter().filter(|byte| **byte == b'\n').count()
}

/// Flips a bit, and sees it found in its line.
fn check_flip(trace: &[u8], place: usize, bit: usize) {
    let mut flipped = trace.to_vec();
    flipped[place] ^= 1 << bit;
    let found = audit(&flipped).expect_err("a flipped bit");
    assert_eq!(found.line, line_of(trace, place), "byte {place}, bit {bit}: {found}");
}

/// Every one, so those that make it invalid UTF-8, and those that join or part lines, are among them.
#[test]
fn every_flipped_bit_of_a_small_trace_is_found_in_its_line() {
    let traces = (1_000_000..1_000_020).map(|seed| trace_of(TaskId::MergeV0, Arm::Dqn, seed));
    let small = traces.min_by_key(String::len).unwrap().into_bytes();
    assert!(audit(&small).is_ok());
    let places: Vec<usize> = (0..small.len()).collect();
    places.par_iter().for_each(|place| (0..8).for_each(|bit| check_flip(&small, *place, bit)));
}

#[test]
fn flipped_bits_of_a_large_trace_are_found_in_their_lines() {
    let traces = (1_000_000..1_000_003).map(|seed| trace_of(TaskId::RacetrackV0, Arm::Dqn, seed));
    let large = traces.max_by_key(String::len).unwrap().into_bytes();
    assert!(large.len() > 100_000, "{}", large.len());
    let mut random = Generator::seeded(76);
    let flips: Vec<_> = (0..300).map(|_| (random.choice(large.len()), random.choice(8))).collect();
    flips.par_iter().for_each(|(place, bit)| check_flip(&large, *place, *bit));
}

#[test]
fn an_edited_line_is_named() {
    let whole = lines(&merge_trace());
    for place in [0, 1, whole.len() / 2, whole.len() - 1] {
        let mut edited = whole.clone();
        edited[place] = edited[place].replacen("0.", "1.", 1);
        assert_ne!(edited, whole);
        assert_eq!(finding(&joined(&edited)), Finding { line: place + 1, problem: Problem::Chain });
    }
}

#[test]
fn a_cut_trace_is_found() {
    let whole = lines(&merge_trace());
    // The end is missing, from one line to all but one: the place is where the next should be.
    for kept in 1..whole.len() {
        let found = finding(&joined(&whole[..kept]));
        assert_eq!(found, Finding { line: kept + 1, problem: Problem::Cut });
    }
    assert_eq!(finding(""), Finding { line: 1, problem: Problem::Cut });
    // Something in the middle is missing, and then half a line at the end.
    let middle = [&whole[..4], &whole[5..]].concat();
    assert_eq!(finding(&joined(&middle)), Finding { line: 5, problem: Problem::Chain });
    let text = joined(&whole);
    assert_eq!(finding(&text[..text.len() - 9]).problem, Problem::Cut);
    // A forger who hashes anew is given away by the steps' numbers, and by the record.
    let found = finding(&resealed(&middle));
    assert!(matches!(found.problem, Problem::Differs { field: "t", .. }), "{found}");
    let last = whole.len() - 1;
    let shortened = [&whole[..last - 1], &whole[last..]].concat();
    let found = finding(&resealed(&shortened));
    assert!(matches!(found.problem, Problem::Differs { field: "certificate", .. }), "{found}");
}

#[test]
fn moved_and_added_lines_are_found() {
    let whole = lines(&merge_trace());
    let mut moved = whole.clone();
    moved.swap(3, 4);
    assert_eq!(finding(&joined(&moved)), Finding { line: 4, problem: Problem::Chain });
    let found = finding(&resealed(&moved));
    assert!(matches!(found.problem, Problem::Differs { field: "t", .. }), "{found}");
    let mut added = whole.clone();
    added.insert(5, whole[4].clone());
    assert_eq!(finding(&joined(&added)), Finding { line: 6, problem: Problem::Chain });
    let mut longer = whole.clone();
    longer.push(whole[1].clone());
    assert_eq!(finding(&joined(&longer)).problem, Problem::Cut);
    assert_eq!(finding(&(joined(&whole) + "\n")).problem, Problem::Cut);
}

/// What may happen to a file, without anybody hashing anew.
#[test]
fn damaged_bytes_are_found() {
    let trace = merge_trace().into_bytes();
    (0..5_000_u64).into_par_iter().for_each(|round| {
        let mut random = Generator::seeded(round);
        let mut damaged = trace.clone();
        let place = random.choice(trace.len());
        let size = 1 + random.choice(200.min(trace.len() - place));
        match random.choice(6) {
            0 => damaged[place] ^= 1 << random.choice(8),
            1 => drop(damaged.drain(place..place + size)),
            2 => damaged.insert(place, random.choice(256) as u8),
            3 => damaged.truncate(place),
            // A piece from elsewhere, put between or over.
            4 => {
                let from = random.choice(trace.len() - size);
                let piece = trace[from..from + size].to_vec();
                drop(damaged.splice(place..place, piece));
            }
            _ => {
                let from = random.choice(trace.len() - size);
                damaged[place..place + size].copy_from_slice(&trace[from..from + size]);
            }
        }
        // A byte put beside its twin changes nothing, and there is nothing to find then.
        if damaged != trace {
            assert!(audit(&damaged).is_err(), "round {round}, byte {place}");
        }
    });
}

/// What a forger may do who hashes anew: found, or harmless.
#[test]
fn forged_lines_are_found_or_harmless() {
    let whole = lines(&merge_trace());
    let original = Parts::of(&joined(&whole));
    let others = lines(&trace_of(TaskId::MergeV0, Arm::Cpss(None), 1_000_009));
    let passed: usize = (0..5_000_u64)
        .into_par_iter()
        .map(|round| {
            let mut random = Generator::seeded(1_000_000 + round);
            let mut forged = whole.clone();
            let place = random.choice(forged.len());
            match random.choice(12) {
                0 => forged.swap(place, random.choice(whole.len())),
                1 => forged.insert(place, whole[random.choice(whole.len())].clone()),
                2 => drop(forged.remove(place)),
                3 => forged[place] = others[random.choice(others.len())].clone(),
                4 => forged[place] = with_a_sign(&whole[place], &mut random),
                _ => forged[place] = with_a_number(&whole[place], &mut random),
            }
            let sealed = resealed(&forged);
            let Ok(report) = audit(sealed.as_bytes()) else { return 0 };
            assert_harmless(&original, &Parts::of(&sealed), &report, round);
            1
        })
        .sum();
    // Both happen, or this test would show nothing.
    assert!((1..4_000).contains(&passed), "{passed} passed");
}

/// A line in which one byte is another.
fn with_a_sign(line: &str, random: &mut Generator) -> String {
    let (body, hash) = line.rsplit_once(",\"h\":").unwrap();
    let mut bytes = body.as_bytes().to_vec();
    let at = random.choice(bytes.len());
    bytes[at] = b"0123456789-.e,[]{}\":nat"[random.choice(23)];
    format!("{},\"h\":{hash}", String::from_utf8(bytes).unwrap())
}

/// A line in which one number is another.
fn with_a_number(line: &str, random: &mut Generator) -> String {
    let (body, hash) = line.rsplit_once(",\"h\":").unwrap();
    let is_number = |sign: char| sign.is_ascii_digit() || ['-', '.', 'e'].contains(&sign);
    let starts: Vec<usize> = body
        .match_indices(|sign: char| sign.is_ascii_digit())
        .map(|(at, _)| at)
        .filter(|at| !body[..*at].ends_with(is_number))
        .collect();
    let start = starts[random.choice(starts.len())];
    let length = body[start..].find(|sign| !is_number(sign)).unwrap_or(body.len() - start);
    let number: f64 = body[start..start + length].parse().unwrap_or(0.0);
    let another = match random.choice(10) {
        0 => number.next_up().to_string(),
        1 => (number + 1.0).to_string(),
        2 => (number * 0.5).to_string(),
        3 => ["0", "1", "2", "-1", "0.5", "1e308", "-0.0", "5e-324"][random.choice(8)].to_owned(),
        4 => "99999999999999999999".to_owned(),
        5 => "1e999".to_owned(),
        6 => "\"nan\"".to_owned(),
        7 => "null".to_owned(),
        8 => (number as i64).to_string(),
        _ => random.uniform(-100.0, 100.0).to_string(),
    };
    format!("{}{another}{},\"h\":{hash}", &body[..start], &body[start + length..])
}

/// Two traces that differ in nothing that the audit vouches for.
fn assert_harmless(original: &Parts, forged: &Parts, report: &Report, round: u64) {
    let (before, after) = (&original.end.record, &forged.end.record);
    let near = |a: f64, b: f64, tolerance: f64| (a - b).abs() <= 2.0 * tolerance;
    assert!(near(before.mean_speed, after.mean_speed, SPEED_TOLERANCE), "round {round}");
    let is_open = report.taken_as_written.contains(&"end.record.min_distance");
    let is_near = near(before.min_distance, after.min_distance, DISTANCE_TOLERANCE);
    assert!(is_open || is_near, "round {round}");
    let [before, after] = [original, forged].map(|parts| lines(&vouched(parts, report).sealed()));
    let same = before.iter().zip(&after).find(|(before, after)| before != after);
    assert_eq!(same, None, "round {round}");
    assert_eq!(before.len(), after.len(), "round {round}");
}

/// In place of a shield that is taken as written.
const SOME_SHIELD: ShieldSpec = ShieldSpec::new(1.0, 1);

/// A trace without what is taken as written.
fn vouched(parts: &Parts, report: &Report) -> Parts {
    let mut parts = parts.clone();
    let header = &mut parts.header;
    for name in [&mut header.program, &mut header.regime, &mut header.policy] {
        name.clear();
    }
    header.risk = RiskLine {
        sha256: String::new(),
        regimes: Vec::new(),
        gamma: 1.0,
        resolution: 0.0,
        conservative: false,
    };
    for step in &mut parts.steps {
        step.preferences.clear();
        step.risks.clear();
        step.density.0 = 0.0;
        step.closeness.0 = 0.0;
        step.reward = 0.0;
        step.conflict = None;
        step.what_if = None;
        step.scene.clear();
    }
    parts.end.scene.clear();
    let record = &mut parts.end.record;
    (record.mean_speed, record.min_distance) = (0.0, 0.0);
    for key in &report.taken_as_written {
        match *key {
            "header.shield" => parts.header.shield = SOME_SHIELD,
            "end.record.reward_change" => record.reward_change = 0.0,
            "end.record.off_road" => record.off_road = false,
            "end.record.success" => record.success = false,
            _ => {}
        }
    }
    parts
}
