//! What do the actions of many scenes risk?
//!
//! A [`BatchModel`] reads scenes one after the other ([`BatchModel::push`]), asks the critic about all of them at
//! once ([`BatchModel::run`]), and then sums up each, by its place, as [`RiskModel`] does one. Weights are read once
//! for all scenes, so this takes a fraction of the time.
//!
//! **Invariants:** those of [`RiskModel`], whose risks these are within 1e-5 (sums are taken in another order); a
//! scene's risks do not depend on the scenes beside it, not by a bit.

use cpss_highway::{Action, Scene};
use cpss_learn::critic::pass::{Batch, Pass};

use crate::escape::Escape;
use crate::features::Features;
use crate::model::{Assessment, RiskModel, Seen};

/// Judges scenes of one task, many at once. Keep one per thread: it owns its work space.
#[derive(Clone, Debug)]
pub struct BatchModel {
    model: RiskModel,
    features: Features,
    batch: Batch,
    pass: Pass,
    scenes: Vec<Read>,
    /// The critic's outputs for one scene.
    learned: Vec<f64>,
    assessment: Assessment,
}

/// A scene that was read.
#[derive(Clone, Copy, Debug)]
struct Read {
    /// Its place in the batch; none if it cannot be read.
    place: Option<usize>,
    density: f64,
    escape: Option<Escape>,
}

impl BatchModel {
    /// Judges as a model does.
    pub fn new(model: RiskModel) -> BatchModel {
        let learned = vec![1.0; model.learned().card().actions.len()];
        BatchModel {
            features: Features::for_inputs(&model.learned().inputs()),
            model,
            batch: Batch::default(),
            pass: Pass::default(),
            scenes: Vec::new(),
            learned,
            assessment: Assessment::default(),
        }
    }

    /// Forgets all scenes.
    pub fn clear(&mut self) {
        self.batch.clear();
        self.scenes.clear();
    }

    /// Reads a scene, and gives its place.
    pub fn push(&mut self, scene: &Scene) -> usize {
        let is_readable = self.features.read(self.model.task(), scene);
        let item = self.model.learned().inputs().item;
        let place = is_readable.then(|| {
            let (fixed, items) = (self.features.fixed(), self.features.items());
            self.batch.push(fixed.iter().copied(), items.iter().copied(), item);
            self.batch.len() - 1
        });
        let (density, escape) = (self.features.density(), self.features.escape());
        self.scenes.push(Read { place, density, escape: escape.filter(|_| is_readable) });
        self.scenes.len() - 1
    }

    /// Asks the critic about every scene read since [`BatchModel::clear`].
    pub fn run(&mut self) {
        if !self.batch.is_empty() {
            self.pass.forward(self.model.learned().critic(), &self.batch);
        }
    }

    /// Judges every discrete action in one of the scenes, after [`BatchModel::run`].
    ///
    /// # Panics
    ///
    /// If there is no scene at this place.
    pub fn assess(&mut self, place: usize) -> &Assessment {
        let actions = self.model.outputs().len();
        self.assess_each(place, (0..actions).map(Action::Index))
    }

    /// Judges the given actions in one of the scenes, after [`BatchModel::run`].
    ///
    /// # Panics
    ///
    /// If there is no scene at this place.
    pub fn assess_each<'a>(
        &mut self,
        place: usize,
        actions: impl IntoIterator<Item = Action<'a>>,
    ) -> &Assessment {
        let Read { place, density, escape } = self.scenes[place];
        let (risk, outputs) = (self.model.learned(), self.model.outputs());
        match place {
            Some(place) => {
                let logits = (0..self.learned.len()).map(|action| self.pass.logit(place, action));
                risk.critic().scaled(logits, &mut self.learned);
            }
            None => self.learned.fill(1.0),
        }
        if let Some(escape) = escape {
            escape.raise(&risk.card().actions, &mut self.learned);
        }
        let seen = Seen { learned: &self.learned, density, is_readable: place.is_some() };
        let controls = &self.model.task().controls;
        let risks = actions.into_iter().map(|action| outputs.risk(controls, action, &self.learned));
        self.assessment.fill(&seen, risks, risk.card().resolution);
        &self.assessment
    }
}
