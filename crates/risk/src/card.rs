//! What does a learned critic say about itself?
//!
//! A [`LearnedRisk`] is a critic with its [`Card`], and travels as one file: what it was learned from, how it
//! was calibrated, and how well its risks agree with what happened. Start at [`LearnedRisk::from_bytes`].
//!
//! **Invariant:** a file that is damaged, foreign, or made for other features is refused with the reason.

use std::collections::BTreeMap;

use cpss_highway::Task;
use cpss_learn::critic::Critic;
use cpss_learn::critic::file::CriticError;
use serde::{Deserialize, Serialize};

use crate::actions::ActionKey;
use crate::features::{DRIVING, Inputs, STEERING};
use crate::foresight::Likeness;

/// A critic and its card.
#[derive(Clone, Debug, PartialEq)]
pub struct LearnedRisk {
    critic: Critic,
    card: Card,
}

/// What is known about a critic.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Card {
    /// The task it was learned in.
    pub env: String,
    /// Which features it reads.
    pub features: String,
    /// The actions it knows, one for each output.
    pub actions: Vec<ActionKey>,
    /// The chance that its look-ahead goes on to the next decision.
    pub gamma: f64,
    /// Differences of risk below this are noise, and count as none.
    pub resolution: f64,
    /// How it was learned.
    pub learning: Learning,
    /// How it was calibrated.
    pub calibration: Calibration,
    /// How its risks agree with what happened, bin by bin.
    pub reliability: Vec<Bin>,
    /// What the traffic was like that it was calibrated in, if that was looked at.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub likeness: Option<Likeness>,
}

/// How a critic was learned.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Learning {
    /// The regimes it was learned in.
    pub regimes: Vec<String>,
    /// The sensors it was learned behind; none for perfect eyes.
    #[serde(default)]
    pub sensors: Vec<String>,
    /// The seed of weights and batches.
    pub seed: u64,
    /// Rounds of data.
    pub rounds: u64,
    /// Decisions seen in each.
    pub decisions: usize,
    /// Updates made in each.
    pub updates: u64,
    /// Episode seeds that data came from: the first, and the first beyond.
    pub seeds: [u64; 2],
}

/// How a critic was calibrated: on shielded episodes that it has not learned from.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Calibration {
    /// The regimes it was calibrated in.
    pub regimes: Vec<String>,
    /// The sensors it was calibrated behind; none on cards of before there were sensors: perfect eyes then.
    #[serde(default)]
    pub sensors: Vec<String>,
    /// Episodes, and the first of their seeds.
    pub episodes: u64,
    /// The first of their seeds.
    pub first_seed: u64,
    /// The budgets of the shield that it was calibrated under; none on cards of before there were budgets.
    #[serde(default)]
    pub budgets: Vec<f64>,
    /// What is added to the log-odds of every risk.
    pub shift: f64,
    /// What is added to those of the least risk of a scene; none on cards of before there were lifts: 0.
    #[serde(default)]
    pub lift: Option<f64>,
    /// Share of episodes with an incident.
    pub incidents: f64,
    /// The account of an episode, on average: unavoidable risk at the start,
    pub start: f64,
    /// avoidable risk that was let through,
    pub chosen: f64,
    /// risk that came into view,
    pub arriving: f64,
    /// and what was not foreseen.
    pub surprise: f64,
    /// 95 % interval of the last.
    pub surprise_ci95: [f64; 2],
    /// The surprise in each of the regimes by itself; none on cards of before it was looked at.
    #[serde(default)]
    pub by_regime: Vec<PartSurprise>,
    /// The surprise behind each of the sensors by itself, likewise.
    #[serde(default)]
    pub by_sensor: Vec<PartSurprise>,
    /// The surprise under each of the budgets by itself, likewise.
    #[serde(default)]
    pub by_budget: Vec<PartSurprise>,
    /// The surprise in each of the regimes under each of the budgets, regime by regime, likewise.
    #[serde(default)]
    pub by_cell: Vec<PartSurprise>,
}

/// What was not foreseen in one regime, behind one sensor or under one budget, on average.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct PartSurprise {
    /// The mean surprise.
    pub mean: f64,
    /// Its 95 % interval.
    pub ci95: [f64; 2],
}

