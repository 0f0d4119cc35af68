//! How long does a decision take?
//!
//! Three numbers: one decision with its settlement over five actions; one in risk mode, with a pace, a
//! price, the costs, the account and the memory; and a batch of 1,024 of the first kind.
//! `cargo bench -p cpss-shield --bench decision`

use std::hint::black_box;

use cpss_shield::batch::{Situations, judge_all, settle_all};
use cpss_shield::{Charge, Fallback, RiskRules, RiskSpec, Rules, Shield, ShieldSpec, Situation};
use criterion::{BatchSize, Criterion, criterion_group, criterion_main};

const ACTIONS: usize = 5;
const ROWS: usize = 1024;
// The proposal, action 3, is refused, so that the fallback is on the clock too.
const COSTS: [f64; ACTIONS] = [0.02, 0.05, 0.01, 0.41, 0.03];
const PREFERENCES: [f64; ACTIONS] = [0.2, 0.4, 0.1, 0.9, 0.3];

fn shield() -> Shield {
    let spec = ShieldSpec { fallback: Fallback::BestAdmissible, ..ShieldSpec::new(1e3, u32::MAX) };
    Shield::under(Rules::new(spec).expect("the spec is in range"))
}

fn one(criterion: &mut Criterion) {
    let mut shield = shield();
    criterion.bench_function("judge and settle, 5 actions", |bencher| {
        bencher.iter(|| {
            let situation = Situation {
                proposal: black_box(3),
                costs: black_box(&COSTS),
                preferences: black_box(&PREFERENCES),
                density: black_box(0.3),
            };
            let decision = shield.judge(&situation).expect("the shape is sound");
            shield.settle(decision, black_box(0.0)).expect("the decision is fresh")
        });
    });
}

fn in_risk_mode(criterion: &mut Criterion) {
    let spec = ShieldSpec {
        pace: 5.0,
        price: 0.5,
        charge: Charge::Predicted,
        ..ShieldSpec::new(1e3, u32::MAX)
    };
    let mut shield = Shield::new(spec).expect("the spec is in range");
    let rules = RiskRules::new(RiskSpec { rate: 0.01, ..RiskSpec::new() }).expect("in range");
    let (mut account, mut memory) = (rules.account(), rules.memory());
    criterion.bench_function("costs, judge, settle, enter and learn, 5 actions", |bencher| {
        bencher.iter(|| {
            let (risks, mut costs) = (black_box(COSTS), [0.0; ACTIONS]);
            let unavoidable = rules
                .costs(memory.recalibration(), &risks, &mut costs)
                .expect("there is room for each");
            let situation = Situation {
                proposal: black_box(3),
                costs: &costs,
                preferences: black_box(&PREFERENCES),
                density: black_box(0.3),
            };
            let decision = shield.judge(&situation).expect("the shape is sound");
            let risk = memory.recalibration().raising(&risks).raise(risks[decision.executed()]);
            let settled = shield.settle_predicted(decision).expect("the decision is fresh");
            if let Some(surprise) = account.enter(unavoidable, risk, settled.charge) {
                memory.learn(surprise);
            }
        });
    });
}

fn batch(criterion: &mut Criterion) {
    let costs = COSTS.repeat(ROWS);
    let preferences = PREFERENCES.repeat(ROWS);
    let (proposals, densities, observed) = ([3; ROWS], [0.3; ROWS], [0.0; ROWS]);
    let (mut decisions, mut settlements) = (vec![None; ROWS], vec![None; ROWS]);
    criterion.bench_function("judge_all and settle_all, 1024 rows of 5 actions", |bencher| {
        bencher.iter_batched_ref(
            || vec![shield(); ROWS],
            |shields| {
                let situations = Situations {
                    actions: ACTIONS,
                    proposals: black_box(&proposals),
                    costs: black_box(&costs),
                    preferences: black_box(&preferences),
                    densities: black_box(&densities),
                    active: &[],
                };
                judge_all(shields, &situations, &mut decisions).expect("the shape is sound");
                settle_all(shields, &decisions, black_box(&observed), &mut settlements)
                    .expect("the decisions are fresh");
            },
            BatchSize::LargeInput,
        );
    });
}

criterion_group!(benches, one, in_risk_mode, batch);
criterion_main!(benches);
