//! Which lanes could be the closest here?
//!
//! Every car asks for its closest lane in every frame, and almost every lane is far away. An
//! [`Atlas`] cuts the plane into square cells and keeps, for each, the lanes that could be closest
//! to *some* point of the cell at *some* heading. The bounds behind it are deliberately loose:
//! a lane is left out only if it cannot win, so answers do not change.

use std::f64::consts::PI;

use crate::arith::{norm, wrap_to_pi};
use crate::lane::{Lane, Shape};

/// Side of a cell \[m\].
const CELL: f64 = 4.0;
/// Half the diagonal of a cell, rounded up \[m\].
const REACH: f64 = 2.83;
/// How far past the lanes' ends the atlas extends \[m\].
const MARGIN: f64 = 30.0;
/// Beyond this many cells a road is so long that the atlas would not fit a cache.
const MOST_CELLS: f64 = 20_000.0;

/// Candidate lanes by place.
#[derive(Clone, Debug, Default)]
pub(crate) struct Atlas {
    low: [f64; 2],
    columns: usize,
    rows: usize,
    /// Cell `i` owns `lanes[starts[i]..starts[i + 1]]`.
    starts: Vec<u32>,
    lanes: Vec<Candidate>,
}

/// Distance between the points at which a lane's surroundings are sampled \[m\].
const SAMPLING: f64 = 0.25;
/// How far from its ends a lane's quiet stretch stays \[m\].
const END_CLEARANCE: f64 = 8.0;

/// A stretch of a lane on which a car that is close enough to it is certainly closest to it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct QuietStretch {
    /// Where it begins \[m\].
    pub(crate) first: f64,
    /// Where it ends \[m\].
    pub(crate) last: f64,
    /// How close is close enough, heading included \[m\].
    pub(crate) bound: f64,
}

impl QuietStretch {
    /// Nowhere.
    pub(crate) const NONE: QuietStretch =
        QuietStretch { first: f64::INFINITY, last: f64::NEG_INFINITY, bound: -1.0 };
}

/// A lane that could be the closest somewhere in a cell.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Candidate {
    /// No point of the cell is nearer to it than this \[m\]; candidates are sorted by it.
    pub(crate) least: f32,
    /// Which lane.
    pub(crate) lane: u16,
}

impl Atlas {
    /// Draws the atlas of a network; empty (every lane is then a candidate) if it would be huge.
    pub(crate) fn new(lanes: &[Lane]) -> Atlas {
        let (mut low, mut high) = ([f64::INFINITY; 2], [f64::NEG_INFINITY; 2]);
        for lane in lanes {
            for step in 0..=16 {
                let point = lane.position(lane.length * f64::from(step) / 16.0, 0.0);
                for axis in 0..2 {
                    low[axis] = low[axis].min(point[axis] - MARGIN);
                    high[axis] = high[axis].max(point[axis] + MARGIN);
                }
            }
        }
        let [columns, rows] = [0, 1].map(|axis| ((high[axis] - low[axis]) / CELL).ceil());
        if columns * rows > MOST_CELLS || lanes.is_empty() {
            return Atlas::default();
        }
        let (columns, rows) = (columns as usize, rows as usize);
        let mut atlas = Atlas { low, columns, rows, starts: vec![0], lanes: Vec::new() };
        for cell in 0..columns * rows {
            let center = [
                low[0] + (cell % columns) as f64 * CELL + CELL / 2.0,
                low[1] + (cell / columns) as f64 * CELL + CELL / 2.0,
            ];
            // Some lane is at most this far from every point of the cell, heading included; no
            // lane that is always further can be the closest.
            let bound = lanes.iter().map(|lane| most(lane, center)).fold(f64::INFINITY, f64::min);
            let first = atlas.lanes.len();
            for (i, lane) in lanes.iter().enumerate() {
                let least = least(lane, center);
                if least <= bound + PI {
                    // Rounded down, so that the single-precision bound is a bound too.
                    let least = (least - 1e-3) as f32;
                    atlas.lanes.push(Candidate { least, lane: i as u16 });
                }
            }
            atlas.lanes[first..].sort_by(|a, b| a.least.total_cmp(&b.least));
            atlas.starts.push(atlas.lanes.len() as u32);
        }
        atlas
    }

