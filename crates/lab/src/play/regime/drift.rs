//! What does drift do to a running world?
//!
//! Before every decision [`Drift::apply`] brings the drivers' parameters and the number of cars up to the present
//! intensity (`density`), and now and then makes the car ahead of the ego brake. Everything goes through
//! [`World::disturb`], and every draw comes from a stream of the episode's own.

use std::sync::Arc;

use cpss_highway::driver::DriverParameters;
use cpss_highway::random::Generator;
use cpss_highway::road::LaneId;
use cpss_highway::vehicle::LENGTH;
use cpss_highway::{Disturbance, World};

use super::{Intensity, RegimeSpec, Timeline};
use crate::tasks::{self, Arrivals, Spawning};

mod density;

/// Places that are tried for a car.
const TRIES: usize = 10;
/// Time gap between the ego and an extra car \[s\].
const EGO_HEADWAY: f64 = 2.0;

/// The drift of one episode in progress.
#[derive(Clone, Debug)]
pub struct Drift {
    full: Intensity,
    base: DriverParameters,
    timeline: Timeline,
    random: Generator,
    applied: f64,
    /// The intensity that the number of cars is of, once those that are owed have come.
    dense: f64,
    /// Cars that have yet to come for want of room or, below zero, to go.
    owed: i64,
    /// Extra cars of each kind that have come, and those of the start that found no room and are let be.
    brought: Vec<u32>,
    keeps_density: bool,
}

impl Drift {
    /// The drift of an episode whose drivers have these parameters to begin with.
    pub(super) fn new(
        spec: &RegimeSpec,
        base: DriverParameters,
        timeline: Timeline,
        random: Generator,
    ) -> Drift {
        Drift {
            full: spec.full.clone(),
            base,
            applied: 0.0,
            dense: timeline.at(0.0),
            owed: 0,
            brought: Vec::new(),
            keeps_density: spec.keeps_density,
            timeline,
            random,
        }
    }

    /// Tells which intensity the cars of the start are of, where it was rounded.
    pub(super) fn begins_with_density_of(&mut self, intensity: f64) {
        self.dense = intensity;
    }

    /// The intensity that drivers were last told.
    #[cfg(test)]
    pub(super) fn intensity(&self) -> f64 {
        self.applied
    }

    /// The intensity at a time of the episode \[s\].
    pub fn intensity_at(&self, time: f64) -> f64 {
        self.timeline.at(time)
    }

    /// Brings the world up to the present intensity; call before every decision.
    pub fn apply(&mut self, world: &mut World) {
        let intensity = self.timeline.at(world.time());
        if intensity != self.applied {
            self.applied = intensity;
            // Numbers within the checked ranges are never refused.
            let _ = world.disturb(Disturbance::Drivers(self.parameters(intensity)));
            if let Some(Spawning { usual }) = tasks::of(world.task().id).spec.drift.spawning {
                let chance = blend(usual, self.full.spawn_probability, intensity);
                let _ = world.disturb(Disturbance::SpawnProbability(chance));
            }
        }
        if (intensity != self.dense || self.owed != 0) && !self.keeps_density {
            self.follow_density(world, intensity);
        }
        let chance = intensity * self.full.brakings_per_second * world.task().decision_time;
        if chance > 0.0 && self.random.random() < chance {
            self.brake_the_car_ahead(world);
        }
    }

    fn parameters(&self, intensity: f64) -> DriverParameters {
        let DriverParameters { headway, jam_distance, comfort_acceleration, .. } = self.base;
        DriverParameters {
            // Dense traffic flows because its drivers follow closely, and it stays as dense as it
            // began: with wide gaps wanted again, all of it would drop below the ego's slowest speed.
            headway: blend(headway, self.full.headway, intensity.max(self.timeline.at(0.0))),
            // From centre to centre, so a car's length is in it, which nothing cuts.
            jam_distance: LENGTH
                + (jam_distance - LENGTH) * (1.0 - self.full.jam_distance_cut * intensity),
            comfort_acceleration: comfort_acceleration
                * (1.0 + self.full.acceleration_boost * intensity),
            lane_change_gain: blend(
                self.base.lane_change_gain,
                self.full.lane_change_gain,
                intensity,
            ),
            imposed_braking: blend(self.base.imposed_braking, self.full.imposed_braking, intensity),
            ..self.base
        }
    }

