//! What is known of one world of a batch?
//!
//! Its scene, what the last moment cost, and, under a shield, its ledger and the decision that waits to
//! be settled. Start at [`Row::settle`].
//!
//! **Invariant:** a decision is taken out when it is settled, so it cannot be settled twice, and an
//! episode cannot begin with one of the episode before.

use cpss_highway::{Scene, World};
use cpss_risk::RiskModel;
use cpss_shield::{Decision, Rules, Shield};

use crate::shield::{reason_code, verdict_code};

/// One world's side of a batch.
pub(super) struct Row {
    pub(super) scene: Scene,
    /// The moment now.
    pub(super) now: Told,
    /// The last moment of the episode that ended in this step.
    pub(super) closing: Told,
    pub(super) shield: Option<Shield>,
    /// Predicted costs of the scene, once somebody has asked for them, and its density.
    pub(super) costs: Option<(Vec<f64>, f64)>,
    /// What was decided and is not settled yet, with what was proposed and what runs.
    pub(super) pending: Option<(Decision, Report)>,
    pub(super) report: Report,
    pub(super) closing_report: Report,
}

/// What everybody is told of a moment.
#[derive(Clone, Copy, Default)]
pub(super) struct Told {
    pub(super) cost: f64,
    pub(super) speed: f64,
    pub(super) crashed: bool,
}

/// What a shield did at a step, as Python's `info["shield"]` has it.
#[derive(Clone, Default)]
pub(super) struct Report {
    pub(super) proposed: i64,
    pub(super) executed: i64,
    pub(super) proposed_point: Vec<f32>,
    pub(super) executed_point: Vec<f32>,
    pub(super) verdict: u8,
    pub(super) reason: u8,
    /// Costs of proposal and executed action, threshold, remaining, gain, envelope.
    pub(super) numbers: [f64; 6],
}

impl Row {
    pub(super) fn new(world: &World, rules: Option<Rules>) -> Row {
        let mut scene = Scene::default();
        scene.observe(world);
        let shield = rules.map(Shield::under);
        let report = Report::of_nothing(world, shield.as_ref());
        Row {
            scene,
            now: Told::default(),
            closing: Told::default(),
            shield,
            costs: None,
            pending: None,
            closing_report: report.clone(),
            report,
        }
    }

    /// An episode begins: the ledger is renewed, and what the last one ended with is kept apart.
    pub(super) fn begin(&mut self, world: &World, risk: &RiskModel) {
        self.closing = self.now;
        self.scene.observe(world);
        self.costs = None;
        self.pending = None;
        self.now = Told::of(world, risk.realised_cost(&self.scene));
        if let Some(shield) = &mut self.shield {
            shield.reset();
            let report = Report::of_nothing(world, Some(shield));
            self.closing_report = std::mem::replace(&mut self.report, report);
        }
    }

    /// A step was made: its cost is charged.
    ///
    /// # Errors
    ///
    /// A step that nobody judged, or on a decision of another moment: it is in no ledger then.
    pub(super) fn settle(&mut self, world: &World, cost: f64) -> Result<(), String> {
        self.costs = None;
        self.now = Told::of(world, cost);
        let Some(shield) = &mut self.shield else { return Ok(()) };
        let Some((decision, mut report)) = self.pending.take() else {
            return Err("a step ran that was not judged".to_owned());
        };
        let settled = shield.settle(decision, cost).map_err(|error| error.to_string())?;
        report.verdict = verdict_code(decision.verdict());
        report.reason = reason_code(decision.verdict());
        report.numbers = [
            decision.cost_proposed(),
            decision.cost_executed(),
            decision.threshold(),
            settled.remaining,
            decision.gain(),
            settled.envelope,
        ];
        self.report = report;
        Ok(())
    }
}

impl Told {
    fn of(world: &World, cost: f64) -> Told {
        Told { cost, speed: world.ego().speed, crashed: world.ego().crashed }
    }
}

impl Report {
    /// The report of a step that judged nothing.
    fn of_nothing(world: &World, shield: Option<&Shield>) -> Report {
        let dimension = world.task().controls.box_dimension().unwrap_or(0);
        let remaining = shield.map_or(f64::NAN, |shield| shield.ledger().remaining());
        let envelope = shield.map_or(f64::NAN, |shield| shield.ledger().envelope());
        Report {
            proposed: -1,
            executed: -1,
            proposed_point: vec![f32::NAN; dimension],
            executed_point: vec![f32::NAN; dimension],
            verdict: 3,
            reason: 0,
            numbers: [f64::NAN, f64::NAN, f64::NAN, remaining, f64::NAN, envelope],
        }
    }
}
