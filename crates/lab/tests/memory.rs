//! Contract: a shield with a memory plays episode after episode as if it had never stopped, its traces are derived from what it
//! remembered, and cars that share a memory are one car.

#![allow(clippy::unwrap_used, reason = "a test may stop at the first surprise")]

mod traces;

use std::fs;
use std::path::Path;
use std::sync::Arc;

use assert_cmd::Command;
use cpss::measure::contest::{Contest, Traced};
use cpss::play::arm::{Arm, ShieldSettings};
use cpss::play::policy::PolicySource;
use cpss::record::exact::Exact;
use cpss::record::memory::{AlarmWord, MemoryLine, MemorySettings, NoveltySettings};
use cpss::trace::audit::{Problem, audit};
use cpss_highway::TaskId;
use cpss_shield::{RiskSpec, Surprise};
use serde_json::Value;
use traces::{Parts, REGIME, critic, regime};

fn cpss(folder: &Path, arguments: &[&str]) -> Result<String, String> {
    let mut command = Command::cargo_bin("cpss").unwrap();
    let run = command.current_dir(folder).args(arguments).output().unwrap();
    match run.status.success() {
        true => Ok(String::from_utf8(run.stdout).unwrap()),
        false => Err(String::from_utf8(run.stderr).unwrap()),
    }
}

/// Plays some episodes of the merge with a memory file, in a folder.
fn play(folder: &Path, first: u64, episodes: u64, more: &[&str]) -> Result<Value, String> {
    let (first, episodes) = (first.to_string(), episodes.to_string());
    let cell = ["evaluate", "--env", "merge-v0", "--regime", "high", "--method", "dqn", "--json"];
    let seeds = ["--seed", &first, "--episodes", &episodes];
    let text = cpss(folder, &[&cell[..], &seeds, more].concat())?;
    Ok(serde_json::from_str(&text).unwrap())
}

/// A few episodes in a row by a critic that knows nothing, after some in which incidents surprised it.
fn in_a_row(settings: MemorySettings) -> Vec<Traced> {
    let task = TaskId::MergeV0;
    let regime = regime(task);
    let contest = Contest {
        regime: &regime,
        regime_name: REGIME,
        arm: Arm::Cpss(None),
        settings: &ShieldSettings::shipped(task).unwrap(),
        risk: Arc::new(critic(regime.task())),
        policy: &PolicySource::Builtin(0),
        gaze: cpss::play::sensor::Gaze::PERFECT,
        sensor_name: "perfect",
        asks_what_if: true,
    };
    let seeds: Vec<u64> = (1_000_000..1_000_006).collect();
    let (_, mut memory) = settings.open(&RiskSpec::new()).unwrap();
    (0..5).for_each(|_| memory.end_episode(Some(Surprise::of(1.0))));
    contest.trace_in_a_row(&seeds, settings, Some(&MemoryLine::of(&memory))).unwrap()
}

/// Settings by which this critic's surprises are felt.
fn settings() -> MemorySettings {
    MemorySettings { max_shift: 2.0, ..MemorySettings::new(0.3) }
}

#[test]
fn a_memory_goes_on_from_run_to_run_as_if_it_had_never_stopped() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    play(at, 1_000_000, 3, &["--memory", "parts.json"]).unwrap();
    let parts = play(at, 1_000_003, 3, &["--memory", "parts.json"]).unwrap();
    let whole = play(at, 1_000_000, 6, &["--memory", "whole.json"]).unwrap();
    let read = |name| fs::read_to_string(at.join(name)).unwrap();
    assert_eq!(read("parts.json"), read("whole.json"));
    assert_eq!(parts["recalibration"], whole["recalibration"]);
    // Without a file it lasts as long as the run, and comes to the same.
    let bare = play(at, 1_000_000, 6, &["--memory"]).unwrap();
    assert_eq!(bare["recalibration"], whole["recalibration"]);
    assert!(bare["alarms"].is_array() && bare["novelty"] == whole["novelty"]);
    let shown: Value =
        serde_json::from_str(&cpss(at, &["memory", "show", "whole.json", "--json"]).unwrap())
            .unwrap();
    assert_eq!(shown[0]["episodes"], 6);
    assert_eq!(shown[0]["recalibration"], whole["recalibration"]);
    assert!(cpss(at, &["memory", "show", "whole.json"]).unwrap().contains("log-odds raised by"));
    assert_eq!(fs::read_dir(at).unwrap().count(), 2, "no lock and no draft is left");
}

