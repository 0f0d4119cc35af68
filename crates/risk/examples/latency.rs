//! How long does it take to judge a scene?
//!
//! Plays each task with random actions on tuning seeds, judges the scene of every decision, and
//! prints the median and the tails of the time that took, beside the time of the world's own step.
//!
//! ```text
//! cargo run --release -p cpss-risk --example latency -- [DECISIONS]
//! ```

use std::time::Instant;

use cpss_highway::random::Generator;
use cpss_highway::{Action, Scene, Task, TaskId, World};
use cpss_risk::{RiskModel, RiskSpec};
use serde_json::json;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let decisions = std::env::args().nth(1).map_or(Ok(20_000), |text| text.parse::<usize>())?;
    println!("| task | p50 [µs] | p99 [µs] | p99.9 [µs] | world's step, p50 [µs] |");
    println!("|---|---|---|---|---|");
    let steering = json!({"action": {
        "type": "DiscreteAction", "longitudinal": false, "lateral": true, "actions_per_axis": 5,
    }});
    for (id, config) in [
        (TaskId::MergeV0, json!({})),
        (TaskId::HighwayV0, json!({})),
        (TaskId::IntersectionV0, json!({})),
        (TaskId::RacetrackV0, steering),
    ] {
        let task = Task::new(id, &config)?;
        let mut model = RiskModel::new(&task, RiskSpec::for_task(id))?;
        let actions = task.controls.action_count().unwrap_or(1) as u32;
        let mut random = Generator::seeded(1_000_000);
        let mut world = World::new(task.clone(), 1_000_000);
        let mut seen = vec![0.0; task.observer.len()];
        let mut scene = Scene::default();
        let (mut judging, mut stepping) = (Vec::new(), Vec::new());
        let mut checksum = 0.0;
        for decision in 0..decisions {
            scene.observe(&world);
            let start = Instant::now();
            let assessment = model.assess(&scene);
            judging.push(start.elapsed().as_nanos() as f64 / 1e3);
            checksum += assessment.costs.iter().sum::<f64>();
            // Half of the time the least costly action, so that episodes get somewhere.
            let least =
                |a: &usize, b: &usize| assessment.costs[*a].total_cmp(&assessment.costs[*b]);
            let best = (0..actions as usize).min_by(least).unwrap_or(0);
            let action = random.integers(0, actions) as usize;
            let action = if random.random() < 0.5 { best } else { action };
            let start = Instant::now();
            let step = world.step(Action::Index(action), &mut seen)?;
            stepping.push(start.elapsed().as_nanos() as f64 / 1e3);
            if step.is_over() {
                world.reset(Some(1_000_000 + decision as u64 % 1_000_000), &mut seen);
            }
        }
        judging.sort_by(f64::total_cmp);
        stepping.sort_by(f64::total_cmp);
        let at = |times: &[f64], share: f64| times[((times.len() - 1) as f64 * share) as usize];
        println!(
            "| {} | {:.1} | {:.1} | {:.1} | {:.1} |",
            id.name(),
            at(&judging, 0.5),
            at(&judging, 0.99),
            at(&judging, 0.999),
            at(&stepping, 0.5)
        );
        eprintln!("{}: sum of all costs {checksum:.3}", id.name());
    }
    Ok(())
}
