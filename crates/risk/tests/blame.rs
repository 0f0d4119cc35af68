//! Contract: whoever is blamed for an action's risk is the body without which that risk is least; if most of it
//! would still be there without any one of them, the road is.

#![allow(clippy::unwrap_used, reason = "a test may stop at the first surprise")]

mod stage;

use std::collections::BTreeMap;
use std::sync::Arc;

use cpss_highway::{Action, Scene, Task, TaskId};
use cpss_learn::critic::{Critic, Scratch};
use cpss_risk::features::{Inputs, Source};
use cpss_risk::{Blame, Features, Hazard, LearnedRisk, RiskModel};
use stage::{card, critic, drive, listed, model, unsealed};

/// A model whose critic has weights three times as large as they begin, so that bodies matter to it.
fn wild_model(task: &Arc<Task>, seed: u64) -> RiskModel {
    let mut bytes = unsealed(critic(task, seed, 10.0).to_bytes(&BTreeMap::new()));
    // A file of this kind is the length of its header, the header, and all numbers as singles.
    let header = u64::from_le_bytes(bytes[..8].try_into().unwrap()) as usize;
    for number in bytes[8 + header..].chunks_exact_mut(4) {
        let larger = 3.0 * f32::from_le_bytes(number.try_into().unwrap());
        number.copy_from_slice(&larger.to_le_bytes());
    }
    let (critic, _) = Critic::from_bytes(&bytes).unwrap();
    RiskModel::new(task, Arc::new(LearnedRisk::new(critic, card(task)).unwrap())).unwrap()
}

/// The risk of an action without each of the bodies, found anew.
fn without_each(model: &RiskModel, scene: &Scene, action: usize) -> Vec<(Hazard, f64)> {
    let mut features = Features::default();
    assert!(features.read(model.task(), scene));
    let critic = model.learned().critic();
    let mut risks = vec![0.0; critic.shape().actions];
    let rows: Vec<&[f32]> = features.items().chunks_exact(Inputs::of(model.task()).item).collect();
    let without = features.sources().iter().enumerate().map(|(place, source)| {
        let rest = [&rows[..place], &rows[place + 1..]].concat().concat();
        critic.risks(features.fixed(), &rest, &mut Scratch::default(), &mut risks);
        let hazard = match *source {
            Source::Car(place) => Hazard::Car(place),
            Source::Obstacle(place) => Hazard::Obstacle(place),
        };
        (hazard, risks[action])
    });
    without.collect()
}

#[test]
fn the_blamed_body_is_the_one_without_which_the_risk_is_least() {
    let (mut bodies, mut roads) = (0, 0);
    for id in [TaskId::MergeV0, TaskId::HighwayV0, TaskId::IntersectionV0] {
        let task = listed(id);
        for seed in 0..20 {
            let mut model = wild_model(&task, seed);
            drive(&task, seed, 3, |scene| {
                let risks = model.assess(scene).risks.clone();
                for (action, risk) in risks.into_iter().enumerate() {
                    let blame = model.blame(scene, Action::Index(action)).unwrap();
                    assert_eq!(blame.risk, risk);
                    let without = without_each(&model, scene, action);
                    let least = without.iter().map(|(_, risk)| *risk).fold(risk, f64::min);
                    if blame.hazard == Hazard::Road {
                        assert!(least > 0.7 * risk && blame.without == risk, "{blame:?} {least}");
                        roads += 1;
                    } else {
                        assert!(blame.without == least && least <= 0.7 * risk, "{blame:?} {least}");
                        assert!(without.contains(&(blame.hazard, least)), "{blame:?}");
                        bodies += 1;
                    }
                }
                // Nobody's mind is changed by being asked.
                let before = model.assessment().clone();
                assert_eq!(*model.assess(scene), before);
            });
        }
    }
    assert!(bodies > 20 && roads > 20, "{bodies} bodies, {roads} roads");
}

#[test]
fn on_an_empty_road_the_road_is_to_blame() {
    let task = listed(TaskId::HighwayV0);
    let mut model = model(&task, 1, 0.0);
    let scene = stage::alone(&task);
    let risk = model.assess(&scene).risks[1];
    let blame = model.blame(&scene, Action::Index(1));
    assert_eq!(blame, Some(Blame { hazard: Hazard::Road, risk, without: risk }));
}

/// Who is in the way is not only a row of its own: an ego that steers itself is told its ways out, which change too.
#[test]
fn without_a_body_its_ways_out_are_found_anew() {
    let task = listed(TaskId::RacetrackV0);
    let mut model = wild_model(&task, 3);
    let mut scene = stage::alone(&task);
    let alone = model.assess(&scene).risks.clone();
    stage::add(&task, &mut scene, 7.0, 0.0, 2.0);
    for (action, alone) in alone.into_iter().enumerate() {
        let risk = model.assess(&scene).risks[action];
        let blame = model.blame(&scene, Action::Index(action)).unwrap();
        // All but how crowded it is, which stays as it was seen.
        match blame.hazard {
            Hazard::Car(_) => assert!((blame.without - alone).abs() < 0.2, "{blame:?} {alone}"),
            _ => assert!(alone > 0.5 * risk, "{blame:?} {alone}"),
        }
    }
}
