//! How does the world change while it runs?
//!
//! Drift enters through one door, [`World::disturb`]: the drivers' parameters, how often cars appear, one
//! more car, one car less, one car braking hard. Everything else about a running world is closed. A world that
//! is never disturbed is upstream's, as closely as `tests/golden.rs` says.

use crate::driver::DriverParameters;
use crate::road::{LaneId, NodeId};
use crate::route::Route;
use crate::vehicle::{Driver, LENGTH, MAX_SPEED, Vehicle};
use crate::world::World;

/// One change to a running world.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Disturbance {
    /// From now on, traffic drives like this.
    Drivers(DriverParameters),
    /// From now on, cars appear with this probability after each decision (where they do at all).
    SpawnProbability(f64),
    /// One more car of the traffic, at the end of the list.
    Arrival {
        /// Where: the lane.
        lane: LaneId,
        /// Where on it \[m\].
        along: f64,
        /// How fast \[m/s\].
        speed: f64,
        /// The speed it aims for \[m/s\].
        target_speed: f64,
        /// Where it is bound for; `None` follows whichever road is closest.
        destination: Option<NodeId>,
    },
    /// A car of the traffic leaves the road.
    Departure {
        /// Which, by its place in [`World::vehicles`].
        vehicle: usize,
    },
    /// A car of the traffic brakes, whatever is ahead of it.
    Braking {
        /// Which, by its place in [`World::vehicles`].
        vehicle: usize,
        /// How hard, above zero \[m/s²\].
        deceleration: f64,
        /// For how long \[s\]; it also ends at standstill.
        duration: f64,
    },
}

/// A disturbance that makes no sense; the world is as it was.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
pub enum DisturbError {
    /// A number out of range.
    #[error("`{field}` is out of range: {value}")]
    OutOfRange {
        /// The field's name.
        field: &'static str,
        /// What it held.
        value: f64,
    },
    /// No car of the traffic has this place.
    #[error("vehicle {vehicle} is not a car of the traffic")]
    NotTraffic {
        /// The place asked for.
        vehicle: usize,
    },
    /// Somebody is already there.
    #[error("no room for a car there: vehicle {vehicle} is {distance:.1} m away")]
    NoRoom {
        /// Who is in the way.
        vehicle: usize,
        /// How far it is from the place \[m\].
        distance: f64,
    },
}

/// Least distance between the centres of an arriving car and any other \[m\].
const ROOM: f64 = 2.0 * LENGTH;

impl World {
    /// Changes the running world.
    ///
    /// # Errors
    ///
    /// A disturbance that makes no sense here; the world is then as it was.
    pub fn disturb(&mut self, disturbance: Disturbance) -> Result<(), DisturbError> {
        match disturbance {
            Disturbance::Drivers(parameters) => {
                check_parameters(&parameters)?;
                self.simulation_mut().model = parameters.model();
            }
            Disturbance::SpawnProbability(probability) => {
                check("probability", probability, (0.0..=1.0).contains(&probability))?;
                self.simulation_mut().spawn_probability = Some(probability);
            }
            Disturbance::Arrival { lane, along, speed, target_speed, destination } => {
                let mut car = self.arrival(lane, along, speed, target_speed)?;
                if let Some(node) = destination {
                    car.route = Route::plan(&self.task().network, car.lane, node);
                }
                self.simulation_mut().vehicles.push(car);
                self.simulation_mut().number_newcomers();
            }
            Disturbance::Departure { vehicle } => match self.vehicles().get(vehicle) {
                Some(car) if car.driver == Driver::Idm => {
                    let id = car.id;
                    self.simulation_mut().retain_others(|car| car.id != id);
                }
                _ => return Err(DisturbError::NotTraffic { vehicle }),
            },
            Disturbance::Braking { vehicle, deceleration, duration } => {
                check("deceleration", deceleration, deceleration > 0.0 && deceleration <= 20.0)?;
                check("duration", duration, duration > 0.0 && duration.is_finite())?;
                let cars = &mut self.simulation_mut().vehicles;
                match cars.get_mut(vehicle) {
                    Some(car) if car.driver == Driver::Idm => {
                        car.braking = Some((deceleration, duration));
                    }
                    _ => return Err(DisturbError::NotTraffic { vehicle }),
                }
            }
        }
        Ok(())
    }

    /// How traffic drives now.
    pub fn parameters(&self) -> DriverParameters {
        self.simulation().model.parameters
    }

    fn arrival(
        &self,
        lane: LaneId,
        along: f64,
        speed: f64,
        target_speed: f64,
    ) -> Result<Vehicle, DisturbError> {
        let network = &self.task().network;
        let known = network.lanes().nth(lane.index()).map(|(_, lane)| lane);
        let Some(geometry) = known else {
            return Err(DisturbError::OutOfRange { field: "lane", value: lane.index() as f64 });
        };
        check("along", along, (0.0..=geometry.length).contains(&along))?;
        check("speed", speed, (0.0..=MAX_SPEED).contains(&speed))?;
        check("target_speed", target_speed, target_speed > 0.0 && target_speed <= MAX_SPEED)?;
        let position = geometry.position(along, 0.0);
        for (vehicle, other) in self.vehicles().iter().enumerate() {
            let distance = crate::arith::norm(other.x - position[0], other.y - position[1]);
            if distance < ROOM {
                return Err(DisturbError::NoRoom { vehicle, distance });
            }
        }
        for obstacle in &self.task().obstacles {
            let [x, y] = obstacle.position;
            let distance = crate::arith::norm(x - position[0], y - position[1]);
            check("along", along, distance >= ROOM)?;
        }
        let heading = geometry.heading_at(along);
        let mut car = Vehicle::new(network, Driver::Idm, position, heading, speed);
        car.target_speed = target_speed;
        Ok(car)
    }
}

fn check_parameters(parameters: &DriverParameters) -> Result<(), DisturbError> {
    let DriverParameters { politeness, lane_change_gain, .. } = *parameters;
    check("politeness", politeness, (0.0..=1.0).contains(&politeness))?;
    check("lane_change_gain", lane_change_gain, lane_change_gain.is_finite())?;
    for (field, value) in [
        ("acceleration_limit", parameters.acceleration_limit),
        ("comfort_acceleration", parameters.comfort_acceleration),
        ("comfort_braking", parameters.comfort_braking),
        ("jam_distance", parameters.jam_distance),
        ("headway", parameters.headway),
        ("imposed_braking", parameters.imposed_braking),
        ("lane_change_delay", parameters.lane_change_delay),
    ] {
        check(field, value, value > 0.0 && value <= 1e3)?;
    }
    Ok(())
}

fn check(field: &'static str, value: f64, in_range: bool) -> Result<(), DisturbError> {
    if in_range { Ok(()) } else { Err(DisturbError::OutOfRange { field, value }) }
}
