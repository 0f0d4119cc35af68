//! Which action runs now, what did it cost, and how did the episode go?
//!
//! [`CpssShield`] is a shield with its ledger and, for risks, its account and memory. The loop is `cpss_shield_decide`,
//! run, `cpss_shield_settle`; an episode ends with `cpss_shield_end_episode`.
//!
//! **Invariants:** every decision is settled or withdrawn before the next; an error changes nothing; after creation
//! nothing is allocated.

use cpss_shield::{
    Account, Certificate, Decision, JudgeError, Memory, RiskRules, Shield, Situation,
};

use crate::answers::{CPSS_NO_ACTION, CpssCertificate, CpssDecision, CpssSettlement};
use crate::handle::{Handle, contained, many, one, put, writable};
use crate::settings::{CpssSettings, CpssTerms};
use crate::status::CpssStatus;

/// The most actions that a shield can be made for.
pub const CPSS_MOST_ACTIONS: usize = 1_000_000;

/// A shield with its ledger. Only pointers to it are handed out.
///
/// Threads: a handle may be moved from one thread to another. It is used by one at a time; a
/// second one gets CPSS_STATUS_BUSY, at once and without harm. Nobody may free it while it is used.
pub struct CpssShield {
    /// Outside the handle, so that it is known even where the inside is not to be had.
    last_resort: usize,
    handle: Handle<Inside>,
}

struct Inside {
    shield: Shield,
    risk: Option<Risk>,
    /// Room for what each action costs: of risks, the costs are made here.
    costs: Box<[f64]>,
    pending: Option<Pending>,
}

struct Risk {
    rules: RiskRules,
    account: Account,
    memory: Memory,
}

/// A decision that has not been settled, with what the critic said.
#[derive(Clone, Copy)]
struct Pending {
    decision: Decision,
    unavoidable: f64,
    risk: f64,
}

/// One moment of choice.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct CpssMoment {
    /// What each action costs, from 0 for no risk to 1 for the worst; for a shield that was made
    /// with terms, the risk of each action, which is a probability. A number that is none (NaN,
    /// infinite, negative) is never admitted: give INFINITY to an action that is not available.
    pub values: *const f64,
    /// How much the policy prefers each action, more is better; null if it does not say.
    pub preferences: *const f64,
    /// How many actions there are.
    pub actions: usize,
    /// The action that the policy proposes.
    pub proposal: usize,
    /// How dense the surroundings are: one number, at least 0, that grows with risk. 0 if there is
    /// nothing to say.
    pub density: f64,
}

/// Makes a shield, and with it all the room that it will ever need.
///
/// With `terms` its moments hold risks: V is the least of them, an action costs what it risks above V, and an account is
/// kept. Then choose CPSS_CHARGE_PREDICTED, or nothing is promised. Without (null) its moments hold costs.
///
/// `most_actions` is the most that a moment will have. On success `*shield` is to be freed with cpss_shield_free; on an
/// error it is null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cpss_shield_create(
    settings: *const CpssSettings,
    terms: *const CpssTerms,
    most_actions: usize,
    shield: *mut *mut CpssShield,
) -> CpssStatus {
    contained(|| {
        // SAFETY: what the caller promises of all three pointers.
        let (settings, with_terms) = unsafe {
            put(shield, std::ptr::null_mut());
            (one(settings), one(terms))
        };
        let Some(settings) = settings.filter(|_| writable(shield)) else {
            return CpssStatus::Pointer;
        };
        if with_terms.is_none() && !terms.is_null() {
            return CpssStatus::Pointer;
        }
        let Ok(rules) = settings.rules() else { return CpssStatus::Setting };
        let risk = match with_terms.map(CpssTerms::rules) {
            None => None,
            Some(Err(_)) => return CpssStatus::Setting,
            Some(Ok(rules)) => {
                Some(Risk { rules, account: rules.account(), memory: rules.memory() })
            }
        };
        if !(1..=CPSS_MOST_ACTIONS).contains(&most_actions) {
            return CpssStatus::Actions;
        }
        let last_resort = rules.spec().last_resort;
        if last_resort >= most_actions {
            return CpssStatus::LastResort;
        }
        let costs = vec![0.0; most_actions].into_boxed_slice();
        let inside = Inside { shield: Shield::under(rules), risk, costs, pending: None };
        let made = Box::new(CpssShield { last_resort, handle: Handle::new(inside) });
        // SAFETY: looked at above, and the caller's promise.
        unsafe { put(shield, Box::into_raw(made)) };
        CpssStatus::Ok
    })
}

/// Frees a shield; null is let be. The pointer must not be used again.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cpss_shield_free(shield: *mut CpssShield) {
    if writable(shield) {
        // SAFETY: it came from `cpss_shield_create` and, by the caller's promise, is freed once and used by nobody.
        drop(unsafe { Box::from_raw(shield) });
    }
}

