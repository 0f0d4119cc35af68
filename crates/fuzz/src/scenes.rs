//! Which numbers can a scene from outside hold?
//!
//! Any at all: a bridge to another simulator or to sensors hands over what it was given. The input is a list of doubles, ten
//! for each body as in Python's `cpss.driving`, the ego's first, after a byte that chooses the task. A scene is made of them
//! as there, then judged.
//!
//! **Invariants that are checked:** every risk and cost is in [0, 1], and so is the closeness, whatever the numbers.

use std::sync::{Arc, LazyLock};

use cpss::tasks;
use cpss_highway::scene::Body;
use cpss_highway::{Action, Scene, Task, TaskId, World};
use cpss_risk::closeness::closeness;
use cpss_risk::{LearnedRisk, RiskModel};

use crate::targets::Answer;

const TASKS: [TaskId; 4] =
    [TaskId::MergeV0, TaskId::HighwayV0, TaskId::IntersectionV0, TaskId::RacetrackV0];

/// Numbers of a body: x, y, heading, speed, acceleration, length, width, crashed, and where it is bound.
const NUMBERS: usize = 10;

/// The most bodies; a scene of thousands only takes longer.
const MOST: usize = 64;

/// A task, its model, and a scene whose ego knows a way.
struct Known {
    task: Arc<Task>,
    model: RiskModel,
    scene: Scene,
}

static KNOWN: LazyLock<Vec<Known>> =
    LazyLock::new(|| TASKS.into_iter().filter_map(known).collect());

fn known(id: TaskId) -> Option<Known> {
    let task = tasks::policy_task(id);
    let risk = LearnedRisk::from_bytes(tasks::of(id).file("risk.safetensors")?).ok()?;
    let model = RiskModel::new(&task, Arc::new(risk)).ok()?;
    let mut scene = Scene::default();
    scene.observe(&World::new(Arc::clone(&task), 1));
    Some(Known { task, model, scene })
}

/// Scenes of real episodes.
pub(crate) fn seeds() -> Vec<Vec<u8>> {
    let of = |(place, known): (usize, &Known)| {
        let mut seen = vec![0.0; known.task.observer.len()];
        let mut world = World::new(Arc::clone(&known.task), 3);
        let mut scene = Scene::default();
        let mut seeds = Vec::new();
        for _ in 0..4 {
            scene.observe(&world);
            let ego = scene.ego.map(|ego| ego.body);
            let bodies = ego.iter().chain(&scene.others).chain(&scene.obstacles).take(MOST);
            let mut bytes = vec![place as u8];
            bytes.extend(bodies.flat_map(numbers).flat_map(f64::to_le_bytes));
            seeds.push(bytes);
            if world.step(Action::Index(1), &mut seen).map_or(true, |step| step.is_over()) {
                break;
            }
        }
        seeds
    };
    KNOWN.iter().enumerate().flat_map(of).collect()
}

fn numbers(body: &Body) -> [f64; NUMBERS] {
    let [x, y] = body.position;
    let [bound_x, bound_y] = body.bound_for.unwrap_or_default();
    let (acceleration, crashed) =
        (body.acceleration.unwrap_or(0.0), f64::from(u8::from(body.crashed)));
    [
        x,
        y,
        body.heading,
        body.speed,
        acceleration,
        body.length,
        body.width,
        crashed,
        bound_x,
        bound_y,
    ]
}

/// Makes a scene of numbers, and judges it.
pub(crate) fn read(bytes: &[u8]) -> Answer {
    let Some((choice, rest)) = bytes.split_first() else {
        return Answer::Refused("there is nothing".to_owned());
    };
    let Known { task, model, scene } = &KNOWN[usize::from(*choice) % KNOWN.len()];
    let (mut model, mut scene) = (model.clone(), scene.clone());
    let numbers: Vec<f64> =
        rest.as_chunks().0.iter().map(|eight| f64::from_le_bytes(*eight)).collect();
    let bodies: Vec<Body> =
        numbers.as_chunks::<NUMBERS>().0.iter().take(MOST).map(|row| body(task, row)).collect();
    let Some((ego, others)) = bodies.split_first() else {
        return Answer::Refused("there is no ego".to_owned());
    };
    if let Some(known) = &mut scene.ego {
        known.body = *ego;
        // What only the ego knows, from its own numbers.
        (known.target_speed, known.slip_sin) = (numbers[4], numbers[3].sin());
    }
    let cars = others.len() / 2;
    scene.others = others[..cars].to_vec();
    scene.obstacles = others[cars..].to_vec();
    scene.earlier = scene.earlier.min(cars);
    let found = model.assess(&scene);
    let inside = |number: &f64| (0.0..=1.0).contains(number);
    assert!(found.risks.iter().chain(&found.costs).all(inside), "{found:?}");
    assert!(inside(&found.unavoidable), "{found:?}");
    let close = closeness(task, &scene);
    assert!(inside(&close), "closeness {close}");
    for action in 0..found.risks.len() {
        let _ = model.blame(&scene, Action::Index(action));
    }
    Answer::Accepted
}

fn body(task: &Task, row: &[f64; NUMBERS]) -> Body {
    let &[x, y, heading, speed, acceleration, length, width, crashed, bound_x, bound_y] = row;
    let direction = [bound_x, bound_y];
    Body {
        acceleration: Some(acceleration),
        crashed: crashed != 0.0,
        bound_for: (direction != [0.0, 0.0]).then_some(direction),
        ..Body::new(&task.network, [x, y], heading, speed, [length, width])
    }
}
