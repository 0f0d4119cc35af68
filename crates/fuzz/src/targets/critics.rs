//! Which critics are tried, and how is each used once it is read?

use std::collections::BTreeMap;

use cpss::tasks;
use cpss_highway::TaskId;
use cpss_learn::critic::ensemble::{Ensemble, Room, Scale};
use cpss_learn::critic::{Critic, Shape};
use cpss_learn::generator::{Generator, Purpose};
use cpss_risk::features::Inputs;
use cpss_risk::{Card, LearnedRisk};

use super::Answer;

fn random_critic(shape: Shape) -> Option<Critic> {
    Critic::new(shape, &mut Generator::new(1, Purpose::Weights)).ok()
}

pub(super) fn critics_of_sets() -> Vec<Vec<u8>> {
    let plain = Shape { fixed: 3, item: 0, encoder: vec![], head: vec![4], actions: 2 };
    let set = Shape { item: 2, encoder: vec![4, 3], ..plain.clone() };
    let critics = [plain, set].into_iter().filter_map(random_critic);
    critics.map(|critic| critic.to_bytes(&BTreeMap::new())).collect()
}

fn use_critic(critic: &Critic) -> Answer {
    let shape = critic.shape();
    let (fixed, items) = (vec![0.5; shape.fixed], vec![0.5; 2 * shape.item]);
    let mut risks = vec![0.0; shape.actions];
    critic.risks(&fixed, &items, &mut critic.scratch(), &mut risks);
    sound(&risks)
}

/// Risks that are probabilities, or the reader has let something through.
fn sound(risks: &[f64]) -> Answer {
    assert!(risks.iter().all(|risk| (0.0..=1.0).contains(risk)), "risks that are none: {risks:?}");
    Answer::Accepted
}

pub(super) fn read_critic(bytes: &[u8]) -> Answer {
    match Critic::from_bytes(bytes) {
        Ok((critic, _)) => use_critic(&critic),
        Err(error) => Answer::Refused(error.to_string()),
    }
}

pub(super) fn flat_critics() -> Vec<Vec<u8>> {
    let made = |point: usize, actions: usize| {
        let shape = Shape { fixed: 3 + point, item: 0, encoder: vec![], head: vec![4], actions };
        let critics = vec![random_critic(shape.clone())?, random_critic(shape)?];
        let ensemble = Ensemble::new(critics, Scale::none(3), point, 0.5)?;
        Some(ensemble.to_bytes(&BTreeMap::from([("card".to_owned(), "{}".to_owned())])))
    };
    [made(0, 2), made(2, 1)].into_iter().flatten().collect()
}

pub(super) fn read_critics(bytes: &[u8]) -> Answer {
    let ensemble = match Ensemble::from_bytes(bytes) {
        Ok((ensemble, _)) => ensemble,
        Err(error) => return Answer::Refused(error.to_string()),
    };
    let (row, mut room) = (vec![0.5; ensemble.numbers()], Room::default());
    let mut risks = vec![0.0; ensemble.actions()];
    match ensemble.point() {
        0 => ensemble.risks(&row, &mut room, &mut risks),
        point => ensemble.risks_at(&row, &vec![0.5; point], &mut room, &mut risks),
    }
    sound(&risks)
}

pub(super) fn cards() -> Vec<Vec<u8>> {
    let made = |id: TaskId| {
        let task = tasks::policy_task(id);
        let card = Card { resolution: 0.001, ..Card::new(&task, 0.98) };
        let (Inputs { fixed, item, .. }, actions) = (Inputs::of(&task), card.actions.len());
        let shape = Shape { fixed, item, encoder: vec![4], head: vec![4], actions };
        Some(LearnedRisk::new(random_critic(shape)?, card).ok()?.to_bytes())
    };
    [made(TaskId::MergeV0), made(TaskId::RacetrackV0)].into_iter().flatten().collect()
}

pub(super) fn read_card(bytes: &[u8]) -> Answer {
    match LearnedRisk::from_bytes(bytes) {
        Ok(risk) => use_critic(risk.critic()),
        Err(error) => Answer::Refused(error.to_string()),
    }
}