#[test]
fn a_run_that_is_killed_loses_the_running_episode_at_most() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let kept = |name: &str| -> u64 {
        let text = cpss(at, &["memory", "show", name, "--json"]).unwrap();
        serde_json::from_str::<Value>(&text).unwrap()[0]["episodes"].as_u64().unwrap()
    };
    let cell =
        "evaluate --env merge-v0 --regime high --method dqn --seed 1000000 --episodes 100000";
    let mut run = std::process::Command::new(assert_cmd::cargo::cargo_bin!("cpss"))
        .current_dir(at)
        .args(cell.split(' '))
        .args(["--memory", "killed.json"])
        .stderr(std::process::Stdio::null())
        .spawn()
        .unwrap();
    while !at.join("killed.json").exists() || kept("killed.json") < 3 {
        assert!(run.try_wait().unwrap().is_none(), "it ended by itself");
    }
    let refusal = play(at, 1_000_000, 1, &["--memory", "killed.json"]).unwrap_err();
    assert!(refusal.contains("in use by process"), "{refusal}");
    run.kill().unwrap();
    run.wait().unwrap();
    // Whatever it had kept is whole, and is what that many episodes lead to.
    let episodes = kept("killed.json");
    play(at, 1_000_000, episodes, &["--memory", "whole.json"]).unwrap();
    let read = |name| fs::read_to_string(at.join(name)).unwrap();
    assert_eq!(read("killed.json"), read("whole.json"));
    play(at, 1_000_000 + episodes, 1, &["--memory", "killed.json"]).unwrap();
    assert_eq!(kept("killed.json"), episodes + 1);
}

#[test]
fn a_file_that_is_no_memory_of_this_run_is_refused_and_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    play(at, 1_000_000, 1, &["--memory", "car.json"]).unwrap();
    let text = fs::read_to_string(at.join("car.json")).unwrap();
    let edited = text.replace("\"episodes\": 1,", "\"episodes\": 7,");
    fs::write(at.join("edited.json"), &edited).unwrap();
    let refusal = play(at, 1_000_001, 1, &["--memory", "edited.json"]).unwrap_err();
    assert!(refusal.contains("edited.json") && refusal.contains("it was edited"), "{refusal}");
    assert_eq!(fs::read_to_string(at.join("edited.json")).unwrap(), edited);
    let other = ["--memory", "car.json", "--risk", "stationary"];
    let refusal = play(at, 1_000_001, 1, &other).unwrap_err();
    assert!(refusal.contains("about the critic"), "{refusal}");
    fs::write(at.join("shield.toml"), "budget = 0.01\nhorizon = 20\nrecalibration = 0.5\n")
        .unwrap();
    let other = ["--memory", "car.json", "--shield", "shield.toml"];
    let refusal = play(at, 1_000_001, 1, &other).unwrap_err();
    assert!(refusal.contains("learns by"), "{refusal}");
    assert_eq!(fs::read_to_string(at.join("car.json")).unwrap(), text);
}

#[test]
fn what_the_cars_of_a_fleet_have_found_is_merged() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    play(at, 1_000_000, 2, &["--memory", "base.json"]).unwrap();
    for (name, seed) in [("one.json", 1_000_010), ("two.json", 1_000_020)] {
        cpss(at, &["memory", "fork", "base.json", "--out", name]).unwrap();
        let refusal = cpss(at, &["memory", "fork", "base.json", "--out", name]).unwrap_err();
        assert!(refusal.contains("is there already"), "{refusal}");
        play(at, seed, 2, &["--memory", name]).unwrap();
    }
    let merge = |files: &[&str]| {
        cpss(at, &[&["memory", "merge"], files, &["--out", "fleet.json"]].concat())
    };
    assert!(merge(&["one.json", "base.json"]).unwrap_err().contains("was not forked"));
    assert!(merge(&["one.json", "one.json"]).unwrap_err().contains("count twice"));
    assert!(!at.join("fleet.json").exists());
    assert!(merge(&["one.json", "two.json"]).unwrap().contains("episodes          6"));
    assert!(merge(&["one.json", "two.json"]).unwrap_err().contains("is there already"));
    let over_base = ["memory", "merge", "one.json", "two.json", "--out", "base.json"];
    assert!(cpss(at, &over_base).unwrap().contains("episodes          6"));
    // It is a memory like any other.
    play(at, 1_000_030, 1, &["--memory", "fleet.json"]).unwrap();
    let shown: Value =
        serde_json::from_str(&cpss(at, &["memory", "show", "fleet.json", "--json"]).unwrap())
            .unwrap();
    assert_eq!(shown[0]["episodes"], 7);
}

