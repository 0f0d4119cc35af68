//! What each action would risk, from a driving scene alone.
//!
//! # Mental model
//!
//! A [`RiskModel`] looks at a [`Scene`](cpss_highway::Scene), what an observer on the road could
//! see, and gives every action a cost from 0 to 1: 0 if nothing comes near and a safe way out
//! remains, 1 if it leads into something. The shield compares these costs with its threshold; this
//! crate knows nothing of budgets, and the shield nothing of cars.
//!
//! ```
//! use cpss_highway::{Scene, Task, TaskId, World};
//! use cpss_risk::{RiskModel, RiskSpec};
//!
//! let task = Task::with_defaults(TaskId::MergeV0);
//! let mut model = RiskModel::new(&task, RiskSpec::for_task(task.id))?;
//! let mut scene = Scene::default();
//! scene.observe(&World::new(task, 3));
//!
//! let assessment = model.assess(&scene);
//! for (cost, conflict) in assessment.costs.iter().zip(&assessment.conflicts) {
//!     println!("{cost:.2} {conflict:?}");
//! }
//! # Ok::<(), cpss_risk::OutOfRange>(())
//! ```
//!
//! # Where things are
//!
//! - [`model`]: the main flow. Start there.
//! - [`proximity`]: how close is too close. `forecast`: where others may be, from `way`, how a
//!   car gets on, `course`, the same at all looks, `traffic`, how cars keep their distance, and
//!   `roadmap`, where lanes lead. `nearby`: who of them may cost an ego anything.
//!   `rehearse`: the same where drivers make way for each other. `pilot`: how the ego would get out.
//!   `worst`: how bad it gets.
//! - [`spec`]: all numbers, for each task.
//!
//! # What is absent on purpose
//!
//! Another driver's target, timer, exponent or plan: a scene does not hold them, only where a car shows
//! that it is bound. Learning,
//! randomness and clocks.

mod course;
mod forecast;
mod helm;
mod looks;
pub mod model;
mod nearby;
mod pilot;
pub mod proximity;
mod rehearse;
mod roadmap;
pub mod spec;
mod traffic;
mod way;
mod worst;

pub use cpss_highway::rehearsal::Guess;
pub use forecast::Hazard;
pub use model::{Assessment, Conflict, RiskModel};
pub use proximity::{Margin, Pose, Proximity};
pub use spec::{Backup, Habits, OutOfRange, RiskSpec};
