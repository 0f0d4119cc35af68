//! A shield through the boundary, for the tests.

use std::ptr::{null, null_mut};

use cpss_ffi::answers::{CpssCertificate, CpssDecision, CpssSettlement};
use cpss_ffi::settings::{CpssSettings, CpssTerms};
use cpss_ffi::shield::*;
use cpss_ffi::status::CpssStatus;

pub(crate) const ACTIONS: usize = 8;
pub(crate) const HORIZON: u32 = 50;

/// A shield made through the boundary, freed with the test.
pub(crate) struct Made(pub(crate) *mut CpssShield);

impl Made {
    pub(crate) fn new(settings: CpssSettings, terms: Option<CpssTerms>) -> Made {
        let mut shield = null_mut();
        let terms = terms.as_ref().map_or(null(), std::ptr::from_ref);
        // SAFETY: every pointer is null or a reference.
        let status = unsafe { cpss_shield_create(&settings, terms, ACTIONS, &mut shield) };
        assert_eq!(status, CpssStatus::Ok);
        Made(shield)
    }

    pub(crate) fn decide(&self, moment: &CpssMoment) -> (CpssStatus, CpssDecision) {
        let mut decision = std::mem::MaybeUninit::uninit();
        // SAFETY: the handle is good, the moment points to its numbers, and there is room.
        let status = unsafe { cpss_shield_decide(self.0, moment, decision.as_mut_ptr()) };
        // SAFETY: a decision is always written.
        (status, unsafe { decision.assume_init() })
    }

    pub(crate) fn settle(&self, observed: f64) -> (CpssStatus, Option<CpssSettlement>) {
        let mut settled = std::mem::MaybeUninit::uninit();
        // SAFETY: the handle is good and there is room.
        let status = unsafe { cpss_shield_settle(self.0, observed, settled.as_mut_ptr()) };
        // SAFETY: a settlement is written where it went well.
        (status, (status == CpssStatus::Ok).then(|| unsafe { settled.assume_init() }))
    }

    pub(crate) fn end(&self, incident: bool) -> CpssCertificate {
        let mut certificate = std::mem::MaybeUninit::uninit();
        // SAFETY: the handle is good and there is room.
        let status = unsafe { cpss_shield_end_episode(self.0, incident, certificate.as_mut_ptr()) };
        assert_eq!(status, CpssStatus::Ok);
        // SAFETY: it went well, so a certificate is written.
        unsafe { certificate.assume_init() }
    }
}

impl Drop for Made {
    fn drop(&mut self) {
        // SAFETY: made above, freed once.
        unsafe { cpss_shield_free(self.0) };
    }
}

pub(crate) fn moment(values: &[f64], proposal: usize, density: f64) -> CpssMoment {
    let actions = values.len();
    CpssMoment { values: values.as_ptr(), preferences: null(), actions, proposal, density }
}