#[test]
fn after_an_alarm_that_was_seen_to_evidence_begins_anew_and_risks_stay_raised() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    play(at, 1_000_000, 12, &["--memory", "car.json", "--risk", "stationary"]).unwrap();
    let shown = |name| -> Value {
        serde_json::from_str(&cpss(at, &["memory", "show", name, "--json"]).unwrap()).unwrap()
    };
    let before = shown("car.json")[0].clone();
    assert!(!before["alarms"].as_array().unwrap().is_empty(), "{before}");
    cpss(at, &["memory", "restart", "car.json"]).unwrap();
    let after = shown("car.json")[0].clone();
    assert!(after["alarms"].as_array().unwrap().is_empty(), "{after}");
    assert_eq!(after["recalibration"], before["recalibration"]);
    assert!(after["recalibration"].as_f64().unwrap() > 0.0);
    assert_eq!(after["episodes"], before["episodes"]);
    // It goes on, and a fleet's part is not restarted by itself.
    play(at, 1_000_020, 1, &["--memory", "car.json", "--risk", "stationary"]).unwrap();
    cpss(at, &["memory", "fork", "car.json", "--out", "one.json"]).unwrap();
    assert!(cpss(at, &["memory", "restart", "one.json"]).unwrap_err().contains("fleet"));
}

#[test]
fn traces_with_a_memory_are_derived_from_what_it_remembered() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    play(at, 1_000_000, 3, &["--memory", "--trace", "traces"]).unwrap();
    for entry in fs::read_dir(at.join("traces")).unwrap() {
        let bytes = fs::read(entry.unwrap().path()).unwrap();
        let report = audit(&bytes).unwrap();
        assert!(report.taken_as_written.contains(&"header.memory"));
    }
    let traces = in_a_row(settings());
    let parts: Vec<Parts> = traces.iter().map(|traced| Parts::of(&traced.text)).collect();
    let mut raised = 0;
    for (traced, parts) in traces.iter().zip(&parts) {
        let report = audit(traced.text.as_bytes()).unwrap_or_else(|finding| panic!("{finding}"));
        let shift = parts.header.memory.unwrap().found.recalibration.shift;
        assert_eq!(report.recalibration, shift);
        raised += u32::from(shift > 0.0);
        // What is judged is the raised risk, and what is written the critic's own.
        let least =
            |step: &cpss::trace::Step| step.risks.iter().map(|risk| risk.0).fold(1.0, f64::min);
        let is_raised = |step: &cpss::trace::Step| step.unavoidable.0 > least(step);
        assert!(parts.steps.iter().all(|step| is_raised(step) == (shift > 0.0)));
    }
    assert!(raised > 0, "no episode had raised risks, so this proves nothing");
    for (before, after) in parts.iter().zip(&parts[1..]) {
        assert_eq!(before.end.memory.unwrap(), after.header.memory.unwrap().found);
    }
}

