//! What does each action risk?
//!
//! [`RiskModel::assess`] reads a scene as numbers and asks the critic; for an ego that steers itself what geometry alone
//! says (`escape`) stands under its risks.
//!
//! ```text
//!   rho(a)   the probability of an incident if a runs now and the least risky action ever after
//!   V        the least of them: what cannot be avoided
//!   cost(a)  rho(a) - V, or next to nothing if that is below what the critic can tell apart
//! ```
//!
//! **Invariants:** every risk and cost is in [0, 1] and never NaN; the least risky action costs nothing unless everything is certain to fail, so
//! there is always one that may run; a scene without an ego, or with a number in it that is none, risks and
//! costs 1 throughout and has no density; the same scene gives the same bits; nothing is allocated once the
//! busiest scene has been seen.
//!
//! **Absent on purpose:** thresholds and choices, which belong to the shield.

use std::sync::Arc;

use cpss_highway::{Action, Scene, Task};
use cpss_learn::critic::Scratch;

use crate::actions::{Outputs, UnknownAction};
use crate::card::LearnedRisk;
use crate::features::{Features, Source};

/// Judges scenes of one task. Keep one per thread: it owns its work space.
#[derive(Clone, Debug)]
pub struct RiskModel {
    task: Arc<Task>,
    risk: Arc<LearnedRisk>,
    outputs: Outputs,
    features: Features,
    scratch: Scratch,
    /// The critic's outputs for the scene last read.
    risks: Vec<f64>,
    without: Vec<f64>,
    rest: Vec<f32>,
    assessment: Assessment,
}

/// What the actions of a scene risk and cost.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Assessment {
    /// The risk of each action, in [0, 1].
    pub risks: Vec<f64>,
    /// The least of the critic's risks: what cannot be avoided.
    pub unavoidable: f64,
    /// The avoidable risk of each action, in [0, 1].
    pub costs: Vec<f64>,
    /// How crowded it is around the ego; NaN, which a shield refuses, if the scene cannot be read.
    pub density: f64,
}

/// What an action's risk is due to.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Blame {
    /// The body without which it would be least.
    pub hazard: Hazard,
    /// The risk as it is.
    pub risk: f64,
    /// The risk without that body.
    pub without: f64,
}

/// Something that can be run into.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hazard {
    /// A car, by its place in [`Scene::others`].
    Car(usize),
    /// Something without a driver, by its place in [`Scene::obstacles`].
    Obstacle(usize),
    /// The road itself: without any one body, most of the risk would still be there.
    Road,
}

/// A body is to blame if the risk falls at least by this share without it.
const LEAST_FALL: f64 = 0.3;

impl RiskModel {
    /// A model for a task.
    ///
    /// # Errors
    ///
    /// An action of the task whose risk was not learned.
    pub fn new(task: &Arc<Task>, risk: Arc<LearnedRisk>) -> Result<RiskModel, UnknownAction> {
        let outputs = Outputs::of(&task.controls, &risk.card().actions)?;
        let learned = risk.card().actions.len();
        Ok(RiskModel {
            task: Arc::clone(task),
            outputs,
            features: Features::for_inputs(&risk.inputs()),
            scratch: Scratch::default(),
            risks: vec![1.0; learned],
            without: vec![1.0; learned],
            rest: Vec::new(),
            assessment: Assessment::default(),
            risk,
        })
    }

    /// What was learned.
    pub fn learned(&self) -> &Arc<LearnedRisk> {
        &self.risk
    }

    /// The task.
    pub fn task(&self) -> &Arc<Task> {
        &self.task
    }

    pub(crate) fn outputs(&self) -> &Outputs {
        &self.outputs
    }

    /// What was found in the scene last assessed.
    pub fn assessment(&self) -> &Assessment {
        &self.assessment
    }

    /// Judges every discrete action of the task; none if its actions are points of a box.
    pub fn assess(&mut self, scene: &Scene) -> &Assessment {
        let actions = self.outputs.len();
        self.assess_each(scene, (0..actions).map(Action::Index))
    }

