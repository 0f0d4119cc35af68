//! Contract: a trace is derived again from itself alone, and a forger who hashes anew is found by what does
//! not follow; what nothing determines is listed. Damage to the chain is in `tamper`.

#![allow(clippy::unwrap_used, reason = "a test may stop at the first surprise")]

mod traces;

use assert_cmd::Command;
use cpss::play::arm::{Arm, Millionths};
use cpss::record::exact::Exact;
use cpss::trace::audit::{DISTANCE_TOLERANCE, Problem, SPEED_TOLERANCE, audit};
use cpss::trace::{End, Header, Step};
use cpss_highway::TaskId;
use cpss_shield::{Charge, GainSpec, Mode};
use traces::{Parts, TASKS, first_replaced_well, trace_of};

#[test]
fn every_arm_of_every_task_is_derived_again() {
    for task in TASKS {
        for arm in [
            Arm::Dqn,
            Arm::Cpss(None),
            Arm::Fixed(None),
            Arm::BudgetOnly,
            Arm::ContextOnly,
            Arm::Barrier,
            Arm::Cpss(Millionths::of(0.0025)),
            Arm::Random,
            Arm::Constant(0),
            Arm::Oracle,
        ] {
            // To see the true future takes its time.
            if arm == Arm::Oracle && task != TaskId::MergeV0 {
                continue;
            }
            let trace = trace_of(task, arm, 1_000_001);
            let report = audit(trace.as_bytes()).unwrap_or_else(|f| panic!("{task:?} {arm}: {f}"));
            assert_eq!(report.steps, trace.lines().count() as u64 - 2);
            let takes_costs = report.taken_as_written.contains(&"step.costs");
            assert_eq!(takes_costs, matches!(arm, Arm::Oracle | Arm::Barrier), "{task:?} {arm}");
            assert!(
                report.envelope_held
                    && trace.trim_end().ends_with(&format!("{}\"}}", report.chain_end))
            );
        }
    }
}

#[test]
fn the_same_episode_is_the_same_trace_and_another_seed_another() {
    let trace = |seed| trace_of(TaskId::IntersectionV0, Arm::Cpss(None), seed);
    assert_eq!(trace(1_000_002), trace(1_000_002));
    assert_ne!(trace(1_000_002), trace(1_000_003));
}

/// A forger who hashes anew has to make every answer follow from every question again.
#[test]
fn a_forged_answer_is_derived_otherwise() {
    let forgery = Forgery::new();
    let place = forgery.place;
    let nudge = |number: &mut Exact| number.0 = number.0.next_up();
    let step = |field, edit: &dyn Fn(&mut Step)| {
        forgery.check(field, place + 2, &|parts| edit(&mut parts.steps[place]));
    };
    step("t", &|step| step.t += 1);
    step("proposal", &|step| step.proposal = step.ran);
    step("likes", &|step| step.preferences.clear());
    step("costs", &|step| step.costs.truncate(1));
    step("risks", &|step| step.risks.truncate(1));
    step("risks are from 0 to 1", &|step| step.risks[0] = Exact(1.5));
    step("risks are from 0 to 1", &|step| step.risks[0] = Exact(f64::NAN));
    step("unavoidable", &|step| nudge(&mut step.unavoidable));
    step("closeness is from 0 to 1", &|step| step.closeness = Exact(1.5));
    step("closeness is from 0 to 1", &|step| step.closeness = Exact(f64::NAN));
    step("tau", &|step| step.density = Exact(-1.0));
    step("tau", &|step| nudge(&mut step.tau.0));
    step("tau: cap", &|step| step.tau.1 = Exact(0.9));
    step("tau: budget", &|step| nudge(&mut step.tau.2));
    step("tau: gain", &|step| step.tau.3 = Exact(0.123));
    step("verdict", &|step| step.verdict = "admit".to_owned());
    step("allowed", &|step| step.allowed = (step.allowed + 1) % 5);
    step("ran", &|step| step.ran = (step.ran + 1) % 5);
    step("charge", &|step| step.charge = Exact(0.125));
    step("mispredicted", &|step| step.mispredicted ^= true);
    step("ledger: step", &|step| step.ledger.0 += 1);
    step("ledger: spent", &|step| step.ledger.1 = Exact(0.125));
    step("ledger: remaining", &|step| step.ledger.2 = Exact(99.0));
    step("ledger: excess", &|step| step.ledger.3 = Exact(1e-9));
    step("ledger: envelope", &|step| nudge(&mut step.ledger.4));
    step("ledger: envelope holds", &|step| step.ledger.5 ^= true);
    step("scene: is over", &|step| step.scene[0].4 = 1);
    step("scene: is over", &|step| step.scene[0].0 = 1000.0);
}

