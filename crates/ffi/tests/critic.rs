//! Contract: a critic that is asked wrongly, or about what cannot be read, gives risks that no shield admits; and nothing is
//! allocated once a handle is made.

#![allow(clippy::unwrap_used, reason = "a test may stop at the first surprise")]

use std::collections::BTreeMap;
use std::ptr::{null, null_mut};

use cpss_ffi::critic::*;
use cpss_ffi::settings::{CpssCharge, CpssSettings, cpss_settings, cpss_terms};
use cpss_ffi::shield::*;
use cpss_ffi::status::CpssStatus;
use cpss_highway::random::Generator;
use cpss_learn::critic::ensemble::{Ensemble, Scale};
use cpss_learn::critic::{Critic, Shape};
use cpss_learn::generator::Purpose;

mod made;

use made::{HORIZON, Made, moment};

/// A shipped driving critic, or flat critics, with a scratch.
fn scratch(bytes: &[u8]) -> (*mut CpssScratch, CpssCriticAbout) {
    let (mut critic, mut scratch) = (null_mut(), null_mut());
    let mut about = std::mem::MaybeUninit::uninit();
    // SAFETY: pointers are references or null, with the lengths that are said.
    unsafe {
        let (at, length) = (bytes.as_ptr(), bytes.len());
        let status = cpss_critic_from_bytes(at, length, &mut critic, null_mut(), 0);
        assert_eq!(status, CpssStatus::Ok);
        assert_eq!(cpss_critic_about(critic, about.as_mut_ptr()), CpssStatus::Ok);
        assert_eq!(cpss_scratch_create(critic, 16, &mut scratch), CpssStatus::Ok);
        cpss_critic_free(critic);
        (scratch, about.assume_init())
    }
}

/// Flat critics whose actions are a list, or points of so many numbers.
fn flat(point: usize) -> Vec<u8> {
    let actions = if point > 0 { 1 } else { 5 };
    let shape = Shape { fixed: 6 + point, item: 0, encoder: vec![], head: vec![32, 16], actions };
    let mut random = cpss_learn::generator::Generator::new(3, Purpose::Weights);
    let critics = (0..2).map(|_| Critic::new(shape.clone(), &mut random).unwrap()).collect();
    Ensemble::new(critics, Scale::none(6), point, 0.0).unwrap().to_bytes(&BTreeMap::new())
}

#[test]
fn nothing_is_allocated_after_creation() {
    let driving = cpss::tasks::of(cpss_highway::TaskId::MergeV0).file("risk.safetensors").unwrap();
    for bytes in [driving, &flat(0), &flat(3)] {
        let (scratch, about) = scratch(bytes);
        let mut settings = cpss_settings(0.05, HORIZON);
        settings.charge = CpssCharge::Predicted as u32;
        let shield = Made::new(settings, Some(cpss_terms()));
        let mut random = Generator::seeded(5);
        let mut draw = |count| (0..count).map(|_| random.random() as f32).collect::<Vec<f32>>();
        let beside = about.item + about.point;
        let inputs: Vec<_> =
            (0..40).map(|step| (draw(about.numbers), draw(step * 7 % 17 * beside))).collect();
        let mut risks = [0.1; 16];
        // From the very first call on.
        let measured = allocation_counter::measure(|| {
            for (row, items) in &inputs {
                let count = items.len().checked_div(beside).unwrap_or(0);
                let (row, numbers, items) = (row.as_ptr(), row.len(), items.as_ptr());
                let (risks_at, actions) = (risks.as_mut_ptr(), about.actions);
                // SAFETY: the handle is good, and lengths are as said.
                let status = unsafe {
                    match about.point {
                        0 => cpss_critic_risks(
                            scratch, row, numbers, items, count, risks_at, actions,
                        ),
                        _ => cpss_critic_risks_at(scratch, row, numbers, items, count, risks_at),
                    }
                };
                assert_eq!(status, CpssStatus::Ok);
                let (status, _) = shield.decide(&moment(&risks[..5], 1, 0.2));
                assert_eq!(status, CpssStatus::Ok);
                shield.settle(0.0);
                let _ = shield.decide(&moment(&risks[..5], 9, 0.2));
            }
            shield.end(true);
        });
        assert_eq!(measured.count_total, 0, "{measured:?}");
        // SAFETY: made above, freed once.
        unsafe { cpss_scratch_free(scratch) };
    }
    let counted = allocation_counter::measure(|| drop(std::hint::black_box(vec![0_u8; 9])));
    assert_eq!(counted.count_total, 1, "the counter does count");
}

