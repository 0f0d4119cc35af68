//! How close is too close?
//!
//! Two rectangles are apart as soon as one of their four axes separates them. On each axis the gap
//! is compared with the margin wanted there, and the best axis counts: a car in the next lane is
//! two metres away sideways, which is plenty, while two metres to the car ahead is not.
//!
//! ```text
//!   margin(axis) = along |axis · ego's length| + across |axis · ego's width| + closing_time · closing speed
//!   cost         = 1 - max over axes of gap / margin,   within [0, 1]
//! ```
//!
//! Start at [`Margin::proximity`].
//!
//! **Invariants**, each pinned by a test: the cost is in [0, 1]; it is 1 exactly when the rectangles
//! touch or overlap; it never grows with the gap on an axis; a senseless pose (NaN) of another
//! body costs 1.
//!
//! **Absent on purpose:** time. This is about where bodies are, not where they will be.

use cpss_highway::scene::Body;

/// The margins that are wanted around the ego \[m\], and how they grow.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Margin {
    /// Ahead of the ego and behind it \[m\], above zero.
    pub along: f64,
    /// On its sides \[m\], above zero.
    pub across: f64,
    /// More margin per closing speed, which is a time \[s\], at least zero.
    pub closing_time: f64,
    /// Between the ego's centre and the edge of the road \[m\], above zero. Leaving the road is
    /// judged by the centre, so this margin is too.
    pub boundary: f64,
}

/// How close two bodies are.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Proximity {
    /// From 0, beyond the margin, to 1, touching.
    pub cost: f64,
    /// The widest gap that an axis shows \[m\], or, beyond the margin, one that is wide enough;
    /// negative for an overlap, by how deep it is.
    pub clearance: f64,
}

/// A rectangle that moves along its length.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pose {
    /// Centre \[m\].
    pub position: [f64; 2],
    /// Cosine of its heading.
    pub cos: f64,
    /// Sine of its heading.
    pub sin: f64,
    /// Speed along its heading \[m/s\].
    pub speed: f64,
    /// Half its length and half its width \[m\].
    pub half_size: [f64; 2],
}

impl Margin {
    /// How close `other` is to the ego, measured in margins.
    #[inline]
    pub fn proximity(&self, ego: &Pose, other: &Pose) -> Proximity {
        let [dx, dy] = [other.position[0] - ego.position[0], other.position[1] - ego.position[1]];
        // The other rectangle's direction, its distance and its velocity, in the ego's frame.
        let cos = ego.cos * other.cos + ego.sin * other.sin;
        let sin = ego.cos * other.sin - ego.sin * other.cos;
        let ahead = ego.cos * dx + ego.sin * dy;
        let beside = ego.cos * dy - ego.sin * dx;
        let velocity = [other.speed * cos - ego.speed, other.speed * sin];
        let ([el, ew], [ol, ow]) = (ego.half_size, other.half_size);
        let (abs_cos, abs_sin) = (cos.abs(), sin.abs());

        let along = Gap::new(
            self.along,
            self.closing_time,
            ahead,
            velocity[0],
            el + ol * abs_cos + ow * abs_sin,
        );
        if along.is_enough() {
            // Far enough ahead or behind is far enough.
            return Proximity { cost: 0.0, clearance: along.gap };
        }
        let across = Gap::new(
            self.across,
            self.closing_time,
            beside,
            velocity[1],
            ew + ol * abs_sin + ow * abs_cos,
        );
        if across.is_enough() && !along.is_senseless() {
            return Proximity { cost: 0.0, clearance: across.gap };
        }
        let mut best = Widest { ratio: f64::NEG_INFINITY, clearance: f64::NEG_INFINITY };
        best.see(along);
        best.see(across);
        if abs_sin > PARALLEL {
            // The other rectangle's own axes say nothing new when they are the ego's.
            let turn = |x: f64, y: f64| [cos * x + sin * y, cos * y - sin * x];
            let [along, across] = turn(ahead, beside);
            let [vx, vy] = turn(velocity[0], velocity[1]);
            let lengthwise = self.along * abs_cos + self.across * abs_sin;
            let crosswise = self.along * abs_sin + self.across * abs_cos;
            let touch = [ol + el * abs_cos + ew * abs_sin, ow + el * abs_sin + ew * abs_cos];
            best.see(Gap::new(lengthwise, self.closing_time, along, vx, touch[0]));
            best.see(Gap::new(crosswise, self.closing_time, across, vy, touch[1]));
        }
        Proximity { cost: cost_of(best.ratio), clearance: best.clearance }
    }