/// The least risk is what cannot be avoided, and what an action risks beyond that is what it costs.
#[test]
fn costs_follow_from_risks() {
    let forgery = Forgery::new();
    let place = forgery.place;
    let risks = forgery.parts.steps[place].risks.iter().map(|risk| risk.0);
    let [least, most] = [f64::min, f64::max].map(|of| risks.clone().reduce(of).unwrap());
    let of = |wanted: f64| risks.clone().position(|risk| risk == wanted).unwrap();
    let check = |field, edit: &dyn Fn(&mut Step)| {
        forgery.check(field, place + 2, &|parts| edit(&mut parts.steps[place]));
    };
    check("unavoidable", &|step| step.risks[of(least)] = Exact(least / 2.0));
    check("costs", &|step| step.risks[of(most)] = Exact((least + most) / 2.0));
    check("costs", &|step| step.costs[of(most)] = Exact(0.0));
    check("costs", &|step| step.costs[of(least)] = Exact(0.01));
    // All of them less risky by the same: costs may stay, but what cannot be avoided does not.
    check("unavoidable", &|step| step.risks.iter_mut().for_each(|risk| risk.0 /= 2.0));
    // A scene without a density cannot be read, and then nothing is admitted.
    check("tau", &|step| step.density = Exact(f64::NAN));
    // Another critic could not tell these risks apart.
    forgery.check("costs", 2, &|parts| parts.header.risk.resolution = 0.999);
}

/// Where an incident comes from: risk at the start, chosen, arriving, and by surprise. The last is what is
/// left, and the same as all that the critic was wrong about, decision by decision.
#[test]
fn the_account_of_an_episode_comes_to_its_incident() {
    let mut incidents = [0, 0];
    for task in TASKS {
        for (arm, seed) in
            [(Arm::Cpss(None), 1), (Arm::Dqn, 1), (Arm::Random, 2), (Arm::Fixed(None), 3)]
        {
            let Parts { header, steps, end } = Parts::of(&trace_of(task, arm, 1_000_000 + seed));
            let record = end.record;
            let incident = f64::from(u8::from(record.failed()));
            let sum = record.start + record.chosen + record.arriving + record.surprise();
            assert!((sum - incident).abs() < 1e-9, "{task:?} {arm}: {sum}");
            let risk = |step: &Step| step.unavoidable.0 + step.charge.0;
            let next = steps[1..].iter().map(|step| header.risk.gamma * step.unavoidable.0);
            let came = next.chain([incident]).zip(&steps);
            let wrong: f64 = came.map(|(came, step)| came - risk(step)).sum();
            assert!((record.surprise() - wrong).abs() < 1e-9, "{task:?} {arm}: {wrong}");
            incidents[usize::from(record.failed())] += 1;
        }
    }
    assert!(incidents.iter().all(|count| *count > 0), "{incidents:?}");
}

