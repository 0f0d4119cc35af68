//! How safe are naive policies when these costs guard them, and what does it cost them?
//!
//! Plays seeded episodes of every task with and without a rule of one constant threshold: the
//! proposal runs if it costs at most that, else the least costly action. Prints one row per task,
//! traffic and policy.
//!
//! ```text
//! cargo run --release -p cpss-risk --example shielded -- [key=value ...]
//!     task=merge-v0 policy=faster traffic=harsh episodes=200 threshold=0.3 first=1000000
//!     show=SEED      plays that one seed step by step instead
//! ```
//!
//! Only tuning seeds (1,000,000 to 1,999,999) are used: the others train policies and make reports.

use std::sync::Arc;

use cpss_highway::action::{Controls, Meta};
use cpss_highway::driver::{Temper, steer_along};
use cpss_highway::random::Generator;
use cpss_highway::{Action, Disturbance, Scene, Task, TaskId, World};
use cpss_risk::{RiskModel, RiskSpec};
use rayon::prelude::*;
use serde_json::{Value, json};

const TASKS: [TaskId; 4] =
    [TaskId::MergeV0, TaskId::HighwayV0, TaskId::IntersectionV0, TaskId::RacetrackV0];
const POLICIES: [Policy; 3] = [Policy::Random, Policy::Constant, Policy::Greedy];
const TRAFFICS: [Traffic; 2] = [Traffic::Plain, Traffic::Harsh];
/// Seeds that may be used for tuning.
const TUNING: std::ops::Range<u64> = 1_000_000..2_000_000;

#[derive(Clone, Copy, Debug, PartialEq)]
enum Policy {
    /// Any action.
    Random,
    /// Always faster; where there are no pedals, always straight on.
    Constant,
    /// Faster, or where there are no pedals along the lane; one time in four, any action.
    Greedy,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Traffic {
    /// As upstream has it.
    Plain,
    /// Denser, closer to each other, and now and then somebody ahead brakes hard.
    Harsh,
}

/// What an arm did, summed over episodes.
#[derive(Clone, Copy, Default)]
struct Tally {
    episodes: f64,
    crashes: f64,
    steps: f64,
    interventions: f64,
    infeasible: f64,
    speed: f64,
    reward: f64,
    realised: f64,
}

struct Run {
    task: Arc<Task>,
    policy: Policy,
    traffic: Traffic,
    threshold: Option<f64>,
    spec: RiskSpec,
    show: bool,
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut chosen = (TASKS.to_vec(), POLICIES.to_vec(), TRAFFICS.to_vec());
    let (mut episodes, mut threshold, mut first, mut show) = (200, 0.3, TUNING.start, None);
    let mut overrides = Vec::new();
    for argument in std::env::args().skip(1) {
        let (key, value) = argument.split_once('=').ok_or("arguments are key=value")?;
        match key {
            "task" => chosen.0 = vec![value.parse()?],
            "policy" => chosen.1.retain(|p| format!("{p:?}").eq_ignore_ascii_case(value)),
            "traffic" => chosen.2.retain(|t| format!("{t:?}").eq_ignore_ascii_case(value)),
            "episodes" => episodes = value.parse()?,
            "threshold" => threshold = value.parse()?,
            "first" => first = value.parse()?,
            "show" => show = Some(value.parse::<u64>()?),
            _ => overrides.push((key.to_owned(), value.parse()?)),
        }
    }
    let seeds = show.map_or(first..first + episodes, |seed| seed..seed + 1);
    if !TUNING.contains(&seeds.start) || !TUNING.contains(&(seeds.end - 1)) {
        return Err("only tuning seeds, 1000000 to 1999999".into());
    }
    println!(
        "| task | traffic | policy | crashed, alone | crashed, guarded | intervened | infeasible \
         | speed, alone | speed, guarded | return, alone | return, guarded | near, alone | near, guarded |"
    );
    println!("|---|---|---|---|---|---|---|---|---|---|---|---|---|");
    for &id in &chosen.0 {
        let mut spec = RiskSpec::for_task(id);
        for (key, value) in &overrides {
            set(&mut spec, key, *value)?;
        }
        for &traffic in &chosen.2 {
            let task = Task::new(id, &config(id, traffic))?;
            for &policy in &chosen.1 {
                let run = |threshold| {
                    let run = Run {
                        task: Arc::clone(&task),
                        policy,
                        traffic,
                        threshold,
                        spec: spec.clone(),
                        show: show.is_some(),
                    };
                    seeds
                        .clone()
                        .into_par_iter()
                        .map(|seed| run.play(seed))
                        .reduce(Tally::default, Tally::plus)
                };
                let alone = if show.is_some() { Tally::default() } else { run(None) };
                report(id, traffic, policy, &alone, &run(Some(threshold)));
            }
        }
    }
    Ok(())
}

impl Run {
    /// Plays one episode.
    fn play(&self, seed: u64) -> Tally {
        let mut tally = Tally { episodes: 1.0, ..Tally::default() };
        let mut random = Generator::seeded(seed ^ 0x5EED);
        let mut world = World::new(Arc::clone(&self.task), seed);
        let mut seen = vec![0.0; self.task.observer.len()];
        world.reset(Some(seed), &mut seen);
        // A spec that cannot be used was refused for the first episode already.
        let Ok(mut model) = RiskModel::new(&self.task, self.spec.clone()) else { return tally };
        let mut scene = Scene::default();
        loop {
            self.disturb(&mut world, &mut random);
            scene.observe(&world);
            let proposal = self.propose(&world, &mut random);
            let mut action = proposal;
            if let Some(threshold) = self.threshold {
                let assessed = model.assess(&scene);
                let costs = &assessed.costs;
                if costs[proposal] > threshold {
                    action = self.least(costs, proposal);
                    tally.interventions += f64::from(u8::from(action != proposal));
                    tally.infeasible += f64::from(u8::from(costs[action] > threshold));
                }
                if self.show {
                    println!("{:5.1} s  {proposal} -> {action}  {costs:.2?}", world.time());
                    println!("         {:?}", assessed.conflicts[action]);
                    narrate(&scene);
                }
            }
            let Ok(step) = world.step(Action::Index(action), &mut seen) else { return tally };
            scene.observe(&world);
            tally.steps += 1.0;
            tally.speed += world.ego().speed;
            tally.reward += step.reward.total;
            tally.realised += f64::from(u8::from(model.realised_cost(&scene) > 0.0));
            if step.is_over() || tally.steps >= 400.0 {
                let ego = world.ego();
                let left = self.task.id == TaskId::RacetrackV0 && !ego.on_road(&self.task.network);
                tally.crashes = f64::from(u8::from(ego.crashed || left));
                if self.threshold.is_some() && tally.crashes > 0.0 {
                    eprintln!(
                        "{} {:?} {:?}: seed {seed} crashed",
                        self.task.id.name(),
                        self.traffic,
                        self.policy
                    );
                    if self.show {
                        narrate(&scene);
                    }
                }
                return tally;
            }
        }
    }

