//! How does traffic flow while nobody does anything unusual?
//!
//! Drivers of this world keep their distance by the intelligent driver model and change lane by
//! MOBIL, and any observer may know that much. What an observer does not know are a driver's own
//! numbers, so everybody is given the usual ones ([`Temper::default`]). That is enough to expect a
//! braking before it is seen, and a lane change before it begins.
//!
//! Start at [`Flow::look`], which works out who follows whom and how fast everybody will be;
//! [`Flow::temptation`] asks whether a driver is about to change lane.
//!
//! **Invariants:** only poses, speeds and lanes enter; nobody reacts to what the ego might do, only
//! to where it is, or to its having gone; nothing is allocated once the busiest scene has been seen.
//!
//! **Absent on purpose:** what becomes of a lane change once it is made. The car's own track is
//! `forecast`'s business, and nobody makes room for it here.

use cpss_highway::Task;
use cpss_highway::driver::Temper;
use cpss_highway::lane::{Lane, Shape};
use cpss_highway::road::{LaneId, Network};
use cpss_highway::scene::{Body, Ego};

use crate::roadmap::Roadmap;

/// The cars that matter, and how fast each will be.
#[derive(Clone, Debug)]
pub(crate) struct Flow {
    temper: Temper,
    /// By how much a closing speed widens the gap that a driver wants \[s²/m\].
    closing_weight: f64,
    /// The speed that a driver is taken to aim for at least \[m/s\].
    wish: f64,
    step_time: f64,
    steps: usize,
    members: Vec<Member>,
    /// How far each member has come \[m\] and its speed \[m/s\], one row per step, from now on.
    rows: Vec<[f64; 2]>,
    /// Bodies near enough for somebody's lane change.
    around: Vec<Neighbour>,
}

/// A car that is predicted.
#[derive(Clone, Copy, Debug)]
struct Member {
    wish: f64,
    leader: Option<Leader>,
}

/// Somebody ahead of a member.
#[derive(Clone, Copy, Debug)]
struct Leader {
    /// Its place among the members; if it is none, it goes on at its speed.
    member: Option<usize>,
    speed: f64,
    /// Distance between centres now \[m\].
    gap: f64,
    /// Distance after which the follower sees it \[m\]: some drivers do not look beyond their lane.
    seen_after: f64,
}

/// A body as somebody beside it sees it.
#[derive(Clone, Copy, Debug)]
struct Neighbour {
    position: [f64; 2],
    velocity: [f64; 2],
    speed: f64,
    wish: f64,
    /// Its place among the scene's others; `None` for the ego.
    car: Option<usize>,
}

/// Where a driver sees the ego.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Whereabouts {
    /// Where it is, going on as it does.
    OnItsLane,
    /// On another lane, where it does not matter.
    Gone,
}

/// How much a driver likes a lane change, and what it does to the car behind.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Temptation {
    /// Acceleration gained \[m/s²\].
    gain: f64,
    /// Acceleration left to the car behind in the new lane \[m/s²\].
    imposed: f64,
}

/// Distance from the ego within which bodies take part in a lane change \[m\].
const AROUND: f64 = 120.0;
/// Distance to the end of a lane within which the next lane is looked at \[m\].
const NEXT_LANE_REACH: f64 = 60.0;
/// Slowest speed at which a driver thinks of changing lane \[m/s\].
const LEAST_SPEED: f64 = 1.0;
/// Shortest gap that counts as one \[m\].
const LEAST_GAP: f64 = 0.01;
/// Braking that an eager driver imposes \[m/s²\], and the gain that it is content with \[m/s²\].
const EAGER_IMPOSED: f64 = 4.0;
const EAGER_GAIN: f64 = 0.05;

impl Flow {
    /// Room for `steps` of `step_time` \[s\] each, among drivers who aim for `wish` \[m/s\].
    pub(crate) fn new(steps: usize, step_time: f64, wish: f64) -> Flow {
        let temper = Temper::default();
        let comfort = (temper.comfort_acceleration * temper.comfort_braking).sqrt();
        Flow {
            temper,
            closing_weight: 1.0 / (2.0 * comfort),
            wish,
            step_time,
            steps,
            members: Vec::new(),
            rows: Vec::new(),
            around: Vec::new(),
        }
    }

