//! What stands in each cell around the ego?
//!
//! A stack of grids, one per feature: values of the cars in the cells, and where there is road.
//! Start at `Grid::observe`.
//!
//! Road cells are found as upstream finds them, by walking points along every lane. Lanes and
//! points that cannot reach the grid are skipped, and an arc's points are turned one into the
//! next instead of calling for a sine each.

use serde_json::Value;

use super::{Feature, Ranges, VELOCITY_RANGE, View};
use crate::arith::{lerp_between, norm};
use crate::fields::{ConfigError, Fields};
use crate::lane::{Lane, Shape};
use crate::vehicle::Vehicle;

/// How far along each lane, in both directions, road is looked for \[m\].
const LANE_REACH: f64 = 100.0;

/// Options of the grid.
#[derive(Clone, Debug, PartialEq)]
pub struct Grid {
    features: Vec<Feature>,
    low: [f64; 2],
    step: [f64; 2],
    cells: [usize; 2],
    ranges: Option<Ranges>,
    aligned: bool,
    clip: bool,
    /// Distance from the ego to the grid's furthest corner \[m\].
    radius: f64,
}

impl Grid {
    pub(super) fn read(fields: &mut Fields) -> Result<Grid, ConfigError> {
        let default = [Feature::Presence, Feature::Vx, Feature::Vy, Feature::OnRoad];
        let features = Feature::read_list(fields, &default)?;
        let ranges = Feature::read_ranges(fields)?;
        let mut sides = [[-27.5, 27.5], [-27.5, 27.5]];
        if let Some(value) = fields.take("grid_size").filter(|value| !value.is_null()) {
            let wanted = "two ranges, one along x and one along y";
            let list = value.as_array().filter(|list| list.len() == 2);
            let list = list.ok_or_else(|| fields.bad("grid_size", &value, wanted))?;
            for (side, range) in sides.iter_mut().zip(list) {
                match fields.numbers("grid_size", range)?.as_slice() {
                    &[low, high] if low < high => *side = [low, high],
                    _ => return Err(fields.bad("grid_size", &value, wanted)),
                }
            }
        }
        let mut step = [5.0, 5.0];
        if let Some(value) = fields.take("grid_step").filter(|value| !value.is_null()) {
            step = match fields.numbers("grid_step", &value)?.as_slice() {
                &[x, y] if x > 0.0 && y > 0.0 => [x, y],
                _ => return Err(fields.bad("grid_step", &value, "two numbers above zero")),
            };
        }
        let cells = [0, 1].map(|axis| ((sides[axis][1] - sides[axis][0]) / step[axis]).floor());
        if !cells.iter().all(|count| (1.0..=1000.0).contains(count)) {
            let value = Value::from(step.to_vec());
            return Err(fields.bad(
                "grid_step",
                &value,
                "such that the grid has 1 to 1000 cells a side",
            ));
        }
        let (mut aligned, mut clip) = (false, true);
        fields.flag("align_to_vehicle_axes", &mut aligned)?;
        fields.flag("clip", &mut clip)?;
        for key in ["absolute", "as_image"] {
            let mut wanted_elsewhere = false;
            fields.flag(key, &mut wanted_elsewhere)?;
            if wanted_elsewhere {
                return Err(fields.bad(key, &Value::Bool(true), "false: the rest is not built"));
            }
        }
        fields.ignore(&["vehicles_count"]);
        let furthest = |[low, high]: [f64; 2]| low.abs().max(high.abs());
        Ok(Grid {
            features,
            low: [sides[0][0], sides[1][0]],
            step,
            cells: cells.map(|count| count as usize),
            ranges,
            aligned,
            clip,
            radius: norm(furthest(sides[0]), furthest(sides[1])),
        })
    }

    pub(super) fn shape(&self) -> [usize; 3] {
        [self.features.len(), self.cells[0], self.cells[1]]
    }

    pub(super) fn observe(&self, view: &View<'_>, out: &mut [f32]) {
        out.fill(0.0);
        let layers = out.chunks_exact_mut(self.cells[0] * self.cells[1]);
        for (layer, &feature) in layers.zip(&self.features) {
            if feature == Feature::OnRoad {
                self.mark_road(view, layer);
            } else {
                self.mark_vehicles(view, feature, layer);
            }
        }
    }

    /// Writes a feature of every car into its cell; of two in one cell the first in the list wins.
    fn mark_vehicles(&self, view: &View<'_>, feature: Feature, layer: &mut [f32]) {
        let ego = view.ego();
        for vehicle in view.vehicles.iter().rev() {
            if let Some(cell) = self.cell(ego, vehicle.x - ego.x, vehicle.y - ego.y) {
                let value = feature.of(vehicle, view.network, Some(ego));
                layer[cell] = self.scaled(feature, value) as f32;
            }
        }
    }

    fn scaled(&self, feature: Feature, value: f64) -> f64 {
        let range = match &self.ranges {
            Some(ranges) => ranges.iter().find(|(of, _)| *of == feature).map(|(_, range)| *range),
            None => matches!(feature, Feature::Vx | Feature::Vy).then_some(VELOCITY_RANGE),
        };
        let scaled = range.map_or(value, |range| lerp_between(value, range, [-1.0, 1.0]));
        if self.clip { scaled.clamp(-1.0, 1.0) } else { scaled }
    }

