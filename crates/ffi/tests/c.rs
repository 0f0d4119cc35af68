//! Contract: the C and C++ examples compile without a warning against both libraries, run, and decide as Rust does,
//! bit for bit: the greenhouse, recorded traces of every task and arm, and the risks of critics of both kinds.

#![allow(clippy::unwrap_used, reason = "a test may stop at the first surprise")]

mod programs;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use cpss::measure::contest::Contest;
use cpss::play::arm::{Arm, ShieldSettings};
use cpss::play::policy::PolicySource;
use cpss::play::regime::{Regime, RegimeSpec};
use cpss::play::sensor::Gaze;
use cpss::tasks;
use cpss_highway::{Action, Scene, TaskId, World};
use cpss_learn::critic::ensemble::{Ensemble, Room, Scale};
use cpss_learn::critic::{Critic, Scratch, Shape};
use cpss_learn::generator::{Generator, Purpose};
use cpss_risk::LearnedRisk;
use cpss_risk::features::Features;
use cpss_shield::{Fallback, Mode, Shield, ShieldSpec, Situation};
use programs::{BOTH, Link, Program, text};

const TASKS: [TaskId; 5] = [
    TaskId::MergeV0,
    TaskId::HighwayV0,
    TaskId::IntersectionV0,
    TaskId::RacetrackV0,
    TaskId::RoundaboutV0,
];
const ARMS: [Arm; 7] = [
    Arm::Cpss(None),
    Arm::Priced(None),
    Arm::Fixed(None),
    Arm::BudgetOnly,
    Arm::ContextOnly,
    Arm::Dqn,
    Arm::Random,
];

/// The traces that Python's tests judge again too.
fn recorded() -> [PathBuf; 2] {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/recorded");
    ["merge.jsonl", "intersection-priced.jsonl"].map(|name| folder.join(name))
}

fn learned(id: TaskId) -> LearnedRisk {
    LearnedRisk::from_bytes(tasks::of(id).file("risk.safetensors").unwrap()).unwrap()
}

fn trace(id: TaskId, arm: Arm, seed: u64) -> String {
    let spec = RegimeSpec::load("high").unwrap();
    let regime = Regime::new(spec, id, &tasks::policy_config(id)).unwrap();
    let contest = Contest {
        regime: &regime,
        regime_name: "high",
        arm,
        settings: &ShieldSettings::shipped(id).unwrap(),
        risk: Arc::new(learned(id)),
        policy: &PolicySource::Builtin(0),
        gaze: Gaze::PERFECT,
        sensor_name: "perfect",
        asks_what_if: true,
    };
    contest.trace(seed).unwrap().text
}

#[test]
fn recorded_traces_come_out_the_same() {
    let folder = tempfile::tempdir().unwrap();
    let mut files = recorded().to_vec();
    for id in TASKS {
        for (arm, seed) in ARMS.into_iter().zip(1_000_000..) {
            let file = folder.path().join(format!("{}-{seed}.jsonl", id.name()));
            std::fs::write(&file, trace(id, arm, seed)).unwrap();
            files.push(file);
        }
    }
    let paths: Vec<&Path> = files.iter().map(PathBuf::as_path).collect();
    for link in BOTH {
        let said = Program::compile("replay.cpp", link).answer(&paths, "");
        assert_eq!(said.lines().count(), files.len(), "{said}");
        // Something was replaced, and something was refused by a price: the traces are not all alike.
        let all: String = files.iter().map(|file| std::fs::read_to_string(file).unwrap()).collect();
        for word in ["admit\"", "replace over-", "replace priced", "infeasible "] {
            assert!(all.contains(word), "no trace has {word}");
        }
    }
}

#[test]
fn a_single_bit_is_noticed() {
    let replay = Program::compile("replay.cpp", Link::Static);
    let folder = tempfile::tempdir().unwrap();
    let whole = std::fs::read_to_string(&recorded()[0]).unwrap();
    for (name, line) in [("\"tau\":[", 2), ("\"charge\":", 4), ("\"envelope\":", 0)] {
        let mut lines: Vec<String> = whole.lines().map(str::to_owned).collect();
        let place = if line == 0 { lines.len() } else { line };
        let forged = &mut lines[place - 1];
        let number = forged.rfind(name).unwrap() + name.len();
        let length = forged[number..].find([',', '}', ']']).unwrap();
        let value: f64 = forged[number..number + length].parse().unwrap();
        forged.replace_range(number..number + length, &format!("{:e}", value.next_up()));
        let file = folder.path().join("forged.jsonl");
        std::fs::write(&file, lines.join("\n")).unwrap();
        let output = replay.run(&[&file], "");
        assert!(!output.status.success(), "{name}");
        assert!(text(&output.stderr).contains(&format!("line {place}: ")), "{name}");
    }
}

