//! Contract: through the boundary every number is the core's, to the last bit, for any numbers at all; every mistake
//! is a status that changes nothing and leaves the last resort to run.

#![allow(clippy::unwrap_used, reason = "a test may stop at the first surprise")]

use std::ptr::{null, null_mut};

use cpss_ffi::answers::{CPSS_NO_ACTION, CpssDecision, CpssVerdict};
use cpss_ffi::settings::{
    CpssCharge, CpssFallback, CpssSettings, CpssTerms, cpss_settings, cpss_terms,
};
use cpss_ffi::shield::*;
use cpss_ffi::status::CpssStatus;
use cpss_highway::random::Generator;
use cpss_shield::{Charge, Fallback, RiskRules, RiskSpec, Shield, ShieldSpec, Situation};

mod made;

use made::{ACTIONS, HORIZON, Made, moment};

fn odd(random: &mut Generator) -> f64 {
    const ODD: [f64; 8] = [f64::NAN, f64::INFINITY, -1.0, 0.0, 1.0, 1.5, 5e-324, 1e308];
    match random.choice(8) {
        0 => ODD[random.choice(ODD.len())],
        _ => random.uniform(0.0, 1.0).powi(4),
    }
}

fn same(one: f64, other: f64) {
    assert!(one.to_bits() == other.to_bits() || one.is_nan() && other.is_nan(), "{one} {other}");
}

#[test]
fn costs_of_any_numbers_are_judged_as_by_the_core() {
    let mut random = Generator::seeded(23);
    let mut settings = cpss_settings(1.0, HORIZON);
    (settings.fallback, settings.last_resort) = (CpssFallback::BestAdmissible as u32, 1);
    let here = Made::new(settings, None);
    let fallback = Fallback::BestAdmissible;
    let mut core =
        Shield::new(ShieldSpec { fallback, last_resort: 1, ..ShieldSpec::new(1.0, HORIZON) })
            .unwrap();
    for step in 0..20_000 {
        let actions = 2 + random.choice(ACTIONS - 1);
        let costs: Vec<f64> = (0..actions).map(|_| odd(&mut random)).collect();
        let likes: Vec<f64> = (0..actions).map(|_| odd(&mut random)).collect();
        let (density, proposal, observed) =
            (odd(&mut random), random.choice(actions), odd(&mut random));
        let mut given = moment(&costs, proposal, density);
        given.preferences = likes.as_ptr();
        let (status, decision) = here.decide(&given);
        let situation = Situation { proposal, costs: &costs, preferences: &likes, density };
        let wanted = core.judge(&situation).unwrap();
        assert_eq!(status, CpssStatus::Ok);
        assert_eq!((decision.executed, decision.step), (wanted.executed(), wanted.step()));
        same(decision.threshold, wanted.threshold());
        same(decision.gain, wanted.gain());
        same(decision.cost_executed, wanted.cost_executed());
        assert_eq!(decision.reason as usize, reason_number(&wanted));
        let (settled, wanted) = (here.settle(observed).1.unwrap(), core.settle(wanted, observed));
        let wanted = wanted.unwrap();
        same(settled.charge, wanted.charge);
        same(settled.remaining, wanted.remaining);
        same(settled.envelope, wanted.envelope);
        if step % 60 == 59 {
            let (certificate, wanted) = (here.end(false), core.reset());
            same(certificate.spent, wanted.spent);
            assert_eq!(certificate.infeasible, wanted.counts.infeasible);
            assert!(certificate.start.is_nan() && certificate.evidence.is_nan());
        }
    }
}

fn reason_number(decision: &cpss_shield::Decision) -> usize {
    let place = |reason| cpss_shield::Reason::ALL.iter().position(|known| *known == reason);
    decision.verdict().reason().and_then(place).map_or(0, |place| place + 1)
}

