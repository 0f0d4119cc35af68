//! Contract: what leaves the laboratory can be read by others: MCAP, the page of evidence, schemas, completions, manual pages, and
//! JSON where a program asks for it.

#![allow(clippy::unwrap_used, reason = "a test may stop at the first surprise")]

use std::fs;
use std::path::Path;

use assert_cmd::Command;
use serde_json::Value;

fn cpss(arguments: &[&str]) -> (bool, String, String) {
    let run = Command::cargo_bin("cpss").unwrap().args(arguments).output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (run.status.success(), text(run.stdout), text(run.stderr))
}

fn traced(folder: &Path) -> String {
    let folder = folder.to_str().unwrap();
    let (success, _, err) =
        cpss(&["evaluate", "--env", "merge-v0", "--episodes", "1", "--trace", folder]);
    assert!(success, "{err}");
    format!("{folder}/merge-v0_stationary_cpss_builtin-0_1000000.jsonl")
}

#[test]
fn a_trace_becomes_an_mcap_that_says_the_same() {
    let folder = tempfile::tempdir().unwrap();
    let trace = traced(folder.path());
    let (success, out, err) = cpss(&["export", &trace]);
    assert!(success, "{err}");
    let bytes = fs::read(out.trim()).unwrap();
    let lines = fs::read_to_string(&trace).unwrap();
    let decisions = lines.lines().count() - 2;

    let messages: Vec<mcap::Message<'_>> =
        mcap::MessageStream::new(&bytes).unwrap().map(|message| message.unwrap()).collect();
    let on = |topic: &str| messages.iter().filter(|m| m.channel.topic == topic).collect::<Vec<_>>();
    assert_eq!(on("/road").len(), 1);
    assert_eq!((on("/scene").len(), on("/decision").len()), (decisions + 1, decisions));
    for message in &messages {
        assert_eq!(message.channel.message_encoding, "json");
        assert_eq!(message.channel.schema.as_ref().unwrap().encoding, "jsonschema");
    }
    let written: Value = serde_json::from_str(lines.lines().nth(1).unwrap()).unwrap();
    let exported: Value = serde_json::from_slice(&on("/decision")[0].data).unwrap();
    for key in ["risks", "costs", "verdict", "charge", "proposal", "ran"] {
        assert_eq!(exported[key], written[key], "{key}");
    }
    assert_eq!(exported["threshold"], written["tau"][0]);
    let scene: Value = serde_json::from_slice(&on("/scene")[0].data).unwrap();
    let ego = &scene["entities"][0]["cubes"][0]["pose"]["position"];
    assert_eq!(ego["x"], written["scene"][0][0]);
    assert_eq!(ego["y"].as_f64().unwrap(), -written["scene"][0][1].as_f64().unwrap());

    // Whoever has the file can audit the trace in it.
    let summary = mcap::Summary::read(&bytes).unwrap().unwrap();
    let attached = mcap::read::attachment(&bytes, &summary.attachment_indexes[0]).unwrap();
    assert_eq!(attached.data.as_ref(), lines.as_bytes());
}

#[test]
fn a_forged_trace_is_not_exported() {
    let folder = tempfile::tempdir().unwrap();
    let trace = traced(folder.path());
    let forged = fs::read_to_string(&trace).unwrap().replacen("\"t\":3", "\"t\":4", 1);
    fs::write(&trace, forged).unwrap();
    let (success, out, err) = cpss(&["export", &trace]);
    assert!(!success && out.is_empty(), "{out}");
    assert!(err.contains("does not audit and is not exported"), "{err}");
}

const PLAN: &str = "tasks = [\"merge-v0\"]\nregimes = [\"stationary\"]\narms = [\"dqn\", \"cpss\"]\n\
    policies = [0]\nepisodes = 3\nbudgets = []\nthresholds = []\nfirst_seed = 29000000\n";

