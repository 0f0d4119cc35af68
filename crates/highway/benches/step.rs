//! How long does one decision of each task take, and how long a copy of a world?

#![allow(missing_docs, reason = "criterion's macros write public functions without any")]
#![allow(clippy::unwrap_used, reason = "a benchmark may stop at the first surprise")]

use criterion::{BatchSize, Criterion, criterion_group, criterion_main};

use cpss_highway::random::Generator;
use cpss_highway::{Action, Task, TaskId, World};

fn step(criterion: &mut Criterion) {
    for id in TaskId::ALL {
        let task = Task::with_defaults(id);
        let mut world = World::new(task.clone(), 1);
        let mut random = Generator::seeded(2);
        let mut seen = vec![0.0; task.observer.len()];
        criterion.bench_function(&format!("step/{}", id.name()), |bencher| {
            bencher.iter(|| {
                let point = [random.uniform(-1.0, 1.0) as f32];
                let action = match task.controls.action_count() {
                    Some(count) => Action::Index(random.choice(count)),
                    None => Action::Point(&point),
                };
                if world.step(action, &mut seen).unwrap().is_over() {
                    world.reset(None, &mut seen);
                }
            });
        });
    }
}

fn branch(criterion: &mut Criterion) {
    for id in [TaskId::HighwayV0, TaskId::MergeV0] {
        let world = World::new(Task::with_defaults(id), 1);
        criterion.bench_function(&format!("clone/{}", id.name()), |bencher| {
            bencher.iter_batched(|| (), |()| world.clone(), BatchSize::SmallInput);
        });
    }
}

criterion_group!(benches, step, branch);
criterion_main!(benches);
