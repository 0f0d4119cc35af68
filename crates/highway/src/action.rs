//! What may the ego be told to do?
//!
//! Three kinds of action, with upstream's names: meta-actions (hold a speed, change lane), raw
//! controls in a box, and the same controls on a grid. [`Controls`] is what a kind is compiled to;
//! a world asks it what an [`Action`] means.
//!
//! Raw controls are computed in single precision, as upstream does with the actions that its
//! spaces sample.

use std::f64::consts::FRAC_PI_4;

use serde_json::Value;

use crate::fields::{ConfigError, Fields};

/// One decision.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Action<'a> {
    /// The place of a discrete action in its list.
    Index(usize),
    /// A point of a box, each component in [-1, 1].
    Point(&'a [f32]),
}

/// An action that the world cannot take.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum ActionError {
    /// An index past the end of the list.
    #[error("action {index} is out of range: there are {actions} actions, from 0")]
    OutOfRange {
        /// What was asked for.
        index: usize,
        /// How many there are.
        actions: usize,
    },
    /// A point where an index belongs, or the other way round, or a point of another dimension.
    #[error("this task takes {wanted}, not {given}")]
    WrongKind {
        /// What the task takes.
        wanted: String,
        /// What it was given.
        given: String,
    },
    /// A component that is NaN, infinite or beyond all measure. Within that, values outside
    /// [-1, 1] are clipped or not, as `clip` says.
    #[error("component {component} of the action is {value}, but has to be within [-1, 1]")]
    Unusable {
        /// Which component.
        component: usize,
        /// What it held.
        value: f32,
    },
}

/// Components that an unclipped box still takes; upstream has no bound, and overflows.
const USABLE: std::ops::RangeInclusive<f32> = -1e6..=1e6;

/// What a meta-action asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Meta {
    /// Aim for the lane on the left.
    LaneLeft,
    /// Change nothing.
    Idle,
    /// Aim for the lane on the right.
    LaneRight,
    /// Aim for the next higher speed.
    Faster,
    /// Aim for the next lower speed.
    Slower,
}

impl Meta {
    /// Upstream's label.
    pub fn label(self) -> &'static str {
        match self {
            Meta::LaneLeft => "LANE_LEFT",
            Meta::Idle => "IDLE",
            Meta::LaneRight => "LANE_RIGHT",
            Meta::Faster => "FASTER",
            Meta::Slower => "SLOWER",
        }
    }
}

/// A kind of action, checked and ready.
#[derive(Clone, Debug, PartialEq)]
pub enum Controls {
    /// `DiscreteMetaAction`.
    Meta {
        /// The actions, by index.
        actions: &'static [Meta],
        /// The speeds that can be held \[m/s\], rising.
        target_speeds: Vec<f64>,
    },
    /// `ContinuousAction`.
    Continuous(Pedals),
    /// `DiscreteAction`: every combination of evenly spread controls.
    Discrete {
        /// How a point of the box becomes controls.
        pedals: Pedals,
        /// The points, by index.
        points: Vec<Vec<f32>>,
    },
}

/// How a point of the box [-1, 1]ⁿ becomes steering and acceleration.
#[derive(Clone, Debug, PartialEq)]
pub struct Pedals {
    longitudinal: bool,
    lateral: bool,
    clip: bool,
    acceleration_range: [f64; 2],
    steering_range: [f64; 2],
    /// Slowest and fastest speed the ego may reach \[m/s\], when limited.
    pub speed_range: Option<[f64; 2]>,
}

/// Raw controls.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Command {
    /// Acceleration \[m/s²\].
    pub acceleration: f64,
    /// Steering angle \[rad\].
    pub steering: f64,
}

const ALL: &[Meta] = &[Meta::LaneLeft, Meta::Idle, Meta::LaneRight, Meta::Faster, Meta::Slower];
const LONGITUDINAL: &[Meta] = &[Meta::Slower, Meta::Idle, Meta::Faster];
const LATERAL: &[Meta] = &[Meta::LaneLeft, Meta::Idle, Meta::LaneRight];

