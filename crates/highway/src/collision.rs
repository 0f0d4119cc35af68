//! Who hits whom?
//!
//! A broad phase finds the few pairs that could touch, then upstream's separating-axis test runs
//! on their rectangles, now and after one more frame at constant velocity. Bodies that overlap are
//! crashed; bodies about to overlap get an impact that pushes them apart at the next step.
//!
//! Start at [`handle_collisions`]. Pairs are settled in upstream's order (first body, then second,
//! obstacles last), because a later pair overwrites an earlier impact.

use crate::arith::norm;
use crate::lineup::Slot;
use crate::neighbours::{OBSTACLE_SIZE, Obstacle};
use crate::vehicle::{LENGTH, MAX_SPEED, Vehicle, WIDTH};

/// Slack on the cheap tests, so that rounding cannot make them dismiss a pair \[m\].
const SLACK: f64 = 1e-6;

/// Finds and resolves every collision of one frame of `dt` \[s\].
pub(crate) fn handle_collisions(
    vehicles: &mut [Vehicle],
    obstacles: &[Obstacle],
    by_x: Option<&[Slot]>,
    dt: f64,
    pairs: &mut Vec<(u16, u16)>,
) {
    pairs.clear();
    match by_x {
        Some(by_x) => pairs_by_x(vehicles, by_x, dt, pairs),
        None => {
            let mut rest = &*vehicles;
            while let [first, others @ ..] = rest {
                let place = vehicles.len() - rest.len();
                for (offset, second) in others.iter().enumerate() {
                    if are_close(first, second, dt) {
                        pairs.push((place as u16, (place + 1 + offset) as u16));
                    }
                }
                rest = others;
            }
        }
    }
    if obstacles.is_empty() {
        for &(first, second) in pairs.iter() {
            collide(vehicles, usize::from(first), usize::from(second), dt);
        }
        return;
    }
    let mut next = pairs.iter().peekable();
    for first in 0..vehicles.len() {
        while let Some((_, second)) = next.next_if(|(i, _)| usize::from(*i) == first) {
            collide(vehicles, first, usize::from(*second), dt);
        }
        for obstacle in obstacles {
            collide_with_obstacle(&mut vehicles[first], obstacle, dt);
        }
    }
}

/// Walks the cars by x, looking ahead only as far as two bodies can touch.
fn pairs_by_x(vehicles: &[Vehicle], by_x: &[Slot], dt: f64, pairs: &mut Vec<(u16, u16)>) {
    let reach = DIAGONAL + MAX_SPEED.max(fastest(vehicles)) * dt + SLACK;
    let mut rest = by_x;
    while let [behind, others @ ..] = rest {
        let limit = behind.x + reach;
        for ahead in others.iter().take_while(|ahead| ahead.x <= limit) {
            let (first, second) = (behind.car.min(ahead.car), behind.car.max(ahead.car));
            if are_close(&vehicles[usize::from(first)], &vehicles[usize::from(second)], dt) {
                pairs.push((first, second));
            }
        }
        rest = others;
    }
    pairs.sort_unstable();
}

fn fastest(vehicles: &[Vehicle]) -> f64 {
    vehicles.iter().fold(0.0, |most, vehicle| vehicle.speed.abs().max(most))
}

/// Distance between opposite corners of a car: the square root of 29 \[m\].
const DIAGONAL: f64 = 5.385_164_807_134_504;

/// Upstream's spherical test, and whether anyone looks at this pair at all.
#[inline]
fn are_close(first: &Vehicle, second: &Vehicle, dt: f64) -> bool {
    let [dx, dy] = [second.x - first.x, second.y - first.y];
    let reach = DIAGONAL + first.speed * dt;
    let maybe = reach + SLACK > 0.0 && dx * dx + dy * dy <= (reach + SLACK) * (reach + SLACK);
    maybe
        && (first.checks_collisions || second.checks_collisions)
        && norm(dx, dy) <= reach
        && !is_beside(first, second, dt)
}

/// Whether two cars are certainly apart across the first one's axis, now and a frame from now.
///
/// That axis is one of those the full test tries, and one axis that separates them decides it;
/// most close pairs are cars side by side, which end here.
#[inline]
fn is_beside(first: &Vehicle, second: &Vehicle, dt: f64) -> bool {
    let across = |x: f64, y: f64| -first.sin * x + first.cos * y;
    let between = across(second.x - first.x, second.y - first.y);
    let along_cos = first.cos * second.cos + first.sin * second.sin;
    let along_sin = first.cos * second.sin - first.sin * second.cos;
    let half_other = (WIDTH * along_cos.abs() + LENGTH * along_sin.abs()) / 2.0;
    let gap = between.abs() - WIDTH / 2.0 - half_other;
    let [vx, vy] = second.velocity();
    let sideways = across(vx, vy).abs() * dt;
    gap > sideways + SLACK
}