#[test]
fn risks_and_their_account_are_the_cores() {
    let mut random = Generator::seeded(24);
    let mut settings = cpss_settings(0.05, HORIZON);
    settings.charge = CpssCharge::Predicted as u32;
    let terms =
        CpssTerms { gamma: 0.97, resolution: 0.001, rate: 0.2, alarm: 50.0, ..cpss_terms() };
    let here = Made::new(settings, Some(terms));
    let charge = Charge::Predicted;
    let mut core = Shield::new(ShieldSpec { charge, ..ShieldSpec::new(0.05, HORIZON) }).unwrap();
    let spec =
        RiskSpec { gamma: 0.97, resolution: 0.001, rate: 0.2, alarm: 50.0, ..RiskSpec::new() };
    let rules = RiskRules::new(spec).unwrap();
    let (mut account, mut memory) = (rules.account(), rules.memory());
    for step in 0..10_000 {
        let risks: Vec<f64> = (0..5).map(|_| odd(&mut random)).collect();
        let mut costs = [0.0; 5];
        let unavoidable = rules.costs(memory.recalibration(), &risks, &mut costs).unwrap();
        let proposal = random.choice(5);
        let situation = Situation { proposal, costs: &costs, preferences: &[], density: 0.3 };
        let wanted = core.judge(&situation).unwrap();
        let (status, decision) = here.decide(&moment(&risks, proposal, 0.3));
        assert_eq!((status, decision.executed), (CpssStatus::Ok, wanted.executed()));
        same(decision.unavoidable, unavoidable);
        same(decision.cost_proposed, wanted.cost_proposed());
        let risk = memory.recalibration().raising(&risks).raise(risks[wanted.executed()]);
        same(decision.risk_executed, risk);
        let settled = core.settle_predicted(wanted).unwrap();
        same(here.settle(f64::NAN).1.unwrap().charge, settled.charge);
        if let Some(surprise) = account.enter(unavoidable, risk, settled.charge) {
            memory.learn(surprise);
        }
        if step % 40 == 39 {
            let incident = random.choice(5) == 0;
            memory.end_episode(account.close(incident));
            let (certificate, _) = (here.end(incident), core.reset());
            same(certificate.surprise, account.surprise());
            same(certificate.start, account.start());
            same(certificate.chosen, account.chosen());
            same(certificate.arriving, account.arriving());
            same(certificate.evidence, memory.evidence().value());
            same(certificate.shift, memory.recalibration().shift());
            assert_eq!(certificate.alarm, memory.evidence().alarm().unwrap_or(0));
            account = rules.account();
        }
    }
    assert!(memory.evidence().alarm().is_some() && memory.recalibration().shift() > 0.0);
}

#[test]
fn every_mistake_is_a_status_and_leaves_the_last_resort() {
    let mut settings = cpss_settings(1.0, 10);
    settings.last_resort = 2;
    let shield = Made::new(settings, None);
    let costs = [0.01; ACTIONS + 1];
    let good = moment(&costs[..4], 0, 0.0);
    let askew = costs.as_ptr().cast::<u8>().wrapping_add(1).cast::<f64>();
    for (wanted, bad) in [
        (CpssStatus::Pointer, CpssMoment { values: null(), ..good }),
        (CpssStatus::Pointer, CpssMoment { values: askew, ..good }),
        (CpssStatus::Pointer, CpssMoment { preferences: askew, ..good }),
        (CpssStatus::Actions, CpssMoment { actions: 0, ..good }),
        (CpssStatus::Actions, CpssMoment { actions: ACTIONS + 1, ..good }),
        (CpssStatus::Actions, CpssMoment { actions: usize::MAX, ..good }),
        (CpssStatus::Proposal, CpssMoment { proposal: 4, ..good }),
        (CpssStatus::LastResort, CpssMoment { actions: 2, ..good }),
    ] {
        let (status, decision) = shield.decide(&bad);
        assert_eq!(status, wanted);
        assert_eq!((decision.executed, decision.verdict), (2, CpssVerdict::None));
        assert_eq!(shield.settle(0.0).0, CpssStatus::NothingToSettle, "nothing was decided");
    }
    let mut decision = CpssDecision { executed: 7, ..shield.decide(&good).1 };
    // SAFETY: pointers are null or good; null is what is tried.
    unsafe {
        assert_eq!(cpss_shield_decide(shield.0, &good, &mut decision), CpssStatus::Unsettled);
        assert_eq!(decision.executed, 2);
        let end = cpss_shield_end_episode(shield.0, false, null_mut());
        assert_eq!(end, CpssStatus::Unsettled);
        assert_eq!(cpss_shield_withdraw(shield.0), CpssStatus::Ok);
        assert_eq!(cpss_shield_withdraw(shield.0), CpssStatus::NothingToSettle);
        assert_eq!(cpss_shield_decide(shield.0, null(), &mut decision), CpssStatus::Pointer);
        assert_eq!(cpss_shield_decide(shield.0, &good, null_mut()), CpssStatus::Pointer);
        assert_eq!(cpss_shield_decide(null_mut(), &good, &mut decision), CpssStatus::Pointer);
        assert_eq!(decision.executed, CPSS_NO_ACTION);
        assert_eq!(cpss_shield_settle(null_mut(), 0.0, null_mut()), CpssStatus::Pointer);
        assert_eq!(cpss_shield_certificate(shield.0, null_mut()), CpssStatus::Pointer);
        assert_eq!(cpss_shield_restart_evidence(shield.0), CpssStatus::NoRisk);
        cpss_shield_free(null_mut());
    }
    let certificate = shield.end(false);
    assert_eq!((certificate.steps, certificate.spent), (0, 0.0), "nothing of all this was charged");
}