/// The example's greenhouse in Rust: hottest air, and the certificate's line as the C program prints it.
fn greenhouse(mode: Mode) -> String {
    const POWER: [f64; 4] = [0.0, 1.0, 2.0, 4.0];
    let next =
        |air: f64, power: f64, sun: f64| air + 0.35 * power + 0.8 * sun - 0.04 * (air - 10.0);
    let risk = |air: f64| ((air - 28.0) / 6.0).clamp(0.0, 1.0);
    let fallback = Fallback::BestAdmissible;
    let mut shield =
        Shield::new(ShieldSpec { mode, fallback, ..ShieldSpec::new(0.5, 120) }).unwrap();
    let (mut air, mut hottest) = (22.0, 22.0_f64);
    for minute in 0..120 {
        let sun = if minute < 60 { 0.1 } else { 0.9 };
        let costs = POWER.map(|power| risk(next(air, power, sun)));
        let proposal = if air < 30.5 { 3 } else { 1 };
        let decision = shield
            .judge(&Situation { proposal, costs: &costs, preferences: &POWER, density: sun })
            .unwrap();
        air = next(air, POWER[decision.executed()], sun);
        hottest = hottest.max(air);
        shield.settle(decision, risk(air)).unwrap();
    }
    let certificate = shield.certificate();
    let counts = certificate.counts;
    format!(
        "{mode}: hottest {hottest:.1} C, spent {:.4} of 0.5, {} admitted, {} replaced, {} infeasible",
        certificate.spent, counts.admitted, counts.replaced, counts.infeasible
    )
}

#[test]
fn the_greenhouse_is_kept_as_in_rust() {
    for link in BOTH {
        let said = Program::compile("thermostat.c", link).answer(&[], "");
        assert!(said.starts_with(&format!("cpss {}\n", env!("CARGO_PKG_VERSION"))), "{said}");
        for mode in [Mode::Shadow, Mode::Enforce] {
            assert!(said.contains(&greenhouse(mode)), "{said}\n{}", greenhouse(mode));
        }
    }
}

/// A row as the example reads it; Rust writes the shortest decimals that read back to the same single.
fn line(numbers: impl IntoIterator<Item = f32>) -> String {
    let mut line = String::new();
    numbers.into_iter().for_each(|number| write!(line, "{number} ").unwrap());
    line + "\n"
}

/// Risks as C writes them, `%a`, back to bits.
fn bits(line: &str) -> Vec<u64> {
    line.split(' ').map(hex_float).map(f64::to_bits).collect()
}

/// `0x1.8p-3` and the like; `nan` and `-nan` are one.
fn hex_float(word: &str) -> f64 {
    if word.ends_with("nan") {
        return f64::NAN;
    }
    let (digits, exponent) = word.strip_prefix("0x").unwrap().split_once('p').unwrap();
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let mantissa = u64::from_str_radix(&format!("{whole}{fraction}"), 16).unwrap();
    let shift = exponent.parse::<i32>().unwrap() - 4 * fraction.len() as i32;
    mantissa as f64 * 2f64.powi(shift)
}

fn flat_critics(point: usize, actions: usize) -> Ensemble {
    let shape = Shape { fixed: 6 + point, item: 0, encoder: vec![], head: vec![32, 32], actions };
    let mut random = Generator::new(3, Purpose::Weights);
    let critics = (0..4).map(|_| Critic::new(shape.clone(), &mut random).unwrap()).collect();
    let scale = Scale { mean: vec![0.25; 6], factor: vec![1.5; 6] };
    // From the middle, where risks differ most.
    Ensemble::new(critics, scale, point, 5.0).unwrap().in_groups(2).unwrap()
}

