//! Contract: a critic's file gives back the same critic; one that is cut, damaged, foreign or made for
//! something else is refused, and what is wrong is named.

#![allow(clippy::unwrap_used, reason = "a test may stop at the first surprise")]

mod stage;

use std::collections::BTreeMap;
use std::sync::Arc;

use cpss_highway::TaskId;
use cpss_learn::critic::{Critic, Shape};
use cpss_learn::{Activation, Network, Policy, Topology};
use cpss_risk::card::{Calibration, PartSurprise};
use cpss_risk::features::{DRIVING, Inputs};
use cpss_risk::{Card, LearnedRisk, RiskModel};
use stage::{card, critic, drive, listed, model, unsealed};

fn sound() -> LearnedRisk {
    let task = listed(TaskId::MergeV0);
    LearnedRisk::new(critic(&task, 5, 3.0), card(&task)).unwrap()
}

fn refusal(bytes: &[u8]) -> String {
    LearnedRisk::from_bytes(bytes).unwrap_err().to_string()
}

#[test]
fn a_file_gives_back_the_same_critic() {
    let task = listed(TaskId::MergeV0);
    let bytes = sound().to_bytes();
    let read = LearnedRisk::from_bytes(&bytes).unwrap();
    assert_eq!(read, sound());
    assert_eq!(read.to_bytes(), bytes);
    let mut read = RiskModel::new(&task, Arc::new(read)).unwrap();
    let mut made = model(&task, 5, 3.0);
    drive(&task, 1, 20, |scene| assert_eq!(read.assess(scene), made.assess(scene)));
}

#[test]
fn a_cut_or_damaged_file_is_refused() {
    let bytes = sound().to_bytes();
    for kept in 0..bytes.len() {
        let said = refusal(&bytes[..kept]);
        assert!(said.starts_with("the critic cannot be read: "), "{kept} bytes: {said}");
    }
    let longer = [bytes.as_slice(), &[0; 4]].concat();
    assert!(refusal(&longer).starts_with("the critic cannot be read: "));
    // A weight that is no number, with and without a checksum that tells.
    for mut damaged in [bytes.clone(), unsealed(bytes)] {
        let last = damaged.len() - 4;
        damaged[last..].copy_from_slice(&f32::NAN.to_le_bytes());
        assert!(refusal(&damaged).starts_with("the critic cannot be read: "));
    }
}

#[test]
fn what_is_no_critic_is_refused() {
    for bytes in [&b""[..], b"not a critic", &[0xff; 1000]] {
        assert!(refusal(bytes).starts_with("the critic cannot be read: "));
    }
    let topology = Topology::mlp(4, &[4], 2, Activation::Relu, false).unwrap();
    let policy = Policy::new(Network::zeros(topology), BTreeMap::new()).to_bytes();
    let said = refusal(&policy);
    assert!(said.contains("format"), "{said}");
}

#[test]
fn a_card_that_is_missing_or_of_another_critic_is_refused() {
    let task = listed(TaskId::MergeV0);
    let critic = critic(&task, 5, 3.0);
    let with = |card: &str| {
        let about = BTreeMap::from([("card".to_owned(), card.to_owned())]);
        refusal(&critic.to_bytes(&about))
    };
    let said = refusal(&critic.to_bytes(&BTreeMap::new()));
    assert_eq!(said, "the critic's card cannot be read: there is none");
    assert!(with("{").starts_with("the critic's card cannot be read: "));
    assert!(with("{\"env\": \"merge-v0\"}").contains("missing field"));

    let card = card(&task);
    let refused = |edit: &dyn Fn(&mut Card)| {
        let mut card = card.clone();
        edit(&mut card);
        let found = LearnedRisk::new(critic.clone(), card.clone()).unwrap_err();
        assert_eq!(with(&serde_json::to_string(&card).unwrap()), found.to_string());
        found.to_string()
    };
    let said = refused(&|card| card.features = "driving 0".to_owned());
    assert!(said.contains("`driving 0`") && said.contains("learn it anew"), "{said}");
    let said = refused(&|card| drop(card.actions.pop()));
    assert_eq!(said, "the critic's actions do not fit its card");
    let numbers: [fn(&mut Card); 3] =
        [|card| card.gamma = 1.5, |card| card.resolution = -0.1, |card| card.resolution = 0.5];
    for edit in numbers {
        assert_eq!(refused(&edit), "the critic's numbers do not fit its card");
    }
    let parts: [(_, fn(&mut Calibration)); 4] = [
        ("regimes", |card| card.by_regime = vec![PartSurprise { mean: 0.0, ci95: [0.0; 2] }]),
        ("sensors", |card| card.by_sensor = vec![PartSurprise { mean: 0.0, ci95: [0.0; 2] }]),
        ("budgets", |card| {
            card.budgets = vec![0.002, 0.1];
            card.by_budget = vec![PartSurprise { mean: 0.0, ci95: [0.0; 2] }];
        }),
        ("regimes and budgets", |card| {
            (card.regimes, card.budgets) = (vec!["high".to_owned()], vec![0.002, 0.1]);
            card.by_cell = vec![PartSurprise { mean: 0.0, ci95: [0.0; 2] }];
        }),
    ];
    for (name, edit) in parts {
        let said = refused(&|card| edit(&mut card.calibration));
        assert_eq!(said, format!("the critic's {name} do not fit its card"));
    }
    let log_odds: [fn(&mut Card); 2] =
        [|card| card.calibration.shift = 0.7, |card| card.calibration.lift = Some(0.1)];
    for edit in log_odds {
        let said = refused(&|card| {
            (card.calibration.episodes, card.calibration.shift) = (1, 3.0);
            edit(card);
        });
        assert_eq!(said, "the critic's log-odds do not fit its card");
    }
    let Inputs { fixed, item, .. } = DRIVING;
    for (fixed, item) in [(fixed + 1, item), (fixed, item - 1)] {
        let shape = Shape { fixed, item, encoder: vec![4], head: vec![4], actions: 5 };
        let found = LearnedRisk::new(Critic::zeros(shape).unwrap(), card.clone()).unwrap_err();
        assert_eq!(found.to_string(), "the critic's inputs do not fit its card");
    }
}

