//! Which cars are near, and how do they move?
//!
//! A table: the ego in the first row, then the nearest bodies, one row each, padded with zeros.
//! Start at `Kinematics::observe`.
//!
//! One difference from upstream: a feature that an obstacle does not have (its heading, its lane
//! offsets) is zero here and NaN there.

use serde_json::Value;

use super::{Feature, Memory, Ranges, VELOCITY_RANGE, View};
use crate::arith::{lerp_between, norm};
use crate::fields::{ConfigError, Fields};
use crate::random::Generator;
use crate::vehicle::{LENGTH, MAX_SPEED};

/// How far the ego sees \[m\].
const PERCEPTION: f64 = 5.0 * MAX_SPEED;
/// How far behind the ego a body may be and still be seen \[m\].
const BEHIND: f64 = -2.0 * LENGTH;

/// Options of the table.
#[derive(Clone, Debug, PartialEq)]
pub struct Kinematics {
    features: Vec<Feature>,
    rows: usize,
    ranges: Option<Ranges>,
    absolute: bool,
    sorted: bool,
    normalize: bool,
    clip: bool,
    see_behind: bool,
    observe_intentions: bool,
    include_obstacles: bool,
}

impl Kinematics {
    pub(super) fn read(fields: &mut Fields) -> Result<Kinematics, ConfigError> {
        let default = [Feature::Presence, Feature::X, Feature::Y, Feature::Vx, Feature::Vy];
        let mut read = Kinematics {
            features: Feature::read_list(fields, &default)?,
            rows: 5,
            ranges: Feature::read_ranges(fields)?,
            absolute: false,
            sorted: true,
            normalize: true,
            clip: true,
            see_behind: false,
            observe_intentions: false,
            include_obstacles: true,
        };
        fields.count("vehicles_count", &mut read.rows, 1..=1000)?;
        fields.flag("absolute", &mut read.absolute)?;
        fields.flag("normalize", &mut read.normalize)?;
        fields.flag("clip", &mut read.clip)?;
        fields.flag("see_behind", &mut read.see_behind)?;
        fields.flag("observe_intentions", &mut read.observe_intentions)?;
        fields.flag("include_obstacles", &mut read.include_obstacles)?;
        if let Some(order) = fields.take("order") {
            read.sorted = match &order {
                Value::String(word) if word == "sorted" => true,
                Value::String(word) if word == "shuffled" => false,
                _ => return Err(fields.bad("order", &order, "sorted or shuffled")),
            };
        }
        fields.ignore(&["flatten"]);
        Ok(read)
    }

    pub(super) fn shape(&self) -> [usize; 2] {
        [self.rows, self.features.len()]
    }

    pub(super) fn observe(
        &self,
        view: &View<'_>,
        memory: &mut Memory,
        random: &mut Generator,
        out: &mut [f32],
    ) {
        let width = self.features.len();
        let y_range = memory.y_range;
        out.fill(0.0);
        self.find_nearest(view, &mut memory.nearest);
        let mut rows = out.chunks_exact_mut(width);
        if let Some(row) = rows.next() {
            for (slot, feature) in row.iter_mut().zip(&self.features) {
                let value = feature.of(view.ego(), view.network, None);
                *slot = self.scaled(*feature, value, y_range);
            }
        }
        for (row, &(_, body)) in rows.zip(&memory.nearest) {
            for (slot, feature) in row.iter_mut().zip(&self.features) {
                *slot =
                    self.scaled(*feature, self.value(view, usize::from(body), *feature), y_range);
            }
        }
        if !self.sorted && width < out.len() {
            random.shuffle_rows(&mut out[width..], width);
        }
    }

    /// Lists the bodies to show: vehicles by index, obstacles after them.
    fn find_nearest(&self, view: &View<'_>, nearest: &mut Vec<(f64, u16)>) {
        let ego = view.ego();
        let lane = view.network.lane(ego.lane);
        let most = self.rows - 1;
        nearest.clear();
        if most == 0 {
            return;
        }
        let mut consider = |body: usize, position: [f64; 2], see_behind: bool| {
            let [dx, dy] = [position[0] - ego.x, position[1] - ego.y];
            if dx * dx + dy * dy > PERCEPTION * PERCEPTION + 1e-3 || norm(dx, dy) >= PERCEPTION {
                return;
            }
            let along = ego.distance_along(lane, position);
            if !see_behind && along <= BEHIND {
                return;
            }
            let key = if self.sorted { along.abs() } else { 0.0 };
            // A stable insertion into a short list: equally near bodies keep the road's order.
            if nearest.len() == most && nearest.last().is_some_and(|last| last.0 <= key) {
                return;
            }
            nearest.truncate(most - 1);
            let place = nearest.partition_point(|(other, _)| *other <= key);
            nearest.insert(place, (key, body as u16));
        };
        for (i, vehicle) in view.vehicles.iter().enumerate() {
            if i != view.ego {
                consider(i, vehicle.position(), self.see_behind);
            }
        }
        if self.include_obstacles {
            for (i, obstacle) in view.obstacles.iter().enumerate() {
                consider(view.vehicles.len() + i, obstacle.position, false);
            }
        }
    }

    fn value(&self, view: &View<'_>, body: usize, feature: Feature) -> f64 {
        let origin = (!self.absolute).then(|| view.ego());
        if let Some(vehicle) = view.vehicles.get(body) {
            return match feature {
                Feature::CosD | Feature::SinD if !self.observe_intentions => 0.0,
                _ => feature.of(vehicle, view.network, origin),
            };
        }
        let [x, y] = view.obstacles[body - view.vehicles.len()].position;
        let [vx, vy] = origin.map_or([0.0, 0.0], |origin| origin.velocity());
        match feature {
            Feature::Presence | Feature::CosH => 1.0,
            Feature::X => x - origin.map_or(0.0, |origin| origin.x),
            Feature::Y => y - origin.map_or(0.0, |origin| origin.y),
            Feature::Vx => -vx,
            Feature::Vy => -vy,
            _ => 0.0,
        }
    }

    /// Brings a value into [-1, 1], where its feature has a range.
    fn scaled(&self, feature: Feature, value: f64, y_range: f64) -> f32 {
        let range = match &self.ranges {
            _ if !self.normalize => None,
            Some(ranges) => ranges.iter().find(|(of, _)| *of == feature).map(|(_, range)| *range),
            None => match feature {
                Feature::X => Some([-PERCEPTION, PERCEPTION]),
                Feature::Y => Some([-y_range, y_range]),
                Feature::Vx | Feature::Vy => Some(VELOCITY_RANGE),
                _ => None,
            },
        };
        let scaled = range.map_or(value, |range| lerp_between(value, range, [-1.0, 1.0]));
        let clips = self.clip && range.is_some();
        (if clips { scaled.clamp(-1.0, 1.0) } else { scaled }) as f32
    }
}
