//! Where may others run into each other?
//!
//! A crash of two others concerns an ego that waits beside it: wrecks slide on and are pushed
//! aside. Where two cars that cross each other's way would meet if both went on as they do, a
//! **pile** is expected, a heap larger than a car that slides on with what speed the two have left.
//! Mostly one of them gives way, so a pile is unlikely; but where to wait for it is a free choice.
//!
//! Start at [`Pile::between`].

use crate::proximity::Pose;

/// Two wrecks and the room around them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Pile {
    /// When it happens \[s\], from now.
    since: f64,
    /// Where \[m\].
    position: [f64; 2],
    /// Which way and how fast it slides at first \[m/s\].
    velocity: [f64; 2],
}

/// Distance of centres at which two crossing cars are taken to have met \[m\].
const MEETING: f64 = 4.0;
/// Half the side of the square that a pile takes up \[m\].
const HALF_SIZE: f64 = 4.0;
/// Cosine of the angle from which on two cars follow each other and do not cross.
const FOLLOWING: f64 = 0.7;

impl Pile {
    /// The pile of two cars at these poses after some time \[s\], if they cross and have met.
    #[inline]
    pub(crate) fn between(a: &Pose, b: &Pose, time: f64) -> Option<Pile> {
        let [dx, dy] = [b.position[0] - a.position[0], b.position[1] - a.position[1]];
        let have_met = dx * dx + dy * dy < MEETING * MEETING;
        if !have_met || a.cos * b.cos + a.sin * b.sin > FOLLOWING {
            return None;
        }
        let mean = |a: f64, b: f64| (a + b) / 2.0;
        Some(Pile {
            since: time,
            position: [mean(a.position[0], b.position[0]), mean(a.position[1], b.position[1])],
            velocity: [
                mean(a.speed * a.cos, b.speed * b.cos),
                mean(a.speed * a.sin, b.speed * b.sin),
            ],
        })
    }

    /// Whether another pile is much the same as this one, a moment later.
    pub(crate) fn covers(&self, other: &Pile) -> bool {
        let [dx, dy] = [other.position[0] - self.position[0], other.position[1] - self.position[1]];
        dx * dx + dy * dy < HALF_SIZE * HALF_SIZE && other.since >= self.since
    }

    /// Where it is at a time \[s\]; `None` before it happens. A wreck loses its speed within about a
    /// second.
    #[inline]
    pub(crate) fn at(&self, time: f64) -> Option<Pose> {
        let age = time - self.since;
        if age < 0.0 {
            return None;
        }
        let left = (-age).exp();
        let [vx, vy] = self.velocity;
        let speed = vx.hypot(vy);
        let (cos, sin) = if speed > 0.0 { (vx / speed, vy / speed) } else { (1.0, 0.0) };
        Some(Pose {
            position: [self.position[0] + vx * (1.0 - left), self.position[1] + vy * (1.0 - left)],
            cos,
            sin,
            speed: speed * left,
            half_size: [HALF_SIZE; 2],
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn car(x: f64, y: f64, heading: f64, speed: f64) -> Pose {
        let (sin, cos) = heading.sin_cos();
        Pose { position: [x, y], cos, sin, speed, half_size: [2.5, 1.0] }
    }

    #[test]
    fn cars_that_cross_pile_up_and_cars_in_line_do_not() {
        let crossing = car(2.0, 2.0, std::f64::consts::FRAC_PI_2, 6.0);
        assert!(Pile::between(&car(0.0, 0.0, 0.0, 8.0), &crossing, 1.0).is_some());
        assert_eq!(Pile::between(&car(0.0, 0.0, 0.0, 8.0), &car(3.5, 0.0, 0.1, 8.0), 1.0), None);
        assert_eq!(Pile::between(&car(0.0, 0.0, 0.0, 8.0), &car(9.0, 0.0, 2.0, 8.0), 1.0), None);
    }

    #[test]
    fn a_pile_slides_on_the_way_of_both_and_comes_to_rest() {
        let crossing = car(2.0, 0.0, std::f64::consts::FRAC_PI_2, 8.0);
        let pile = Pile::between(&car(0.0, 0.0, 0.0, 8.0), &crossing, 1.0).unwrap();
        assert_eq!(pile.at(0.9), None);
        let at_first = pile.at(1.0).unwrap();
        assert_eq!(at_first.position, [1.0, 0.0]);
        let later = pile.at(11.0).unwrap();
        assert!((later.position[0] - 5.0).abs() < 0.01 && (later.position[1] - 4.0).abs() < 0.01);
        assert!(later.speed < 0.01 && at_first.speed > 5.0);
    }
}