/// How often an incident followed where a risk was foretold: one action ran, and the least risky ever after.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Bin {
    /// Risks from here,
    pub from: f64,
    /// to here.
    pub to: f64,
    /// How many times.
    pub count: u64,
    /// The mean risk foretold.
    pub predicted: f64,
    /// The share that ended in an incident.
    pub happened: f64,
}

/// A file that is no usable critic for driving.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LearnedRiskError {
    /// Not a critic.
    #[error(transparent)]
    Critic(#[from] CriticError),
    /// A critic without a card, or with one that cannot be read.
    #[error("the critic's card cannot be read: {0}")]
    Card(String),
    /// A critic that reads other features.
    #[error(
        "the critic reads the features `{found}`, but for its actions this program has `{wanted}`: learn it anew"
    )]
    Features {
        /// What it reads.
        found: String,
        /// What it should read.
        wanted: &'static str,
    },
    /// A card that is not of this critic.
    #[error("the critic's {what} do not fit its card")]
    Mismatch {
        /// What does not fit.
        what: &'static str,
    },
}

/// The largest difference of risk that may count as none.
pub const MOST_RESOLUTION: f64 = 0.1;

/// The sensor of which cards that name none speak.
pub const PERFECT_EYES: &str = "perfect";

/// The metadata entry that holds the card.
const CARD: &str = "card";

/// With fewer fresh episodes a critic that underestimates risk would be found conservative too often, above all if it may be
/// tried again on others.
pub const FEWEST_EPISODES: u64 = 1_000;

impl Card {
    /// The card of a critic for a task's actions, of which nothing else is known yet.
    pub fn new(task: &Task, gamma: f64) -> Card {
        Card {
            env: task.id.name().to_owned(),
            features: Inputs::of(task).name.to_owned(),
            actions: ActionKey::list(&task.controls),
            gamma,
            resolution: 0.0,
            learning: Learning::default(),
            calibration: Calibration::default(),
            reliability: Vec::new(),
            likeness: None,
        }
    }

    /// Whether its risks were, with confidence, not too low on average, on fresh episodes under a shield with a
    /// budget, and in no regime, behind no sensor and under no budget clearly too low, nor in any regime under any one
    /// budget. Only then a budget promises anything.
    pub fn is_conservative(&self) -> bool {
        let Calibration { episodes, budgets, surprise_ci95, .. } = &self.calibration;
        let Calibration { by_regime, by_sensor, by_budget, by_cell, .. } = &self.calibration;
        let is_not_clearly_low = |part: &PartSurprise| part.ci95[0] <= 0.0;
        // Of sixteen cells one is above its 95 % interval by chance now and then: three standard errors instead of two.
        let is_not_far_too_low =
            |cell: &PartSurprise| cell.mean - 1.5 * (cell.mean - cell.ci95[0]) <= 0.0;
        let sound = *episodes >= FEWEST_EPISODES && !budgets.is_empty() && surprise_ci95[1] <= 0.0;
        sound
            && by_regime.iter().chain(by_sensor).chain(by_budget).all(is_not_clearly_low)
            && by_cell.iter().all(is_not_far_too_low)
    }

    /// The same, and it was calibrated in this very task (another version of it is another world) and regime, through
    /// perfect eyes: of other traffic nothing is known.
    pub fn is_conservative_in(&self, env: &str, regime: &str) -> bool {
        self.is_conservative_behind(env, regime, PERFECT_EYES)
    }

    /// The same, and it was calibrated in this task and regime behind this sensor. Of a file by its path nobody knows
    /// whether it says what it said then.
    pub fn is_conservative_behind(&self, env: &str, regime: &str, sensor: &str) -> bool {
        let Calibration { regimes, sensors, .. } = &self.calibration;
        let knows_sensor = match sensors.as_slice() {
            [] => sensor == PERFECT_EYES,
            known => known.iter().any(|known| known == sensor),
        };
        let knows_traffic = self.env == env && regimes.iter().any(|known| known == regime);
        let are_files = [regime, sensor].iter().any(|name| name.ends_with(".toml"));
        self.is_conservative() && knows_traffic && knows_sensor && !are_files
    }

    /// The least and the greatest budget that it was calibrated under: how far risks are off depends on how much of them a
    /// shield lets through. Budgets between the two only promise anything; if it was calibrated under none, none does.
    pub fn budgets(&self) -> [f64; 2] {
        let each = || self.calibration.budgets.iter().copied();
        // A number of single precision is taken for what it was before.
        let hair = f64::from(f32::EPSILON);
        [
            each().fold(f64::INFINITY, f64::min) * (1.0 - hair),
            each().fold(0.0, f64::max) * (1.0 + hair),
        ]
    }

