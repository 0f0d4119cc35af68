//! How does the learning of a critic stop and go on?
//!
//! A [`CriticCheckpoint`] holds the learner, how far it has come, and the critic of every finished round. Experience is
//! not in it: it follows from seeds and those critics, and is played again.
//!
//! **Invariant:** a run that was stopped and resumed makes the same critic, bit for bit, as one that was not.

use super::Critic;
use super::learner::{CriticLearner, LearnerState};
use crate::tensors::{Reader, TensorError, Writer};

/// A run in progress.
#[derive(Clone, Debug)]
pub struct CriticCheckpoint {
    /// All that the run depends on, as text: another run is not gone on with.
    pub settings: String,
    /// The round in progress, from 0.
    pub round: u64,
    /// Updates made in it.
    pub update: u64,
    /// The learner.
    pub learner: LearnerState,
    /// The critics of finished rounds, as files.
    pub rounds: Vec<Critic>,
}

/// A file that no run can go on from.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CheckpointError {
    /// Missing, damaged or of the wrong kind.
    #[error("the checkpoint cannot be read: {0}")]
    Tensors(#[from] TensorError),
    /// No checkpoint of a critic.
    #[error("the file is no checkpoint of a critic: its format is `{0}`")]
    Format(String),
    /// Begun with other settings.
    #[error("the run was begun with other settings: {0}")]
    Settings(String),
    /// Numbers that do not fit together.
    #[error("the checkpoint's numbers do not fit the critic")]
    Misfit,
}

const FORMAT: &str = "format";
const FORMAT_1: &str = "cpss critic checkpoint 1";
const SETTINGS: &str = "settings";

impl CriticCheckpoint {
    /// The checkpoint of a learner.
    pub fn of(
        learner: &CriticLearner,
        settings: &str,
        [round, update]: [u64; 2],
        rounds: &[Critic],
    ) -> CriticCheckpoint {
        let settings = settings.to_owned();
        CriticCheckpoint {
            settings,
            round,
            update,
            learner: learner.state(),
            rounds: rounds.to_vec(),
        }
    }

    /// The file's bytes.
    pub fn to_bytes(&self) -> Vec<u8> {
        let LearnerState { critic, target, moments, steps, sampling } = &self.learner;
        let mut writer = Writer::default();
        writer.metadata(FORMAT, FORMAT_1);
        writer.metadata(SETTINGS, &self.settings);
        writer.u64s("counters", &[self.round, self.update, *steps, *sampling]);
        for (name, values) in [("critic", critic), ("target", target), ("moments", moments)] {
            writer.f32s(name, &[values.len()], values);
        }
        for (round, critic) in self.rounds.iter().enumerate() {
            let parameters = critic.parameters();
            writer.f32s(&format!("round.{round}"), &[parameters.len()], parameters);
        }
        writer.finish()
    }

    /// Goes on from a file: brings the learner to where it was, and returns how far that is.
    ///
    /// # Errors
    ///
    /// A file that is damaged, something else, or of a run with other settings.
    pub fn resume(
        bytes: &[u8],
        settings: &str,
        learner: &mut CriticLearner,
    ) -> Result<CriticCheckpoint, CheckpointError> {
        let reader = Reader::new(bytes)?;
        let format = reader.metadata(FORMAT)?;
        if format != FORMAT_1 {
            return Err(CheckpointError::Format(format.to_owned()));
        }
        let found = reader.metadata(SETTINGS)?;
        if found != settings {
            return Err(CheckpointError::Settings(found.to_owned()));
        }
        let counters = reader.u64s("counters")?;
        let &[round, update, steps, sampling] = counters.as_slice() else {
            return Err(CheckpointError::Misfit);
        };
        let parameters = learner.learned().parameters().len();
        let read = |name: &str, len: usize| reader.finite_f32s(name, &[len]);
        let state = LearnerState {
            critic: read("critic", parameters)?,
            target: read("target", parameters)?,
            moments: read("moments", 2 * parameters)?,
            steps,
            sampling,
        };
        let mut rounds = Vec::new();
        for place in 0..round {
            let mut critic = learner.learned().clone();
            let values = read(&format!("round.{place}"), parameters)?;
            critic.parameters_mut().copy_from_slice(&values);
            rounds.push(critic);
        }
        if !learner.restore(&state) {
            return Err(CheckpointError::Misfit);
        }
        Ok(CriticCheckpoint { settings: found.to_owned(), round, update, learner: state, rounds })
    }
}