    /// Predicts the cars at the places `members` of `others`.
    pub(crate) fn look(
        &mut self,
        others: &[Body],
        members: &[usize],
        ego: &Ego,
        task: &Task,
        map: &Roadmap,
    ) {
        let network = &task.network;
        let limit = |body: &Body| network.lane(body.lane).speed_limit;
        let wish = |body: &Body| body.speed.max(self.wish).min(limit(body));
        self.members.clear();
        self.members.extend(members.iter().map(|&car| Member {
            wish: wish(&others[car]),
            leader: ahead(others, car, members, task, map),
        }));
        self.around.clear();
        let near = |body: &Body| {
            let [x, y] = ego.body.position;
            (body.position[0] - x).abs() + (body.position[1] - y).abs() < AROUND
        };
        self.around.extend(
            others
                .iter()
                .enumerate()
                .filter(|(_, body)| near(body))
                .map(|(car, body)| Neighbour::of(body, wish(body), Some(car))),
        );
        let ego_wish = ego.target_speed.clamp(0.0, limit(&ego.body));
        self.around.push(Neighbour::of(&ego.body, ego_wish, None));

        self.rows.resize((self.steps + 1) * members.len(), [0.0; 2]);
        for (row, &car) in self.rows.iter_mut().zip(members) {
            *row = [0.0, others[car].speed];
        }
        for step in 0..self.steps {
            self.advance(step);
        }
    }

    /// The speed of a member after some steps \[m/s\].
    #[inline]
    pub(crate) fn speed(&self, member: usize, steps: usize) -> f64 {
        self.rows[steps * self.members.len() + member][1]
    }

    /// What the driver of a car thinks of moving to `side` after `later` \[s\], everybody going on
    /// until then; `None` if it cannot, or has no reason to. With `Whereabouts::Gone` the ego is in
    /// nobody's way any more.
    pub(crate) fn temptation(
        &self,
        body: &Body,
        car: usize,
        side: LaneId,
        later: f64,
        ego: Whereabouts,
        network: &Network,
    ) -> Option<Temptation> {
        let (own, new) = (network.lane(body.lane), network.lane(side));
        // Bends are left out: upstream's drivers change lane there too, but nobody is tempted far.
        let is_straight = |lane: &Lane| matches!(lane.shape, Shape::Straight { .. });
        if !is_straight(own) || !is_straight(new) || body.speed < LEAST_SPEED {
            return None;
        }
        let [vx, vy] = body.velocity();
        let position = [body.position[0] + vx * later, body.position[1] + vy * later];
        if !new.is_reachable_from(position) {
            return None;
        }
        let (here, there) = (own.sees(position)?, new.local_coordinates(position).0);

        let mut old_leader = (f64::INFINITY, 0.0);
        let mut new_leader = (f64::INFINITY, 0.0);
        let mut follower: (f64, Option<&Neighbour>) = (f64::NEG_INFINITY, None);
        let is_there = |other: &&Neighbour| other.car.is_some() || ego == Whereabouts::OnItsLane;
        for other in self.around.iter().filter(|other| other.car != Some(car)).filter(is_there) {
            let position = other.after(later);
            if let Some(at) = own.sees(position)
                && here <= at
                && at < old_leader.0
            {
                old_leader = (at, other.speed);
            }
            match new.sees(position) {
                Some(at) if there <= at && at < new_leader.0 => new_leader = (at, other.speed),
                Some(at) if at < there && at > follower.0 => follower = (at, Some(other)),
                _ => {}
            }
        }
        let held_up = |(at, speed): (f64, f64), from: f64| {
            if at.is_finite() { self.interaction(body.speed, speed, at - from) } else { 0.0 }
        };
        let imposed = follower.1.map_or(0.0, |behind| {
            self.free_acceleration(behind.speed, behind.wish)
                - self.interaction(behind.speed, body.speed, there - follower.0)
        });
        let gain = held_up(old_leader, here) - held_up(new_leader, there);
        Some(Temptation { gain, imposed })
    }

