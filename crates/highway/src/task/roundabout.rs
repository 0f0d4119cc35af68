//! # `roundabout-v0`, `roundabout-v1`
//!
//! ## Description
//! The ego comes from the south, enters a roundabout of two lanes among flowing traffic, and is
//! bound for the exit in the north. Nobody gives way by rule. In `roundabout-v1` drivers also see
//! cars on the lanes before and after their own.
//!
//! ## Action Space
//! `Discrete(5)`: lane left, idle, lane right, faster, slower. The speeds to hold are 0, 8 and
//! 16 m/s.
//!
//! ## Observation Space
//! `Box(5, 5)`: presence, x, y, vx, vy of the ego and the four nearest cars that are not far
//! behind, absolute, scaled to [-1, 1].
//!
//! ## Rewards
//! `collision_reward` if crashed, plus `high_speed_reward` times half the place of the speed that
//! the ego holds among its speeds, plus `lane_change_reward` for asking for a lane change; scaled
//! to [0, 1] with `normalize_reward`; zero off the road.
//!
//! ## Starting State
//! The ego at 8 m/s before the southern entry; three cars in the roundabout, west of the entry, and
//! one that comes in from the east, at about 16 m/s, each bound for a random exit.
//!
//! ## Episode End
//! Terminated by a crash, truncated after `duration` seconds.
//!
//! ## Arguments
//! The fields of [`Roundabout`], by upstream's names. `right_lane_reward` is accepted and earns
//! nothing, as upstream.
//!
//! ## Version History
//! As highway-env 1.12.1; v1 is its correction of the neighbour search.

use std::f64::consts::{FRAC_PI_2, PI};
use std::sync::{Arc, OnceLock};

use serde_json::json;

use super::{Defaults, Reward, Task, TaskRules, Window, above_zero, any, nearest_speed};
use crate::action::{Action, Controls};
use crate::arith::lerp_between;
use crate::fields::{ConfigError, Fields};
use crate::lane::Lane;
use crate::observation::View;
use crate::random::Generator;
use crate::road::{Network, NetworkBuilder};
use crate::route::Route;
use crate::simulation::Simulation;
use crate::vehicle::{Driver, Vehicle};

/// Radii of the inner and the outer lane \[m\].
const RADII: [f64; 2] = [20.0, 24.0];
/// The arcs that make up the circle, as nodes and angles \[degrees\]. A node is a side and `e`ntry
/// or e`x`it, as upstream names it; an exit is 24 degrees before the axis, an entry as far past it.
const ARCS: [(&str, &str, [f64; 2]); 8] = [
    ("se", "ex", [66.0, 24.0]),
    ("ex", "ee", [24.0, -24.0]),
    ("ee", "nx", [-24.0, -66.0]),
    ("nx", "ne", [-66.0, -114.0]),
    ("ne", "wx", [-114.0, -156.0]),
    ("wx", "we", [-156.0, -204.0]),
    ("we", "sx", [156.0, 114.0]),
    ("sx", "se", [114.0, 66.0]),
];
/// The sides of the accesses, each a quarter turn from the last.
const SIDES: [char; 4] = ['s', 'e', 'n', 'w'];
/// How far from the middle the accesses begin \[m\].
const ACCESS: f64 = 170.0;
/// The length of a whole swing; the accesses start to swing at half of it from the middle \[m\].
const SWING: f64 = 85.0;
/// How far the accesses swing to either side \[m\].
const AMPLITUDE: f64 = 5.0;
/// How far the middle of an access lane is from the axis \[m\].
const HALF_LANE: f64 = 2.0;
/// How far an entry swings before it meets the circle \[m\].
const ENTRY_LENGTH: f64 = 0.2 * SWING;

/// Where cars may be bound for.
const DESTINATIONS: [&str; 3] = ["exr", "sxr", "nxr"];
/// Where the ego is bound for.
const EGO_DESTINATION: &str = "nxs";
/// The speeds by which the reward of an ego under raw control is counted \[m/s\].
const RAW_SPEEDS: [f64; 3] = [20.0, 25.0, 30.0];