    fn mark_road(&self, view: &View<'_>, layer: &mut [f32]) {
        let ego = view.ego();
        for (_, lane) in view.network.lanes() {
            if self.is_out_of_reach(lane, ego) {
                continue;
            }
            let spacing = self.step[0].min(self.step[1]);
            let walk = Walk::new(lane.local_coordinates(ego.position()).0, spacing);
            match lane.shape {
                Shape::Circular { .. } | Shape::Sine { .. } => {
                    self.mark_bend(lane, ego, &walk, layer);
                }
                Shape::Straight { .. } => {
                    // Points further along than the grid's corner cannot lie in it, except that
                    // all those past an end of the lane are that end.
                    let reach = (self.radius / spacing) as i64 + 2;
                    let middle = (LANE_REACH / spacing) as i64;
                    let near = (middle - reach).max(0)..(middle + reach).min(walk.points);
                    for place in near.chain([0, walk.points - 1]) {
                        let point = lane.position(walk.at(place).clamp(0.0, lane.length), 0.0);
                        self.mark(ego, point, layer);
                    }
                }
            }
        }
    }

    /// Marks the points of a curved lane that lie between its ends, and the ends where the walk
    /// passes them.
    fn mark_bend(&self, lane: &Lane, ego: &Vehicle, walk: &Walk, layer: &mut [f32]) {
        let inner = walk.places_between(0.0, lane.length);
        if inner.start > 0 {
            self.mark(ego, lane.position(0.0, 0.0), layer);
        }
        if inner.end < walk.points {
            self.mark(ego, lane.position(lane.length, 0.0), layer);
        }
        let Shape::Circular { center, radius, start_phase, direction } = lane.shape else {
            for place in inner {
                self.mark(ego, lane.position(walk.at(place), 0.0), layer);
            }
            return;
        };
        let phase = direction * walk.at(inner.start) / radius + start_phase;
        let (turn_sin, turn_cos) = (direction * walk.delta / radius).sin_cos();
        let (mut sin, mut cos) = phase.sin_cos();
        for _ in inner {
            self.mark(ego, [center[0] + radius * cos, center[1] + radius * sin], layer);
            (sin, cos) = (sin * turn_cos + cos * turn_sin, cos * turn_cos - sin * turn_sin);
        }
    }

    fn mark(&self, ego: &Vehicle, [x, y]: [f64; 2], layer: &mut [f32]) {
        if let Some(cell) = self.cell(ego, x - ego.x, y - ego.y) {
            layer[cell] = 1.0;
        }
    }

    /// The cell of a position relative to the ego, if the grid has it.
    #[inline]
    fn cell(&self, ego: &Vehicle, x: f64, y: f64) -> Option<usize> {
        let [x, y] = if self.aligned {
            [ego.cos * x + ego.sin * y, -ego.sin * x + ego.cos * y]
        } else {
            [x, y]
        };
        let [i, j] = [(x - self.low[0]) / self.step[0], (y - self.low[1]) / self.step[1]];
        // Truncation equals rounding down once negative values are out.
        let inside = i >= 0.0 && j >= 0.0 && i < self.cells[0] as f64 && j < self.cells[1] as f64;
        inside.then(|| i as usize * self.cells[1] + j as usize)
    }

    /// Whether every point of a lane is certainly outside the grid.
    fn is_out_of_reach(&self, lane: &Lane, ego: &Vehicle) -> bool {
        let reach = self.radius + 1e-6;
        match lane.shape {
            Shape::Straight { .. } => {
                let (longitudinal, lateral) = lane.local_coordinates(ego.position());
                lateral.abs() > reach || longitudinal < -reach || longitudinal > lane.length + reach
            }
            Shape::Sine { .. } => false,
            Shape::Circular { center, radius, start_phase, direction } => {
                let [dx, dy] = [ego.x - center[0], ego.y - center[1]];
                let distance = norm(dx, dy);
                if distance > radius + reach || distance < radius - reach {
                    return true;
                }
                // The arc lies in the disc around its middle point that reaches its ends, if it
                // is no longer than half a circle.
                let swept = lane.length / radius;
                let (sin, cos) = (start_phase + direction * swept / 2.0).sin_cos();
                let middle = norm(dx - radius * cos, dy - radius * sin);
                let half_chord = 2.0 * radius * (swept / 4.0).min(1.6).sin();
                swept <= std::f64::consts::PI && middle > half_chord + reach
            }
        }
    }
}

/// The places along a lane that upstream looks at: `numpy.arange` around the ego's own.
struct Walk {
    start: f64,
    delta: f64,
    points: i64,
}

impl Walk {
    fn new(origin: f64, spacing: f64) -> Walk {
        let start = origin - LANE_REACH;
        let stop = origin + LANE_REACH;
        // NumPy takes its step from the first two values it made, rounding included.
        let delta = (start + spacing) - start;
        Walk { start, delta, points: ((stop - start) / spacing).ceil() as i64 }
    }

    fn at(&self, place: i64) -> f64 {
        self.start + place as f64 * self.delta
    }

    /// The places whose longitudinal coordinate lies within `low` and `high`.
    fn places_between(&self, low: f64, high: f64) -> std::ops::Range<i64> {
        let mut first = (((low - self.start) / self.delta).ceil() as i64).clamp(0, self.points);
        while first > 0 && self.at(first - 1) >= low {
            first -= 1;
        }
        let mut end =
            (((high - self.start) / self.delta).floor() as i64 + 1).clamp(first, self.points);
        while end < self.points && self.at(end) <= high {
            end += 1;
        }
        first..end
    }
}
