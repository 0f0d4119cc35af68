//! What is known of one world of a batch?
//!
//! Its scene, how close the last moment came, and, under a shield, its ledger and the decision that waits to
//! be settled. Start at [`Row::settle`].
//!
//! **Invariant:** a decision is taken out when it is settled, so it cannot be settled twice, and an
//! episode cannot begin with one of the episode before.

use cpss::play::ending::{has_failed, realised_cost};
use cpss_highway::random::Generator;
use cpss_highway::{Moment, Scene, World};
use cpss_risk::Assessment;
use cpss_risk::closeness::closeness;

use super::report::Report;
use crate::conditions::{Course, Prepared, seed_from};
use crate::episode::{Episode, Foretold, Judged, Terms};
use crate::shield::{reason_code, verdict_code};
use crate::world::Taken;

/// One world's side of a batch.
#[derive(Clone)]
pub(super) struct Row {
    /// The generator that the episode began with, and what ran since: the world is made again from these.
    pub(super) origin: Generator,
    pub(super) taken: Vec<Taken>,
    /// The generator as it is now, with which an episode begins that is given no seed.
    pub(super) next: Generator,
    /// The world as it is.
    pub(super) scene: Scene,
    /// How it drifts, and is seen, in an episode under conditions.
    pub(super) course: Option<Box<Course>>,
    /// The moment now.
    pub(super) now: Told,
    /// The last moment of the episode that ended in this step.
    pub(super) closing: Told,
    /// Its shield, with what was settled.
    pub(super) episode: Option<Episode>,
    /// What the actions of a list risk in the scene, once somebody has asked.
    pub(super) assessment: Option<Assessment>,
    /// What was decided and is not settled yet, with what was proposed and what runs.
    pub(super) pending: Option<(Judged, Report)>,
    pub(super) report: Report,
    pub(super) closing_report: Report,
}

/// What everybody is told of a moment; its cost is how close it came.
#[derive(Clone, Copy, Default)]
pub(super) struct Told {
    pub(super) cost: f64,
    pub(super) speed: f64,
    pub(super) crashed: bool,
    /// How intense the drift is; 0 without any.
    pub(super) drift: f64,
}

impl Row {
    pub(super) fn new(world: &World, terms: Option<Terms>) -> Row {
        let mut scene = Scene::default();
        scene.observe(world);
        let episode = terms.map(Episode::open);
        let report = Report::of_nothing(world, episode.as_ref());
        Row {
            origin: world.random().clone(),
            taken: Vec::new(),
            next: world.random().clone(),
            scene,
            course: None,
            now: Told::default(),
            closing: Told::default(),
            episode,
            assessment: None,
            pending: None,
            closing_report: report.clone(),
            report,
        }
    }

    /// Begins an episode under conditions, with a seed or with random numbers that go on, in place of a world's last one.
    ///
    /// # Errors
    ///
    /// As [`Course::begin`].
    pub(super) fn begin_under(
        &mut self,
        conditions: &Prepared,
        world: &mut World,
        seed: Option<u64>,
        seen: &mut [f32],
    ) -> Result<(), String> {
        let origin = seed.map_or_else(|| world.random().clone(), Generator::seeded);
        let seed_of_course = seed.unwrap_or_else(|| seed_from(&origin));
        let (began, course) = Course::begin(conditions, origin, seed_of_course, seen)?;
        *world = began;
        self.course = Some(Box::new(course));
        self.begin(world, seed);
        Ok(())
    }

    /// The scene that a shield judges: the world as its eyes have it.
    pub(super) fn judged_scene(&self) -> &Scene {
        self.course.as_ref().and_then(|course| course.scene()).unwrap_or(&self.scene)
    }

    /// An episode begins, with a seed or with random numbers that go on: the ledger is renewed, and what the last one
    /// ended with is kept apart.
    pub(super) fn begin(&mut self, world: &World, seed: Option<u64>) {
        let now = world.random().clone();
        let before = std::mem::replace(&mut self.next, now);
        self.origin = seed.map_or(before, Generator::seeded);
        self.taken.clear();
        self.closing = self.now;
        self.scene.observe(world);
        self.assessment = None;
        self.pending = None;
        self.now = self.told(world, closeness(world.task(), &self.scene));
        if let Some(episode) = &mut self.episode {
            episode.reset();
            let report = Report::of_nothing(world, Some(episode));
            self.closing_report = std::mem::replace(&mut self.report, report);
        }
    }

    /// Takes down what came of a step, or that an episode began.
    pub(super) fn follow(
        &mut self,
        world: &World,
        moment: Moment,
        action: impl FnOnce() -> Taken,
    ) -> Result<(), String> {
        match moment {
            Moment::Began => {
                self.begin(world, None);
                Ok(())
            }
            Moment::Stepped(step) => {
                self.scene.observe(world);
                let closeness = realised_cost(&self.scene, world, &step);
                // An episode that is cut off on the road ends without an incident.
                let ended = step.is_over().then(|| has_failed(world));
                self.settle(world, action(), closeness, ended)
            }
        }
    }

    /// A step was made, by an action: what was judged of it is charged. If it has `ended` the episode, with or without an
    /// incident, the account is closed. `closeness` is only reported.
    ///
    /// # Errors
    ///
    /// A step that nobody judged, or on a decision of another moment: it is in no ledger then.
    fn settle(
        &mut self,
        world: &World,
        action: Taken,
        closeness: f64,
        ended: Option<bool>,
    ) -> Result<(), String> {
        self.taken.push(action);
        self.next = world.random().clone();
        self.assessment = None;
        self.now = self.told(world, closeness);
        let Some(episode) = &mut self.episode else { return Ok(()) };
        let Some((judged, mut report)) = self.pending.take() else {
            return Err("a step ran that was not judged".to_owned());
        };
        let decision = judged.decision;
        let [risk, unavoidable] = [report.numbers[6], report.numbers[7]];
        // Whatever the charge: nobody here observes any other cost than the one that was judged.
        let settled = episode
            .settle(judged, decision.cost_executed(), Foretold { unavoidable, risk })
            .map_err(|error| error.to_string())?;
        if let Some(incident) = ended {
            episode.close(incident);
        }
        report.verdict = verdict_code(decision.verdict());
        report.reason = reason_code(decision.verdict());
        report.numbers[..6].copy_from_slice(&[
            decision.cost_proposed(),
            decision.cost_executed(),
            decision.threshold(),
            settled.remaining,
            decision.gain(),
            settled.envelope,
        ]);
        report.numbers[8..14].copy_from_slice(&episode.promised());
        report.numbers[14] = f64::from(u8::from(episode.keeps_budget()));
        self.report = report;
        Ok(())
    }

    fn told(&self, world: &World, cost: f64) -> Told {
        let drift = self.course.as_ref().map_or(0.0, |course| course.intensity(world));
        Told { cost, speed: world.ego().speed, crashed: world.ego().crashed, drift }
    }
}
