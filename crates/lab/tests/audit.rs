//! Contract: a trace is derived again from itself alone, and whatever was edited, cut, added or moved
//! is found and its line named; no bytes at all make the audit panic.

#![allow(clippy::unwrap_used, reason = "a test may stop at the first surprise")]

mod traces;

use assert_cmd::Command;
use cpss::arm::Arm;
use cpss::audit::{Finding, Problem, audit};
use cpss_highway::TaskId;
use cpss_highway::random::Generator;
use traces::{TASKS, joined, lines, resealed, trace_of};

fn merge_trace() -> String {
    let traces = (1_000_000..).map(|seed| trace_of(TaskId::MergeV0, Arm::Cpss, seed));
    let telling = |trace: &String| trace.contains("\"replace ") || trace.contains("\"infeasible ");
    traces.take(20).find(telling).unwrap()
}

fn finding(trace: &str) -> Finding {
    audit(trace.as_bytes()).unwrap_err()
}

#[test]
fn every_arm_of_every_task_is_derived_again() {
    for task in TASKS {
        for arm in [
            Arm::Dqn,
            Arm::Cpss,
            Arm::Fixed,
            Arm::BudgetOnly,
            Arm::ContextOnly,
            Arm::CpssScaled(50),
            Arm::Random,
            Arm::Constant(0),
        ] {
            let trace = trace_of(task, arm, 1_000_001);
            let report = audit(trace.as_bytes()).unwrap_or_else(|f| panic!("{task:?} {arm}: {f}"));
            assert_eq!(report.steps, trace.lines().count() as u64 - 2);
            assert!(
                report.envelope_held
                    && trace.trim_end().ends_with(&format!("{}\"}}", report.chain_end))
            );
        }
    }
}

