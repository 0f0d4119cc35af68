//! Where on a lane is a point, and where in the world is a place on a lane?
//!
//! Three shapes: straight, sine (a straight lane that swings from side to side) and circular.
//! `longitudinal` runs along the centre line from its start \[m\], `lateral` across it, positive
//! to the right of travel (the world's y axis points down) \[m\].
//!
//! Start at [`Lane::local_coordinates`]. The `reject` fast paths answer "certainly not on this
//! lane" without trigonometry; they may only err towards "perhaps".
//!
//! **Absent on purpose:** drawing, and upstream's polyline lanes, which no task here uses.

use std::f64::consts::FRAC_PI_2;

use crate::arith::{norm, wrap_to_pi};
use crate::trig::{atan, sin_cos};

/// How far before its start and past its end a lane still counts as being under a car \[m\].
pub const END_MARGIN: f64 = 5.0;
/// How far from its centre line, beyond half its width, a neighbour search still sees a car \[m\].
pub(crate) const NEIGHBOUR_MARGIN: f64 = 1.0;
/// Slack that makes a squared or partial comparison safe against rounding \[m\].
const SLACK: f64 = 1e-6;

/// A lane: its centre line, its width and its rules.
#[derive(Clone, Debug, PartialEq)]
pub struct Lane {
    /// The centre line.
    pub shape: Shape,
    /// Width \[m\].
    pub width: f64,
    /// Length of the centre line \[m\].
    pub length: f64,
    /// Speed limit \[m/s\].
    pub speed_limit: f64,
    /// Whether changing into this lane is forbidden.
    pub forbidden: bool,
    /// Right of way: the higher goes first.
    pub priority: i32,
}

/// A lane's centre line.
#[derive(Clone, Debug, PartialEq)]
pub enum Shape {
    /// From `start` along the unit vector `direction`.
    Straight {
        /// First point \[m\].
        start: [f64; 2],
        /// Unit vector of travel.
        direction: [f64; 2],
        /// Angle of travel \[rad\].
        heading: f64,
    },
    /// A straight line with a sine added across it.
    Sine {
        /// First point of the straight line \[m\].
        start: [f64; 2],
        /// Unit vector of the straight line.
        direction: [f64; 2],
        /// Angle of the straight line \[rad\].
        heading: f64,
        /// Height of the sine \[m\].
        amplitude: f64,
        /// Its angular frequency \[rad/m\].
        pulsation: f64,
        /// Its phase at the start \[rad\].
        phase: f64,
    },
    /// An arc.
    Circular {
        /// Centre of the circle \[m\].
        center: [f64; 2],
        /// Radius of the centre line \[m\].
        radius: f64,
        /// Angle of the first point \[rad\].
        start_phase: f64,
        /// +1 if the angle grows along the lane, -1 if it falls.
        direction: f64,
    },
}

impl Lane {
    /// A straight lane of the default width (4 m) and speed limit (20 m/s).
    pub fn straight(start: [f64; 2], end: [f64; 2]) -> Lane {
        let [dx, dy] = [end[0] - start[0], end[1] - start[1]];
        let length = norm(dx, dy);
        Lane {
            shape: Shape::Straight {
                start,
                direction: [dx / length, dy / length],
                heading: dy.atan2(dx),
            },
            width: 4.0,
            length,
            speed_limit: 20.0,
            forbidden: false,
            priority: 0,
        }
    }

    /// A sine lane around the straight line from `start` to `end`.
    pub fn sine(
        start: [f64; 2],
        end: [f64; 2],
        amplitude: f64,
        pulsation: f64,
        phase: f64,
    ) -> Lane {
        let base = Lane::straight(start, end);
        let Shape::Straight { direction, heading, .. } = base.shape else { return base };
        Lane {
            shape: Shape::Sine { start, direction, heading, amplitude, pulsation, phase },
            ..base
        }
    }

    /// An arc from one phase to another; `clockwise` lanes have a growing phase.
    pub fn circular(
        center: [f64; 2],
        radius: f64,
        start_phase: f64,
        end_phase: f64,
        clockwise: bool,
    ) -> Lane {
        let direction = if clockwise { 1.0 } else { -1.0 };
        Lane {
            shape: Shape::Circular { center, radius, start_phase, direction },
            width: 4.0,
            length: radius * (end_phase - start_phase) * direction,
            speed_limit: 20.0,
            forbidden: false,
            priority: 0,
        }
    }

