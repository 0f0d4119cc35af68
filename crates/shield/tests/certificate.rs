//! Contract: a certificate follows from the spec, the decisions and the observed costs alone.
//!
//! An auditor who has only those works out every charge, excess and envelope again, from the
//! equations and not from what the settlements say, and must arrive at the shield's own account. The
//! words people read are pinned here too: they are part of what the shield tells.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

mod strategies;

use cpss_shield::{
    Charge, Counts, GainSpec, Mode, Reason, RiskRules, RiskSpec, Shield, ShieldSpec, Situation,
    StaleDecision, Surprise, Verdict,
};
use proptest::prelude::*;
use strategies::{any_float, any_spec, moment};

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn the_trace_adds_up(
        spec in any_spec(),
        moments in prop::collection::vec(moment(1..4, any_float().boxed()), 0..50),
    ) {
        let mut shield = Shield::new(spec).unwrap();
        let mut counts = Counts::default();
        let (mut spent, mut excess, mut envelope, mut held) = (0.0, 0.0, 0.0, true);
        let mut line_left = 1.0;
        let usable = |x: f64| x >= 0.0 && x.is_finite();
        let length = f64::from(spec.horizon) + spec.epsilon;
        for moment in &moments {
            let decision = shield.judge(&moment.situation()).unwrap();
            let settled = shield.settle(decision, moment.observed).unwrap();

            let (tau, observed) = (decision.threshold(), moment.observed);
            let cost = match spec.charge {
                Charge::Observed => observed,
                Charge::Predicted => decision.cost_executed(),
            };
            let charge = if usable(cost) { cost } else { 1.0 };
            spent += charge;
            excess += (charge - tau).max(0.0);
            let steps = (settled.step + 1) as f64;
            let left = f64::from(spec.horizon) - (steps - 1.0);
            if left > 0.0 {
                line_left *= 1.0 - 1.0 / ((left + spec.epsilon) / spec.pace).max(1.0 + 1e-12);
            }
            let line = match spec.pace {
                1.0 => steps.min(f64::from(spec.horizon)) / length,
                _ => 1.0 - line_left,
            };
            envelope = spec.budget * line + excess;
            // The slack as `Ledger::envelope_holds` derives it.
            let rounding = 2f64.powi(-52) * (spec.budget + spent + excess) + 2f64.powi(-1022);
            let bound = envelope + (steps + 8.0) * rounding;
            let holds = bound.is_finite() && spent <= bound;
            held &= holds;
            prop_assert_eq!((settled.charge, settled.remaining), (charge, spec.budget - spent));
            prop_assert_eq!((settled.envelope, settled.envelope_holds), (envelope, holds));

            match decision.verdict() {
                Verdict::Admit => counts.admitted += 1,
                Verdict::Replace(reason) => {
                    counts.replaced += 1;
                    counts.priced += u64::from(reason == Reason::Priced);
                }
                Verdict::Infeasible(_) => counts.infeasible += 1,
            }
            let refused = decision.verdict() != Verdict::Admit;
            prop_assert_eq!(decision.verdict().intervenes(), refused);
            let cost = decision.cost_proposed();
            counts.unusable_costs += u64::from(!usable(cost));
            counts.unusable_contexts += u64::from(!usable(moment.density));
            let reads = spec.charge == Charge::Observed;
            counts.unusable_observations += u64::from(reads && !usable(observed));
            let ran = decision.cost_executed();
            counts.mispredicted += u64::from(usable(ran) && ran <= tau && charge > tau);

            // In either mode the decision tells what the shield would run.
            match spec.mode {
                Mode::Enforce => prop_assert_eq!(decision.allowed(), decision.executed()),
                Mode::Shadow => prop_assert_eq!(decision.executed(), decision.proposal()),
            }
            let enforced = Shield::new(ShieldSpec { mode: Mode::Enforce, ..spec }).unwrap();
            if settled.step == 0 {
                let twin = enforced.judge(&moment.situation()).unwrap();
                prop_assert_eq!(decision.allowed(), twin.executed());
            }
        }
        let certificate = shield.certificate();
        prop_assert_eq!(certificate.counts, counts);
        prop_assert_eq!((certificate.spent, certificate.excess), (spent, excess));
        prop_assert_eq!((certificate.envelope, certificate.envelope_held), (envelope, held));
        prop_assert_eq!(certificate.steps, moments.len() as u64);
        prop_assert_eq!((certificate.mode, certificate.budget), (spec.mode, spec.budget));
        prop_assert_eq!((certificate.horizon, certificate.epsilon), (spec.horizon, spec.epsilon));
        prop_assert_eq!((certificate.charge, certificate.pace), (spec.charge, spec.pace));
        prop_assert_eq!(certificate.budget_kept, spent <= spec.budget);
        prop_assert_eq!((certificate.account, certificate.memory), (None, None));
        prop_assert_eq!(shield.reset(), certificate);
    }
}

fn spec(mode: Mode) -> ShieldSpec {
    ShieldSpec { mode, gain: GainSpec::Constant, ..ShieldSpec::new(1.0, 10) }
}

fn words(shield: &Shield, proposal: usize, costs: &[f64], density: f64) -> String {
    shield.judge(&Situation { proposal, costs, preferences: &[], density }).unwrap().to_string()
}