    fn propose(&self, world: &World, random: &mut Generator) -> usize {
        let count = self.task.controls.action_count().unwrap_or(1);
        let any = random.integers(0, count as u32) as usize;
        let is_whim = random.random() < 0.25;
        match (self.policy, &self.task.controls) {
            (Policy::Random, _) => any,
            (Policy::Greedy, _) if is_whim => any,
            (_, Controls::Meta { actions, .. }) => {
                actions.iter().position(|meta| *meta == Meta::Faster).unwrap_or(any)
            }
            (Policy::Constant, _) => count / 2,
            (_, Controls::Discrete { pedals, points }) => {
                let mut wish = world.ego().clone();
                steer_along(&mut wish, world.ego().lane, &self.task.network);
                let miss = |point: &Vec<f32>| {
                    let mut car = wish.clone();
                    car.steer(pedals.command(point).steering);
                    (car.slip_sin - wish.slip_sin).abs()
                };
                let misses = points.iter().map(miss).enumerate();
                misses.min_by(|(_, a), (_, b)| a.total_cmp(b)).map_or(any, |(index, _)| index)
            }
            _ => any,
        }
    }

    /// The least costly action; of several, the one most like the proposal.
    fn least(&self, costs: &[f64], proposal: usize) -> usize {
        let unlike = |index: usize| match &self.task.controls {
            Controls::Meta { actions, .. } => {
                let rank = |meta| match meta {
                    Meta::Idle => 0,
                    Meta::Faster => 1,
                    Meta::LaneLeft | Meta::LaneRight => 2,
                    Meta::Slower => 3,
                };
                rank(actions[index])
            }
            _ => index.abs_diff(proposal),
        };
        let key = |index: &usize| (costs[*index] * 1e6).round() as u64;
        (0..costs.len()).min_by_key(|index| (key(index), unlike(*index))).unwrap_or(proposal)
    }

    /// Harsh traffic: a hasty temper from the start, and now and then a braking ahead.
    fn disturb(&self, world: &mut World, random: &mut Generator) {
        if self.traffic == Traffic::Plain {
            return;
        }
        if world.time() == 0.0 {
            let usual = world.temper();
            let temper = Temper { headway: 0.9, jam_distance: 0.6 * usual.jam_distance, ..usual };
            let refused = world.disturb(Disturbance::Temper(temper)).is_err();
            assert!(!refused, "a hasty temper is still a temper");
            if self.task.id == TaskId::MergeV0 {
                self.crowd_the_merge(world, random);
            }
        }
        if random.random() < 0.05 * self.task.decision_time {
            let ego = world.ego();
            let ahead = world.vehicles().iter().enumerate().filter(|(i, car)| {
                *i != world.ego_index() && car.lane == ego.lane && car.along > ego.along
            });
            let next = ahead.min_by(|(_, a), (_, b)| a.along.total_cmp(&b.along));
            if let Some((vehicle, _)) = next {
                let braking = Disturbance::Braking { vehicle, deceleration: 5.0, duration: 1.0 };
                // Nobody brakes if the place is not a car of the traffic.
                let _ = world.disturb(braking);
            }
        }
    }

