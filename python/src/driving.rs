//! What does each action risk in a scene, ours or one that was read elsewhere?
//!
//! A scene of our own world is looked at as it is. `package/cpss/driving.py` reads one from highway-env's own objects, as
//! plain tuples; here it becomes a [`Scene`] and is judged as any other. Start at [`Driving::assess`].
//!
//! **Invariants:** a lane or road that the task does not have is an error, and the shield's wrapper
//! takes an error for the worst; numbers that are none cost 1 throughout (`cpss_risk` sees to that).

use std::sync::Arc;

use cpss_highway::action::Controls;
use cpss_highway::road::{LaneId, Network};
use cpss_highway::route::{Leg, Route};
use cpss_highway::scene::{Body, Ego};
use cpss_highway::vehicle::{Driver, Vehicle};
use cpss_highway::{Action, Scene};
use cpss_risk::closeness::closeness;
use cpss_risk::{Assessment, RiskModel};
use numpy::{PyArray1, PyReadonlyArray1, PyReadonlyArray2};
use pyo3::prelude::*;

use crate::critic::Critic;
use crate::task::Task;
use crate::value_error;
use crate::world::World;

/// A risk model, and the scene that it looks at.
#[pyclass(module = "cpss._native")]
pub(crate) struct Driving {
    task: Arc<cpss_highway::Task>,
    risk: RiskModel,
    scene: Scene,
}

/// A lane as upstream names it.
type LaneName = (String, String, usize);

/// A leg of a route as upstream names it: the lane may be left open.
type LegName = (String, String, Option<usize>);

/// What only the ego knows of itself: its target lane and speed, the place of that speed, its route,
/// steering, and its slowest and fastest speed.
type Mind = (LaneName, f64, u8, Vec<LegName>, f64, (f64, f64));

/// What the actions of a scene cost and risk: the cost of each, the density, the risk of each, and the risk that cannot
/// be avoided.
type Assessed<'py> = (Bound<'py, PyArray1<f64>>, f64, Bound<'py, PyArray1<f64>>, f64);

/// Numbers of a body: x, y, heading, speed, acceleration, length, width, 1 if crashed, and where it shows
/// that it is bound, as a unit vector or zeros.
const NUMBERS: usize = 10;

#[pymethods]
impl Driving {
    #[new]
    fn new(task: &Task, critic: &Critic) -> PyResult<Driving> {
        let task = Arc::clone(&task.inner);
        let risk = critic.model(&task)?;
        Ok(Driving { task, risk, scene: Scene::default() })
    }

    /// Looks at one of our own worlds, through its eyes.
    fn look_at(&mut self, world: &World) {
        self.scene.clone_from(world.scene());
    }

    /// Looks at a scene from elsewhere: the ego first, then other cars, of which some were on the road before the ego, then
    /// obstacles.
    fn look(
        &mut self,
        mind: Mind,
        bodies: PyReadonlyArray2<'_, f64>,
        cars: usize,
        earlier: usize,
    ) -> PyResult<()> {
        // Forgotten first, so that a scene that cannot be read never leaves an older one behind.
        self.scene.ego = None;
        let rows = bodies.as_slice()?.chunks_exact(NUMBERS);
        let network = &self.task.network;
        let read: Vec<Body> = rows.map(|row| body_of(network, row)).collect();
        let Some((ego, rest)) = read.split_first() else {
            return Err(value_error("a scene has to have an ego"));
        };
        if cars > rest.len() {
            return Err(value_error(format!("`cars` is {cars}, but there are {}", rest.len())));
        }
        if earlier > cars {
            return Err(value_error(format!("`earlier` is {earlier}, but there are {cars} cars")));
        }
        let ego = ego_of(&self.task, *ego, mind)?;
        self.scene.others.clear();
        self.scene.others.extend_from_slice(&rest[..cars]);
        self.scene.earlier = earlier;
        self.scene.obstacles.clear();
        self.scene.obstacles.extend_from_slice(&rest[cars..]);
        self.scene.ego = Some(ego);
        Ok(())
    }