    /// How close the ego's centre is to the edge of the road, `distance` \[m\] away.
    pub fn boundary_proximity(&self, distance: f64) -> Proximity {
        Proximity { cost: cost_of(distance / self.boundary), clearance: distance }
    }
}

impl Pose {
    /// A body of a scene.
    pub fn of(body: &Body) -> Pose {
        Pose {
            position: body.position,
            cos: body.cos,
            sin: body.sin,
            speed: body.speed,
            half_size: [body.length / 2.0, body.width / 2.0],
        }
    }
}

/// Below this sine of the angle between them, two rectangles count as parallel.
const PARALLEL: f64 = 1e-9;

/// What one axis shows: the gap, and the margin wanted there \[m\].
struct Gap {
    gap: f64,
    margin: f64,
}

/// The best that the axes seen so far show.
struct Widest {
    ratio: f64,
    clearance: f64,
}

impl Gap {
    /// On an axis with this margin at rest: the distance of the centres and the relative velocity along
    /// it, and the distance at which the rectangles touch.
    #[inline]
    fn new(margin: f64, closing_time: f64, distance: f64, velocity: f64, touch: f64) -> Gap {
        let closing = if distance < 0.0 { velocity } else { -velocity };
        // Unlike `f64::max`, this lets a NaN through.
        let closing = if closing < 0.0 { 0.0 } else { closing };
        Gap { gap: distance.abs() - touch, margin: margin + closing_time * closing }
    }

    /// Whether a NaN is in it.
    #[inline]
    fn is_senseless(&self) -> bool {
        self.gap.is_nan() || self.margin.is_nan()
    }

    /// Whether it makes the whole cost nothing. Not if that cannot be told, for a NaN.
    #[inline]
    fn is_enough(&self) -> bool {
        self.gap >= self.margin
    }
}

impl Widest {
    /// Takes in one axis.
    #[inline]
    fn see(&mut self, Gap { gap, margin }: Gap) {
        let ratio = gap / margin;
        // `f64::max` drops a NaN, and a dropped NaN would fail open: it has to stick.
        if ratio > self.ratio || ratio.is_nan() {
            self.ratio = ratio;
        }
        if gap > self.clearance || gap.is_nan() {
            self.clearance = gap;
        }
    }
}

