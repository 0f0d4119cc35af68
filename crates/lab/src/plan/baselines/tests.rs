//! Contract: a comparison asks for the right files, arms and seeds, and what it lacks is said before anything is played.

use super::*;
use crate::learn::train::algorithm::Algorithm;
use crate::plan::FIRST_REPORTING_SEED;

fn method(name: &str) -> Method {
    name.parse().unwrap()
}

fn plan(toml: &str) -> Result<BaselinePlan> {
    let plan: BaselinePlan = toml::from_str(toml)?;
    plan.check()?;
    Ok(plan)
}

#[test]
fn the_built_in_plan_has_every_task_regime_and_method_on_seeds_of_its_own() {
    let plan = BaselinePlan::load(None, &[]).unwrap();
    assert!(plan.tasks.len() >= 5, "{:?}", plan.tasks);
    assert_eq!(plan.regimes.len(), 4);
    assert_eq!(plan.methods.len(), Algorithm::ALL.len() + 1);
    // Blocks of ten thousand seeds for every policy under every regime; the main run's come before.
    assert!(plan.first_seed >= FIRST_REPORTING_SEED + 1_000_000);
    let some = BaselinePlan::load(None, &[method("cpo")]).unwrap();
    assert_eq!(some.methods, [method("cpo")]);
    let quick = plan.clone().quick();
    assert_eq!(quick.episodes, 4);
    assert!(quick.first_seed < 2_000_000, "the plan's own seeds stay unseen");
}

#[test]
fn nonsense_is_refused_by_field() {
    const NUMBERS: &str = "episodes = 2\nfirst_seed = 35000000\n";
    assert!(plan(NUMBERS).is_ok());
    for (line, words) in [
        ("methods = []", "`methods` is empty"),
        ("methods = [\"ppo\", \"ppo\"]", "`methods` has ppo twice"),
        ("methods = [\"trpo\"]", "`trpo` is no method: give one of dqn, lagrangian"),
        ("tasks = [\"merge-v9\"]", "merge-v9"),
        ("regimes = []", "`regimes` is empty"),
        ("policies = [1, 1]", "`policies` has 1 twice"),
        ("budgets = [0.1]", "unknown field `budgets`"),
    ] {
        let refusal = format!("{:#}", plan(&format!("{NUMBERS}{line}\n")).unwrap_err());
        assert!(refusal.contains(words), "{line}: {refusal}");
    }
    let refusal = format!("{:#}", plan("first_seed = 1").unwrap_err());
    assert!(refusal.contains("missing field `episodes`"), "{refusal}");
}

#[test]
fn missing_policies_are_named_before_anything_is_played() {
    let folder = tempfile::tempdir().unwrap();
    let plan = BaselinePlan::load(None, &[method("dqn"), method("saute")]).unwrap();
    let out = folder.path().join("out");
    let refusal = plan.play(folder.path(), &out, &|_| {}).unwrap_err().to_string();
    let first = folder.path().join(format!("{}/saute/0.safetensors", plan.tasks[0]));
    assert!(refusal.starts_with(&format!("there is no {}, ", first.display())), "{refusal}");
    let more = plan.tasks.len() * plan.policies.len() - NAMED;
    let words = format!(" and {more} more; `cpss train --baselines` makes them");
    assert!(refusal.contains(&words), "{refusal}");
    assert!(!out.exists());
    // What is shipped is never missing.
    let plan = BaselinePlan::load(None, &[method("dqn")]).unwrap();
    assert!(plan.missing(folder.path()).is_empty());
}

#[test]
fn units_carry_the_right_files_and_arms() {
    let plan = BaselinePlan::load(None, &[]).unwrap();
    let folder = Path::new("b");
    for (name, arms, has_files) in [
        ("dqn", &["dqn", "cpss"][..], false),
        ("cpo", &["dqn", "cpss"], true),
        ("static-shield", &["fixed", "cpss"], true),
        ("barrier", &["barrier"], false),
    ] {
        let units = plan.plan_of(method(name), folder).units();
        assert_eq!(
            units.len(),
            arms.len() * plan.tasks.len() * plan.regimes.len() * plan.policies.len(),
            "{name}"
        );
        for unit in units {
            assert!(arms.contains(&unit.arm.as_str()), "{name} {}", unit.arm);
            let file = unit.own.map(|own| own.file);
            let named = format!("b/{}/{name}/{}.safetensors", unit.task, unit.policy);
            assert_eq!(file, has_files.then_some(named));
        }
    }
    // A list of files has a place for every seed, those that nobody asked for too.
    let some = BaselinePlan { policies: vec![3], ..plan };
    let unit = some.plan_of(method("ppo"), folder).units().remove(0);
    assert!(unit.own.unwrap().file.ends_with("/ppo/3.safetensors"));
}

#[test]
fn every_method_plays_the_same_episodes() {
    let plan = BaselinePlan::load(None, &[]).unwrap();
    let mut plans: Vec<Plan> =
        plan.methods.iter().map(|method| plan.plan_of(*method, Path::new("b"))).collect();
    plans.push(plan.floor());
    let mut seeds = BTreeMap::new();
    for unit in plans.iter().flat_map(Plan::units) {
        let cell = (unit.task, unit.regime, unit.policy);
        let episodes = (unit.first_seed, unit.episodes);
        assert_eq!(*seeds.entry(cell).or_insert(episodes), episodes);
        assert!(unit.first_seed >= plan.first_seed);
    }
    // Where episodes are long, there are fewer.
    let cell = |task: &str| (task.to_owned(), "high".to_owned(), 0);
    assert!(seeds[&cell("racetrack-v0")].1 < seeds[&cell("merge-v0")].1);
    assert_eq!(seeds[&cell("merge-v0")].1, plan.episodes);
}
