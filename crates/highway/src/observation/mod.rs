//! What does the policy see?
//!
//! Two kinds, with upstream's names and options: a table of nearby cars ([`kinematics`]) and a
//! grid of cells around the ego ([`grid`]). An [`Observer`] is a kind, checked and ready; it
//! writes into a buffer that the caller owns.

pub mod grid;
pub mod kinematics;

use serde_json::Value;

use crate::fields::{ConfigError, Fields};
use crate::neighbours::Obstacle;
use crate::random::Generator;
use crate::road::Network;
use crate::vehicle::{MAX_SPEED, Vehicle};

/// What an observer looks at.
pub struct View<'a> {
    /// All cars, the ego among them.
    pub vehicles: &'a [Vehicle],
    /// All obstacles.
    pub obstacles: &'a [Obstacle],
    /// The lanes.
    pub network: &'a Network,
    /// The ego's place in `vehicles`.
    pub ego: usize,
}

impl View<'_> {
    /// The ego.
    pub fn ego(&self) -> &Vehicle {
        &self.vehicles[self.ego]
    }
}

/// A kind of observation, checked and ready.
#[derive(Clone, Debug, PartialEq)]
pub enum Observer {
    /// `Kinematics`.
    Kinematics(kinematics::Kinematics),
    /// `OccupancyGrid`.
    Grid(grid::Grid),
}

/// What an observer remembers between steps: work space, and the range of y fixed at reset.
#[derive(Clone, Debug, Default)]
pub struct Memory {
    pub(crate) y_range: f64,
    pub(crate) nearest: Vec<(f64, u16)>,
}

impl Observer {
    /// Reads upstream's `observation` dictionary.
    ///
    /// # Errors
    ///
    /// An unknown key or type, or a value that makes no sense, by name.
    pub fn read(value: &Value) -> Result<Observer, ConfigError> {
        Fields::read("observation", value, |fields| {
            let kind = fields.take("type").unwrap_or_else(|| "Kinematics".into());
            match kind.as_str() {
                Some("Kinematics") => {
                    kinematics::Kinematics::read(fields).map(Observer::Kinematics)
                }
                Some("OccupancyGrid") => grid::Grid::read(fields).map(Observer::Grid),
                _ => Err(fields.bad("type", &kind, "Kinematics or OccupancyGrid")),
            }
        })
    }

    /// The shape of an observation.
    pub fn shape(&self) -> Vec<usize> {
        match self {
            Observer::Kinematics(kinematics) => kinematics.shape().to_vec(),
            Observer::Grid(grid) => grid.shape().to_vec(),
        }
    }

    /// How many bodies an observation can list.
    fn most_bodies(&self) -> usize {
        match self {
            Observer::Kinematics(kinematics) => kinematics.shape()[0],
            Observer::Grid(_) => 0,
        }
    }

    /// The number of values in an observation.
    pub fn len(&self) -> usize {
        match self {
            Observer::Kinematics(kinematics) => kinematics.shape().into_iter().product(),
            Observer::Grid(grid) => grid.shape().into_iter().product(),
        }
    }

    /// Whether an observation holds nothing; it never does.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Fixes what upstream fixes at reset: how far y reaches, by the width of the ego's road.
    pub(crate) fn begin_episode(&self, view: &View<'_>, memory: &mut Memory) {
        let lanes = view.network.lane_count(view.network.road_of(view.ego().lane));
        memory.y_range = 4.0 * lanes as f64;
        memory.nearest.clear();
        memory.nearest.reserve(self.most_bodies());
    }

    /// Writes what the ego sees.
    pub(crate) fn observe(
        &self,
        view: &View<'_>,
        memory: &mut Memory,
        random: &mut Generator,
        out: &mut [f32],
    ) {
        match self {
            Observer::Kinematics(kinematics) => kinematics.observe(view, memory, random, out),
            Observer::Grid(grid) => grid.observe(view, out),
        }
    }
}

/// Ranges by feature, from which values are scaled to [-1, 1].
type Ranges = Vec<(Feature, [f64; 2])>;

/// One number that an observation can hold about a car.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Feature {
    /// 1 for a car.
    Presence,
    /// Position along x \[m\].
    X,
    /// Position along y \[m\].
    Y,
    /// Velocity along x \[m/s\].
    Vx,
    /// Velocity along y \[m/s\].
    Vy,
    /// Heading \[rad\].
    Heading,
    /// Cosine of the heading.
    CosH,
    /// Sine of the heading.
    SinH,
    /// Cosine of the direction to the destination.
    CosD,
    /// Sine of the direction to the destination.
    SinD,
    /// Longitudinal coordinate on its lane \[m\].
    LongOff,
    /// Lateral coordinate on its lane \[m\].
    LatOff,
    /// Heading relative to its lane \[rad\].
    AngOff,
    /// Whether a cell holds road (only in a grid).
    OnRoad,
}