    /// Puts extra cars on the road, where there is room. Some tasks have a config for it instead.
    pub(super) fn add_cars(&mut self, world: &mut World, intensity: f64) {
        for arrivals in &tasks::of(world.task().id).spec.drift.arrivals {
            let wanted = self.extra(arrivals, intensity);
            for _ in 0..wanted {
                self.add_car(world, arrivals, 0.0);
            }
            self.brought.push(wanted);
        }
    }

    /// How many cars of a kind are extra at an intensity.
    fn extra(&self, arrivals: &Arrivals, intensity: f64) -> u32 {
        let count = f64::from(self.full.extra(&arrivals.name, arrivals.count));
        (count * intensity).round() as u32
    }

    /// Puts a car on the road, at least this far from the ego; `false` if no room was found.
    fn add_car(&mut self, world: &mut World, arrivals: &Arrivals, away: f64) -> bool {
        let network = Arc::clone(&world.task().network);
        let lanes_of = |[from, to]: &[String; 2]| {
            [0, 1].map(|place| network.find_lane(from, to, place)).into_iter().flatten()
        };
        let lanes: Vec<LaneId> = arrivals.roads.iter().flat_map(lanes_of).collect();
        for _ in 0..TRIES {
            let Some(&lane) = lanes.get(self.random.choice(lanes.len())) else { return false };
            let along = self.random.uniform(0.0, network.lane(lane).length);
            let spread = self.full.speed_spread;
            let speed = arrivals.speed * self.random.uniform(1.0 - spread, 1.0 + spread);
            let destination = match arrivals.destinations.as_slice() {
                [] => None,
                places => network.node(&places[self.random.choice(places.len())]),
            };
            if !self.has_room(world, lane, along, speed) || !is_away(world, lane, along, away) {
                continue;
            }
            let target_speed = speed.max(arrivals.cruise * (1.0 - spread));
            let arrival = Disturbance::Arrival { lane, along, speed, target_speed, destination };
            if world.disturb(arrival).is_ok() {
                return true;
            }
        }
        false
    }

    /// Whether nobody would be too close to a car there: each follower keeps upstream's headway
    /// and the room to brake for who is ahead of it. The ego gets more on either lane: it
    /// starts half as fast again as traffic may drive, and cannot drive slower than that.
    fn has_room(&self, world: &World, lane: LaneId, along: f64, speed: f64) -> bool {
        let road = world.task().network.road_of(lane);
        world.vehicles().iter().enumerate().all(|(place, car)| {
            let is_ego =
                place == world.ego_index() && world.task().network.road_of(car.lane) == road;
            if car.lane != lane && !is_ego {
                return true;
            }
            let gap = (car.along - along).abs() - LENGTH;
            let (behind, ahead) =
                if car.along < along { (car.speed, speed) } else { (speed, car.speed) };
            let closing = (behind - ahead).max(0.0);
            let headway = if is_ego { EGO_HEADWAY } else { self.base.headway };
            gap >= headway * behind + closing * closing / (2.0 * self.base.comfort_braking)
        })
    }

    /// Makes the nearest car ahead in the ego's lane brake, if there is one near enough to matter.
    fn brake_the_car_ahead(&mut self, world: &mut World) {
        const NEAR: f64 = 60.0;
        let ego = world.ego();
        let ahead = |place: usize| {
            let car = &world.vehicles()[place];
            let distance = ego.distance_ahead(car.position());
            (car.lane == ego.lane && distance > 0.0 && distance < NEAR).then_some(distance)
        };
        let nearest = (0..world.vehicles().len())
            .filter(|place| *place != world.ego_index())
            .filter_map(|place| Some((place, ahead(place)?)))
            .min_by(|a, b| a.1.total_cmp(&b.1));
        let deceleration = self.random.uniform(2.0, 4.0);
        let duration = self.random.uniform(0.3, 0.7);
        if let Some((vehicle, _)) = nearest {
            // A wreck ahead is no traffic any more, and is left alone.
            let _ = world.disturb(Disturbance::Braking { vehicle, deceleration, duration });
        }
    }
}

/// Whether a place is at least this far from the ego \[m\].
fn is_away(world: &World, lane: LaneId, along: f64, away: f64) -> bool {
    let [x, y] = world.task().network.lane(lane).position(along, 0.0);
    (world.ego().x - x).hypot(world.ego().y - y) >= away
}

fn blend(usual: f64, full: f64, intensity: f64) -> f64 {
    usual + (full - usual) * intensity
}
