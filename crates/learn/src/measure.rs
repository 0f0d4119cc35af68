//! How long does one update take on this machine?
//!
//! [`measure_update`] and [`measure_critic_update`] time what `bench/pytorch_update.py` times in PyTorch: a DQN of
//! 25-256-256-5 at batch 32, and a critic of the shipped ones' shape at batch 512 with 16 items a scene, one
//! thread each. The two are run one after the other and compared. This is the only file of the crate that
//! looks at a clock.

use std::time::{Duration, Instant};

use crate::critic::Shape;
use crate::critic::experience::{Experience, Next};
use crate::critic::learner::{CriticLearner, CriticSpec};
use crate::generator::{Generator, Purpose};
use crate::network::Network;
use crate::replay::Batch;
use crate::settings::DqnSpec;
use crate::topology::{Activation, Topology};
use crate::update::Updater;

/// What [`measure_update`] found.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct UpdateTime {
    /// Median time of one update \[µs\].
    pub median_us: f64,
    /// Updates timed.
    pub updates: usize,
}

/// Times updates of the reference network for about this long.
///
/// ```
/// let time = cpss_learn::measure_update(std::time::Duration::from_millis(50));
/// println!("{:.0} updates/s", 1e6 / time.median_us);
/// # assert!(time.updates > 0 && time.median_us > 0.0);
/// ```
pub fn measure_update(duration: Duration) -> UpdateTime {
    let (mut updater, batch) = reference_update();
    // The batch is finite and the same each time, so there is no failure to handle.
    time(duration, || {
        let _ = std::hint::black_box(updater.update(std::hint::black_box(&batch)));
    })
}

/// Times updates of a critic as large as the shipped ones for about this long, on one thread.
pub fn measure_critic_update(duration: Duration) -> UpdateTime {
    const ITEMS: usize = 16;
    const SCENES: usize = 4_096;
    let shape =
        Shape { fixed: 30, item: 34, encoder: vec![96, 96], head: vec![128, 128], actions: 5 };
    let mut random = Generator::new(0, Purpose::Episodes);
    let mut seen = Experience::new(shape.fixed, shape.item);
    for scene in 0..SCENES {
        let mut draw = |count| (0..count).map(|_| random.unit() as f32).collect::<Vec<f32>>();
        let (fixed, items) = (draw(shape.fixed), draw(ITEMS * shape.item));
        let next = if scene % 20 == 19 { Next::Incident } else { Next::GoesOn };
        seen.push(&fixed, &items, scene % shape.actions, next);
    }
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build();
    let mut learner = CriticLearner::new(shape, CriticSpec::default(), 0)
        .expect("the reference critic's sizes are constants");
    let mut work = move || {
        time(duration, || {
            let _ = std::hint::black_box(learner.update(&seen, 0.5));
        })
    };
    match pool {
        Ok(pool) => pool.install(work),
        Err(_) => work(),
    }
}

/// Times something for about this long, after a tenth of that to warm up.
fn time(duration: Duration, mut update: impl FnMut()) -> UpdateTime {
    let warm_up = Instant::now();
    while warm_up.elapsed() < duration / 10 {
        update();
    }
    let mut times_us = Vec::new();
    let start = Instant::now();
    while start.elapsed() < duration || times_us.is_empty() {
        let before = Instant::now();
        update();
        times_us.push(before.elapsed().as_secs_f64() * 1e6);
    }
    times_us.sort_by(f64::total_cmp);
    UpdateTime { median_us: times_us[times_us.len() / 2], updates: times_us.len() }
}

/// Builds the update that is measured: 25-256-256-5, batch 32, the settings' defaults.
pub fn reference_update() -> (Updater, Batch) {
    const INPUTS: usize = 25;
    const ACTIONS: usize = 5;
    let spec = DqnSpec::default();
    let mut generator = Generator::new(0, Purpose::Weights);
    let topology = Topology::mlp(INPUTS, &spec.hidden, ACTIONS, Activation::Relu, false)
        .expect("the reference network's sizes are constants");
    let mut batch = Batch::new(spec.batch_size, INPUTS);
    batch.observations.fill_with(|| generator.unit() as f32);
    batch.successors.fill_with(|| generator.unit() as f32);
    batch.rewards.fill_with(|| generator.unit() as f32);
    batch.actions.fill_with(|| generator.below(ACTIONS as u64) as usize);
    (Updater::new(Network::new(topology, &mut generator), &spec), batch)
}
