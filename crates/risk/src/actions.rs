//! Which of the critic's outputs is an action of the task?
//!
//! A critic has one output per action it learned, and its card says what each of them is ([`ActionKey`]). A
//! task with the same actions in another order, or with some of them only, is served too; a steering angle
//! between two that were learned lies between their risks. Start at `Outputs::of`.

use cpss_highway::action::{Action, Controls, Pedals};
use serde::{Deserialize, Serialize};

/// What an action is, whatever its place in a list.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum ActionKey {
    /// A meta-action, by upstream's label, such as `LANE_LEFT`.
    Meta(String),
    /// Raw controls: acceleration \[m/s²\] and steering angle \[rad\].
    Raw([f64; 2]),
}

impl ActionKey {
    /// The actions of a task whose actions are a list; none otherwise.
    pub fn list(controls: &Controls) -> Vec<ActionKey> {
        match controls {
            Controls::Meta { actions, .. } => {
                actions.iter().map(|meta| ActionKey::Meta(meta.label().to_owned())).collect()
            }
            Controls::Discrete { pedals, points } => {
                points.iter().map(|point| ActionKey::Raw(raw(pedals, point))).collect()
            }
            Controls::Continuous(_) => Vec::new(),
        }
    }
}

/// An action of the task that the critic has not learned.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("the risk of {action} was not learned: the critic knows {known}; give a cost of your own")]
pub struct UnknownAction {
    /// The action.
    pub action: String,
    /// What was learned.
    pub known: String,
}

/// For each action of a task, where its risk comes from.
#[derive(Clone, Debug)]
pub(crate) struct Outputs {
    listed: Vec<Mix>,
    /// Learned steering angles with their outputs, rising, if any point of the box lies among them.
    steering: Vec<(f64, usize)>,
}

/// A mean of two outputs: the share of the second.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Mix(usize, usize, f64);

/// Angles closer than this are the same \[rad\].
const SAME: f64 = 1e-6;

impl Outputs {
    /// Finds every action of a task among those that were learned.
    pub(crate) fn of(controls: &Controls, learned: &[ActionKey]) -> Result<Outputs, UnknownAction> {
        let unknown = |action: String| {
            let known = learned.iter().map(|key| format!("{key:?}")).collect::<Vec<_>>().join(", ");
            UnknownAction { action, known }
        };
        let mut steering: Vec<(f64, usize)> = Vec::new();
        for (place, key) in learned.iter().enumerate() {
            if let ActionKey::Raw([0.0, angle]) = key {
                steering.push((*angle, place));
            }
        }
        steering.sort_by(|a, b| a.0.total_cmp(&b.0));
        let listed = ActionKey::list(controls).into_iter().map(|key| {
            let same = learned.iter().position(|learned| *learned == key);
            let found = match (same, &key) {
                (Some(place), _) => Some(Mix(place, place, 0.0)),
                (None, ActionKey::Raw([0.0, angle])) => between(&steering, *angle),
                (None, _) => None,
            };
            found.ok_or_else(|| unknown(format!("{key:?}")))
        });
        let outputs = Outputs { listed: listed.collect::<Result<_, _>>()?, steering };
        if let Controls::Continuous(pedals) = controls {
            let ends = [vec![-1.0; pedals.dimension()], vec![1.0; pedals.dimension()]];
            for end in ends {
                if outputs.mix_of(pedals, &end).is_none() {
                    return Err(unknown(format!("the point {end:?}")));
                }
            }
        }
        Ok(outputs)
    }

    /// How many actions the task lists.
    pub(crate) fn len(&self) -> usize {
        self.listed.len()
    }

    /// The risk of an action, from the critic's outputs; 1 if it was not learned.
    pub(crate) fn risk(&self, controls: &Controls, action: Action<'_>, risks: &[f64]) -> f64 {
        let mix = match (action, controls) {
            (Action::Index(index), _) => self.listed.get(index).copied(),
            (Action::Point(point), Controls::Continuous(pedals)) => self.mix_of(pedals, point),
            (Action::Point(_), _) => None,
        };
        mix.map_or(1.0, |Mix(a, b, share)| risks[a] + (risks[b] - risks[a]) * share)
    }

    fn mix_of(&self, pedals: &Pedals, point: &[f32]) -> Option<Mix> {
        match raw(pedals, point) {
            [0.0, angle] => between(&self.steering, angle),
            _ => None,
        }
    }
}

fn raw(pedals: &Pedals, point: &[f32]) -> [f64; 2] {
    let command = pedals.command(point);
    [command.acceleration, command.steering]
}

/// The two neighbours of an angle; `None` beyond the ends.
fn between(steering: &[(f64, usize)], angle: f64) -> Option<Mix> {
    let exact = steering.iter().find(|(known, _)| (known - angle).abs() <= SAME);
    if let Some((_, place)) = exact {
        return Some(Mix(*place, *place, 0.0));
    }
    let pair = steering.windows(2).find(|pair| pair[0].0 < angle && angle < pair[1].0)?;
    Some(Mix(pair[0].1, pair[1].1, (angle - pair[0].0) / (pair[1].0 - pair[0].0)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn controls(action: serde_json::Value) -> Controls {
        Controls::read(&action).unwrap()
    }

    #[test]
    fn actions_are_found_by_what_they_are() {
        let all = ActionKey::list(&controls(json!({"type": "DiscreteMetaAction"})));
        let some = controls(json!({"type": "DiscreteMetaAction", "lateral": false}));
        let outputs = Outputs::of(&some, &all).unwrap();
        let risks = [0.1, 0.2, 0.3, 0.4, 0.5];
        // SLOWER, IDLE and FASTER are the fifth, second and fourth of all.
        let found = [0, 1, 2].map(|index| outputs.risk(&some, Action::Index(index), &risks));
        assert_eq!(found, [0.5, 0.2, 0.4]);
        let whole = controls(json!({"type": "DiscreteMetaAction"}));
        let error = Outputs::of(&whole, &ActionKey::list(&some)).unwrap_err();
        assert!(error.to_string().contains("LANE_LEFT"), "{error}");
    }

    #[test]
    fn a_steering_angle_between_two_lies_between_their_risks() {
        let grid = controls(
            json!({"type": "DiscreteAction", "longitudinal": false, "actions_per_axis": 5}),
        );
        let learned = ActionKey::list(&grid);
        let free = controls(json!({"type": "ContinuousAction", "longitudinal": false}));
        let outputs = Outputs::of(&free, &learned).unwrap();
        let risks = [0.0, 0.4, 0.0, 0.0, 1.0];
        let risk = |at: f32| outputs.risk(&free, Action::Point(&[at]), &risks);
        assert!((risk(-0.75) - 0.2).abs() < 1e-6 && (risk(-0.5) - 0.4).abs() < 1e-6);
        assert!((risk(0.75) - 0.5).abs() < 1e-6 && risk(1.0) == 1.0 && risk(0.25) == 0.0);
        let pedals = controls(json!({"type": "ContinuousAction"}));
        assert!(Outputs::of(&pedals, &learned).is_err());
    }
}
