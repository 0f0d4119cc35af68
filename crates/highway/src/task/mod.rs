//! Which road, which cars, which reward: what makes one task differ from another?
//!
//! A [`Task`] is a value: an id, upstream's config keys, and [`TaskRules`] over the one world of
//! [`crate::World`]. Five sets of rules serve ten ids:
//!
//! | id | rules | differs by |
//! |---|---|---|
//! | `highway-v0`, `highway-fast-v0` | [`highway`] | size, frequency, who looks for collisions |
//! | `merge-v0`, `merge-v1` | [`merge`] | v1 also sees cars on connected lanes |
//! | `intersection-v0`, `intersection-v2` | [`intersection`] | v2 also sees cars on connected lanes |
//! | `racetrack-v0`, `racetrack-v1` | [`racetrack`] | v1 also sees cars on connected lanes |
//! | `roundabout-v0`, `roundabout-v1` | [`roundabout`] | v1 also sees cars on connected lanes |
//!
//! To add a task, write one file beside these with a type that implements [`TaskRules`], and give it a line in
//! `tasks!` below: nothing else in this crate knows which tasks there are.

pub mod highway;
pub mod intersection;
pub mod merge;
pub mod racetrack;
pub mod roundabout;

use std::sync::Arc;

use serde_json::{Map, Value, json};

use crate::action::{Action, Controls};
use crate::arith;
use crate::driver::DriverParameters;
use crate::fields::{ConfigError, Fields};
use crate::lane::Lane;
use crate::lineup::runs_along_x;
use crate::neighbours::Obstacle;
use crate::observation::{Observer, View};
use crate::random::Generator;
use crate::road::{LaneId, Network};
use crate::simulation::Simulation;
use crate::vehicle::{Driver, Vehicle};

/// A line for each task: its name in Rust, upstream's id, whether drivers also see cars on connected lanes, and
/// what reads its rules. Everything that has to know all tasks follows from these lines.
macro_rules! tasks {
    ($($task:ident, $id:literal, $connected:literal, $read:expr;)*) => {
        /// The tasks there are.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum TaskId {
            $(#[doc = concat!("`", $id, "`.")] $task,)*
        }

        impl TaskId {
            /// Every task.
            pub const ALL: [TaskId; [$($id),*].len()] = [$(TaskId::$task),*];

            /// Upstream's id.
            pub fn name(self) -> &'static str {
                match self {
                    $(TaskId::$task => $id,)*
                }
            }

            fn reads_connected_lanes(self) -> bool {
                match self {
                    $(TaskId::$task => $connected,)*
                }
            }

            fn read_rules(self, fields: &mut Fields) -> Result<Box<dyn TaskRules>, ConfigError> {
                match self {
                    $(TaskId::$task => Ok(Box::new($read(fields)?)),)*
                }
            }
        }
    };
}

tasks! {
    MergeV0, "merge-v0", false, merge::Merge::read;
    MergeV1, "merge-v1", true, merge::Merge::read;
    HighwayV0, "highway-v0", false, highway::Highway::read;
    HighwayFastV0, "highway-fast-v0", false, highway::Highway::read_fast;
    IntersectionV0, "intersection-v0", false, intersection::Intersection::read;
    IntersectionV2, "intersection-v2", true, intersection::Intersection::read;
    RacetrackV0, "racetrack-v0", false, racetrack::Racetrack::read;
    RacetrackV1, "racetrack-v1", true, racetrack::Racetrack::read;
    RoundaboutV0, "roundabout-v0", false, roundabout::Roundabout::read;
    RoundaboutV1, "roundabout-v1", true, roundabout::Roundabout::read;
}

impl std::str::FromStr for TaskId {
    type Err = ConfigError;

    fn from_str(id: &str) -> Result<TaskId, ConfigError> {
        TaskId::ALL.into_iter().find(|task| task.name() == id).ok_or_else(|| {
            ConfigError::UnknownTask {
                id: id.to_owned(),
                known: TaskId::ALL.map(TaskId::name).join(", "),
            }
        })
    }
}