#[test]
fn a_forged_record_is_derived_otherwise() {
    let forgery = Forgery::new();
    let end = |field, edit: &dyn Fn(&mut End)| {
        forgery.check(field, forgery.parts.steps.len() + 2, &|parts| edit(&mut parts.end));
    };
    end("end", &|end| end.end = 1);
    end("certificate", &|end| end.certificate.infeasible += 1);
    end("certificate", &|end| end.certificate.envelope_held = false);
    end("certificate", &|end| end.certificate.budget_kept = false);
    end("certificate", &|end| end.certificate.account[2].0 += 1e-12);
    end("certificate", &|end| end.certificate.evidence.0 *= 0.5);
    end("record: seed", &|end| end.record.seed += 1);
    end("record: steps", &|end| end.record.steps += 1);
    end("record: crashed", &|end| end.record.crashed ^= true);
    end("record: crashed", &|end| end.scene[0].4 ^= 1);
    end("record: is over", &|end| end.scene[0].0 = 300.0);
    end("record: off road", &|end| end.record.off_road ^= true);
    end("record: success", &|end| end.record.success ^= true);
    end("record: return", &|end| end.record.episode_return += 0.5);
    end("record: discounted return", &|end| end.record.discounted_return += 1e-9);
    end("record: close steps", &|end| end.record.close_steps += 1);
    end("record: interventions", &|end| end.record.interventions -= 1);
    end("record: longest intervention", &|end| end.record.longest_intervention += 1);
    end("record: discounted interventions", &|end| end.record.discounted_interventions *= 0.5);
    end("record: infeasible", &|end| end.record.infeasible += 1);
    end("record: mispredicted", &|end| end.record.mispredicted += 1);
    end("record: budget used", &|end| end.record.budget_used += 1e-12);
    end("record: start", &|end| end.record.start += 1e-12);
    end("record: chosen", &|end| end.record.chosen += 1e-12);
    end("record: arriving", &|end| end.record.arriving += 1e-12);
    end("record: evidence", &|end| end.record.evidence *= 0.5);
    end("record: recalibration", &|end| end.record.recalibration = 0.1);
    end("record: budget kept", &|end| end.record.budget_kept = false);
    end("record: by ledger", &|end| end.record.by_ledger += 1);
    end("record: envelope held", &|end| end.record.envelope_held = false);
    end("record: mean speed", &|end| end.record.mean_speed += 2.1 * SPEED_TOLERANCE);
    end("record: minimum distance", &|end| end.record.min_distance += 2.1 * DISTANCE_TOLERANCE);
    end("record: minimum distance", &|end| end.record.min_distance -= 2.1 * DISTANCE_TOLERANCE);
    end("record: minimum distance", &|end| end.record.min_distance = f64::NAN);
    end("record: avoided", &|end| end.record.avoided += 1);
    end("record: false alarms", &|end| end.record.false_alarms += 1);
    end("record: reward change is a size", &|end| end.record.reward_change = -1.0);
    let last = forgery.parts.steps.len() + 2;
    // How close a step came is only seen; but who takes it for closer has come close once more.
    forgery.check("record: close steps", last, &|parts| {
        let closeness = &mut parts.steps[0].closeness.0;
        *closeness = if *closeness > 0.0 { 0.0 } else { 0.5 };
    });
    // Another look-ahead, another account.
    forgery.check("certificate", last, &|parts| parts.header.risk.gamma = 0.5);
    // The closeness of a crash is part of how it is told.
    forgery.check("record: a failure costs 1", last, &|parts| {
        parts.end.scene[0].4 = 1;
        parts.end.record.crashed = true;
        parts.end.record.success = false;
    });
}

/// What an arm is, it forces on the header.
#[test]
fn a_header_that_contradicts_itself_is_found() {
    let forgery = Forgery::new();
    let header = |field, edit: &dyn Fn(&mut Header)| {
        forgery.check(field, 1, &|parts| edit(&mut parts.header));
    };
    header("shield: shadow", &|header| header.arm = "dqn".to_owned());
    header("shield: shadow", &|header| header.shield.mode = Mode::Shadow);
    header("shield: budget", &|header| header.arm = "context-only".to_owned());
    header("shield: budget", &|header| header.arm = "fixed:0.5".to_owned());
    header("shield: gain", &|header| header.arm = "budget-only".to_owned());
    header("shield: gain", &|header| header.shield.gain = GainSpec::Constant);
    header("shield: cap", &|header| header.arm = "fixed".to_owned());
    header("shield: price", &|header| header.arm = "priced".to_owned());
    header("shield: charge", &|header| header.shield.charge = Charge::Observed);
    header("shield: epsilon", &|header| header.shield.epsilon = 2.0);
    header("privileged", &|header| header.privileged = true);
    header("privileged", &|header| header.arm = "oracle".to_owned());
    header("policy: is there", &|header| header.policy = "none".to_owned());
    header("policy: is there", &|header| header.arm = "random".to_owned());
    header("arm", &|header| header.arm = "cpss:0.50".to_owned());
    header("actions", &|header| header.actions.swap(0, 1));
    header("car", &|header| header.car[0] = 1.0);
    header("lanes", &|header| header.lanes[0].width += 1.0);
    header("obstacles", &|header| header.obstacles.clear());
    header("decision_time", &|header| header.decision_time = 0.5);
    header("actions", &|header| header.task = "racetrack-v0".to_owned());
    // Laxer rules show at the first decision, senseless ones at once.
    forgery.check("tau: cap", 2, &|parts| parts.header.shield.tau_cap = 0.999);
    let found = |edit: &dyn Fn(&mut Header)| {
        let mut parts = forgery.parts.clone();
        edit(&mut parts.header);
        audit(parts.sealed().as_bytes()).unwrap_err()
    };
    let problem = found(&|header| header.shield.budget = -1.0);
    assert!(problem.to_string().contains("`budget` is out of range"), "{problem}");
    let problem = found(&|header| header.arm = "mine".to_owned()).problem;
    assert_eq!(problem, Problem::Unknown { field: "arm", found: "mine".to_owned() });
    let problem = found(&|header| header.task = "parking-v0".to_owned()).problem;
    assert_eq!(problem, Problem::Unknown { field: "task", found: "parking-v0".to_owned() });
    for version in [1, 2, 3] {
        let problem = found(&|header| header.cpss_trace = version).problem;
        assert_eq!(problem, Problem::Version(version));
    }
}