#[test]
fn the_same_episode_is_the_same_trace_and_another_seed_another() {
    let trace = |seed| trace_of(TaskId::IntersectionV0, Arm::Cpss, seed);
    assert_eq!(trace(1_000_002), trace(1_000_002));
    assert_ne!(trace(1_000_002), trace(1_000_003));
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

/// A forger who hashes anew has to make every answer follow from every question again.
#[test]
fn a_forged_answer_is_derived_otherwise() {
    let whole = lines(&merge_trace());
    let refused =
        whole.iter().position(|l| l.contains("\"replace ") || l.contains("\"infeasible "));
    let place = refused.unwrap();
    let forge = |place: usize, edit: &dyn Fn(&mut serde_json::Value)| {
        let mut forged = whole.clone();
        let mut line: serde_json::Value = serde_json::from_str(&whole[place]).unwrap();
        line.as_object_mut().unwrap().remove("h");
        edit(&mut line);
        // The keys' order changes, which a reader does not mind, but the end must begin as one.
        let body = line.to_string();
        let body = match body.contains("\"end\":2,") {
            true => format!("{{\"end\":2,{}", &body[1..].replacen("\"end\":2,", "", 1)),
            false => body,
        };
        forged[place] = format!("{},\"h\":\"\"}}", body.strip_suffix('}').unwrap());
        finding(&resealed(&forged))
    };
    let check = |place: usize, field: &str, edit: &dyn Fn(&mut serde_json::Value)| {
        let found = forge(place, edit);
        let is_it = matches!(&found.problem, Problem::Differs { field: f, .. } if *f == field);
        assert!(is_it && found.line == place + 1, "{field}: {found}");
    };
    let nudged = |value: &serde_json::Value| value.as_f64().unwrap().next_up().into();
    check(place, "tau", &|line| line["tau"][0] = nudged(&line["tau"][0]));
    check(place, "tau: cap", &|line| line["tau"][1] = 0.9.into());
    check(place, "tau: budget", &|line| line["tau"][2] = nudged(&line["tau"][2]));
    check(place, "tau: gain", &|line| line["tau"][3] = 0.123.into());
    check(place, "verdict", &|line| line["verdict"] = "admit".into());
    check(place, "ran", &|line| line["ran"] = ((line["ran"].as_u64().unwrap() + 1) % 5).into());
    check(place, "charge", &|line| line["charge"] = 0.125.into());
    check(place, "ledger: spent", &|line| line["ledger"][1] = 0.125.into());
    check(place, "ledger: remaining", &|line| line["ledger"][2] = 99.0.into());
    check(place, "ledger: excess", &|line| line["ledger"][3] = 1e-9.into());
    check(place, "ledger: envelope", &|line| line["ledger"][4] = nudged(&line["ledger"][4]));
    check(place, "tau", &|line| line["density"] = (-1.0).into());
    let last = whole.len() - 1;
    check(last, "certificate", &|line| line["certificate"]["infeasible"] = 77.into());
    check(last, "certificate", &|line| line["certificate"]["envelope_held"] = false.into());
    check(last, "record: return", &|line| line["record"]["episode_return"] = 99.5.into());
    check(last, "record: crashed", &|line| line["scene"][0][4] = 1.into());
    // Laxer rules in the header show at the first decision.
    let found = forge(0, &|line| line["shield"]["tau_cap"] = 0.999.into());
    assert_eq!(found.line, 2, "{found}");
    let found = forge(0, &|line| line["shield"]["budget"] = (-1.0).into());
    assert!(found.to_string().contains("`budget` is out of range"), "{found}");
    let found = forge(0, &|line| line["cpss_trace"] = 9.into());
    assert_eq!(found.problem, Problem::Version(9));
}

#[test]
fn ten_thousand_mutations_are_found_and_none_panics() {
    let trace = merge_trace().into_bytes();
    let mut random = Generator::seeded(77);
    for round in 0..10_000 {
        let mut mutated = trace.clone();
        let place = random.choice(mutated.len());
        match random.choice(5) {
            0 | 1 => mutated[place] ^= 1 << random.choice(8),
            2 => drop(mutated.remove(place)),
            3 => mutated.insert(place, random.choice(256) as u8),
            _ => mutated.truncate(place),
        }
        // A byte put beside its twin changes nothing, and there is nothing to find then.
        if mutated != trace {
            assert!(audit(&mutated).is_err(), "round {round}, byte {place}");
        }
    }
    assert!(audit(&trace).is_ok());
}

#[test]
fn forged_lines_never_panic_the_audit() {
    let whole = lines(&merge_trace());
    let mut random = Generator::seeded(78);
    for _ in 0..1000 {
        let mut forged = whole.clone();
        let place = random.choice(forged.len());
        let (body, hash) = forged[place].rsplit_once(",\"h\":").unwrap();
        let mut bytes = body.as_bytes().to_vec();
        let at = random.choice(bytes.len());
        bytes[at] = b"0123456789-.e,[]{}\":nat"[random.choice(23)];
        forged[place] = format!("{},\"h\":{hash}", String::from_utf8(bytes).unwrap());
        let _ = audit(resealed(&forged).as_bytes());
    }
}

#[test]
fn the_command_says_where_and_fails() {
    let folder = tempfile::tempdir().unwrap();
    let cpss = |arguments: &[&str]| {
        let mut command = Command::cargo_bin("cpss").unwrap();
        let run = command.current_dir(folder.path()).args(arguments).output().unwrap();
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        (run.status.success(), text(run.stdout), text(run.stderr))
    };
    let evaluate = ["evaluate", "--env", "merge-v0", "--regime", "high", "--episodes", "2"];
    let (success, _, error) = cpss(&[evaluate.as_slice(), &["--trace", "traces"]].concat());
    assert!(success, "{error}");
    let name = "traces/merge-v0_high_cpss_builtin-0_1000001.jsonl";
    let (success, out, error) = cpss(&["audit", name, "--json"]);
    assert!(success, "{error}");
    let report: serde_json::Value = serde_json::from_str(&out).unwrap();
    assert_eq!((&report["seed"], &report["envelope_held"]), (&1_000_001.into(), &true.into()));

    let place = folder.path().join(name);
    let trace = std::fs::read_to_string(&place).unwrap();
    std::fs::write(&place, trace.replacen("\"t\":3,", "\"t\":4,", 1)).unwrap();
    let (success, out, error) = cpss(&["audit", name]);
    assert!(!success && out.is_empty() && error.contains("line 5 does not fit"), "{error}");
    let (success, _, error) = cpss(&["audit", "none.jsonl"]);
    assert!(!success && error.contains("none.jsonl"), "{error}");
}