    /// What each discrete action costs and risks in the scene looked at.
    fn assess<'py>(&mut self, py: Python<'py>) -> Assessed<'py> {
        let (risk, scene) = (&mut self.risk, &self.scene);
        assessed(py, py.detach(|| risk.assess(scene)))
    }

    /// The same for points of the box, one after the other.
    fn assess_points<'py>(
        &mut self,
        py: Python<'py>,
        points: PyReadonlyArray1<'py, f32>,
    ) -> PyResult<Assessed<'py>> {
        let dimension = self.task.controls.box_dimension().unwrap_or(1).max(1);
        // A copy: others may write into the caller's array while the interpreter is released.
        let points = points.as_slice()?.to_vec();
        let (risk, scene) = (&mut self.risk, &self.scene);
        let assessment = py
            .detach(|| risk.assess_each(scene, points.chunks_exact(dimension).map(Action::Point)));
        Ok(assessed(py, assessment))
    }

    /// How close the ego is to anything in the scene looked at.
    fn closeness(&self) -> f64 {
        closeness(&self.task, &self.scene)
    }
}

fn assessed<'py>(py: Python<'py>, found: &Assessment) -> Assessed<'py> {
    let [costs, risks] =
        [&found.costs, &found.risks].map(|numbers| PyArray1::from_slice(py, numbers));
    (costs, found.density, risks, found.unavoidable)
}

/// A body, on whichever lane is closest, as the world itself would have it.
fn body_of(network: &Network, row: &[f64]) -> Body {
    let &[x, y, heading, speed, acceleration, length, width, crashed, bound_x, bound_y] = row
    else {
        unreachable!("rows are cut to {NUMBERS} numbers")
    };
    let direction = [bound_x, bound_y];
    let car = Vehicle::new(network, Driver::Raw, [x, y], heading, speed);
    Body {
        position: [x, y],
        heading,
        cos: car.cos,
        sin: car.sin,
        speed,
        acceleration: Some(acceleration),
        length,
        width,
        lane: car.lane,
        along: car.along,
        across: car.across,
        crashed: crashed != 0.0,
        bound_for: (direction != [0.0, 0.0]).then_some(direction),
        id: None,
        doubt: None,
    }
}

fn ego_of(task: &cpss_highway::Task, body: Body, mind: Mind) -> PyResult<Ego> {
    let (target, target_speed, speed_index, route, steering, range) = mind;
    let network = &task.network;
    let [x, y] = body.position;
    let driver = match task.controls {
        Controls::Meta { .. } => Driver::Meta,
        Controls::Continuous(_) | Controls::Discrete { .. } => Driver::Raw,
    };
    if let Controls::Meta { target_speeds, .. } = &task.controls
        && usize::from(speed_index) >= target_speeds.len()
    {
        let count = target_speeds.len();
        return Err(value_error(format!(
            "`speed_index` is {speed_index}, but the task has {count} target speeds"
        )));
    }
    let mut car = Vehicle::new(network, driver, [x, y], body.heading, body.speed);
    car.steer(steering);
    let legs = route.into_iter().map(|(from, to, lane)| {
        let first = find(network, &(from, to, 0))?;
        Ok(Leg { road: network.road_of(first), lane: lane.map(|lane| lane as u16) })
    });
    Ok(Ego {
        body,
        driver,
        target_lane: find(network, &target)?,
        target_speed: if driver == Driver::Meta { target_speed } else { car.target_speed },
        speed_index,
        route: Route::of(legs.collect::<PyResult<Vec<_>>>()?),
        slip_sin: car.slip_sin,
        speed_range: [range.0, range.1],
    })
}

fn find(network: &Network, name: &LaneName) -> PyResult<LaneId> {
    let (from, to, offset) = name;
    network.find_lane(from, to, *offset).ok_or_else(|| {
        value_error(format!("the task's road has no lane ({from:?}, {to:?}, {offset})"))
    })
}