    /// Where on a straight lane no other can be closest, as long as the car keeps to it.
    pub(crate) fn quiet_stretch(&self, lanes: &[Lane], id: usize) -> QuietStretch {
        let lane = &lanes[id];
        let (first, last) = (END_CLEARANCE, lane.length - END_CLEARANCE);
        if !matches!(lane.shape, Shape::Straight { .. }) || first >= last {
            return QuietStretch::NONE;
        }
        let mut bound = f64::INFINITY;
        let steps = ((last - first) / SAMPLING).ceil() as usize;
        for step in 0..=steps {
            let along = first + (last - first) * step as f64 / steps as f64;
            // As far across as a car that is close enough can be.
            for side in -6..=6 {
                let point = lane.position(along, f64::from(side) * SAMPLING);
                let Some(candidates) = self.candidates(point) else { return QuietStretch::NONE };
                let others = candidates.iter().filter(|other| usize::from(other.lane) != id);
                // Lanes that are no candidates here cannot be closest, whatever the heading.
                bound = others.fold(bound, |bound, other| bound.min(f64::from(other.least)));
            }
        }
        // Between two samples a lane's distance cannot fall by more than this.
        let bound = bound - 3.0 * SAMPLING;
        if bound > 0.0 {
            QuietStretch { first, last, bound: bound.min(6.0 * SAMPLING) }
        } else {
            QuietStretch::NONE
        }
    }

    /// The lanes that could be closest to a position, nearest first; `None` off the map.
    #[inline]
    pub(crate) fn candidates(&self, [x, y]: [f64; 2]) -> Option<&[Candidate]> {
        let [column, row] = [(x - self.low[0]) / CELL, (y - self.low[1]) / CELL];
        // A NaN, or a position before the first cell, fails these comparisons.
        if column >= 0.0 && row >= 0.0 && column < self.columns as f64 && row < self.rows as f64 {
            let cell = row as usize * self.columns + column as usize;
            return Some(&self.lanes[self.starts[cell] as usize..self.starts[cell + 1] as usize]);
        }
        None
    }
}

/// No point of the cell is nearer to the lane than this \[m\].
fn least(lane: &Lane, center: [f64; 2]) -> f64 {
    match lane.shape {
        Shape::Straight { direction: [ux, uy], .. } | Shape::Sine { direction: [ux, uy], .. } => {
            // Half the square's extent along and across the lane, which are the same.
            let extent = CELL / 2.0 * (ux.abs() + uy.abs());
            let (along, across) = lane.local_coordinates(center);
            let over = (along - lane.length).max(-along).max(0.0);
            let slope = steepness(lane) - 2.0;
            (across.abs() - extent * (1.0 + slope)).max(0.0) + (over - extent).max(0.0)
        }
        Shape::Circular { .. } => {
            let Polar { across, turn, spread } = polar(lane, center);
            (across - REACH).max(0.0) + arc_radius(lane) * (turn - spread).max(0.0)
        }
    }
}

/// No point of the cell is further from the lane than this \[m\].
fn most(lane: &Lane, center: [f64; 2]) -> f64 {
    match lane.shape {
        Shape::Straight { .. } => lane.distance(center) + 2.0_f64.sqrt() * REACH,
        Shape::Sine { .. } => lane.distance(center) + steepness(lane) * REACH,
        Shape::Circular { .. } => {
            let Polar { across, turn, spread } = polar(lane, center);
            // Far from both ends the way round can be either; only a cell beside the arc, and
            // away from where the angle wraps, has a bound worth having.
            if turn == 0.0 && !wraps_near(lane, center, spread) {
                across + REACH + arc_radius(lane) * spread
            } else {
                f64::INFINITY
            }
        }
    }
}

/// How fast a sine lane's distance can grow per metre.
fn steepness(lane: &Lane) -> f64 {
    match lane.shape {
        Shape::Sine { amplitude, pulsation, .. } => 2.0 + (amplitude * pulsation).abs(),
        _ => 2.0,
    }
}

fn arc_radius(lane: &Lane) -> f64 {
    if let Shape::Circular { radius, .. } = lane.shape { radius } else { 0.0 }
}

/// A cell as an arc sees it.
struct Polar {
    /// Distance of the centre across the lane \[m\].
    across: f64,
    /// Angle from the centre to the nearest point of the arc, the shorter way \[rad\].
    turn: f64,
    /// Angle by which points of the cell may differ from the centre \[rad\].
    spread: f64,
}

