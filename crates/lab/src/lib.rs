//! Episodes, measurements and the `cpss` command: the only crate that sees all the others.
//!
//! Start at [`cli`], which names every command and where it is done.

pub mod arm;
pub mod bench;
pub mod cli;
pub mod episode;
pub mod evaluate;
pub mod oracle;
pub mod paper;
pub mod plan;
pub mod policy;
pub mod regime;
pub mod reproduce;
pub mod rollout;
pub mod statistics;
pub mod tables;
pub mod train;

/// The README's examples, compiled and run: this is the only crate that sees what they use.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
pub struct Readme;