const FEATURE_NAMES: [(&str, Feature); 14] = [
    ("presence", Feature::Presence),
    ("x", Feature::X),
    ("y", Feature::Y),
    ("vx", Feature::Vx),
    ("vy", Feature::Vy),
    ("heading", Feature::Heading),
    ("cos_h", Feature::CosH),
    ("sin_h", Feature::SinH),
    ("cos_d", Feature::CosD),
    ("sin_d", Feature::SinD),
    ("long_off", Feature::LongOff),
    ("lat_off", Feature::LatOff),
    ("ang_off", Feature::AngOff),
    ("on_road", Feature::OnRoad),
];

impl Feature {
    fn from_name(name: &str) -> Option<Feature> {
        FEATURE_NAMES.iter().find(|(known, _)| *known == name).map(|(_, feature)| *feature)
    }

    /// Reads a list of feature names.
    fn read_list(fields: &mut Fields, default: &[Feature]) -> Result<Vec<Feature>, ConfigError> {
        let Some(value) = fields.take("features").filter(|value| !value.is_null()) else {
            return Ok(default.to_vec());
        };
        let names = FEATURE_NAMES.map(|(name, _)| name).join(", ");
        let wrong = || fields.bad("features", &value, &format!("a list of some of {names}"));
        let list = value.as_array().filter(|list| !list.is_empty()).ok_or_else(wrong)?;
        list.iter().map(|v| v.as_str().and_then(Feature::from_name).ok_or_else(wrong)).collect()
    }

    /// Reads a dictionary of ranges by feature name; `None` stands for upstream's own ranges.
    fn read_ranges(fields: &mut Fields) -> Result<Option<Ranges>, ConfigError> {
        let Some(value) = fields.take("features_range").filter(|value| !value.is_null()) else {
            return Ok(None);
        };
        let wrong = || {
            let wanted =
                "a dictionary of features, each with two numbers, the first below the second";
            fields.bad("features_range", &value, wanted)
        };
        let mut ranges = Vec::new();
        for (name, range) in value.as_object().ok_or_else(wrong)? {
            let feature = Feature::from_name(name).ok_or_else(wrong)?;
            match fields.numbers("features_range", range)?.as_slice() {
                &[low, high] if high - low > 1e-9 => ranges.push((feature, [low, high])),
                _ => return Err(wrong()),
            }
        }
        Ok(Some(ranges))
    }

    /// The feature's value for a car, relative to `origin` where one is given.
    fn of(self, vehicle: &Vehicle, network: &Network, origin: Option<&Vehicle>) -> f64 {
        let relative = |own: f64, of: fn(&Vehicle) -> f64| own - origin.map_or(0.0, of);
        match self {
            Feature::Presence => 1.0,
            Feature::X => relative(vehicle.x, |origin| origin.x),
            Feature::Y => relative(vehicle.y, |origin| origin.y),
            Feature::Vx => relative(vehicle.velocity()[0], |origin| origin.velocity()[0]),
            Feature::Vy => relative(vehicle.velocity()[1], |origin| origin.velocity()[1]),
            Feature::Heading => vehicle.heading,
            Feature::CosH => vehicle.cos,
            Feature::SinH => vehicle.sin,
            Feature::CosD => destination_direction(vehicle, network)[0],
            Feature::SinD => destination_direction(vehicle, network)[1],
            Feature::LongOff => lane_offsets(vehicle, network)[0],
            Feature::LatOff => lane_offsets(vehicle, network)[1],
            Feature::AngOff => lane_offsets(vehicle, network)[2],
            Feature::OnRoad => 0.0,
        }
    }
}

/// Upstream's own range of a velocity component \[m/s\].
const VELOCITY_RANGE: [f64; 2] = [-2.0 * MAX_SPEED, 2.0 * MAX_SPEED];

/// Unit vector to the end of the route, or zero without one.
/// The direction of the end of the car's route, of length 1; zero without a route.
pub(crate) fn destination_direction(vehicle: &Vehicle, network: &Network) -> [f64; 2] {
    let Some(leg) = vehicle.route.legs().last() else { return [0.0, 0.0] };
    let lane = network.lane(network.lane_at_most(leg.road, leg.lane.map_or(0, usize::from)));
    let [x, y] = lane.position(lane.length, 0.0);
    let [dx, dy] = [x - vehicle.x, y - vehicle.y];
    if dx == 0.0 && dy == 0.0 {
        return [0.0, 0.0];
    }
    let distance = crate::arith::norm(dx, dy);
    [dx / distance, dy / distance]
}

fn lane_offsets(vehicle: &Vehicle, network: &Network) -> [f64; 3] {
    let heading = network.lane(vehicle.lane).heading_at(vehicle.along);
    [vehicle.along, vehicle.across, crate::arith::wrap_to_pi(vehicle.heading - heading)]
}
