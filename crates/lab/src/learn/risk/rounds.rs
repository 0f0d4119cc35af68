//! How do rounds of data and learning make a critic?
//!
//! [`learn`] plays a round of episodes, learns from all rounds so far, and plays the next round under the shield of
//! what it has learned; in the end it calibrates, and writes one file that says of itself how it was made.
//!
//! **Invariants:** the same task, seed and settings give the same file, byte for byte, on the same machine,
//! for any number of threads, whether the run was killed and resumed or not; episodes come from seeds below
//! 1,000,000 alone.

use std::ops::Range;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use cpss_learn::critic::checkpoint::CriticCheckpoint;
use cpss_learn::critic::experience::Experience;
use cpss_learn::critic::learner::{CriticLearner, CriticSpec};
use cpss_learn::critic::scale::Scale;
use cpss_learn::critic::{Critic, Shape};
use cpss_risk::LearnedRisk;
use cpss_risk::card::Learning;
use serde::Serialize;

use super::USUAL_THRESHOLD;
use super::account::Account;
use super::calibrate::{Stage, certify, uncalibrated};
use super::collect::collect;
use super::journal::Journal;
use crate::files::atomic::write_atomically;
use crate::learn::files::RunFiles;
use crate::terminal::note;

/// Seeds of the episodes that a critic learns from, and of those that it is calibrated on.
pub(crate) const LEARNING_SEEDS: Range<u64> = 0..800_000;
pub(crate) const CALIBRATION_SEEDS: Range<u64> = 800_000..1_000_000;

/// In how many parts a round is learned: before each, every decision is weighed anew.
const PHASES: u64 = 2;

/// How often a run is saved.
const SAVE_EVERY: Duration = Duration::from_secs(60);

/// All that a run depends on.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Recipe {
    /// Task id.
    pub env: String,
    /// The regimes to learn in, as they were asked for.
    pub regimes: Vec<String>,
    /// The sensors to learn behind, as they were asked for.
    pub sensors: Vec<String>,
    /// The hash of the critic to begin with.
    pub from: Option<String>,
    /// What the regimes and sensors are: a file may be edited while a run is stopped.
    pub traffic: Vec<String>,
    /// Rounds of data, each under the shield of the one before.
    pub rounds: u64,
    /// Decisions to see in each round.
    pub decisions: u64,
    /// Updates to make in each round.
    pub updates: u64,
    /// Seed of weights and batches.
    pub seed: u64,
    /// The critic's layers.
    pub shape: Shape,
    /// How it learns.
    pub critic: CriticSpec,
    /// The name of what it sees.
    pub features: &'static str,
}

/// Learns a critic in rounds, calibrates it and writes it; goes on from the checkpoint that a killed run has left.
pub(crate) fn learn(
    recipe: &Recipe,
    stage: &Stage<'_>,
    from: Option<&Critic>,
    out: &Path,
) -> Result<LearnedRisk> {
    let files = RunFiles::beside(out, "critic")?;
    let _lock = files.claim("cpss risk learn")?;
    let mut run = Run::begin(recipe, stage, from, &files)?;
    let mut journal = Journal::open(&files, recipe.rounds * recipe.in_a_phase() * PHASES)?;
    run.play_again()?;
    while run.phase < recipe.rounds * PHASES {
        run.learn_phase(&mut journal)?;
    }
    let critic = run.learner.learned().clone();
    // The decisions of all rounds, which the calibration has no use for.
    drop(run);
    let learned = certify(stage, critic, recipe.learning(), None, |words| journal.say(words))?;
    write_atomically(&files.result, &learned.to_bytes())?;
    std::fs::remove_file(&files.checkpoint)
        .with_context(|| format!("cannot remove {}", files.checkpoint.display()))?;
    journal.close()?;
    Ok(learned)
}

/// A run under way.
struct Run<'a> {
    recipe: &'a Recipe,
    stage: &'a Stage<'a>,
    files: &'a RunFiles,
    /// The recipe as a checkpoint has it.
    settings: String,
    learner: CriticLearner,
    experience: Experience,
    phase: u64,
    update: u64,
    /// What it began with, if not with nothing.
    first: Option<Critic>,
    /// What was learned by the end of each phase.
    critics: Vec<Critic>,
    saved: Instant,
}