/// The floors propose by rule, so their proposals are derived as well.
#[test]
fn a_floors_proposals_are_derived() {
    for arm in [Arm::Random, Arm::Constant(1)] {
        let mut parts = Parts::of(&trace_of(TaskId::MergeV0, arm, 1_000_001));
        assert!(audit(parts.sealed().as_bytes()).is_ok());
        parts.steps[0].proposal = (parts.steps[0].proposal + 1) % 5;
        parts.steps[0].ran = parts.steps[0].proposal;
        let found = audit(parts.sealed().as_bytes()).unwrap_err();
        assert!(matches!(found.problem, Problem::Differs { field: "proposal", .. }), "{found}");
    }
}

#[test]
fn what_is_not_derived_is_said() {
    let taken = |parts: &Parts| audit(parts.sealed().as_bytes()).unwrap().taken_as_written;
    let parts = Forgery::new().parts;
    let usual = taken(&parts);
    for key in [
        "header.policy",
        "header.risk",
        "step.risks",
        "step.closeness",
        "step.scene",
        "end.record.reward_change",
    ] {
        assert!(usual.contains(&key), "{usual:?}");
    }
    for key in ["header.shield", "end.record.success", "end.record.off_road"] {
        assert!(!usual.contains(&key), "{usual:?}");
    }
    // A shield of somebody's own is sound, and said to be that.
    let mut own = parts.clone();
    own.header.shield.last_resort = 1;
    assert!(taken(&own).contains(&"header.shield"));
    let unshielded = Parts::of(&trace_of(TaskId::MergeV0, Arm::Dqn, 1_000_001));
    assert!(!taken(&unshielded).contains(&"end.record.reward_change"));
    // Whether it was the edge of the road or a car, how close an ego that steers itself came is not derived.
    let distance = "end.record.min_distance";
    assert!(!usual.contains(&distance), "{usual:?}");
    let mut racing = Parts::of(&trace_of(TaskId::RacetrackV0, Arm::Dqn, 1_000_001));
    assert!(taken(&racing).contains(&distance));
    let scenes = racing.steps[1..].iter().map(|step| &step.scene).chain([&racing.end.scene]);
    let cars = scenes.flat_map(|scene| {
        scene[1..].iter().map(|car| (car.0 - scene[0].0).hypot(car.1 - scene[0].1))
    });
    let nearest = cars.fold(f64::INFINITY, f64::min);
    racing.end.record.min_distance = nearest;
    assert!(taken(&racing).contains(&distance));
    racing.end.record.min_distance = nearest + 2.1 * DISTANCE_TOLERANCE;
    assert!(audit(racing.sealed().as_bytes()).is_err());
}

/// A trace in which the shield acts, to be forged.
struct Forgery {
    parts: Parts,
    /// The first step on which it does.
    place: usize,
}