    /// Adds the row after step number `step`.
    fn advance(&mut self, step: usize) {
        let width = self.members.len();
        let time = step as f64 * self.step_time;
        let mut rows = std::mem::take(&mut self.rows);
        let (now, next) = rows[step * width..(step + 2) * width].split_at_mut(width);
        for ((member, &[come, speed]), row) in self.members.iter().zip(&*now).zip(next) {
            let mut acceleration = self.free_acceleration(speed, member.wish);
            if let Some(leader) = member.leader.filter(|leader| come >= leader.seen_after) {
                let [leader_come, leader_speed] = match leader.member {
                    Some(other) => now[other],
                    None => [leader.speed * time, leader.speed],
                };
                let gap = leader.gap + leader_come - come;
                acceleration -= self.interaction(speed, leader_speed, gap);
            }
            let limit = self.temper.acceleration_limit;
            let after = speed + acceleration.clamp(-limit, limit) * self.step_time;
            // Nobody brakes into reverse; who already backs up goes on.
            let after = after.max(speed.min(0.0));
            *row = [come + self.step_time * (speed + after) / 2.0, after];
        }
        self.rows = rows;
    }

    /// What a car ahead takes off a driver's acceleration \[m/s²\].
    #[inline]
    fn interaction(&self, speed: f64, leader_speed: f64, gap: f64) -> f64 {
        let wanted = self.temper.jam_distance
            + speed * self.temper.headway
            + speed * (speed - leader_speed) * self.closing_weight;
        let ratio = wanted / gap.max(LEAST_GAP);
        self.temper.comfort_acceleration * ratio * ratio
    }

    /// The acceleration on an empty road \[m/s²\], with the usual exponent of four.
    #[inline]
    fn free_acceleration(&self, speed: f64, wish: f64) -> f64 {
        let square = (speed.max(0.0) / wish.max(LEAST_SPEED)).powi(2);
        self.temper.comfort_acceleration * (1.0 - square * square)
    }
}

impl Temptation {
    /// Whether a driver with the usual numbers changes lane.
    pub(crate) fn is_usual(&self) -> bool {
        let usual = Temper::default();
        self.gain >= usual.lane_change_gain && self.imposed >= -usual.imposed_braking
    }

    /// Whether a driver changes lane who is in a hurry and does not mind others.
    pub(crate) fn is_eager(&self) -> bool {
        self.gain >= EAGER_GAIN && self.imposed >= -EAGER_IMPOSED
    }
}

impl Neighbour {
    fn of(body: &Body, wish: f64, car: Option<usize>) -> Neighbour {
        let Body { position, speed, .. } = *body;
        Neighbour { position, velocity: body.velocity(), speed, wish, car }
    }

    #[inline]
    fn after(&self, time: f64) -> [f64; 2] {
        [self.position[0] + self.velocity[0] * time, self.position[1] + self.velocity[1] * time]
    }
}

