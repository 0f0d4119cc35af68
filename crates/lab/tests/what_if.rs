//! Contract: at every replaced action, and nowhere else, a trace holds what the policy alone would have
//! come to; the real episode does not notice; and the record counts what follows from it.

#![allow(clippy::unwrap_used, reason = "a test may stop at the first surprise")]

mod traces;

use std::sync::Arc;

use cpss::play::arm::{Arm, ShieldSettings};
use cpss::play::branch::look_ahead;
use cpss::play::episode::Player;
use cpss::play::policy::PolicySource;
use cpss::play::sensor::Behind;
use cpss::record::exact::Exact;
use cpss::record::what_if::{Effects, WhatIf};
use cpss::trace::audit::{Problem, audit};
use cpss::trace::{Cell, TraceWriter};
use cpss_highway::{Action, TaskId};
use traces::{Parts, TASKS, critic, first_replaced, first_replaced_well, regime, trace_of};

/// Until its first intervention a shielded episode is the unshielded one. So what the unshielded one does
/// from there on is what the branch must show.
#[test]
fn the_first_branch_is_the_unshielded_episode() {
    for task in TASKS {
        let (seed, trace) = first_replaced(task);
        let (with, without) = (Parts::of(&trace), Parts::of(&trace_of(task, Arm::Dqn, seed)));
        let place = with.steps.iter().position(|step| step.what_if.is_some()).unwrap();
        let WhatIf { crashed, costs, ghost } = with.steps[place].what_if.clone().unwrap();
        let real = &without.steps[place..];
        let decisions = costs.len().min(real.len());
        assert_eq!(costs.len(), decisions, "{task:?}: the branch outlived the episode");
        let closeness: Vec<Exact> = real[..decisions].iter().map(|step| step.closeness).collect();
        assert_eq!(costs, closeness, "{task:?}");
        let scenes = real.iter().map(|step| &step.scene).chain([&without.end.scene]);
        let poses = scenes.map(|scene| [scene[0].0, scene[0].1, scene[0].2]);
        assert_eq!(ghost, poses.take(decisions + 1).collect::<Vec<_>>(), "{task:?}");
        let ended = decisions == real.len();
        assert_eq!(crashed, ended && without.end.record.failed(), "{task:?}");
    }
}

/// The executed actions, run in a world that nobody branches, lead to the same rewards and scenes.
#[test]
fn the_real_episode_does_not_notice() {
    for task in TASKS {
        let (seed, trace) = first_replaced(task);
        let Parts { steps, .. } = Parts::of(&trace);
        let regime = regime(task);
        let (mut world, mut drift) = regime.begin(seed);
        let mut seen = vec![0.0; regime.task().observer.len()];
        for step in &steps {
            let ego = (world.ego().x * 1e2).round() / 1e2 + 0.0;
            assert_eq!(ego, step.scene[0].0, "{task:?} step {}", step.t);
            drift.apply(&mut world);
            let taken = world.step(Action::Index(step.ran), &mut seen).unwrap();
            assert_eq!(Exact(taken.reward.total), Exact(step.reward), "{task:?} step {}", step.t);
        }
    }
}

#[test]
fn only_replaced_actions_are_branched_and_all_of_them_are_counted() {
    let mut replaced = 0;
    for task in TASKS {
        for arm in [Arm::Cpss(None), Arm::Fixed(None), Arm::Dqn, Arm::Random] {
            let Parts { steps, end, .. } = Parts::of(&trace_of(task, arm, 1_000_001));
            for step in &steps {
                assert_eq!(step.what_if.is_some(), step.ran != step.proposal);
            }
            let branches = steps.iter().filter(|step| step.what_if.is_some()).count() as u64;
            assert_eq!(end.record.replaced(), branches);
            assert!(branches == 0 || !matches!(arm, Arm::Dqn | Arm::Random));
            replaced += branches;
        }
    }
    assert!(replaced > 0, "nothing was tried");
}

/// A player's room from another episode leaves nothing behind.
#[test]
fn the_same_episode_has_the_same_branches() {
    let task = TaskId::HighwayV0;
    let (seed, trace) = first_replaced(task);
    let regime = regime(task);
    let settings = ShieldSettings::shipped(task).unwrap();
    let policy = PolicySource::Builtin(0);
    let drives = Some(policy.load(regime.task()).unwrap());
    let risk = Arc::new(critic(regime.task()));
    let mut player = Player::new(&regime, Arm::Cpss(None), &settings, drives, risk).unwrap();
    player.play(seed + 1).unwrap();
    let cell = Cell {
        regime: "high".to_owned(),
        sensor: "perfect".to_owned(),
        behind: Behind::Both,
        arm: Arm::Cpss(None),
        policy: policy.to_string(),
    };
    let mut writer = TraceWriter::new(cell);
    player.play_with(&mut writer, seed).unwrap();
    assert_eq!(writer.text(), trace);
    assert_ne!(trace_of(task, Arm::Cpss(None), seed + 1), trace);
}