    /// Judges the given actions, such as candidate points of a box, in order.
    pub fn assess_each<'a>(
        &mut self,
        scene: &Scene,
        actions: impl IntoIterator<Item = Action<'a>>,
    ) -> &Assessment {
        let is_readable = self.features.read(&self.task, scene);
        match is_readable {
            true => {
                let (fixed, items) = (self.features.fixed(), self.features.items());
                self.risk.critic().risks(fixed, items, &mut self.scratch, &mut self.risks);
                self.features.raise(&self.risk.card().actions, &mut self.risks);
            }
            false => self.risks.fill(1.0),
        }
        let seen = Seen { learned: &self.risks, density: self.features.density(), is_readable };
        let actions = actions.into_iter();
        let risks =
            actions.map(|action| self.outputs.risk(&self.task.controls, action, &self.risks));
        self.assessment.fill(&seen, risks, self.risk.card().resolution);
        &self.assessment
    }

    /// Who is to blame for the risk of an action, in the scene last assessed: the body without which it
    /// would fall most. `None` if the scene could not be read.
    pub fn blame(&mut self, scene: &Scene, action: Action<'_>) -> Option<Blame> {
        let controls = &self.task.controls;
        let (items, item) = (self.features.items(), self.risk.inputs().item);
        if self.features.fixed().is_empty() {
            return None;
        }
        let risk = self.outputs.risk(controls, action, &self.risks);
        let mut blame = Blame { hazard: Hazard::Road, risk, without: risk };
        for (place, source) in self.features.sources().iter().enumerate() {
            self.rest.clear();
            self.rest.extend_from_slice(&items[..place * item]);
            self.rest.extend_from_slice(&items[(place + 1) * item..]);
            let critic = self.risk.critic();
            critic.risks(self.features.fixed(), &self.rest, &mut self.scratch, &mut self.without);
            let risks = (self.risk.card().actions.as_slice(), self.without.as_mut_slice());
            self.features.raise_without(&self.task, scene, place, risks);
            let without = self.outputs.risk(controls, action, &self.without);
            if without < blame.without {
                let hazard = match *source {
                    Source::Car(place) => Hazard::Car(place),
                    Source::Obstacle(place) => Hazard::Obstacle(place),
                };
                blame = Blame { hazard, risk, without };
            }
        }
        if blame.without > (1.0 - LEAST_FALL) * risk {
            blame = Blame { hazard: Hazard::Road, risk, without: risk };
        }
        Some(blame)
    }
}

/// What was seen of a scene.
pub(crate) struct Seen<'a> {
    /// The critic's outputs; 1 throughout if the scene cannot be read.
    pub(crate) learned: &'a [f64],
    pub(crate) density: f64,
    pub(crate) is_readable: bool,
}

impl Assessment {
    /// Sums up the risks of some actions in a scene.
    pub(crate) fn fill(
        &mut self,
        seen: &Seen<'_>,
        found: impl Iterator<Item = f64>,
        resolution: f64,
    ) {
        let Assessment { risks, unavoidable, costs, density } = self;
        *density = seen.density;
        risks.clear();
        risks.extend(found);
        *unavoidable = least(if risks.is_empty() { seen.learned } else { risks });
        costs.clear();
        costs.extend(risks.iter().map(|risk| match seen.is_readable {
            true => avoidable(*risk, *unavoidable, resolution),
            false => 1.0,
        }));
    }
}

/// The cost of an action: by how much its risk is above what cannot be avoided, if a critic of this
/// resolution can tell.
///
/// Where everything is certain to fail, nothing may run as if it cost nothing: that is also what a critic says
/// whose numbers have overflowed.
pub fn avoidable(risk: f64, unavoidable: f64, resolution: f64) -> f64 {
    if unavoidable >= 1.0 {
        return 1.0;
    }
    let cost = risk - unavoidable;
    if cost < resolution { cost * UNTOLD } else { cost }
}

/// What is left of an avoidable risk that the critic cannot tell: nothing to speak of for a budget, and yet a
/// shield that has to choose takes the least.
pub const UNTOLD: f64 = 1.0 / (1u64 << 40) as f64;

fn least(risks: &[f64]) -> f64 {
    risks.iter().copied().fold(1.0, f64::min)
}