#[test]
fn a_forged_memory_is_derived_otherwise() {
    let traces = in_a_row(settings());
    let sound = traces.iter().map(|traced| Parts::of(&traced.text));
    let sound =
        sound.rev().find(|parts| parts.header.memory.unwrap().found.recalibration.shift > 0.0);
    let sound = sound.unwrap();
    let last = sound.steps.len() + 2;
    let found = |edit: &dyn Fn(&mut Parts)| {
        let mut forged = sound.clone();
        edit(&mut forged);
        let finding = audit(forged.sealed().as_bytes()).unwrap_err();
        let field = match finding.problem {
            Problem::Differs { field, .. } => field,
            Problem::Refused(_) => "refused",
            other => panic!("{other:?}"),
        };
        (finding.line, field)
    };
    let memory = |parts: &mut Parts, edit: &dyn Fn(&mut MemoryLine)| {
        edit(&mut parts.header.memory.as_mut().unwrap().found);
    };
    // Another shift raises other risks; other evidence leads elsewhere.
    let (line, field) = found(&|parts| memory(parts, &|line| line.recalibration.shift *= 0.5));
    assert_eq!((line, field), (2, "unavoidable"));
    let (line, field) = found(&|parts| memory(parts, &|line| line.evidence.sums[1][0] += 1.0));
    assert_eq!((line, field), (last, "certificate"));
    assert_eq!(found(&|parts| memory(parts, &|line| line.evidence.seen += 1)), (last, "memory"));
    let bad = found(&|parts| memory(parts, &|line| line.recalibration.shift = 1e9));
    assert_eq!(bad, (1, "refused"));
    // Whoever has raised an alarm promises nothing any more.
    let promising = |parts: &mut Parts| {
        memory(parts, &|line| line.evidence.alarm = Some(1));
        parts.header.risk.conservative = true;
    };
    assert_eq!(found(&promising), (1, "risk: conservative after an alarm"));
    assert_eq!(found(&|parts| parts.header.memory = None).1, "unavoidable");
    assert_eq!(found(&|parts| parts.end.memory = None), (last, "memory"));
    let learned = |parts: &mut Parts| {
        parts.end.memory.as_mut().unwrap().recalibration.gained += 0.25;
    };
    assert_eq!(found(&learned), (last, "memory"));
    let alarm = |parts: &mut Parts| {
        let after = 3;
        parts.end.record.alarm =
            Some(cpss::record::memory::AlarmLine { kind: AlarmWord::Novelty, after });
    };
    assert_eq!(found(&alarm), (last, "record: alarm"));
    assert_eq!(found(&|parts| parts.end.record.novelty = 1.0), (last, "record: novelty"));
}

/// Nobody measures scores yet, so they are put into a trace here, with what follows from them.
#[test]
fn scores_of_episodes_are_derived_too() {
    let bounds = [0.5, 0.3, 0.2, 0.1, 0.1, 0.05];
    let novelty = NoveltySettings { borders: [1.0, 2.0, 3.0, 4.0, 5.0], bounds, level: 4.0 };
    let traces = in_a_row(settings());
    for (score, rings) in [(0.5, false), (9.0, true), (f64::NAN, true)] {
        let mut parts = Parts::of(&traces[0].text);
        let start = parts.header.memory.as_mut().unwrap();
        start.settings.novelty = Some(novelty);
        start.settings.precaution = 2.0;
        let (_, mut memory) = start.settings.open(&RiskSpec::new()).unwrap();
        start.found.novelty = MemoryLine::of(&memory).novelty;
        // A score is of the novelty alone: the rest of this memory stays empty.
        memory.end_episode_scored(None, Some(score));
        let after = MemoryLine::of(&memory);
        assert_eq!(memory.alarm().is_some(), rings);
        let end = &mut parts.end;
        end.record.score = Some(Exact(score));
        end.record.novelty = memory.novelty().unwrap().value();
        end.record.alarm = memory.alarm().map(Into::into);
        let kept = end.memory.as_mut().unwrap();
        kept.novelty = after.novelty;
        if rings {
            // The precaution is in force at once, and is nobody's surprise.
            (kept.recalibration.learned, kept.recalibration.shift) = (2.0, 2.0);
            (end.record.recalibration, end.certificate.recalibration) = (2.0, Exact(2.0));
        }
        let report = audit(parts.sealed().as_bytes()).unwrap_or_else(|finding| panic!("{finding}"));
        assert!(report.taken_as_written.contains(&"end.record.score"));
        assert_eq!(report.alarm.is_some(), rings);
        parts.end.record.score = Some(Exact(if rings { 0.5 } else { 9.0 }));
        assert!(audit(parts.sealed().as_bytes()).is_err(), "another score, another memory");
    }
}

#[test]
fn regression_a_lock_of_the_users_own_is_left_alone_and_a_link_is_no_way_around_one() {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path();
    fs::write(place.join("poetry.lock"), "mine").unwrap();
    for memory in ["poetry.json", "poetry"] {
        play(place, 1_000_000, 1, &["--memory", memory]).unwrap();
    }
    assert_eq!(fs::read_to_string(place.join("poetry.lock")).unwrap(), "mine");
    #[cfg(unix)]
    {
        std::os::unix::fs::symlink("poetry.json", place.join("link.json")).unwrap();
        let held = fs::File::create(place.join("poetry.json.cpss-lock")).unwrap();
        held.lock().unwrap();
        let refusal = play(place, 1_000_001, 1, &["--memory", "link.json"]).unwrap_err();
        assert!(refusal.contains("in use"), "{refusal}");
    }
}