#[test]
fn an_action_that_was_not_learned_is_named() {
    let learned = Arc::new(sound());
    let error = RiskModel::new(&listed(TaskId::RacetrackV0), learned.clone()).unwrap_err();
    assert!(error.to_string().contains("was not learned"), "{error}");
    // Some of what was learned, in another order, is fine.
    assert!(RiskModel::new(&listed(TaskId::IntersectionV0), learned).is_ok());
}

/// A critic may say of itself that it is conservative only if fresh episodes under tried budgets have shown it, all together and
/// in every regime, behind every sensor and under every budget by itself.
#[test]
fn what_a_card_has_to_show_before_anything_is_promised() {
    let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
    let surprise = |mean: f64, ci95| PartSurprise { mean, ci95 };
    let shown = Calibration {
        regimes: names(&["stationary", "high"]),
        sensors: names(&["perfect"]),
        episodes: 8_000,
        budgets: vec![0.002, 0.1],
        surprise: -0.002,
        surprise_ci95: [-0.004, 0.0],
        by_regime: vec![surprise(-0.003, [-0.006, 0.0]), surprise(0.001, [-0.001, 0.003])],
        by_sensor: vec![surprise(-0.002, [-0.004, 0.0])],
        by_budget: vec![surprise(-0.002, [-0.004, 0.0]); 2],
        // One of four may be above by chance.
        by_cell: vec![surprise(0.003, [0.0005, 0.0055]); 4],
        ..Calibration::default()
    };
    let with = |edit: fn(&mut Calibration)| {
        let mut calibration = shown.clone();
        edit(&mut calibration);
        Card { calibration, ..card(&listed(TaskId::MergeV0)) }
    };
    let good = with(|_| {});
    assert!(good.is_conservative() && good.is_conservative_in("merge-v0", "high"));
    assert!(good.is_conservative_behind("merge-v0", "stationary", "perfect"));
    // Nothing is known of other traffic, nor of other eyes, nor of another version of the task.
    assert!(!good.is_conservative_in("merge-v0", "mild"));
    assert!(!good.is_conservative_behind("merge-v0", "high", "fair"));
    assert!(!good.is_conservative_in("merge-v1", "high"));
    // Budgets between those that it was calibrated under, and no others.
    let known = [0.002, f64::from(0.002_f32), 0.01, 0.1, f64::from(0.1_f32)];
    assert!(known.into_iter().all(|budget| good.is_calibrated_for(budget)));
    let unknown = [0.0019, 0.11, 0.0, -0.01, f64::NAN, f64::INFINITY];
    assert!(!unknown.into_iter().any(|budget| good.is_calibrated_for(budget)));
    assert!(!with(|card| card.budgets.clear()).is_calibrated_for(0.01));
    // A file may have changed since.
    let own = with(|card| card.regimes[1] = "high.toml".to_owned());
    assert!(own.is_conservative() && !own.is_conservative_in("merge-v0", "high.toml"));
    let broken: [fn(&mut Calibration); 8] = [
        |card| card.surprise_ci95[1] = 1e-9,
        |card| card.surprise_ci95 = [f64::NAN; 2],
        |card| card.episodes = 999,
        |card| card.budgets.clear(),
        |card| card.by_regime[1].ci95[0] = 1e-9,
        |card| card.by_sensor[0].ci95[0] = 1e-9,
        |card| card.by_budget[1].ci95[0] = 1e-9,
        |card| card.by_cell[3].ci95[0] = 0.001 + 1e-9,
    ];
    for (place, edit) in broken.into_iter().enumerate() {
        let card = with(edit);
        assert!(
            !card.is_conservative() && !card.is_conservative_in("merge-v0", "high"),
            "case {place}"
        );
    }
    // As it is on no card that was never calibrated.
    assert!(!card(&listed(TaskId::MergeV0)).is_conservative());
}