fn collide(vehicles: &mut [Vehicle], first: usize, second: usize, dt: f64) {
    let (a, b) = (&vehicles[first], &vehicles[second]);
    let overlap =
        sweep(&rectangle_of(a), &rectangle_of(b), displacement(a, dt), displacement(b, dt));
    if let Some([x, y]) = overlap.push {
        vehicles[first].impact = Some([x / 2.0, y / 2.0]);
        vehicles[second].impact = Some([-x / 2.0, -y / 2.0]);
    }
    if overlap.now {
        vehicles[first].crashed = true;
        vehicles[second].crashed = true;
    }
}

fn collide_with_obstacle(vehicle: &mut Vehicle, obstacle: &Obstacle, dt: f64) {
    let [x, y] = obstacle.position;
    let reach = (DIAGONAL + norm(OBSTACLE_SIZE, OBSTACLE_SIZE)) / 2.0 + vehicle.speed * dt;
    let [dx, dy] = [x - vehicle.x, y - vehicle.y];
    let far = (reach + SLACK).max(0.0);
    if dx * dx + dy * dy > far * far || norm(dx, dy) > reach {
        return;
    }
    let block = Rectangle::new(obstacle.position, OBSTACLE_SIZE, OBSTACLE_SIZE, [1.0, 0.0]);
    let overlap = sweep(&rectangle_of(vehicle), &block, displacement(vehicle, dt), [0.0, 0.0]);
    if overlap.push.is_some() {
        vehicle.impact = overlap.push;
    }
    vehicle.crashed |= overlap.now;
}

fn displacement(vehicle: &Vehicle, dt: f64) -> [f64; 2] {
    vehicle.velocity().map(|component| component * dt)
}

fn rectangle_of(vehicle: &Vehicle) -> Rectangle {
    Rectangle::new(vehicle.position(), LENGTH, WIDTH, [vehicle.cos, vehicle.sin])
}

/// The corners of a body, in order around it.
struct Rectangle([[f64; 2]; 4]);

impl Rectangle {
    fn new([x, y]: [f64; 2], length: f64, width: f64, [cos, sin]: [f64; 2]) -> Rectangle {
        let (l, w) = (length / 2.0, width / 2.0);
        Rectangle(
            [[-l, -w], [-l, w], [l, w], [l, -w]]
                .map(|[px, py]| [cos * px - sin * py + x, sin * px + cos * py + y]),
        )
    }

    fn center(&self) -> [f64; 2] {
        [0, 1].map(|axis| self.0.iter().map(|corner| corner[axis]).sum::<f64>() / 4.0)
    }

    fn span(&self, [nx, ny]: [f64; 2]) -> [f64; 2] {
        let mut span = [f64::INFINITY, f64::NEG_INFINITY];
        for [x, y] in self.0 {
            let projected = x * nx + y * ny;
            span = [span[0].min(projected), span[1].max(projected)];
        }
        span
    }
}

/// What two rectangles do to each other.
struct Overlap {
    /// They overlap already.
    now: bool,
    /// They will overlap a frame from now: the push that takes the first out of the second \[m\].
    push: Option<[f64; 2]>,
}

/// Upstream's separating-axis test, with the first rectangle swept by the relative displacement.
fn sweep(a: &Rectangle, b: &Rectangle, moved_a: [f64; 2], moved_b: [f64; 2]) -> Overlap {
    let (mut now, mut soon) = (true, true);
    let mut least = f64::INFINITY;
    let mut axis = [0.0, 0.0];
    for polygon in [a, b] {
        for edge in 0..4 {
            let ([x1, y1], [x2, y2]) = (polygon.0[edge], polygon.0[(edge + 1) % 4]);
            let [nx, ny] = [-y2 + y1, x2 - x1];
            let length = norm(nx, ny);
            let normal = [nx / length, ny / length];
            let [mut min_a, mut max_a] = a.span(normal);
            let [min_b, max_b] = b.span(normal);
            if gap(min_a, max_a, min_b, max_b) > 0.0 {
                now = false;
            }
            let shift =
                normal[0] * (moved_a[0] - moved_b[0]) + normal[1] * (moved_a[1] - moved_b[1]);
            if shift < 0.0 {
                min_a += shift;
            } else {
                max_a += shift;
            }
            let distance = gap(min_a, max_a, min_b, max_b);
            if distance > 0.0 {
                soon = false;
            }
            if !now && !soon {
                return Overlap { now: false, push: None };
            }
            if distance.abs() < least {
                least = distance.abs();
                let ([ax, ay], [bx, by]) = (a.center(), b.center());
                let facing = (ax - bx) * normal[0] + (ay - by) * normal[1] > 0.0;
                axis = if facing { normal } else { normal.map(|component| -component) };
            }
        }
    }
    Overlap { now, push: soon.then(|| axis.map(|component| least * component)) }
}