    /// World position \[m\] of a place on the lane.
    pub fn position(&self, longitudinal: f64, lateral: f64) -> [f64; 2] {
        match self.shape {
            Shape::Straight { start, direction, .. } => {
                along(start, direction, longitudinal, lateral)
            }
            Shape::Sine { start, direction, amplitude, pulsation, phase, .. } => {
                let swing = amplitude * sin_cos(pulsation * longitudinal + phase).0;
                along(start, direction, longitudinal, lateral + swing)
            }
            Shape::Circular { center, radius, start_phase, direction } => {
                let (sin, cos) = sin_cos(direction * longitudinal / radius + start_phase);
                let reach = radius - lateral * direction;
                [center[0] + reach * cos, center[1] + reach * sin]
            }
        }
    }

    /// Longitudinal and lateral coordinates \[m\] of a world position.
    #[inline(always)]
    pub fn local_coordinates(&self, position: [f64; 2]) -> (f64, f64) {
        // Most lanes are straight: that case is worth inlining everywhere, the others are not.
        match self.shape {
            Shape::Straight { start, direction, .. } => project(start, direction, position),
            _ => self.local_coordinates_on_bend(position),
        }
    }

    #[inline(never)]
    fn local_coordinates_on_bend(&self, position: [f64; 2]) -> (f64, f64) {
        match self.shape {
            Shape::Straight { start, direction, .. } => project(start, direction, position),
            Shape::Sine { start, direction, amplitude, pulsation, phase, .. } => {
                let (longitudinal, lateral) = project(start, direction, position);
                (longitudinal, lateral - amplitude * sin_cos(pulsation * longitudinal + phase).0)
            }
            Shape::Circular { center, radius, start_phase, direction } => {
                let [dx, dy] = [position[0] - center[0], position[1] - center[1]];
                let turned = wrap_to_pi(dy.atan2(dx) - start_phase);
                // Adding and taking away the start phase again rounds as upstream does.
                let swept = (start_phase + turned) - start_phase;
                (direction * swept * radius, direction * (radius - norm(dx, dy)))
            }
        }
    }

    /// Direction of travel \[rad\] at a place on the lane.
    #[inline]
    pub fn heading_at(&self, longitudinal: f64) -> f64 {
        match self.shape {
            Shape::Straight { heading, .. } => heading,
            Shape::Sine { heading, amplitude, pulsation, phase, .. } => {
                let slope = amplitude * pulsation * sin_cos(pulsation * longitudinal + phase).1;
                heading + atan(slope)
            }
            Shape::Circular { radius, start_phase, direction, .. } => {
                direction * longitudinal / radius + start_phase + FRAC_PI_2 * direction
            }
        }
    }

    /// By how much a heading is turned away from the lane's, somewhere along it \[rad\]; positive to the right,
    /// in [-π, π).
    pub fn angle_at(&self, longitudinal: f64, heading: f64) -> f64 {
        wrap_to_pi(heading - self.heading_at(longitudinal))
    }

    /// Whether lane coordinates lie on the lane, its width widened by `margin` \[m\] on each side.
    #[inline]
    pub fn contains(&self, longitudinal: f64, lateral: f64, margin: f64) -> bool {
        lateral.abs() <= self.width / 2.0 + margin
            && -END_MARGIN <= longitudinal
            && longitudinal < self.length + END_MARGIN
    }

    /// Whether a world position lies on the lane.
    pub fn on_lane(&self, position: [f64; 2]) -> bool {
        let (longitudinal, lateral) = self.local_coordinates(position);
        self.contains(longitudinal, lateral, 0.0)
    }

    /// The longitudinal coordinate of a car that a neighbour search on this lane sees, if it does.
    #[inline(always)]
    pub fn sees(&self, position: [f64; 2]) -> Option<f64> {
        let (longitudinal, lateral) = match self.shape {
            Shape::Straight { start, direction, .. } => project(start, direction, position),
            _ if self.rejects(position, self.width / 2.0 + NEIGHBOUR_MARGIN) => return None,
            _ => self.local_coordinates_on_bend(position),
        };
        self.contains(longitudinal, lateral, NEIGHBOUR_MARGIN).then_some(longitudinal)
    }

    /// Whether a car at this position may decide to move to this lane.
    pub fn is_reachable_from(&self, position: [f64; 2]) -> bool {
        if self.forbidden {
            return false;
        }
        let (longitudinal, lateral) = self.local_coordinates(position);
        lateral.abs() <= 2.0 * self.width && (0.0..self.length + END_MARGIN).contains(&longitudinal)
    }

    /// Whether a place is past the lane's end, or within half a car of it.
    #[inline]
    pub fn is_after_end(&self, longitudinal: f64) -> bool {
        longitudinal > self.length - END_MARGIN / 2.0
    }

