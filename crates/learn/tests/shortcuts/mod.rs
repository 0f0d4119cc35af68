//! The smallest world with a limit worth keeping: three stages, at each of which a shortcut pays more and may end badly.

use cpss_learn::generator::Generator;
use cpss_learn::{End, Env, Network, Outcome};

/// Number of stages, one decision each.
pub(crate) const STAGES: usize = 3;
/// The probability that a stage's shortcut is an incident, which ends the episode.
pub(crate) const RISKS: [f64; STAGES] = [0.05, 0.2, 0.5];

/// Action 0 waits, for nothing; action 1 takes the shortcut, for a reward of 1 whatever comes of it.
#[derive(Clone, Debug)]
pub(crate) struct Shortcuts {
    stage: usize,
    luck: Generator,
}

impl Default for Shortcuts {
    fn default() -> Shortcuts {
        Shortcuts { stage: 0, luck: Generator::from_state(0) }
    }
}

impl Env for Shortcuts {
    fn observation_len(&self) -> usize {
        STAGES
    }

    fn actions(&self) -> usize {
        2
    }

    fn reset(&mut self, seed: u64, observation: &mut [f32]) {
        *self = Shortcuts { stage: 0, luck: Generator::from_state(seed) };
        observe(0, observation);
    }

    fn step(&mut self, action: usize, observation: &mut [f32]) -> Outcome {
        // Drawn whatever the action, so that the stages' luck does not depend on the decisions.
        let unlucky = self.luck.unit() < RISKS[self.stage];
        let incident = action == 1 && unlucky;
        self.stage += 1;
        let over = incident || self.stage == STAGES;
        observe(self.stage, observation);
        let end = if over { End::Terminated } else { End::Running };
        Outcome { reward: action as f32, end, incident, ran: action }
    }
}

fn observe(stage: usize, observation: &mut [f32]) {
    observation.fill(0.0);
    if let Some(number) = observation.get_mut(stage) {
        *number = 1.0;
    }
}

/// What a policy is worth.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Worth {
    pub(crate) total_reward: f64,
    pub(crate) incident_rate: f64,
}

/// The exact worth of taking each stage's shortcut with this probability.
pub(crate) fn worth(shortcut: [f64; STAGES]) -> Worth {
    let mut worth = Worth { total_reward: 0.0, incident_rate: 0.0 };
    let mut alive = 1.0;
    for (probability, risk) in shortcut.into_iter().zip(RISKS) {
        worth.total_reward += alive * probability;
        worth.incident_rate += alive * probability * risk;
        alive *= 1.0 - probability * risk;
    }
    worth
}

/// The most reward that any policy earns with at most this many incidents per episode.
///
/// The pairs of reward and incidents that policies reach are the convex hull of those that the eight deterministic ones
/// reach, so with one limit the best is one of these, or a mixture of two just at the limit.
pub(crate) fn best_within(limit: f64) -> f64 {
    let pure: Vec<Worth> = (0..1_u32 << STAGES)
        .map(|bits| worth(std::array::from_fn(|stage| f64::from(bits >> stage & 1))))
        .collect();
    let mut best = f64::MIN;
    for a in &pure {
        for b in &pure {
            if a.incident_rate <= limit {
                best = best.max(a.total_reward);
            }
            if a.incident_rate < limit && limit < b.incident_rate {
                let share = (limit - a.incident_rate) / (b.incident_rate - a.incident_rate);
                best = best.max(a.total_reward + share * (b.total_reward - a.total_reward));
            }
        }
    }
    best
}

/// How probably a policy takes each stage's shortcut.
pub(crate) fn shortcuts_of(policy: &Network) -> [f64; STAGES] {
    std::array::from_fn(|stage| {
        let (mut observation, mut logits) = ([0.0; STAGES], [0.0; 2]);
        observe(stage, &mut observation);
        policy.q_values(&observation, &mut policy.scratch(), &mut logits);
        1.0 / (1.0 + f64::from(logits[0] - logits[1]).exp())
    })
}