    fn crowd_the_merge(&self, world: &mut World, random: &mut Generator) {
        let network = &self.task.network;
        for (road, along) in
            [(("a", "b"), 120.0), (("a", "b"), 150.0), (("a", "b"), 50.0), (("j", "k"), 60.0)]
        {
            let place = if road.0 == "a" { random.integers(0, 2) as usize } else { 0 };
            let Some(lane) = network.find_lane(road.0, road.1, place) else { continue };
            let speed = random.uniform(22.0, 30.0);
            // Where there is no room, nobody arrives.
            let _ = world.disturb(Disturbance::Arrival { lane, along, speed, target_speed: speed });
        }
    }
}

impl Tally {
    fn plus(self, other: Tally) -> Tally {
        Tally {
            episodes: self.episodes + other.episodes,
            crashes: self.crashes + other.crashes,
            steps: self.steps + other.steps,
            interventions: self.interventions + other.interventions,
            infeasible: self.infeasible + other.infeasible,
            speed: self.speed + other.speed,
            reward: self.reward + other.reward,
            realised: self.realised + other.realised,
        }
    }
}

fn config(id: TaskId, traffic: Traffic) -> Value {
    let mut config = match (id, traffic) {
        (TaskId::HighwayV0, Traffic::Harsh) => json!({"vehicles_density": 2}),
        (TaskId::IntersectionV0, Traffic::Harsh) => {
            json!({"spawn_probability": 1.0, "initial_vehicle_count": 15})
        }
        (TaskId::RacetrackV0, Traffic::Harsh) => json!({"other_vehicles": 5}),
        _ => json!({}),
    };
    if id == TaskId::RacetrackV0 {
        config["action"] = json!({
            "type": "DiscreteAction", "longitudinal": false, "lateral": true, "actions_per_axis": 5,
        });
    }
    config
}

/// Changes one number of a spec, by its name.
fn set(spec: &mut RiskSpec, key: &str, value: f64) -> Result<(), String> {
    let field = match key {
        "horizon" => &mut spec.horizon,
        "sample_time" => &mut spec.sample_time,
        "reach" => &mut spec.reach,
        "agility" => &mut spec.agility,
        "fade" => &mut spec.fade,
        "along" => &mut spec.margin.along,
        "across" => &mut spec.margin.across,
        "closing_time" => &mut spec.margin.closing_time,
        "boundary" => &mut spec.margin.boundary,
        "unlikely" => &mut spec.habits.unlikely,
        "slow_down" => &mut spec.habits.slow_down,
        "brake" => &mut spec.habits.brake,
        "brake_time" => &mut spec.habits.brake_time,
        "yielding_brake" => &mut spec.habits.yielding_brake,
        "yielding_delay" => &mut spec.habits.yielding_delay,
        _ => return Err(format!("unknown key `{key}`")),
    };
    *field = value;
    Ok(())
}

fn report(id: TaskId, traffic: Traffic, policy: Policy, alone: &Tally, guarded: &Tally) {
    let crashed = |t: &Tally| 100.0 * t.crashes / t.episodes;
    let share = |count: f64| 100.0 * count / guarded.steps;
    println!(
        "| {} | {traffic:?} | {policy:?} | {:.1} % | {:.1} % | {:.1} % | {:.1} % | {:.1} | {:.1} | {:.2} | {:.2} | {:.1} % | {:.1} % |",
        id.name(),
        crashed(alone),
        crashed(guarded),
        share(guarded.interventions),
        share(guarded.infeasible),
        alone.speed / alone.steps,
        guarded.speed / guarded.steps,
        alone.reward / alone.episodes,
        guarded.reward / guarded.episodes,
        100.0 * alone.realised / alone.steps,
        share(guarded.realised),
    );
}

/// Prints the ego and whoever is near it.
fn narrate(scene: &Scene) {
    let Some(ego) = &scene.ego else { return };
    let [x, y] = ego.body.position;
    println!(
        "         ego {x:.1} {y:.1} heading {:.2} at {:.1} m/s, lane {} across {:.2} aims for lane {} at {:.1}",
        ego.body.heading,
        ego.body.speed,
        ego.body.lane.index(),
        ego.body.across,
        ego.target_lane.index(),
        ego.target_speed
    );
    for (place, car) in scene.others.iter().enumerate() {
        let [dx, dy] = [car.position[0] - x, car.position[1] - y];
        if dx.hypot(dy) < 40.0 {
            println!(
                "         car {place} {dx:+.1} {dy:+.1} heading {:.2} at {:.1} m/s, lane {}{}",
                car.heading,
                car.speed,
                car.lane.index(),
                if car.crashed { " crashed" } else { "" }
            );
        }
    }
}