impl<'a> Run<'a> {
    /// A run at its start, or where a checkpoint has left it.
    fn begin(
        recipe: &'a Recipe,
        stage: &'a Stage<'a>,
        from: Option<&Critic>,
        files: &'a RunFiles,
    ) -> Result<Run<'a>> {
        let (shape, spec) = (recipe.shape.clone(), recipe.critic.clone());
        let mut run = Run {
            recipe,
            stage,
            files,
            settings: serde_json::to_string(recipe)?,
            learner: CriticLearner::new(shape, spec, recipe.seed).context("the critic's layers")?,
            experience: Experience::new(recipe.shape.fixed, recipe.shape.item),
            phase: 0,
            update: 0,
            first: None,
            critics: Vec::new(),
            saved: Instant::now(),
        };
        if let Some(from) = from {
            let mut first = from
                .widened(recipe.shape.fixed, recipe.shape.item)
                .context("the critic to begin with")?;
            // Its calibration is not learned from.
            first.set_scale(Scale::NONE);
            run.learner.begin_with(&first).context("the critic to begin with has other layers")?;
            run.first = Some(first);
        }
        if files.checkpoint.exists() {
            let path = files.checkpoint.display();
            let bytes =
                std::fs::read(&files.checkpoint).with_context(|| format!("cannot read {path}"))?;
            let saved = CriticCheckpoint::resume(&bytes, &run.settings, &mut run.learner)
                .with_context(|| format!("cannot go on from {path}; delete it to start again"))?;
            (run.phase, run.update, run.critics) = (saved.round, saved.update, saved.rounds);
            note!("going on from {path}: round {}, update {}", run.phase / PHASES, run.update);
        }
        Ok(run)
    }

    /// Plays the rounds again that were played before the checkpoint.
    fn play_again(&mut self) -> Result<()> {
        // Nothing is left to learn where only the calibration was cut off.
        let is_learned = self.phase >= self.recipe.rounds * PHASES;
        let again = if is_learned { 0 } else { self.phase.div_ceil(PHASES) };
        (0..again).try_for_each(|round| self.play_round(round))
    }

    /// Learns until the end of a phase; at the start of a round, after playing it.
    fn learn_phase(&mut self, journal: &mut Journal) -> Result<()> {
        let in_a_phase = self.recipe.in_a_phase();
        let (round, part) = (self.phase / PHASES, self.phase % PHASES);
        if part == 0 {
            self.play_round(round)?;
            journal.round(round, self.experience.len(), self.experience.incidents());
        }
        if let Some(critic) = self.critics.last().or(self.first.as_ref()) {
            self.experience.weigh(critic);
        }
        while self.update < in_a_phase {
            let share = (part * in_a_phase + self.update) as f64 / (in_a_phase * PHASES) as f64;
            let loss = self.learner.update(&self.experience, share)?;
            self.update += 1;
            journal.update(self.phase * in_a_phase + self.update, loss)?;
            if self.saved.elapsed() > SAVE_EVERY {
                self.save()?;
                self.saved = Instant::now();
            }
        }
        self.critics.push(self.learner.learned().clone());
        (self.phase, self.update) = (self.phase + 1, 0);
        self.save()?;
        if part + 1 == PHASES {
            let account = self.measure()?;
            journal.measured(self.phase * in_a_phase, &account)?;
        }
        Ok(())
    }

    /// Plays the episodes of a round, driven under the critic of the one before.
    fn play_round(&mut self, round: u64) -> Result<()> {
        let before = (round * PHASES).checked_sub(1);
        let before = before.and_then(|before| self.critics.get(before as usize));
        let before = before.or(self.first.as_ref());
        let seeds = round * 100_000 % LEARNING_SEEDS.end..LEARNING_SEEDS.end;
        let decisions = self.recipe.decisions as usize;
        let played =
            collect(self.stage.conditions, &self.stage.inputs, before, round, seeds, decisions)?;
        self.experience.append(&played);
        Ok(())
    }

    /// What comes of shielded episodes that it is not calibrated on.
    fn measure(&self) -> Result<Account> {
        let critic = self.learner.learned().clone();
        let risk =
            uncalibrated(self.stage.env, &self.stage.inputs, critic, self.recipe.learning())?;
        let seeds = CALIBRATION_SEEDS.end - self.stage.episodes..CALIBRATION_SEEDS.end;
        self.stage.account_at(&risk, USUAL_THRESHOLD, seeds)
    }

    fn save(&self) -> Result<()> {
        let place = [self.phase, self.update];
        let state = CriticCheckpoint::of(&self.learner, &self.settings, place, &self.critics);
        write_atomically(&self.files.checkpoint, &state.to_bytes())
    }
}

impl Recipe {
    fn in_a_phase(&self) -> u64 {
        self.updates.div_ceil(PHASES)
    }

    /// What the card says about the learning.
    fn learning(&self) -> Learning {
        Learning {
            regimes: self.regimes.clone(),
            sensors: self.sensors.clone(),
            seed: self.seed,
            rounds: self.rounds,
            decisions: self.decisions as usize,
            updates: self.updates,
            seeds: [LEARNING_SEEDS.start, LEARNING_SEEDS.end],
        }
    }
}