fn polar(lane: &Lane, [x, y]: [f64; 2]) -> Polar {
    let Shape::Circular { center, radius, start_phase, direction } = lane.shape else {
        return Polar { across: 0.0, turn: 0.0, spread: PI };
    };
    let [dx, dy] = [x - center[0], y - center[1]];
    let distance = norm(dx, dy);
    let spread = if distance > REACH { (REACH / distance).asin() } else { PI };
    let swept = lane.length / radius;
    // Angle past the start in the direction of travel, in [0, 2 pi).
    let past = (direction * (dy.atan2(dx) - start_phase)).rem_euclid(2.0 * PI);
    let turn = if past <= swept { 0.0 } else { (past - swept).min(2.0 * PI - past) };
    Polar { across: (distance - radius).abs(), turn, spread }
}

/// Whether the lane's coordinates jump within a cell: opposite its start, where the angle wraps.
fn wraps_near(lane: &Lane, [x, y]: [f64; 2], spread: f64) -> bool {
    let Shape::Circular { center, start_phase, .. } = lane.shape else { return true };
    let angle = wrap_to_pi((y - center[1]).atan2(x - center[0]) - start_phase);
    PI - angle.abs() <= spread
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::task::{Task, TaskId};

    #[test]
    fn no_closest_lane_is_missing() {
        for id in
            [TaskId::MergeV0, TaskId::IntersectionV0, TaskId::RacetrackV0, TaskId::RoundaboutV0]
        {
            let task = Task::with_defaults(id);
            let lanes: Vec<_> = task.network.lanes().map(|(_, lane)| lane.clone()).collect();
            let atlas = Atlas::new(&lanes);
            let mut narrowed = 0;
            for step in 0..60_000 {
                let t = f64::from(step);
                let position = [
                    atlas.low[0] + (t * 0.618_034).fract() * atlas.columns as f64 * CELL,
                    atlas.low[1] + (t * 0.754_878).fract() * atlas.rows as f64 * CELL,
                ];
                let heading = (t * 0.569_840).fract() * 8.0 - 4.0;
                let distance = |lane: &Lane| {
                    lane.distance_with_heading(position, heading, f64::INFINITY).unwrap().0
                };
                let closest = lanes
                    .iter()
                    .enumerate()
                    .min_by(|a, b| distance(a.1).total_cmp(&distance(b.1)))
                    .unwrap()
                    .0;
                let candidates = atlas.candidates(position).unwrap();
                let found = candidates.iter().find(|c| usize::from(c.lane) == closest);
                let least = found.map(|candidate| f64::from(candidate.least));
                let real = distance(&lanes[closest]);
                assert!(least.is_some_and(|least| least <= real), "{id:?} {position:?} {heading}");
                narrowed += usize::from(candidates.len() < lanes.len());
            }
            assert!(narrowed > 30_000, "{id:?}: the atlas narrows nothing");
        }
    }

    #[test]
    fn a_car_on_a_quiet_stretch_is_closest_to_its_lane() {
        for id in
            [TaskId::MergeV0, TaskId::IntersectionV0, TaskId::RacetrackV0, TaskId::RoundaboutV0]
        {
            let task = Task::with_defaults(id);
            let lanes: Vec<_> = task.network.lanes().map(|(_, lane)| lane.clone()).collect();
            let atlas = Atlas::new(&lanes);
            let mut quiet_lanes = 0;
            for (i, lane) in lanes.iter().enumerate() {
                let quiet = atlas.quiet_stretch(&lanes, i);
                quiet_lanes += usize::from(quiet.bound > 0.0);
                for step in 0..4000 {
                    let t = f64::from(step);
                    let along = quiet.first + (t * 0.618_034).fract() * (quiet.last - quiet.first);
                    let position = lane.position(along, (t * 0.754_878).fract() * 3.0 - 1.5);
                    let heading = lane.heading_at(along) + (t * 0.569_84).fract() * 3.0 - 1.5;
                    let distance = |lane: &Lane| {
                        lane.distance_with_heading(position, heading, f64::INFINITY).unwrap().0
                    };
                    if quiet.bound > 0.0 && distance(lane) <= quiet.bound {
                        for other in lanes.iter().enumerate().filter(|(j, _)| *j != i) {
                            assert!(
                                distance(other.1) > distance(lane),
                                "{id:?} lane {i} {position:?}"
                            );
                        }
                    }
                }
            }
            assert!(quiet_lanes >= 1, "{id:?} has no quiet stretch");
        }
    }

    #[test]
    fn off_the_map_there_is_no_advice() {
        let atlas = Atlas::new(&[Lane::straight([0.0, 0.0], [100.0, 0.0])]);
        assert_eq!(atlas.candidates([f64::NAN, 0.0]), None);
        assert_eq!(atlas.candidates([1e9, 0.0]), None);
        assert_eq!(atlas.candidates([50.0, 0.0]).map(<[_]>::len), Some(1));
    }
}