/// One trace for each effect, by hand: the branch is made to show it, and only the count that follows from
/// it passes the audit.
#[test]
fn each_effect_is_derived_from_the_trace() {
    let calm = first_replaced_well();
    // A shield that knows nothing of risk does not help.
    let blind = |seed| Parts::of(&trace_of(TaskId::HighwayV0, Arm::Fixed(None), seed));
    let failing = (1_000_000..1_000_100)
        .map(blind)
        .find(|parts| parts.end.record.crashed && last_branch(parts).is_some())
        .unwrap();
    let left = failing.steps.len() - last_branch(&failing).unwrap();
    for (parts, crashed, costs, effect) in [
        (&calm, true, vec![0.5, 1.0], "avoided"),
        (&failing, true, [vec![0.0; left - 1], vec![1.0]].concat(), "unavoided"),
        (&failing, true, vec![1.0], "unavoided"), // Only put off, within the look-ahead.
        (&calm, false, vec![0.0, 0.999], "closer"),
        (&calm, false, vec![0.0], "false alarms"),
        (&failing, false, vec![0.0; left], "false alarms"),
    ] {
        assert_eq!(accepted(parts, crashed, &costs), [effect], "{costs:?}");
    }
}

/// The last step with a branch, if it is within five of the end.
fn last_branch(parts: &Parts) -> Option<usize> {
    let place = parts.steps.iter().rposition(|step| step.what_if.is_some())?;
    (parts.steps.len() - place <= 5).then_some(place)
}

/// Which effects the audit accepts for the last branch, if that shows these costs.
fn accepted(parts: &Parts, crashed: bool, costs: &[f64]) -> Vec<&'static str> {
    let mut parts = parts.clone();
    let place = parts.steps.iter().rposition(|step| step.what_if.is_some()).unwrap();
    parts.steps[place].what_if = Some(WhatIf {
        crashed,
        costs: costs.iter().copied().map(Exact).collect(),
        ghost: vec![ghost_of(&parts, place); costs.len() + 1],
    });
    let closeness: Vec<f64> = parts.steps.iter().map(|step| step.closeness.0).collect();
    let others = parts.steps[..place].iter().enumerate();
    let others = others.filter_map(|(at, step)| Some((at, step.what_if.as_ref()?)));
    let look_ahead = look_ahead(parts.header.decision_time);
    let rest = Effects::of(others, &closeness, parts.end.record.failed(), look_ahead);
    let is_accepted = |effect: &&str| {
        let mut parts = parts.clone();
        let record = &mut parts.end.record;
        record.count(rest);
        *match *effect {
            "avoided" => &mut record.avoided,
            "unavoided" => &mut record.unavoided,
            "closer" => &mut record.closer,
            _ => &mut record.false_alarms,
        } += 1;
        let Err(found) = audit(parts.sealed().as_bytes()) else { return true };
        let is_counted = |field: &str| field.starts_with("record: ");
        let counted = matches!(&found.problem, Problem::Differs { field, .. } if is_counted(field));
        assert!(counted, "{effect}: {found}");
        false
    };
    ["avoided", "unavoided", "closer", "false alarms"].into_iter().filter(is_accepted).collect()
}

fn ghost_of(parts: &Parts, place: usize) -> [f64; 3] {
    let ego = parts.steps[place].scene[0];
    [ego.0, ego.1, ego.2]
}

#[test]
fn a_forged_branch_is_found() {
    let whole = first_replaced_well();
    let place = whole.steps.iter().position(|step| step.what_if.is_some()).unwrap();
    let calm = whole.steps.iter().position(|step| step.what_if.is_none()).unwrap();
    let check = |field: &str, edit: &dyn Fn(&mut Parts)| {
        let mut parts = whole.clone();
        edit(&mut parts);
        let found = audit(parts.sealed().as_bytes()).unwrap_err();
        let is_it = matches!(&found.problem, Problem::Differs { field: f, .. } if *f == field);
        assert!(is_it, "{field}: {found}");
    };
    let branch = |parts: &mut Parts, edit: &dyn Fn(&mut WhatIf)| {
        edit(parts.steps[place].what_if.as_mut().unwrap());
    };
    check("what_if: is there", &|parts| parts.steps[place].what_if = None);
    check("what_if: is there", &|parts| {
        parts.steps[calm].what_if = whole.steps[place].what_if.clone();
    });
    check("what_if: poses", &|parts| branch(parts, &|b| b.ghost.truncate(1)));
    check("what_if: starts at the ego", &|parts| branch(parts, &|b| b.ghost[0][0] += 1.0));
    check("what_if: costs are from 0 to 1", &|parts| {
        branch(parts, &|b| b.costs[0] = Exact(f64::NAN));
    });
    check("what_if: a crash costs 1", &|parts| {
        branch(parts, &|b| {
            b.crashed = true;
            *b.costs.last_mut().unwrap() = Exact(0.5);
        });
    });
}
