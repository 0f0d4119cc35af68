//! Contract: once warm, a step allocates nothing: it is the same room used again and again.

#![allow(clippy::unwrap_used, reason = "a test may stop at the first surprise")]

use cpss_highway::random::Generator;
use cpss_highway::{Action, Task, TaskId, World};

/// Allocations of a hundred steps, after a hundred to warm up; resets are not counted.
fn allocations(id: TaskId) -> u64 {
    let task = Task::with_defaults(id);
    let mut seen = vec![0.0; task.observer.len()];
    let mut world = World::new(task.clone(), 1);
    let mut random = Generator::seeded(2);
    let mut counted = 0;
    for step in 0..200 {
        let point =
            vec![random.uniform(-0.1, 0.1) as f32; task.controls.box_dimension().unwrap_or(0)];
        let action = match task.controls.action_count() {
            Some(count) => Action::Index(random.choice(count)),
            None => Action::Point(&point),
        };
        let mut over = false;
        let measured = allocation_counter::measure(|| {
            over = world.step(action, &mut seen).unwrap().is_over();
        });
        if step >= 100 {
            counted += measured.count_total;
        }
        if over {
            world.reset(None, &mut seen);
        }
    }
    counted
}

#[test]
fn steps_allocate_nothing() {
    for id in TaskId::ALL {
        assert_eq!(allocations(id), 0, "{id:?}");
    }
}

#[test]
fn the_counter_does_count() {
    let measured = allocation_counter::measure(|| drop(std::hint::black_box(vec![1_u8; 100])));
    assert_eq!(measured.count_total, 1);
}