/// Judges a proposal. Run `decision->executed`, then settle.
///
/// On any error `decision->executed` is the last resort (CPSS_NO_ACTION if `shield` itself is unusable), its verdict is
/// CPSS_VERDICT_NONE, and there is nothing to settle. So a loop that runs what it finds there fails closed even if it
/// never looks at the status; only a `decision` that is null is left as it is.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cpss_shield_decide(
    shield: *mut CpssShield,
    moment: *const CpssMoment,
    decision: *mut CpssDecision,
) -> CpssStatus {
    // SAFETY: what the caller promises of both pointers.
    let (shield, moment) = unsafe { (one(shield.cast_const()), one(moment)) };
    let last_resort = shield.map_or(CPSS_NO_ACTION, |shield| shield.last_resort);
    // SAFETY: what the caller promises; it is looked at for null.
    unsafe { put(decision, CpssDecision::refused(last_resort)) };
    let (Some(shield), Some(moment)) = (shield, moment) else { return CpssStatus::Pointer };
    if !writable(decision) {
        return CpssStatus::Pointer;
    }
    shield.handle.with(|inside| {
        // SAFETY: the caller's promise of what a moment points to.
        match unsafe { inside.decide(moment) } {
            Ok(found) => {
                // SAFETY: looked at above, and the caller's promise.
                unsafe { put(decision, found) };
                CpssStatus::Ok
            }
            Err(status) => status,
        }
    })
}

/// Charges the decision before: with `observed`, or under CPSS_CHARGE_PREDICTED with the cost that was judged, and then
/// `observed` is not read. An observation that is NaN, infinite or negative is charged 1, the worst.
///
/// `settlement` may be null. Settle every decision whose action ran; of one whose action did not run, say so with
/// cpss_shield_withdraw.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cpss_shield_settle(
    shield: *mut CpssShield,
    observed: f64,
    settlement: *mut CpssSettlement,
) -> CpssStatus {
    // SAFETY: what the caller promises.
    let Some(shield) = (unsafe { one(shield.cast_const()) }) else { return CpssStatus::Pointer };
    if !settlement.is_null() && !writable(settlement) {
        return CpssStatus::Pointer;
    }
    shield.handle.with(|inside| match inside.settle(observed) {
        Ok(settled) => {
            // SAFETY: null or looked at above, and the caller's promise.
            unsafe { put(settlement, settled) };
            CpssStatus::Ok
        }
        Err(status) => status,
    })
}

/// Forgets the decision before: it was judged, but its action did not run. Nothing is charged.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cpss_shield_withdraw(shield: *mut CpssShield) -> CpssStatus {
    // SAFETY: what the caller promises.
    let Some(shield) = (unsafe { one(shield.cast_const()) }) else { return CpssStatus::Pointer };
    shield.handle.with(|inside| match inside.pending.take() {
        Some(_) => CpssStatus::Ok,
        None => CpssStatus::NothingToSettle,
    })
}

/// Ends the episode, with or without an incident, writes its certificate (`certificate` may be null), and opens a fresh
/// ledger and account for the next. What was learned of the critic stays: the evidence, and the raised log-odds.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cpss_shield_end_episode(
    shield: *mut CpssShield,
    incident: bool,
    certificate: *mut CpssCertificate,
) -> CpssStatus {
    // SAFETY: the same promises.
    unsafe { end(shield, incident, false, certificate) }
}

/// As cpss_shield_end_episode, for a deployment that goes on without a break: the smoothed density stays too.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cpss_shield_renew(
    shield: *mut CpssShield,
    incident: bool,
    certificate: *mut CpssCertificate,
) -> CpssStatus {
    // SAFETY: the same promises.
    unsafe { end(shield, incident, true, certificate) }
}

/// The account so far. Changes nothing; an unsettled decision is not in it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cpss_shield_certificate(
    shield: *mut CpssShield,
    certificate: *mut CpssCertificate,
) -> CpssStatus {
    // SAFETY: what the caller promises.
    let Some(shield) = (unsafe { one(shield.cast_const()) }) else { return CpssStatus::Pointer };
    if !writable(certificate) {
        return CpssStatus::Pointer;
    }
    shield.handle.with(|inside| {
        // SAFETY: looked at above, and the caller's promise.
        unsafe { put(certificate, inside.certificate(inside.shield.certificate())) };
        CpssStatus::Ok
    })
}

/// Forgets the evidence and its alarm, after the alarm was seen to. The raised log-odds stay.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cpss_shield_restart_evidence(shield: *mut CpssShield) -> CpssStatus {
    // SAFETY: what the caller promises.
    let Some(shield) = (unsafe { one(shield.cast_const()) }) else { return CpssStatus::Pointer };
    shield.handle.with(|inside| match &mut inside.risk {
        None => CpssStatus::NoRisk,
        Some(risk) => {
            risk.memory.restart_evidence();
            CpssStatus::Ok
        }
    })
}