#[test]
fn a_critic_that_is_asked_wrongly_says_nan() {
    let bytes = cpss::tasks::of(cpss_highway::TaskId::MergeV0).file("risk.safetensors").unwrap();
    let (scratch, about) = scratch(bytes);
    assert_eq!((about.actions, about.point), (5, 0));
    assert!(about.gamma > 0.0 && about.resolution > 0.0, "{about:?}");
    let row = vec![0.1; about.numbers];
    let items = vec![0.1; 17 * about.item];
    let mut risks = [0.5; 5];
    let mut ask = |numbers: usize, items: *const f32, count: usize, actions: usize| {
        risks.fill(0.5);
        let (row, risks_at) = (row.as_ptr(), risks.as_mut_ptr());
        // SAFETY: the handle is good, and no length is above what is there.
        let status =
            unsafe { cpss_critic_risks(scratch, row, numbers, items, count, risks_at, actions) };
        (status, risks[..actions].iter().all(|risk| risk.is_nan()))
    };
    let (numbers, some) = (about.numbers, items.as_ptr());
    assert_eq!(ask(numbers, some, 3, 5), (CpssStatus::Ok, false));
    assert_eq!(ask(numbers, null(), 0, 5), (CpssStatus::Ok, false), "nobody is there");
    assert_eq!(ask(numbers - 1, some, 3, 5), (CpssStatus::Size, true));
    assert_eq!(ask(numbers, some, 17, 5), (CpssStatus::Size, true), "more than there is room for");
    assert_eq!(ask(numbers, some, 3, 4), (CpssStatus::Size, true));
    assert_eq!(ask(numbers, null(), 3, 5), (CpssStatus::Pointer, true));
    let mut risk = [0.5];
    // SAFETY: the handle is good, and lengths are as said.
    let status =
        unsafe { cpss_critic_risks_at(scratch, row.as_ptr(), numbers, some, 1, risk.as_mut_ptr()) };
    assert!(status == CpssStatus::Kind && risk[0].is_nan());
    // SAFETY: made above, freed once.
    unsafe { cpss_scratch_free(scratch) };
}

#[test]
fn regression_a_row_that_cannot_be_read_runs_the_last_resort_and_not_the_favourite() {
    let bytes = cpss::tasks::of(cpss_highway::TaskId::MergeV0).file("risk.safetensors").unwrap();
    let (scratch, about) = scratch(bytes);
    let settings = CpssSettings { last_resort: 4, ..cpss_settings(0.01, HORIZON) };
    let shield = Made::new(settings, Some(cpss_terms()));
    for (in_row, bad) in [(true, f32::NAN), (true, f32::INFINITY), (false, f32::NAN)] {
        let mut row = vec![0.1; about.numbers];
        let mut items = vec![0.1; about.item];
        if in_row {
            row[0] = bad
        } else {
            items[3] = bad
        }
        let mut risks = [0.5; 5];
        let (row_at, items_at, risks_at) = (row.as_ptr(), items.as_ptr(), risks.as_mut_ptr());
        // SAFETY: the handle is good, and lengths are as said.
        let status =
            unsafe { cpss_critic_risks(scratch, row_at, row.len(), items_at, 1, risks_at, 5) };
        assert!(status == CpssStatus::Ok && risks.iter().all(|risk| risk.is_nan()), "{risks:?}");
        let likes = [0.0, 1.0, 2.0, 9.0, -1.0];
        let favourite = CpssMoment { preferences: likes.as_ptr(), ..moment(&risks, 3, 0.0) };
        let (status, decision) = shield.decide(&favourite);
        assert_eq!((status, decision.executed), (CpssStatus::Ok, 4));
        shield.settle(0.0);
    }
    // SAFETY: made above, freed once.
    unsafe { cpss_scratch_free(scratch) };
}
