//! Times one DQN update and one single-observation forward pass of the reference network.

use criterion::{Criterion, criterion_group, criterion_main};

fn update(criterion: &mut Criterion) {
    let (mut updater, batch) = cpss_learn::reference_update();
    criterion.bench_function("update 25-256-256-5, batch 32", |bencher| {
        bencher.iter(|| updater.update(&batch));
    });
    let network = updater.online();
    let mut scratch = network.scratch();
    let mut q_values = [0.0; 5];
    criterion.bench_function("q_values 25-256-256-5", |bencher| {
        bencher.iter(|| network.q_values(&batch.observations[..25], &mut scratch, &mut q_values));
    });
}

criterion_group!(benches, update);
criterion_main!(benches);