/// The roundabout's config.
#[derive(Clone, Debug, PartialEq)]
pub struct Roundabout {
    /// Length of an episode \[s\].
    pub duration: f64,
    /// Where the first car in the roundabout is bound for: 0 east, 1 south, 2 north; random if not
    /// set.
    pub incoming_vehicle_destination: Option<usize>,
    /// Reward of a crash.
    pub collision_reward: f64,
    /// Reward of holding the third of the speeds.
    pub high_speed_reward: f64,
    /// Reward of asking for a lane change.
    pub lane_change_reward: f64,
    /// Whether rewards are scaled to [0, 1].
    pub normalize_reward: bool,
}

impl Roundabout {
    pub(super) fn read(fields: &mut Fields) -> Result<Roundabout, ConfigError> {
        let mut read = Roundabout {
            duration: 11.0,
            incoming_vehicle_destination: None,
            collision_reward: -1.0,
            high_speed_reward: 0.2,
            lane_change_reward: -0.05,
            normalize_reward: true,
        };
        fields.number("duration", &mut read.duration, "seconds above zero", above_zero)?;
        let destination = fields.take("incoming_vehicle_destination");
        if let Some(value) = destination.filter(|value| !value.is_null()) {
            let place = value.as_u64().map(|place| place as usize);
            let place = place.filter(|place| *place < DESTINATIONS.len()).ok_or_else(|| {
                fields.bad("incoming_vehicle_destination", &value, "null, 0, 1 or 2")
            })?;
            read.incoming_vehicle_destination = Some(place);
        }
        fields.number("collision_reward", &mut read.collision_reward, "a number", any)?;
        fields.number("high_speed_reward", &mut read.high_speed_reward, "a number", any)?;
        fields.ignore(&["right_lane_reward"]);
        fields.number("lane_change_reward", &mut read.lane_change_reward, "a number", any)?;
        fields.flag("normalize_reward", &mut read.normalize_reward)?;
        let width = read.high_speed_reward - read.collision_reward;
        if read.normalize_reward && width.abs() < 1e-9 {
            let wanted = "other than `high_speed_reward`, which it is scaled against";
            return Err(fields.bad("collision_reward", &read.collision_reward.into(), wanted));
        }
        Ok(read)
    }
}

/// The circle, then on every side the way in and the way out. After the circle's nodes, `s` is
/// where an access starts or ends to swing and `r` where it begins or ends.
fn road() -> NetworkBuilder {
    let mut builder = NetworkBuilder::default();
    for radius in RADII {
        for (from, to, angles) in ARCS {
            let [start, end] = angles.map(f64::to_radians);
            builder.add_lane(from, to, Lane::circular([0.0, 0.0], radius, start, end, false));
        }
    }
    let pulsation = 2.0 * PI / SWING;
    let exit_phase = -FRAC_PI_2 + pulsation * (SWING - ENTRY_LENGTH);
    let (bend, mouth) = (SWING / 2.0, SWING / 2.0 - ENTRY_LENGTH);
    let middle = HALF_LANE + AMPLITUDE;
    for (quarters, side) in SIDES.into_iter().enumerate() {
        // What is written for the south, turned to this side.
        let at = |x: f64, y: f64| (0..quarters).fold([x, y], |[x, y], _| [y, -x]);
        let swing = |start, end, phase| Lane::sine(start, end, AMPLITUDE, pulsation, phase);
        let node = |end: &str| format!("{side}{end}");
        let (entry, exit) = (node("e"), node("x"));
        let incoming = Lane::straight(at(HALF_LANE, ACCESS), at(HALF_LANE, bend));
        builder.add_lane(&node("er"), &node("es"), incoming);
        let entering = swing(at(middle, bend), at(middle, mouth), -FRAC_PI_2);
        builder.add_lane(&node("es"), &entry, entering);
        let leaving = swing(at(-middle, mouth), at(-middle, bend), exit_phase);
        builder.add_lane(&exit, &node("xs"), leaving);
        let outgoing = Lane::straight(at(-HALF_LANE, bend), at(-HALF_LANE, ACCESS));
        builder.add_lane(&node("xs"), &node("xr"), outgoing);
    }
    builder
}

/// A car of the traffic about to appear: on which lane, how far along, and bound for where.
struct Newcomer {
    lane: (&'static str, &'static str, usize),
    along: f64,
    destination: Option<usize>,
}

