//! How long does one update take on this machine?
//!
//! [`measure_update`] times what `bench/pytorch_update.py` times in PyTorch: 25-256-256-5 at batch
//! 32, one thread. The two are run one after the other and compared. This is the only file of the
//! crate that looks at a clock.

use std::time::{Duration, Instant};

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
    let mut update = || std::hint::black_box(updater.update(std::hint::black_box(&batch)));
    let warm_up = Instant::now();
    while warm_up.elapsed() < duration / 10 {
        let _ = update();
    }
    let mut times_us = Vec::new();
    let start = Instant::now();
    while start.elapsed() < duration || times_us.is_empty() {
        let before = Instant::now();
        let _ = update();
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
