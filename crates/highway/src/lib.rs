//! highway
#![allow(missing_docs)]
pub mod action;
mod arith;
mod collision;
pub mod driver;
mod fields;
pub mod lane;
mod mobil;
pub mod neighbours;
pub mod observation;
mod power;
pub mod random;
mod regulation;
pub mod road;
pub mod route;
pub mod simulation;
pub mod task;
pub mod vehicle;
pub mod world;
pub use action::{Action, ActionError};
pub use fields::ConfigError;
pub use task::{Task, TaskId};
pub use world::{Step, World};