fn gap(min_a: f64, max_a: f64, min_b: f64, max_b: f64) -> f64 {
    if min_a < min_b { min_b - max_a } else { min_a - max_b }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lane::Lane;
    use crate::road::{Network, NetworkBuilder};
    use crate::vehicle::Driver;

    fn network() -> Network {
        let mut builder = NetworkBuilder::default();
        builder.add_lane("a", "b", Lane::straight([0.0, 0.0], [100.0, 0.0]));
        builder.compile()
    }

    fn car(x: f64, y: f64, heading: f64, speed: f64) -> Vehicle {
        Vehicle::new(&network(), Driver::Idm, [x, y], heading, speed)
    }

    fn collide(mut vehicles: Vec<Vehicle>, obstacles: &[Obstacle]) -> Vec<Vehicle> {
        handle_collisions(&mut vehicles, obstacles, None, 1.0 / 15.0, &mut Vec::new());
        vehicles
    }

    #[test]
    fn the_diagonal_is_that_of_a_car() {
        assert_eq!(DIAGONAL, norm(LENGTH, WIDTH));
    }

    #[test]
    fn overlapping_cars_crash_and_are_pushed_apart() {
        let after = collide(vec![car(0.0, 0.0, 0.0, 10.0), car(4.5, 0.1, 0.0, 10.0)], &[]);
        assert!(after.iter().all(|car| car.crashed));
        let [push_x, _] = after[0].impact.unwrap();
        assert!(push_x < 0.0 && after[1].impact.unwrap()[0] == -push_x);
    }

    #[test]
    fn closing_cars_feel_an_impact_before_they_touch() {
        let after = collide(vec![car(0.0, 0.0, 0.0, 30.0), car(6.0, 0.0, 0.0, 0.0)], &[]);
        assert!(!after[0].crashed && after[0].impact.is_some());
    }

    #[test]
    fn cars_side_by_side_are_left_alone() {
        let after = collide(vec![car(0.0, 0.0, 0.0, 30.0), car(0.5, 4.0, 0.0, 20.0)], &[]);
        assert!(after.iter().all(|car| !car.crashed && car.impact.is_none()));
    }

    #[test]
    fn the_shortcut_for_cars_side_by_side_agrees_with_the_full_test() {
        let dt = 1.0 / 15.0;
        let mut dismissed = 0;
        for step in 0..4000 {
            // A spread of relative poses, without randomness.
            let t = f64::from(step);
            let other = car(
                7.0 * (t * 0.37).sin(),
                7.0 * (t * 0.73).cos(),
                3.0 * (t * 0.11).sin(),
                20.0 * (t * 0.05).cos(),
            );
            let first = car(0.0, 0.0, (t * 0.017).sin(), 15.0);
            if is_beside(&first, &other, dt) {
                dismissed += 1;
                let full = sweep(
                    &rectangle_of(&first),
                    &rectangle_of(&other),
                    displacement(&first, dt),
                    displacement(&other, dt),
                );
                assert!(!full.now && full.push.is_none());
            }
        }
        assert!(dismissed > 500);
    }

    #[test]
    fn an_obstacle_pushes_the_car_alone() {
        let wall = Obstacle { position: [3.0, 0.0] };
        let after = collide(vec![car(0.0, 0.0, 0.0, 10.0)], &[wall]);
        assert!(after[0].crashed && after[0].impact.unwrap()[0] < 0.0);
    }

    #[test]
    fn cars_that_do_not_look_for_collisions_have_none() {
        let mut cars = vec![car(0.0, 0.0, 0.0, 10.0), car(4.0, 0.0, 0.0, 10.0)];
        for car in &mut cars {
            car.checks_collisions = false;
        }
        assert!(collide(cars, &[]).iter().all(|car| !car.crashed));
    }
}