    /// L1 distance \[m\] from a position to the lane.
    pub fn distance(&self, position: [f64; 2]) -> f64 {
        let (longitudinal, lateral) = self.local_coordinates(position);
        lateral.abs() + self.overshoot(longitudinal)
    }

    /// [`Lane::distance`] plus the heading error \[rad\], with the lane coordinates it was found
    /// at; or `None` if it exceeds `bound`.
    #[inline(always)]
    pub(crate) fn distance_with_heading(
        &self,
        position: [f64; 2],
        heading: f64,
        bound: f64,
    ) -> Option<(f64, f64, f64)> {
        if self.rejects(position, bound) {
            return None;
        }
        let (longitudinal, lateral) = self.local_coordinates(position);
        let distance = lateral.abs() + self.overshoot(longitudinal);
        if distance > bound {
            return None;
        }
        let total = distance + wrap_to_pi(heading - self.heading_at(longitudinal)).abs();
        (total <= bound).then_some((total, longitudinal, lateral))
    }

    /// How far a longitudinal coordinate lies before the start or past the end \[m\].
    #[inline]
    fn overshoot(&self, longitudinal: f64) -> f64 {
        (longitudinal - self.length).max(0.0) + (0.0 - longitudinal).max(0.0)
    }

    /// Certainly further than `reach` \[m\] across the lane; trigonometry is saved when it is.
    #[inline]
    fn rejects(&self, position: [f64; 2], reach: f64) -> bool {
        match self.shape {
            Shape::Straight { .. } => false,
            Shape::Sine { start, direction, amplitude, .. } => {
                let (_, lateral) = project(start, direction, position);
                lateral.abs() > reach + amplitude.abs() + SLACK
            }
            Shape::Circular { center, radius, .. } => {
                let [dx, dy] = [position[0] - center[0], position[1] - center[1]];
                let squared = dx * dx + dy * dy;
                let outer = radius + reach + SLACK;
                let inner = radius - reach - SLACK;
                squared > outer * outer || (inner > 0.0 && squared < inner * inner)
            }
        }
    }
}

#[inline]
fn along(start: [f64; 2], [ux, uy]: [f64; 2], longitudinal: f64, lateral: f64) -> [f64; 2] {
    [start[0] + longitudinal * ux + lateral * -uy, start[1] + longitudinal * uy + lateral * ux]
}

/// Coordinates along and across the line from `start` in a direction.
#[inline]
pub(crate) fn project(start: [f64; 2], [ux, uy]: [f64; 2], [x, y]: [f64; 2]) -> (f64, f64) {
    let [dx, dy] = [x - start[0], y - start[1]];
    (dx * ux + dy * uy, dx * -uy + dy * ux)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lanes() -> [Lane; 4] {
        [
            Lane::straight([3.0, -2.0], [40.0, 25.0]),
            Lane::sine([0.0, 1.0], [80.0, 1.0], 3.25, 0.039, 1.57),
            Lane::circular([10.0, 5.0], 20.0, 1.5, -0.4, false),
            Lane::circular([-7.0, 5.0], 15.0, 0.2, 2.0, true),
        ]
    }

    #[test]
    fn coordinates_survive_the_round_trip() {
        for lane in lanes() {
            for step in 0..20 {
                let longitudinal = lane.length * f64::from(step) / 20.0;
                for lateral in [-1.5, 0.0, 2.0] {
                    let (s, r) = lane.local_coordinates(lane.position(longitudinal, lateral));
                    assert!((s - longitudinal).abs() < 1e-9 && (r - lateral).abs() < 1e-9);
                }
            }
        }
    }

    #[test]
    fn heading_is_the_direction_of_travel() {
        for lane in lanes() {
            let [x0, y0] = lane.position(5.0 - 1e-5, 0.0);
            let [x1, y1] = lane.position(5.0 + 1e-5, 0.0);
            let travelled = (y1 - y0).atan2(x1 - x0);
            assert!(wrap_to_pi(travelled - lane.heading_at(5.0)).abs() < 1e-6);
        }
    }

    #[test]
    fn fast_rejection_never_contradicts_the_full_answer() {
        for lane in lanes() {
            for i in -60..60 {
                for j in -60..60 {
                    let position = [f64::from(i), f64::from(j)];
                    let (s, r) = lane.local_coordinates(position);
                    let on = lane.contains(s, r, NEIGHBOUR_MARGIN);
                    assert_eq!(lane.sees(position).is_some(), on);
                    let heading = 0.3;
                    let full =
                        lane.distance(position) + wrap_to_pi(heading - lane.heading_at(s)).abs();
                    let bounded = lane.distance_with_heading(position, heading, 8.0);
                    assert_eq!(bounded, (full <= 8.0).then_some((full, s, r)));
                }
            }
        }
    }
}