/// What a set of rules decides. Everything it needs beyond itself is passed in.
pub trait TaskRules: std::fmt::Debug + Send + Sync {
    /// Upstream's defaults where this task's differ from the common ones.
    fn defaults(&self) -> Defaults;
    /// The road. Where no key of the config changes it, it is compiled once and shared.
    fn network(&self) -> Arc<Network>;
    /// Bodies without a driver.
    fn obstacles(&self) -> Vec<Obstacle> {
        Vec::new()
    }
    /// How the traffic drives.
    fn parameters(&self) -> DriverParameters {
        DriverParameters::default()
    }
    /// Whether cars give way by rule.
    fn is_regulated(&self) -> bool {
        false
    }
    /// Puts the cars on the road, the ego among them.
    fn populate(&self, task: &Task, simulation: &mut Simulation, random: &mut Generator);
    /// The terms of the reward, by upstream's names, and their sum.
    fn reward(&self, view: &View<'_>, action: Action<'_>) -> Reward;
    /// Whether the state is terminal.
    fn is_terminated(&self, view: &View<'_>) -> bool;
    /// Whether the time is up.
    fn is_truncated(&self, time: f64) -> bool;
    /// What happens between two decisions, after the observation was made.
    fn after_step(&self, _: &Task, _: &mut Simulation, _: &mut Generator) {}
    /// Whether the ego has got where it was going; `None` where a task has no such place.
    fn has_arrived(&self, _: &View<'_>) -> Option<bool> {
        None
    }
}

/// Upstream's default dictionaries and frequencies.
pub struct Defaults {
    /// The `observation` dictionary.
    pub observation: Value,
    /// The `action` dictionary.
    pub action: Value,
    /// Frames per second \[Hz\].
    pub simulation_frequency: usize,
    /// Decisions per second \[Hz\].
    pub policy_frequency: usize,
    /// Where a picture of the task looks.
    pub window: Window,
}

/// A picture's default size and place, as upstream's.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Window {
    /// Width and height \[px\].
    pub size: [u32; 2],
    /// Pixels per metre.
    pub scaling: f64,
    /// Where in the picture the ego is, as shares of width and height.
    pub center: [f64; 2],
}

impl Window {
    /// Upstream's window for roads that do not only run along x.
    const SQUARE: Window = Window { size: [600, 600], scaling: 5.5, center: [0.5, 0.5] };
}

impl Default for Defaults {
    fn default() -> Defaults {
        Defaults {
            observation: json!({"type": "Kinematics"}),
            action: json!({"type": "DiscreteMetaAction"}),
            simulation_frequency: 15,
            policy_frequency: 1,
            window: Window { size: [600, 150], scaling: 5.5, center: [0.3, 0.5] },
        }
    }
}

/// A reward and the terms it was made of.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Reward {
    /// What the ego gets.
    pub total: f64,
    /// Upstream's `info["rewards"]`; unused places have no name.
    pub terms: [(&'static str, f64); 5],
}

impl Reward {
    /// The named terms.
    pub fn terms(&self) -> impl Iterator<Item = (&'static str, f64)> {
        self.terms.into_iter().filter(|(name, _)| !name.is_empty())
    }
}

/// A task, checked and ready: shared by all worlds that play it.
#[derive(Debug)]
pub struct Task {
    /// Its id.
    pub id: TaskId,
    /// The lanes.
    pub network: Arc<Network>,
    /// Bodies without a driver.
    pub obstacles: Vec<Obstacle>,
    /// Where they are, worked out once: for each lane, obstacle and longitudinal coordinate \[m\].
    pub(crate) obstacle_places: Vec<Vec<(usize, f64)>>,
    /// What the ego may be told.
    pub controls: Controls,
    /// What the policy sees.
    pub observer: Observer,
    /// Duration of a frame \[s\].
    pub frame_time: f64,
    /// Duration of a decision \[s\].
    pub decision_time: f64,
    /// Frames per decision.
    pub frames: usize,
    /// Whether drivers also see cars on connected lanes.
    pub connected_lanes: bool,
    /// Where a picture of it looks, unless asked otherwise.
    pub window: Window,
    /// How the lanes lie.
    pub(crate) layout: Layout,
    /// Road, cars, reward and ends.
    pub rules: Box<dyn TaskRules>,
}

/// How the lanes of a road lie to each other, for whoever searches them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Layout {
    /// Anyhow.
    Any,
    /// All along x.
    AlongX,
    /// All along x and side by side, from the same start, and without obstacles.
    Strip,
}