#[test]
fn a_flat_critic_says_the_same() {
    let folder = tempfile::tempdir().unwrap();
    let mut random = Generator::new(4, Purpose::Weights);
    for point in [0, 2] {
        let ensemble = flat_critics(point, if point > 0 { 1 } else { 5 });
        let file = folder.path().join("flat.safetensors");
        let card = r#"{"card": {"gamma": 0.99, "resolution": 0.002}}"#;
        let about = BTreeMap::from([("card".to_owned(), card.to_owned())]);
        std::fs::write(&file, ensemble.to_bytes(&about)).unwrap();
        let (mut input, mut wanted) = (String::new(), Vec::new());
        for place in 0..200 {
            let mut draw = |count: usize| {
                (0..count).map(|_| (4.0 * random.unit() - 2.0) as f32).collect::<Vec<f32>>()
            };
            let (mut row, points) = (draw(6), draw(7 * point));
            if place % 50 == 7 {
                row[3] = [f32::NAN, f32::INFINITY, 1e30][place / 50 % 3];
            }
            let mut risks = vec![0.0; if point > 0 { 7 } else { 5 }];
            match point {
                0 => ensemble.risks(&row, &mut Room::default(), &mut risks),
                _ => ensemble.risks_at(&row, &points, &mut Room::default(), &mut risks),
            }
            input += &line(row.into_iter().chain(points));
            wanted.push(risks.into_iter().map(f64::to_bits).collect::<Vec<_>>());
        }
        assert!(wanted.iter().flatten().any(|bits| f64::from_bits(*bits).is_nan()));
        for link in BOTH {
            let said = Program::compile("critic.c", link).answer(&[&file], &input);
            assert_eq!(said.lines().map(bits).collect::<Vec<_>>(), wanted, "{link:?}");
        }
    }
}

#[test]
fn a_driving_critic_says_the_same_of_real_scenes() {
    let folder = tempfile::tempdir().unwrap();
    for id in [TaskId::MergeV0, TaskId::HighwayV0, TaskId::RacetrackV0] {
        let (risk, task) = (learned(id), tasks::policy_task(id));
        let file = folder.path().join("risk.safetensors");
        std::fs::write(&file, risk.to_bytes()).unwrap();
        let (mut input, mut wanted) = (String::new(), Vec::new());
        let mut features = Features::default();
        for seed in 0..10 {
            let mut world = World::new(Arc::clone(&task), seed);
            let (mut scene, mut seen) = (Scene::default(), vec![0.0; task.observer.len()]);
            for _ in 0..8 {
                scene.observe(&world);
                assert!(features.read(&task, &scene));
                let mut risks = vec![0.0; risk.critic().shape().actions];
                let (fixed, items) = (features.fixed(), features.items());
                risk.critic().risks(fixed, items, &mut Scratch::default(), &mut risks);
                input += &line(fixed.iter().chain(items).copied());
                wanted.push(risks.into_iter().map(f64::to_bits).collect::<Vec<_>>());
                if world.step(Action::Index(1), &mut seen).unwrap().is_over() {
                    break;
                }
            }
        }
        let said = Program::compile("critic.c", Link::Shared).answer(&[&file], &input);
        assert_eq!(said.lines().map(bits).collect::<Vec<_>>(), wanted, "{id:?}");
    }
}

#[test]
fn what_is_no_critic_is_refused_with_its_reason() {
    let critic = Program::compile("critic.c", Link::Shared);
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("no.safetensors");
    std::fs::write(&file, b"no critic").unwrap();
    let refused = critic.run(&[&file], "");
    assert!(!refused.status.success());
    assert!(text(&refused.stderr).contains("the bytes are no critic"), "{refused:?}");
    // A card that is no JSON, as one of an older version may be, is not taken for one that says nothing.
    let about = BTreeMap::from([("card".to_owned(), r#"{"resolution": NaN}"#.to_owned())]);
    std::fs::write(&file, flat_critics(0, 5).to_bytes(&about)).unwrap();
    let odd = critic.run(&[&file], "");
    assert!(!odd.status.success());
    assert!(text(&odd.stderr).contains("its card cannot be read"), "{odd:?}");
    let missing = critic.run(&[&folder.path().join("none")], "");
    assert!(text(&missing.stderr).contains("the file cannot be read"), "{missing:?}");
}

#[test]
fn the_worst_case_is_measured() {
    let worst = Program::compile("worst_case.c", Link::Static);
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("risk.safetensors");
    std::fs::write(&file, learned(TaskId::MergeV0).to_bytes()).unwrap();
    let table = worst.answer(&[Path::new("5000"), &file, Path::new("500")], "");
    let counts: Vec<&str> =
        table.lines().skip(2).map(|row| row.split('|').nth(2).unwrap().trim()).collect();
    assert_eq!(counts, ["5000", "5000", "5000", "500", "500", "500"], "{table}");
}