impl Controls {
    /// Reads upstream's `action` dictionary.
    ///
    /// # Errors
    ///
    /// An unknown key or type, or a value that makes no sense, by name.
    pub fn read(value: &Value) -> Result<Controls, ConfigError> {
        Fields::read("action", value, |fields| {
            let kind = fields.take("type").unwrap_or_else(|| "DiscreteMetaAction".into());
            let (mut longitudinal, mut lateral) = (true, true);
            fields.flag("longitudinal", &mut longitudinal)?;
            fields.flag("lateral", &mut lateral)?;
            if !longitudinal && !lateral {
                return Err(fields.bad(
                    "lateral",
                    &Value::Bool(false),
                    "true when `longitudinal` is false",
                ));
            }
            let speeds = fields.take("target_speeds").filter(|value| !value.is_null());
            let controls = match kind.as_str() {
                Some("DiscreteMetaAction") => {
                    Controls::meta(fields, speeds.as_ref(), longitudinal, lateral)?
                }
                Some("ContinuousAction") => {
                    Controls::Continuous(Pedals::read(fields, longitudinal, lateral)?)
                }
                Some("DiscreteAction") => {
                    let mut per_axis = 3;
                    fields.count("actions_per_axis", &mut per_axis, 1..=1001)?;
                    let pedals = Pedals::read(fields, longitudinal, lateral)?;
                    let points = grid(per_axis, pedals.dimension());
                    Controls::Discrete { pedals, points }
                }
                _ => {
                    let wanted = "DiscreteMetaAction, ContinuousAction or DiscreteAction";
                    return Err(fields.bad("type", &kind, wanted));
                }
            };
            // Upstream passes one dictionary to whichever kind it names; keys of the other kinds
            // are part of its own defaults and change nothing.
            fields.ignore(&["acceleration_range", "steering_range", "speed_range"]);
            fields.ignore(&["dynamical", "clip", "actions_per_axis"]);
            Ok(controls)
        })
    }

    /// How many discrete actions there are, or `None` for a box.
    pub fn action_count(&self) -> Option<usize> {
        match self {
            Controls::Meta { actions, .. } => Some(actions.len()),
            Controls::Continuous(_) => None,
            Controls::Discrete { points, .. } => Some(points.len()),
        }
    }

    /// The number of components of an action in a box, or `None` for a list.
    pub fn box_dimension(&self) -> Option<usize> {
        match self {
            Controls::Continuous(pedals) => Some(pedals.dimension()),
            _ => None,
        }
    }

    /// Refuses an action that the task cannot take.
    ///
    /// # Errors
    ///
    /// What is wrong with it.
    pub fn check(&self, action: Action<'_>) -> Result<(), ActionError> {
        let wrong_kind = || ActionError::WrongKind {
            wanted: match (self.action_count(), self.box_dimension()) {
                (Some(actions), _) => format!("the index of one of {actions} actions"),
                (_, dimension) => format!("a point of dimension {}", dimension.unwrap_or(0)),
            },
            given: match action {
                Action::Index(index) => format!("the index {index}"),
                Action::Point(point) => format!("a point of dimension {}", point.len()),
            },
        };
        match (action, self.action_count(), self.box_dimension()) {
            (Action::Index(index), Some(actions), _) if index < actions => Ok(()),
            (Action::Index(index), Some(actions), _) => {
                Err(ActionError::OutOfRange { index, actions })
            }
            (Action::Point(point), _, Some(dimension)) if point.len() == dimension => {
                match point.iter().position(|value| !USABLE.contains(value)) {
                    None => Ok(()),
                    Some(component) => {
                        Err(ActionError::Unusable { component, value: point[component] })
                    }
                }
            }
            _ => Err(wrong_kind()),
        }
    }

    fn meta(
        fields: &Fields,
        speeds: Option<&Value>,
        longitudinal: bool,
        lateral: bool,
    ) -> Result<Controls, ConfigError> {
        let target_speeds = match speeds {
            None => vec![20.0, 25.0, 30.0],
            Some(value) => fields.numbers("target_speeds", value)?,
        };
        let rises = target_speeds.windows(2).all(|pair| pair[0] < pair[1]);
        if target_speeds.len() < 2 || target_speeds.len() > 255 || !rises {
            let value = speeds.cloned().unwrap_or_default();
            return Err(fields.bad(
                "target_speeds",
                &value,
                "2 to 255 speeds, each above the last",
            ));
        }
        let actions = match (longitudinal, lateral) {
            (true, true) => ALL,
            (true, false) => LONGITUDINAL,
            _ => LATERAL,
        };
        Ok(Controls::Meta { actions, target_speeds })
    }
}