#[test]
fn a_decision_reads_as_a_sentence() {
    let shield = Shield::new(spec(Mode::Enforce)).unwrap();
    let shadow = Shield::new(spec(Mode::Shadow)).unwrap();
    for (shield, costs, density, text) in [
        (
            &shield,
            [0.05, 0.0],
            0.0,
            "admitted action 0: cost 0.05 is within the threshold 0.1 (budget 0.1, gain 1)",
        ),
        (
            &shield,
            [0.25, 0.0],
            0.0,
            "replaced action 0 by 1: cost 0.25 is over the threshold 0.1 (budget 0.1, gain 1)",
        ),
        (
            &shield,
            [0.75, 0.0],
            0.0,
            "replaced action 0 by 1: cost 0.75 is over the cap 0.5 (budget 0.1, gain 1)",
        ),
        (
            &shield,
            [0.75, 0.25],
            0.0,
            "nothing fits, ran 1 for 0: cost 0.75 is over the cap 0.5 (budget 0.1, gain 1)",
        ),
        (
            &shield,
            [0.25, 0.75],
            0.0,
            "nothing fits, ran 0: cost 0.25 is over the threshold 0.1 (budget 0.1, gain 1)",
        ),
        (
            &shield,
            [f64::NAN, 0.0],
            0.0,
            "replaced action 0 by 1: its cost is not a usable number (cost NaN, threshold 0.1)",
        ),
        (
            &shield,
            [0.05, 0.0],
            -1.0,
            "replaced action 0 by 1: the density is not a usable number (cost 0.05, threshold 0)",
        ),
        (
            &shadow,
            [0.25, 0.0],
            0.0,
            "would have replaced action 0 by 1: cost 0.25 is over the threshold 0.1 (budget 0.1, gain 1)",
        ),
        (
            &shadow,
            [0.75, 0.25],
            0.0,
            "nothing fits, would have run 1 for 0: cost 0.75 is over the cap 0.5 (budget 0.1, gain 1)",
        ),
        (
            &shadow,
            [0.25, 0.75],
            0.0,
            "nothing fits, ran 0: cost 0.25 is over the threshold 0.1 (budget 0.1, gain 1)",
        ),
    ] {
        assert_eq!(words(shield, 0, &costs, density), text);
    }
}

#[test]
fn a_certificate_reads_as_a_report() -> Result<(), StaleDecision> {
    let mut shield = Shield::new(spec(Mode::Enforce)).unwrap();
    for observed in [0.05, 0.5, f64::NAN] {
        let situation = Situation { proposal: 0, costs: &[0.05], preferences: &[], density: 0.0 };
        shield.settle(shield.judge(&situation).unwrap(), observed)?;
    }
    let report = "spent 1.55 of 1 in 3 of 10 decisions (enforce, observed): OVERSPENT by 0.55\n\
                  envelope 1.64, of which excess 1.34: held at every step\n\
                  admitted 3, replaced 0, infeasible 0, mispredicted 2\n\
                  unusable observed cost on 1 steps, taken for the worst";
    assert_eq!(shield.certificate().to_string(), report);
    Ok(())
}

#[test]
fn a_certificate_in_risk_mode_tells_the_account() -> Result<(), StaleDecision> {
    let charge = Charge::Predicted;
    let mut shield = Shield::new(ShieldSpec { charge, ..spec(Mode::Enforce) }).unwrap();
    let rules = RiskRules::new(RiskSpec { rate: 0.5, alarm: 2.5, ..RiskSpec::new() }).unwrap();
    let (mut account, mut memory) = (rules.account(), rules.memory());
    for (risks, surprise) in [([0.25, 0.125], None), ([0.5, 0.5], Some(Surprise::of(0.375)))] {
        let mut costs = [0.0; 2];
        let unavoidable = rules.costs(memory.recalibration(), &risks, &mut costs).unwrap();
        let situation = Situation { proposal: 0, costs: &costs, preferences: &[], density: 0.0 };
        let decision = shield.judge(&situation).unwrap();
        let risk = memory.recalibration().raising(&risks).raise(risks[decision.executed()]);
        let settled = shield.settle_predicted(decision)?;
        assert_eq!(account.enter(unavoidable, risk, settled.charge), surprise);
    }
    memory.learn(Surprise::of(0.375));
    memory.end_episode(account.close(true));
    let certificate = shield.certificate().with_account(account).with_memory(memory);
    let report = "spent 0 of 1 in 2 of 10 decisions (enforce, predicted): budget kept\n\
                  envelope 0.2, of which excess 0: held at every step\n\
                  admitted 1, replaced 1, infeasible 0, mispredicted 0\n\
                  risk at the start 0.125, chosen 0, surprise 0.875, arriving 0: INCIDENT\n\
                  evidence 2.65: ALARM after 2 decisions; log-odds raised by 0.438";
    assert_eq!(certificate.to_string(), report);
    assert_eq!(certificate.account.map(|account| account.total()), Some(1.0));
    Ok(())
}

#[test]
fn every_reason_has_words_of_its_own() {
    let words: std::collections::BTreeSet<String> =
        Reason::ALL.iter().map(Reason::to_string).collect();
    assert_eq!(words.len(), Reason::ALL.len());
}