impl Forgery {
    fn new() -> Forgery {
        let parts = first_replaced_well();
        assert!(audit(parts.sealed().as_bytes()).is_ok());
        let place = parts.steps.iter().position(|step| step.what_if.is_some()).unwrap();
        Forgery { parts, place }
    }

    fn check(&self, field: &str, line: usize, edit: &dyn Fn(&mut Parts)) {
        let mut parts = self.parts.clone();
        edit(&mut parts);
        assert_ne!(parts.sealed(), self.parts.sealed(), "{field}: nothing was forged");
        let found = audit(parts.sealed().as_bytes()).unwrap_err();
        let is_it = matches!(&found.problem, Problem::Differs { field: f, .. } if *f == field);
        assert!(is_it && found.line == line, "{field} on line {line}: {found}");
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
    let read = |line: &str| serde_json::from_str::<serde_json::Value>(line).unwrap();
    let evaluate = ["evaluate", "--env", "merge-v0", "--regime", "high", "--episodes", "2"];
    let (success, _, error) = cpss(&[evaluate.as_slice(), &["--trace", "traces"]].concat());
    assert!(success, "{error}");
    let other = "traces/merge-v0_high_cpss_builtin-0_1000000.jsonl";
    let name = "traces/merge-v0_high_cpss_builtin-0_1000001.jsonl";
    let (success, out, error) = cpss(&["audit", name, "--json"]);
    assert!(success, "{error}");
    let report = read(&out);
    assert_eq!((&report["sound"], &report["seed"]), (&true.into(), &1_000_001.into()));
    assert!(report["taken_as_written"].as_array().unwrap().contains(&"step.risks".into()));
    let (_, out, _) = cpss(&["audit", name]);
    assert!(out.contains("taken as written: header.program, "), "{out}");

    // The hash that was kept, by itself and in a list.
    let hash = report["chain_end"].as_str().unwrap();
    assert!(cpss(&["audit", name, "--expect", hash]).0);
    let (success, out, _) = cpss(&["audit", other, "--expect", hash, "--json"]);
    assert!(!success && read(&out)["what"].as_str().unwrap().contains("hashed anew"), "{out}");
    let (success, _, error) = cpss(&["audit", name, "--expect", &hash[..16]]);
    assert!(!success && error.contains("give all 64 digits"), "{error}");
    let (success, _, error) = cpss(&["audit", name, other, "--expect", hash]);
    assert!(!success && error.contains("`--index FILE` is for several"), "{error}");
    let file = name.strip_prefix("traces/").unwrap();
    let index = serde_json::json!([{"traces": [{"file": file, "chain_end": hash}]}]);
    std::fs::write(folder.path().join("index.json"), index.to_string()).unwrap();
    assert!(cpss(&["audit", name, "--index", "index.json"]).0);
    let (success, _, error) = cpss(&["audit", name, other, "--index", "index.json"]);
    assert!(!success && error.contains("1 of 2 traces"), "{error}");
    assert!(error.contains("`file name in the index` is `merge-v0_high"), "{error}");

    // Damage is named, and told to programs as well.
    let place = folder.path().join(name);
    let trace = std::fs::read_to_string(&place).unwrap();
    std::fs::write(&place, trace.replacen("\"t\":3,", "\"t\":4,", 1)).unwrap();
    let (success, out, error) = cpss(&["audit", name]);
    assert!(!success && out.is_empty() && error.contains("line 5 does not fit"), "{error}");
    let (success, out, _) = cpss(&["audit", name, other, "none.jsonl", "--json"]);
    let found: Vec<_> = out.lines().map(read).collect();
    let sound: Vec<_> = found.iter().map(|document| document["sound"].as_bool().unwrap()).collect();
    assert!(!success && sound == [false, true, false], "{out}");
    assert_eq!((&found[0]["where"], &found[0]["trace"]), (&5.into(), &name.into()));
    assert!(found[0]["what"].as_str().unwrap().contains("line 5 does not fit"), "{out}");
    assert!(found[2]["where"].is_null() && found[2]["what"].is_string(), "{out}");
    let (success, _, error) = cpss(&["audit", "none.jsonl"]);
    assert!(!success && error.contains("none.jsonl"), "{error}");
}
