//! The risk of each action, learned, from a driving scene alone.
//!
//! # Mental model
//!
//! A [`RiskModel`] looks at a [`Scene`](cpss_highway::Scene), what an observer on the road could see, and
//! says of every action how likely an incident is if it runs now and the least risky one ever after. The
//! least of these is the risk that cannot be avoided; how much more an action risks is its cost, which the
//! shield compares with its threshold. This crate knows nothing of budgets, and the shield nothing of cars.
//!
//! The numbers come from a critic that was learned ([`LearnedRisk`], a file with a [`Card`]): this crate says
//! what a scene looks like to it, and who in the scene is to blame for a risk.
//!
//! # Where things are
//!
//! - [`model`]: the main flow. Start there; [`mod@batch`] is the same for many scenes at once.
//! - [`features`]: a scene as numbers; `way`: where lanes lead; `swerve`: where an ego that steers itself could be
//!   soon; `escape`: which ways out it has.
//! - [`track`]: where everybody is now, by all that a sensor has shown.
//! - [`foresight`]: how well the next scene's cars are foretold by this one.
//! - [`mod@actions`]: which of the critic's outputs an action of the task is.
//! - [`mod@card`]: what a critic says about itself.
//! - [`closeness`], [`proximity`]: how close the ego came to anything, the yardstick for every driver.
//!
//! # What is absent on purpose
//!
//! Another driver's target, timer, exponent or plan: a scene does not hold them, only where a car shows that
//! it is bound. The world's driving law. Numbers for one task. Randomness and clocks.

pub mod actions;
pub mod batch;
pub mod card;
pub mod closeness;
mod escape;
pub mod features;
pub mod foresight;
pub mod model;
pub mod proximity;
mod swerve;
pub mod track;
mod way;

pub use actions::{ActionKey, UnknownAction};
pub use batch::BatchModel;
pub use card::{Card, LearnedRisk, LearnedRiskError};
pub use features::Features;
pub use foresight::{Foresight, Likeness, Portrait};
pub use model::{Assessment, Blame, Hazard, RiskModel};
pub use proximity::{Margin, Pose, Proximity};
pub use track::Tracker;