/// A pointer that a thread may take along.
#[derive(Clone, Copy)]
struct Shared(*mut CpssShield);
// SAFETY: a shield lets one thread in at a time, which is what is tried.
unsafe impl Send for Shared {}

#[test]
fn two_threads_at_once_do_no_harm() {
    let made = Made::new(cpss_settings(1e6, 1_000_000), None);
    let shared = Shared(made.0);
    let play = move || {
        let (Shared(shield), costs) = ({ shared }, [0.5, 0.25]);
        let given = moment(&costs, 1, 0.0);
        let mut settled = 0;
        for _ in 0..20_000 {
            let mut decision = std::mem::MaybeUninit::uninit();
            // SAFETY: the handle lives until both threads are done, and pointers are references or null.
            let (judged, charged) = unsafe {
                let judged = cpss_shield_decide(shield, &given, decision.as_mut_ptr());
                (judged, cpss_shield_settle(shield, 0.25, null_mut()))
            };
            use CpssStatus::{Busy, NothingToSettle, Ok, Unsettled};
            assert!(matches!(judged, Ok | Busy | Unsettled), "{judged:?}");
            assert!(matches!(charged, Ok | Busy | NothingToSettle), "{charged:?}");
            settled += u64::from(charged == Ok);
        }
        settled
    };
    let others = std::thread::spawn(play);
    let settled = play() + others.join().unwrap();
    // The last decision may have lost its settlement to the other thread.
    // SAFETY: the handle is good.
    unsafe { cpss_shield_withdraw(made.0) };
    let certificate = made.end(false);
    assert_eq!((certificate.steps, 4.0 * certificate.spent), (settled, settled as f64));
}

#[test]
fn a_shield_that_makes_no_sense_is_not_made() {
    let good = cpss_settings(1.0, 10);
    let bad = CpssTerms { gamma: 2.0, ..cpss_terms() };
    let mut shield = std::ptr::dangling_mut();
    // SAFETY: pointers are null or references.
    unsafe {
        let nan = CpssSettings { budget: f64::NAN, ..good };
        assert_eq!(cpss_shield_create(&nan, null(), 4, &mut shield), CpssStatus::Setting);
        assert!(shield.is_null());
        assert_eq!(cpss_shield_create(&good, &bad, 4, &mut shield), CpssStatus::Setting);
        assert_eq!(cpss_shield_create(&good, null(), 0, &mut shield), CpssStatus::Actions);
        let most = usize::MAX;
        assert_eq!(cpss_shield_create(&good, null(), most, &mut shield), CpssStatus::Actions);
        let far = CpssSettings { last_resort: 4, ..good };
        assert_eq!(cpss_shield_create(&far, null(), 4, &mut shield), CpssStatus::LastResort);
        assert_eq!(cpss_shield_create(null(), null(), 4, &mut shield), CpssStatus::Pointer);
        assert_eq!(cpss_shield_create(&good, null(), 4, null_mut()), CpssStatus::Pointer);
    }
}