/// Ends the episode, with or without its context.
unsafe fn end(
    shield: *mut CpssShield,
    incident: bool,
    keeps_context: bool,
    certificate: *mut CpssCertificate,
) -> CpssStatus {
    // SAFETY: what the caller promises.
    let Some(shield) = (unsafe { one(shield.cast_const()) }) else { return CpssStatus::Pointer };
    if !certificate.is_null() && !writable(certificate) {
        return CpssStatus::Pointer;
    }
    shield.handle.with(|inside| match inside.end(incident, keeps_context) {
        Ok(finished) => {
            // SAFETY: null or looked at above, and the caller's promise.
            unsafe { put(certificate, finished) };
            CpssStatus::Ok
        }
        Err(status) => status,
    })
}

impl Inside {
    /// Judges a moment and keeps the decision until it is settled.
    ///
    /// # Safety
    ///
    /// The moment's pointers are null, misaligned, or lead to as many numbers as it has actions.
    unsafe fn decide(&mut self, moment: &CpssMoment) -> Result<CpssDecision, CpssStatus> {
        let CpssMoment { values, preferences, actions, proposal, density } = *moment;
        if self.pending.is_some() {
            return Err(CpssStatus::Unsettled);
        }
        if !(1..=self.costs.len()).contains(&actions) {
            return Err(CpssStatus::Actions);
        }
        // SAFETY: the caller's promise, and there are as many as the room was made for, at most.
        let values = unsafe { many(values, actions) }.ok_or(CpssStatus::Pointer)?;
        let preferences = match preferences.is_null() {
            true => &[][..],
            // SAFETY: as above.
            false => unsafe { many(preferences, actions) }.ok_or(CpssStatus::Pointer)?,
        };
        let (costs, unavoidable) = match &self.risk {
            None => (values, f64::NAN),
            Some(Risk { rules, memory, .. }) => {
                let costs = &mut self.costs[..actions];
                let unavoidable = rules.costs(memory.recalibration(), values, costs);
                (&*costs, unavoidable.map_err(|_| CpssStatus::Actions)?)
            }
        };
        let situation = Situation { proposal, costs, preferences, density };
        let decision = self.shield.judge(&situation).map_err(status_of)?;
        let ran = values.get(decision.executed()).copied().unwrap_or(f64::NAN);
        let raise = |risk: &Risk| risk.memory.recalibration().raising(values).raise(ran);
        let risk = self.risk.as_ref().map_or(f64::NAN, raise);
        self.pending = Some(Pending { decision, unavoidable, risk });
        Ok(CpssDecision::of(&decision, unavoidable, risk))
    }

    /// Charges the pending decision and enters it into the account.
    fn settle(&mut self, observed: f64) -> Result<CpssSettlement, CpssStatus> {
        let pending = self.pending.take().ok_or(CpssStatus::NothingToSettle)?;
        let settled = self.shield.settle(pending.decision, observed);
        let settled = settled.map_err(|_| CpssStatus::NothingToSettle)?;
        if let Some(Risk { account, memory, .. }) = &mut self.risk
            && let Some(surprise) = account.enter(pending.unavoidable, pending.risk, settled.charge)
        {
            memory.learn(surprise);
        }
        Ok(settled.into())
    }

    /// Closes the books of an episode and opens those of the next.
    fn end(&mut self, incident: bool, keeps_context: bool) -> Result<CpssCertificate, CpssStatus> {
        if self.pending.is_some() {
            return Err(CpssStatus::Unsettled);
        }
        if let Some(Risk { account, memory, .. }) = &mut self.risk {
            memory.end_episode(account.close(incident));
        }
        let finished = match keeps_context {
            true => self.shield.renew(),
            false => self.shield.reset(),
        };
        let finished = self.certificate(finished);
        if let Some(Risk { rules, account, .. }) = &mut self.risk {
            *account = rules.account();
        }
        Ok(finished)
    }

    fn certificate(&self, of_ledger: Certificate) -> CpssCertificate {
        match &self.risk {
            None => of_ledger.into(),
            Some(risk) => of_ledger.with_account(risk.account).with_memory(risk.memory).into(),
        }
    }
}

fn status_of(error: JudgeError) -> CpssStatus {
    match error {
        JudgeError::NoActions | JudgeError::PreferenceCount { .. } => CpssStatus::Actions,
        JudgeError::ProposalOutOfRange { .. } => CpssStatus::Proposal,
        JudgeError::LastResortOutOfRange { .. } => CpssStatus::LastResort,
    }
}