/// The nearest car ahead on the same lane, or, close to its end, on the next.
fn ahead(
    others: &[Body],
    car: usize,
    members: &[usize],
    task: &Task,
    map: &Roadmap,
) -> Option<Leader> {
    let body = &others[car];
    let left = task.network.lane(body.lane).length - body.along;
    let next: &[LaneId] = if left < NEXT_LANE_REACH { map.after(body.lane) } else { &[] };
    let mut nearest: Option<(f64, usize, f64)> = None;
    for (place, other) in others.iter().enumerate() {
        let (gap, seen_after) = if other.lane == body.lane {
            (other.along - body.along, 0.0)
        } else if next.contains(&other.lane) {
            (left + other.along, if task.connected_lanes { 0.0 } else { left })
        } else {
            continue;
        };
        if gap > 0.0 && place != car && nearest.is_none_or(|(known, ..)| gap < known) {
            nearest = Some((gap, place, seen_after));
        }
    }
    nearest.map(|(gap, place, seen_after)| Leader {
        member: members.iter().position(|member| *member == place),
        speed: others[place].speed,
        gap,
        seen_after,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use cpss_highway::{Scene, TaskId, World};
    use std::sync::Arc;

    /// Cars on the highway: how far ahead of the ego, on which lane, and how fast.
    fn flow(cars: &[(f64, usize, f64)]) -> (Flow, Scene, Arc<Task>) {
        let task = Task::with_defaults(TaskId::HighwayV0);
        let mut scene = Scene::default();
        scene.observe(&World::new(Arc::clone(&task), 1));
        // The ego keeps out of it, on the fourth lane.
        let mut ego = scene.ego.unwrap();
        ego.body.position[1] = 12.0;
        let x = ego.body.position[0];
        scene.others = cars
            .iter()
            .map(|&(ahead, lane, speed)| {
                let place = [x + ahead, 4.0 * lane as f64];
                Body::new(&task.network, place, 0.0, speed, [5.0, 2.0])
            })
            .collect();
        let mut flow = Flow::new(9, 1.0 / 3.0, 21.0);
        let all: Vec<usize> = (0..cars.len()).collect();
        flow.look(&scene.others, &all, &ego, &task, &Roadmap::new(&task.network));
        (flow, scene, task)
    }

    fn tempted(cars: &[(f64, usize, f64)], to: usize) -> Option<Temptation> {
        let (flow, scene, task) = flow(cars);
        let side = task.network.find_lane("0", "1", to).unwrap();
        flow.temptation(&scene.others[0], 0, side, 0.0, Whereabouts::OnItsLane, &task.network)
    }

    #[test]
    fn a_car_alone_keeps_its_speed_and_one_behind_another_brakes() {
        let (alone, ..) = flow(&[(50.0, 1, 22.0)]);
        assert!((alone.speed(0, 9) - 22.0).abs() < 1e-9);
        let (pair, ..) = flow(&[(50.0, 1, 22.0), (65.0, 1, 18.0)]);
        assert!(pair.speed(0, 3) < 18.0, "it has to open the gap: {}", pair.speed(0, 3));
        assert!(pair.speed(1, 9) > 18.0, "and the first is free to get faster");
    }

    #[test]
    fn a_leader_counts_on_the_same_lane_only_and_nobody_brakes_into_reverse() {
        let (beside, ..) = flow(&[(50.0, 1, 22.0), (56.0, 2, 0.0)]);
        assert!((beside.speed(0, 9) - 22.0).abs() < 1e-9);
        let (wall, ..) = flow(&[(50.0, 1, 15.0), (56.0, 1, 0.0)]);
        assert_eq!(wall.speed(0, 9), 0.0);
    }

    #[test]
    fn who_is_held_up_is_tempted_and_who_is_not_is_not() {
        let held_up = tempted(&[(40.0, 1, 22.0), (62.0, 1, 18.0)], 2).unwrap();
        assert!(held_up.is_usual() && held_up.is_eager(), "{held_up:?}");
        let free = tempted(&[(40.0, 1, 22.0)], 2).unwrap();
        assert!(!free.is_usual() && !free.is_eager(), "{free:?}");
    }

    #[test]
    fn nobody_cuts_in_right_before_the_car_behind() {
        // A fast car comes up on the new lane: the usual driver waits, the eager one too.
        let cars = [(40.0, 1, 22.0), (62.0, 1, 18.0), (30.0, 2, 28.0)];
        let blocked = tempted(&cars, 2).unwrap();
        assert!(!blocked.is_usual() && !blocked.is_eager(), "{blocked:?}");
        // At the same speed and further back, it would have to brake a little.
        let further = tempted(&[cars[0], cars[1], (-20.0, 2, 22.0)], 2).unwrap();
        assert!(further.is_usual(), "{further:?}");
    }
}
