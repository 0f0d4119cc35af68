//! Who follows an episode, and what are they told?
//!
//! An [`Observer`] is told every decision with all that led to it ([`Judged`]) and what came of it ([`Outcome`]), and
//! changes nothing. Traces are written by one.

use cpss_highway::{Action, Scene, Task};
use cpss_risk::{Blame, Hazard, LearnedRisk, RiskModel};
use cpss_shield::{Certificate, Decision, Ledger, Memory, Settlement, Shield, Situation};

use crate::record::EpisodeRecord;
use crate::record::memory::MemorySettings;
use crate::record::what_if::WhatIf;

/// Someone who is told what happens while an episode is played, and changes nothing.
pub trait Observer {
    /// An episode is about to begin with this memory, which goes on from those before.
    fn remember(&mut self, _settings: &MemorySettings, _memory: &Memory) {}
    /// An episode begins.
    fn begin(&mut self, _seed: u64, _task: &Task, _shield: &Shield, _risk: &LearnedRisk) {}
    /// Whether it wants to know who is to blame for a refusal, which takes its time.
    fn wants_blame(&self) -> bool {
        false
    }
    /// A proposal was judged.
    fn judged(&mut self, _judged: &Judged<'_>) {}
    /// The world was stepped and the decision settled.
    fn settled(&mut self, _outcome: &Outcome<'_>) {}
    /// The episode is over.
    fn end(&mut self, _scene: &Scene, _record: &EpisodeRecord, _certificate: &Certificate) {}
}

/// Nobody.
impl Observer for () {}

/// A decision, with all that led to it.
#[derive(Clone, Copy, Debug)]
pub struct Judged<'a> {
    /// What the shield was told.
    pub situation: &'a Situation<'a>,
    /// What it answered.
    pub decision: &'a Decision,
    /// The cap it is under.
    pub tau_cap: f64,
    /// The world as it was.
    pub scene: &'a Scene,
    /// The world as the shield took it to be, if it looked through a sensor.
    pub seen: Option<&'a Scene>,
    /// What each action risks, as the critic has it.
    pub risks: &'a [f64],
    /// What cannot be avoided: the least of these, as recalibrated.
    pub unavoidable: f64,
    /// Who is to blame for the risk of a proposal that was refused.
    pub blame: Option<&'a Blame>,
}

/// What came of a decision.
#[derive(Clone, Copy, Debug)]
pub struct Outcome<'a> {
    /// How close the step came to anything.
    pub closeness: f64,
    /// How it was settled.
    pub settlement: &'a Settlement,
    /// The ledger afterwards.
    pub ledger: &'a Ledger,
    /// The step's reward.
    pub reward: f64,
    /// If another action ran than the proposed one: what that one would have led to.
    pub what_if: Option<&'a WhatIf>,
}

/// Who is to blame for the risk of an action in the scene as it is seen: a body of the true one.
pub(super) fn blame(
    risk: &mut RiskModel,
    action: Action<'_>,
    (seen, truth): (&Scene, &Scene),
) -> Option<Blame> {
    let mut blame = risk.blame(seen, action)?;
    if let Hazard::Car(place) = blame.hazard {
        let id = seen.others.get(place)?.id;
        let place = truth.others.iter().position(|other| other.id == id);
        // A car that is only remembered is nobody whom one could point at.
        blame.hazard = place.map_or(Hazard::Road, Hazard::Car);
    }
    Some(blame)
}