impl Newcomer {
    fn appear(&self, network: &Network, random: &mut Generator) -> Option<Vehicle> {
        let along = self.along + random.standard_normal() * 2.0;
        let speed = 16.0 + random.standard_normal() * 2.0;
        let (from, to, offset) = self.lane;
        let lane = network.lane(network.find_lane(from, to, offset)?);
        let (position, heading) = (lane.position(along, 0.0), lane.heading_at(along));
        let mut car = Vehicle::new(network, Driver::Idm, position, heading, speed);
        let destination = self.destination.unwrap_or_else(|| random.choice(DESTINATIONS.len()));
        car.route = plan(network, &car, DESTINATIONS[destination]);
        car.exponent = random.uniform(3.5, 4.5);
        Some(car)
    }
}

fn plan(network: &Network, car: &Vehicle, destination: &str) -> Route {
    network.node(destination).map_or(Route::default(), |node| Route::plan(network, car.lane, node))
}

impl TaskRules for Roundabout {
    fn defaults(&self) -> Defaults {
        Defaults {
            observation: json!({
                "type": "Kinematics",
                "absolute": true,
                "features_range": {
                    "x": [-100, 100], "y": [-100, 100], "vx": [-15, 15], "vy": [-15, 15],
                },
            }),
            action: json!({"type": "DiscreteMetaAction", "target_speeds": [0, 8, 16]}),
            window: Window { center: [0.5, 0.6], ..Window::SQUARE },
            ..Defaults::default()
        }
    }

    fn network(&self) -> Arc<Network> {
        static ROAD: OnceLock<Arc<Network>> = OnceLock::new();
        Arc::clone(ROAD.get_or_init(|| Arc::new(road().compile())))
    }

    fn populate(&self, task: &Task, simulation: &mut Simulation, random: &mut Generator) {
        let network = &task.network;
        let Some(approach) = network.find_lane("ser", "ses", 0) else { return };
        let lane = network.lane(approach);
        let mut ego = task.make_ego(lane.position(125.0, 0.0), lane.heading_at(140.0), 8.0);
        if matches!(task.controls, Controls::Meta { .. }) {
            ego.route = plan(network, &ego, EGO_DESTINATION);
        }
        simulation.ego = 0;
        simulation.vehicles.push(ego);
        let destination = self.incoming_vehicle_destination;
        for newcomer in [
            Newcomer { lane: ("we", "sx", 1), along: 5.0, destination },
            Newcomer { lane: ("we", "sx", 0), along: 20.0, destination: None },
            Newcomer { lane: ("we", "sx", 0), along: -20.0, destination: None },
            Newcomer { lane: ("eer", "ees", 0), along: 50.0, destination: None },
        ] {
            simulation.vehicles.extend(newcomer.appear(network, random));
        }
    }

    fn reward(&self, view: &View<'_>, action: Action<'_>) -> Reward {
        let ego = view.ego();
        let flag = |fact: bool| f64::from(u8::from(fact));
        let held = match ego.driver {
            Driver::Raw => nearest_speed(&RAW_SPEEDS, ego.speed),
            Driver::Meta | Driver::Idm => usize::from(ego.speed_index),
        };
        // Upstream divides by the number of its usual speeds, however many this ego has.
        let speed = held as f64 / (RAW_SPEEDS.len() - 1) as f64;
        // Upstream compares the action with the lane changes' numbers, whatever its kind.
        let lane_change = flag(matches!(action, Action::Index(0 | 2)));
        let on_road = flag(ego.on_road(view.network));
        let mut total = self.collision_reward * flag(ego.crashed)
            + self.high_speed_reward * speed
            + self.lane_change_reward * lane_change;
        if self.normalize_reward {
            let range = [self.collision_reward, self.high_speed_reward];
            total = lerp_between(total, range, [0.0, 1.0]);
        }
        Reward {
            total: total * on_road,
            terms: [
                ("collision_reward", flag(ego.crashed)),
                ("high_speed_reward", speed),
                ("lane_change_reward", lane_change),
                ("on_road_reward", on_road),
                ("", 0.0),
            ],
        }
    }

    fn is_terminated(&self, view: &View<'_>) -> bool {
        view.ego().crashed
    }

    fn is_truncated(&self, time: f64) -> bool {
        time >= self.duration
    }
}