    /// Whether a budget lies between those.
    pub fn is_calibrated_for(&self, budget: f64) -> bool {
        let [least, most] = self.budgets();
        least <= budget && budget <= most
    }
}

impl LearnedRisk {
    /// Joins a critic and its card.
    ///
    /// # Errors
    ///
    /// A card that is not of this critic.
    pub fn new(critic: Critic, card: Card) -> Result<LearnedRisk, LearnedRiskError> {
        let steers = card.actions.iter().any(|action| matches!(action, ActionKey::Raw(_)));
        let inputs = if steers { STEERING } else { DRIVING };
        let known = [inputs, inputs.with_doubts()];
        let Some(inputs) = known.into_iter().find(|inputs| card.features == inputs.name) else {
            return Err(LearnedRiskError::Features { found: card.features, wanted: inputs.name });
        };
        let shape = critic.shape();
        let good = |number: f64| (0.0..=1.0).contains(&number);
        let mismatch = |what| Err(LearnedRiskError::Mismatch { what });
        if shape.fixed != inputs.fixed || shape.item != inputs.item {
            return mismatch("inputs");
        }
        if shape.actions != card.actions.len() {
            return mismatch("actions");
        }
        // What is above this is no noise: it would make nearly every risk look like none.
        if !(good(card.gamma) && (0.0..=MOST_RESOLUTION).contains(&card.resolution)) {
            return mismatch("numbers");
        }
        if card.likeness.as_ref().is_some_and(|likeness| !likeness.is_sound()) {
            return mismatch("likeness");
        }
        let Calibration { regimes, sensors, budgets, .. } = &card.calibration;
        let Calibration { by_regime, by_sensor, by_budget, by_cell, .. } = &card.calibration;
        // What was looked at part by part says so of every part.
        for (name, parts, all) in [
            ("regimes", by_regime, regimes.len()),
            ("sensors", by_sensor, sensors.len()),
            ("budgets", by_budget, budgets.len()),
            ("regimes and budgets", by_cell, regimes.len() * budgets.len()),
        ] {
            // A card that names no budget promises nothing, whatever it has measured.
            let names_no_budget = budgets.is_empty() && name.ends_with("budgets");
            if !parts.is_empty() && parts.len() != all && !names_no_budget {
                return mismatch(name);
            }
        }
        // Half a thousandth: cards round.
        let differs = |found: f32, said: f64| (f64::from(found) - said).abs() > 5e-4;
        let Calibration { episodes, shift, lift, .. } = card.calibration;
        let found = critic.scale();
        let is_other = differs(found.shift, shift) || differs(found.lift, lift.unwrap_or(0.0));
        if episodes > 0 && is_other {
            return mismatch("log-odds");
        }
        Ok(LearnedRisk { critic, card })
    }

    /// Reads a file.
    ///
    /// # Errors
    ///
    /// A file that is damaged, no critic, without a card, or made for other features.
    pub fn from_bytes(bytes: &[u8]) -> Result<LearnedRisk, LearnedRiskError> {
        let (critic, about) = Critic::from_bytes(bytes)?;
        let missing = || LearnedRiskError::Card("there is none".to_owned());
        let card = about.get(CARD).ok_or_else(missing)?;
        let card = serde_json::from_str(card);
        LearnedRisk::new(critic, card.map_err(|error| LearnedRiskError::Card(error.to_string()))?)
    }

    /// The file's bytes, the same for equal critics.
    pub fn to_bytes(&self) -> Vec<u8> {
        // Plain numbers and words always have a JSON form.
        let card = serde_json::to_string(&self.card).unwrap_or_default();
        self.critic.to_bytes(&BTreeMap::from([(CARD.to_owned(), card)]))
    }

    /// The critic.
    pub fn critic(&self) -> &Critic {
        &self.critic
    }

    /// Its card.
    pub fn card(&self) -> &Card {
        &self.card
    }

    /// What it reads.
    pub fn inputs(&self) -> Inputs {
        let all = [DRIVING, STEERING, DRIVING.with_doubts(), STEERING.with_doubts()];
        // A critic that reads anything else was refused.
        all.into_iter().find(|inputs| inputs.name == self.card.features).unwrap_or(DRIVING)
    }
}