impl Pedals {
    fn read(fields: &mut Fields, longitudinal: bool, lateral: bool) -> Result<Pedals, ConfigError> {
        let mut pedals = Pedals {
            longitudinal,
            lateral,
            clip: true,
            acceleration_range: [-5.0, 5.0],
            steering_range: [-FRAC_PI_4, FRAC_PI_4],
            speed_range: None,
        };
        fields.flag("clip", &mut pedals.clip)?;
        fields.range("acceleration_range", &mut pedals.acceleration_range)?;
        fields.range("steering_range", &mut pedals.steering_range)?;
        let mut speeds = [f64::NEG_INFINITY, f64::INFINITY];
        fields.range("speed_range", &mut speeds)?;
        pedals.speed_range = speeds[0].is_finite().then_some(speeds);
        let mut dynamical = false;
        fields.flag("dynamical", &mut dynamical)?;
        if dynamical {
            return Err(fields.bad(
                "dynamical",
                &Value::Bool(true),
                "false: tyre dynamics are not built",
            ));
        }
        Ok(pedals)
    }

    /// Components of a point.
    pub fn dimension(&self) -> usize {
        usize::from(self.longitudinal) + usize::from(self.lateral)
    }

    /// The controls at a point of the box.
    pub fn command(&self, point: &[f32]) -> Command {
        let component = |place: usize| {
            let value = point.get(place).copied().unwrap_or(0.0);
            if self.clip { value.clamp(-1.0, 1.0) } else { value }
        };
        let acceleration =
            if self.longitudinal { stretch(component(0), self.acceleration_range) } else { 0.0 };
        let steering = if self.lateral {
            stretch(component(usize::from(self.longitudinal)), self.steering_range)
        } else {
            0.0
        };
        Command { acceleration, steering }
    }
}

/// Maps [-1, 1] to a range, in single precision.
fn stretch(value: f32, [low, high]: [f64; 2]) -> f64 {
    f64::from(low as f32 + (value + 1.0) * ((high - low) as f32) / 2.0)
}

/// Every combination of `per_axis` evenly spread values, the last component running fastest.
fn grid(per_axis: usize, dimension: usize) -> Vec<Vec<f32>> {
    let axis: Vec<f32> = (0..per_axis)
        .map(|i| {
            // The last value is the end itself, not a rounded sum of steps.
            if i > 0 && i == per_axis - 1 {
                1.0
            } else {
                i as f32 * (2.0 / per_axis.saturating_sub(1).max(1) as f32) - 1.0
            }
        })
        .collect();
    let mut points = vec![Vec::new()];
    for _ in 0..dimension {
        points = points
            .iter()
            .flat_map(|point: &Vec<f32>| {
                axis.iter().map(move |value| [point.as_slice(), &[*value]].concat())
            })
            .collect();
    }
    points
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_grid_runs_over_every_combination() {
        let controls =
            Controls::read(&json!({"type": "DiscreteAction", "actions_per_axis": 3})).unwrap();
        assert_eq!(controls.action_count(), Some(9));
        let Controls::Discrete { pedals, points } = controls else { panic!() };
        assert_eq!(points[1], [-1.0, 0.0]);
        let command = pedals.command(&points[8]);
        assert_eq!(command.acceleration, 5.0);
        assert!((command.steering - FRAC_PI_4).abs() < 1e-6);
    }

    #[test]
    fn what_cannot_be_done_is_refused_by_name() {
        let meta = Controls::read(&json!({"type": "DiscreteMetaAction"})).unwrap();
        let error = meta.check(Action::Index(5)).unwrap_err();
        assert_eq!(error, ActionError::OutOfRange { index: 5, actions: 5 });
        let pedals = Controls::read(&json!({"type": "ContinuousAction"})).unwrap();
        assert!(matches!(
            pedals.check(Action::Point(&[0.0, f32::NAN])),
            Err(ActionError::Unusable { component: 1, .. })
        ));
        assert!(pedals.check(Action::Point(&[0.0])).is_err());
        assert!(pedals.check(Action::Index(0)).is_err());
    }

    #[test]
    fn a_misspelt_key_is_answered_with_the_right_one() {
        let error = Controls::read(&json!({"laterale": false})).unwrap_err();
        assert_eq!(error.to_string(), "unknown key `action.laterale`; did you mean `lateral`?");
    }
}