#[test]
fn an_experiment_leaves_evidence_and_json() {
    let folder = tempfile::tempdir().unwrap();
    let (plan, out) = (folder.path().join("plan.toml"), folder.path().join("out"));
    fs::write(&plan, PLAN).unwrap();
    let [plan, dir] = [&plan, &out].map(|path| path.to_str().unwrap());
    let (success, text, err) = cpss(&["reproduce", "--plan", plan, "--out", dir, "--json"]);
    assert!(success, "{err}");
    let printed: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(printed["tables"][0]["name"], "glance");
    assert!(Path::new(printed["report"].as_str().unwrap()).exists());

    let share = folder.path().join("share");
    let share = share.to_str().unwrap();
    let (success, text, _) = cpss(&["run", "--plan", plan, "--out", share, "--json"]);
    let printed: Value = serde_json::from_str(&text).unwrap();
    assert!(success && printed["units"] == 2, "{text}");
    let all = folder.path().join("all");
    let (success, text, _) =
        cpss(&["merge", "--plan", plan, "--out", all.to_str().unwrap(), share, "--json"]);
    assert!(success && serde_json::from_str::<Value>(&text).is_ok(), "{text}");

    let (success, text, err) = cpss(&["evidence", dir, "--json"]);
    assert!(success, "{err}");
    let found: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(found["promises"]["made"], 1);
    assert_eq!(found["traces"]["unsound"], serde_json::json!([]));
    let cell = &found["cells"][0];
    let part = |name: &str| cell[name].as_f64().unwrap();
    let sum = ["start", "chosen", "surprise", "arriving"].map(part).iter().sum::<f64>();
    assert!((sum - part("incident_rate")).abs() < 1e-9);
    let page = fs::read_to_string(out.join("evidence.html")).unwrap();
    assert!(page.contains(found["identity"]["records_sha256"].as_str().unwrap()));
    assert!(!page.contains("<script"));

    let record = out.join("records/merge-v0_stationary_cpss_0_29000000_3.json");
    // One forged trace, and it fails; so do records that are none.
    let trace = fs::read_dir(out.join("traces")).unwrap().flatten().map(|entry| entry.path());
    let trace = trace.into_iter().find(|file| file.extension().unwrap() == "jsonl").unwrap();
    let text = fs::read_to_string(&trace).unwrap();
    fs::write(&trace, text.replacen("\"t\":3", "\"t\":4", 1)).unwrap();
    let (success, _, err) = cpss(&["evidence", dir]);
    assert!(!success && err.contains("1 traces are not sound"), "{err}");
    // Nor does it get past the audit by the name of another program, as long as it is listed.
    fs::write(&trace, text.replacen("\"program\":\"cpss ", "\"program\":\"cpss 9", 1)).unwrap();
    let (success, _, err) = cpss(&["evidence", dir]);
    assert!(!success && err.contains("it names another program or critic"), "{err}");
    fs::write(&trace, text).unwrap();
    // So does a record that says of an episode what its trace does not, and a trace that is listed and gone.
    let honest = fs::read_to_string(&record).unwrap();
    fs::write(&record, honest.replace("\"episode_return\":", "\"episode_return\":1")).unwrap();
    let (success, text, _) = cpss(&["evidence", dir, "--json"]);
    let changed: Value = serde_json::from_str(&text).unwrap();
    let why = changed["traces"]["unsound"][0][1].as_str().unwrap();
    assert!(!success && why.contains("the record of this episode says something else"), "{why}");
    fs::write(&record, honest).unwrap();
    let moved = out.join("moved");
    fs::rename(&trace, &moved).unwrap();
    let (success, text, _) = cpss(&["evidence", dir, "--json"]);
    let gone: Value = serde_json::from_str(&text).unwrap();
    let why = gone["traces"]["unsound"][0][1].as_str().unwrap();
    assert!(!success && why.contains("it is not there"), "{why}");
    fs::rename(&moved, &trace).unwrap();

    // A smaller run into the same folder counts no episode twice.
    fs::write(plan, PLAN.replace("episodes = 3", "episodes = 2")).unwrap();
    assert!(cpss(&["run", "--plan", plan, "--out", dir]).0);
    let (success, text, err) = cpss(&["evidence", dir, "--json"]);
    assert!(success, "{err}");
    let again: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(again["cells"], found["cells"]);
    let small = out.join("records/merge-v0_stationary_cpss_0_29000000_2.json");
    fs::remove_file(small).unwrap();
    fs::remove_file(out.join("records/merge-v0_stationary_dqn_0_29000000_2.json")).unwrap();

    // A promise that is broken fails, and raises the alarm.
    let broken = fs::read_to_string(&record).unwrap();
    fs::write(&record, broken.replace("\"crashed\":false", "\"crashed\":true")).unwrap();
    let (success, text, err) = cpss(&["evidence", dir]);
    assert!(!success && err.contains("1 of 1 promises were broken"), "{err}");
    assert!(
        text.contains("0 kept (0 of them with 95 % confidence), 0 within the interval, 1 broken"),
        "{text}"
    );
    // Nor are fewer episodes than it names taken for a record.
    let mut short: Value = serde_json::from_str(&broken).unwrap();
    short["episodes"].as_array_mut().unwrap().pop();
    fs::write(&record, short.to_string()).unwrap();
    let (success, _, err) = cpss(&["evidence", dir]);
    assert!(!success && err.contains("has not the episodes that it names"), "{err}");
    fs::write(&record, broken).unwrap();

    // Traces of another program are left out.
    let foreign = Path::new(env!("CARGO_MANIFEST_DIR")).join("../ffi/tests/recorded/merge.jsonl");
    fs::copy(foreign, out.join("traces/foreign.jsonl")).unwrap();
    let (success, text, err) = cpss(&["evidence", dir]);
    assert!(success && text.contains("1 of another program left out"), "{text}{err}");

    // What another program made is not vouched for.
    let text = fs::read_to_string(&record).unwrap();
    fs::write(&record, text.replacen("sources ", "sources 0", 1)).unwrap();
    let (success, _, err) = cpss(&["evidence", dir]);
    assert!(!success && err.contains("1 of 2 records were made by another program"), "{err}");
    fs::write(&record, text).unwrap();
    fs::write(out.join("records/odd.json"), "{}").unwrap();
    let (success, _, err) = cpss(&["evidence", dir]);
    assert!(!success && err.contains("odd.json is no record"), "{err}");
    let (success, _, err) = cpss(&["evidence", folder.path().to_str().unwrap()]);
    assert!(!success && err.contains("has no folder `records`"), "{err}");
}

#[test]
fn schemas_completions_and_manual_pages_are_made() {
    for kind in ["plan", "deploy", "baselines", "regime", "sensor", "shield", "train", "task"] {
        let (success, out, err) = cpss(&["schema", kind]);
        assert!(success, "{err}");
        let schema: Value = serde_json::from_str(&out).unwrap();
        assert_eq!(schema["additionalProperties"], false, "{kind}");
        assert!(!schema["properties"].as_object().unwrap().is_empty(), "{kind}");
    }
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let (success, out, _) = cpss(&["completions", shell]);
        assert!(success && out.contains("evidence"), "{shell}");
    }
    let folder = tempfile::tempdir().unwrap();
    let (success, _, err) = cpss(&["manual", "--out", folder.path().to_str().unwrap()]);
    assert!(success, "{err}");
    let page = fs::read_to_string(folder.path().join("cpss-risk-learn.1")).unwrap();
    assert!(page.contains("Learn and calibrate a critic"), "{page}");
    assert!(folder.path().join("cpss.1").exists());
}