/// The cost of a gap, in margins. A NaN costs 1.
#[inline]
fn cost_of(ratio: f64) -> f64 {
    if ratio >= 1.0 {
        0.0
    } else if ratio > 0.0 {
        1.0 - ratio
    } else {
        1.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const MARGIN: Margin = Margin { along: 2.0, across: 0.5, closing_time: 0.5, boundary: 1.0 };

    fn car(x: f64, y: f64, heading: f64, speed: f64) -> Pose {
        let (sin, cos) = heading.sin_cos();
        Pose { position: [x, y], cos, sin, speed, half_size: [2.5, 1.0] }
    }

    fn cost(other: Pose) -> f64 {
        MARGIN.proximity(&car(0.0, 0.0, 0.0, 20.0), &other).cost
    }

    /// The lowest and the highest place of a rectangle's corners along an axis.
    fn shadow(pose: &Pose, [x, y]: [f64; 2]) -> [f64; 2] {
        let [half_length, half_width] = pose.half_size;
        let corners = [(1.0, 1.0), (1.0, -1.0), (-1.0, 1.0), (-1.0, -1.0)].map(|(fore, right)| {
            let [along, across] = [fore * half_length, right * half_width];
            let corner_x = pose.position[0] + along * pose.cos - across * pose.sin;
            let corner_y = pose.position[1] + along * pose.sin + across * pose.cos;
            corner_x * x + corner_y * y
        });
        let fold = |pick: fn(f64, f64) -> f64| corners.into_iter().reduce(pick).unwrap();
        [fold(f64::min), fold(f64::max)]
    }

    /// The same by the corners of both, along each of the four axes.
    fn by_corners(margin: &Margin, ego: &Pose, other: &Pose) -> Proximity {
        let axes = [ego, other].map(|pose| [[pose.cos, pose.sin], [-pose.sin, pose.cos]]);
        let mut widest = Widest { ratio: f64::NEG_INFINITY, clearance: f64::NEG_INFINITY };
        for [x, y] in axes.concat() {
            let along = (x * ego.cos + y * ego.sin).abs();
            let across = (y * ego.cos - x * ego.sin).abs();
            let speed = |pose: &Pose| pose.speed * (x * pose.cos + y * pose.sin);
            let middle = |pose: &Pose| pose.position[0] * x + pose.position[1] * y;
            let closes = (speed(ego) - speed(other)) * (middle(other) - middle(ego)).signum();
            let wanted = margin.along * along
                + margin.across * across
                + margin.closing_time * closes.max(0.0);
            let ([low, high], [other_low, other_high]) =
                (shadow(ego, [x, y]), shadow(other, [x, y]));
            let gap = (other_low - high).max(low - other_high);
            widest.ratio = widest.ratio.max(gap / wanted);
            widest.clearance = widest.clearance.max(gap);
        }
        Proximity { cost: (1.0 - widest.ratio).clamp(0.0, 1.0), clearance: widest.clearance }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(5000))]

        #[test]
        fn it_is_what_the_corners_of_both_show(
            [x, y, other_x, other_y] in prop::array::uniform4(-9.0..9.0),
            [heading, other_heading] in prop::array::uniform2(-3.2..3.2),
            [speed, other_speed] in prop::array::uniform2(-5.0..30.0),
            [length, width, other_length, other_width] in prop::array::uniform4(0.3..4.0),
            [along, across, closing_time] in prop::array::uniform3(0.1..5.0),
        ) {
            let margin = Margin { along, across, closing_time, boundary: 1.0 };
            let ego = Pose { half_size: [length, width], ..car(x, y, heading, speed) };
            let other = car(other_x, other_y, other_heading, other_speed);
            let other = Pose { half_size: [other_length, other_width], ..other };
            let (found, expected) = (margin.proximity(&ego, &other), by_corners(&margin, &ego, &other));
            prop_assert!((found.cost - expected.cost).abs() < 1e-9, "{found:?} {expected:?}");
            if found.cost > 0.0 {
                let apart = (found.clearance - expected.clearance).abs();
                prop_assert!(apart < 1e-9, "{found:?} {expected:?}");
            }
        }
    }

    #[test]
    fn the_edge_of_the_road_is_measured_in_its_own_margin() {
        let margin = Margin { boundary: 2.0, ..MARGIN };
        assert_eq!(margin.boundary_proximity(0.5), Proximity { cost: 0.75, clearance: 0.5 });
        assert_eq!(margin.boundary_proximity(2.0).cost, 0.0);
        assert_eq!(margin.boundary_proximity(0.0).cost, 1.0);
        assert_eq!(margin.boundary_proximity(-1.0).cost, 1.0);
    }

    #[test]
    fn the_gap_counts_not_the_distance_of_the_centres() {
        let ahead = MARGIN.proximity(&car(0.0, 0.0, 0.0, 20.0), &car(6.0, 0.0, 0.0, 20.0));
        assert_eq!(ahead, Proximity { cost: 0.5, clearance: 1.0 });
        let beside = MARGIN.proximity(&car(0.0, 0.0, 0.0, 20.0), &car(1.0, 2.25, 0.0, 20.0));
        assert_eq!(beside, Proximity { cost: 0.5, clearance: 0.25 });
    }

    #[test]
    fn a_car_in_the_next_lane_costs_nothing() {
        assert_eq!(cost(car(0.0, 4.0, 0.0, 20.0)), 0.0);
    }

    #[test]
    fn closing_in_needs_more_room_and_drawing_apart_does_not() {
        // A gap of 4 m: twice the margin at rest, a third of it at 20 m/s of closing speed.
        assert_eq!(cost(car(9.0, 0.0, 0.0, 20.0)), 0.0);
        assert!((cost(car(9.0, 0.0, 0.0, 0.0)) - (1.0 - 4.0 / 12.0)).abs() < 1e-12);
        assert_eq!(cost(car(9.0, 0.0, 0.0, 40.0)), 0.0);
        assert!((cost(car(-9.0, 0.0, 0.0, 40.0)) - (1.0 - 4.0 / 12.0)).abs() < 1e-12);
    }

    #[test]
    fn a_crossing_car_is_measured_along_the_ego_s_way() {
        // Its side is 5 - 2.5 - 1 = 1.5 m ahead, and the ego comes on at 20 m/s.
        let crossing = cost(car(5.0, 0.0, std::f64::consts::FRAC_PI_2, 0.0));
        assert!((crossing - (1.0 - 1.5 / 12.0)).abs() < 1e-9, "{crossing}");
    }

    #[test]
    fn a_corner_between_two_cars_is_seen() {
        // Turned by 45 degrees, this car's corner box overlaps the ego's, but the cars do not.
        let turned = car(4.0, 3.0, std::f64::consts::FRAC_PI_4, 20.0);
        let found = MARGIN.proximity(&car(0.0, 0.0, 0.0, 20.0), &turned);
        assert!(found.clearance < 0.0 && found.cost == 1.0);
        let further = car(3.3, 4.0, std::f64::consts::FRAC_PI_4, 20.0);
        assert!(MARGIN.proximity(&car(0.0, 0.0, 0.0, 20.0), &further).clearance > 0.0);
    }

    #[test]
    fn touching_costs_one_and_so_does_nonsense() {
        assert_eq!(cost(car(5.0, 0.0, 0.0, 20.0)), 1.0);
        assert_eq!(cost(car(3.0, 1.0, 0.3, 20.0)), 1.0);
        let bad = [
            car(f64::NAN, 0.0, 0.0, 20.0),
            car(9.0, 9.0, f64::NAN, 20.0),
            car(99.0, 9.0, 0.0, f64::NAN),
        ];
        for bad in bad {
            assert_eq!(cost(bad), 1.0);
        }
        let ego = Pose { half_size: [f64::NAN, 1.0], ..car(0.0, 0.0, 0.0, 20.0) };
        assert_eq!(MARGIN.proximity(&ego, &car(0.0, 10.0, 0.0, 20.0)).cost, 1.0);
        assert_eq!(MARGIN.boundary_proximity(f64::NAN).cost, 1.0);
    }

    #[test]
    fn the_cost_never_grows_with_the_gap() {
        for heading in [0.0, 0.4, 1.2, 2.9] {
            for other_speed in [0.0, 15.0, 30.0] {
                let costs = (0..400)
                    .map(|step| cost(car(f64::from(step) * 0.1, 1.0, heading, other_speed)));
                let costs: Vec<f64> = costs.collect();
                assert!(costs.windows(2).all(|pair| pair[1] <= pair[0]), "{heading} {costs:?}");
                assert!(costs[0] == 1.0 && costs[399] == 0.0);
            }
        }
    }
}