impl Task {
    /// Builds a task from upstream's config keys; keys left out keep upstream's defaults.
    ///
    /// ```
    /// use cpss_highway::{Task, TaskId};
    ///
    /// let task = Task::new(TaskId::HighwayV0, &serde_json::json!({"lanes_count": 3}))?;
    /// assert_eq!(task.observer.shape(), [5, 5]);
    ///
    /// let error = Task::new(TaskId::HighwayV0, &serde_json::json!({"lane_count": 3})).unwrap_err();
    /// assert_eq!(error.to_string(), "unknown key `lane_count`; did you mean `lanes_count`?");
    /// # Ok::<(), cpss_highway::ConfigError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// A key that the task does not have, with the nearest one that it has, or a value that makes
    /// no sense.
    pub fn new(id: TaskId, config: &Value) -> Result<Arc<Task>, ConfigError> {
        Fields::read("", config, |fields| {
            let rules = id.read_rules(fields)?;
            let defaults = rules.defaults();
            let Defaults { mut simulation_frequency, mut policy_frequency, .. } = defaults;
            fields.count("simulation_frequency", &mut simulation_frequency, 1..=1000)?;
            fields.count("policy_frequency", &mut policy_frequency, 1..=simulation_frequency)?;
            let mut connected_lanes = id.reads_connected_lanes();
            fields.flag("neighbour_vehicles_connected_lanes", &mut connected_lanes)?;
            let action = fields.take("action").unwrap_or(defaults.action);
            let observation = fields.take("observation").unwrap_or(defaults.observation);
            only_known_drivers(fields)?;
            fields.ignore(&["screen_width", "screen_height", "centering_position", "scaling"]);
            fields.ignore(&["show_trajectories", "render_agent", "offscreen_rendering"]);
            fields.ignore(&["manual_control", "real_time_rendering"]);
            let network = rules.network();
            Ok(Arc::new(Task {
                id,
                obstacle_places: places_of(&rules.obstacles(), &network),
                obstacles: rules.obstacles(),
                controls: Controls::read(&action)?,
                observer: Observer::read(&observation)?,
                frame_time: 1.0 / simulation_frequency as f64,
                decision_time: 1.0 / policy_frequency as f64,
                frames: simulation_frequency / policy_frequency,
                connected_lanes,
                window: defaults.window,
                layout: match connected_lanes {
                    // A search along connected lanes is not a walk along x.
                    true => Layout::Any,
                    false if rules.obstacles().is_empty() && is_strip(&network) => Layout::Strip,
                    false if runs_along_x(&network) => Layout::AlongX,
                    false => Layout::Any,
                },
                network,
                rules,
            }))
        })
    }

    /// Whether this is the same task in the same config, but for what a policy sees of it: what was measured of one then
    /// holds of the other.
    pub fn is_same_but_for_observation(&self, other: &Task) -> bool {
        let clock = |task: &Task| (task.frame_time, task.decision_time, task.connected_lanes);
        // A set of rules is its config: how it prints names every key.
        let rules = |task: &Task| format!("{:?}", task.rules);
        self.id == other.id
            && self.controls == other.controls
            && clock(self) == clock(other)
            && rules(self) == rules(other)
    }

    /// A task with upstream's defaults.
    pub fn with_defaults(id: TaskId) -> Arc<Task> {
        // The defaults are ours, and a test builds every one of them.
        Task::new(id, &Value::Object(Map::new())).expect("upstream's defaults are a valid config")
    }

    /// The ego at a pose, driven as the action type asks.
    pub(crate) fn make_ego(&self, position: [f64; 2], heading: f64, speed: f64) -> Vehicle {
        match &self.controls {
            Controls::Meta { target_speeds, .. } => {
                let mut ego = Vehicle::new(&self.network, Driver::Meta, position, heading, speed);
                ego.aim_for_speed(nearest_speed(target_speeds, speed), target_speeds);
                ego
            }
            Controls::Continuous(_) | Controls::Discrete { .. } => {
                Vehicle::new(&self.network, Driver::Raw, position, heading, speed)
            }
        }
    }
}

/// The place of the target speed closest to a speed, if they are evenly spread.
pub(crate) fn nearest_speed(target_speeds: &[f64], speed: f64) -> usize {
    let last = target_speeds.len() - 1;
    let share = (speed - target_speeds[0]) / (target_speeds[last] - target_speeds[0]);
    (share * last as f64).round_ties_even().clamp(0.0, last as f64) as usize
}

/// Maps a value from a range to [0, 1], without limits.
fn share_of(value: f64, range: [f64; 2]) -> f64 {
    arith::lerp_between(value, range, [0.0, 1.0])
}

fn any(_: f64) -> bool {
    true
}

fn above_zero(value: f64) -> bool {
    value > 0.0
}

fn only_known_drivers(fields: &mut Fields) -> Result<(), ConfigError> {
    const IDM: &str = "highway_env.vehicle.behavior.IDMVehicle";
    match fields.take("other_vehicles_type") {
        Some(value) if value != IDM => Err(fields.bad("other_vehicles_type", &value, IDM)),
        _ => Ok(()),
    }
}

/// For every lane, the obstacles that a neighbour search on it sees.
fn places_of(obstacles: &[Obstacle], network: &Network) -> Vec<Vec<(usize, f64)>> {
    let on_lane = |(_, lane): (LaneId, &Lane)| {
        let seen = obstacles.iter().enumerate();
        seen.filter_map(|(i, obstacle)| Some((i, lane.sees(obstacle.position)?))).collect()
    };
    network.lanes().map(on_lane).collect()
}

/// Whether all lanes are one road of parallel lanes along x that start at the same place.
fn is_strip(network: &Network) -> bool {
    use crate::lane::Shape;
    use crate::strip::LANE_WIDTH;
    network.lanes().all(|(id, lane)| {
        network.road_of(id).0 == 0
            && matches!(lane.shape, Shape::Straight { start, heading, .. }
                if start == [0.0, LANE_WIDTH * id.index() as f64] && heading == 0.0)
    })
}
