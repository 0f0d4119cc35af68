//! Episodes, measurements and the `cpss` command: the only crate that sees all the others.
//!
//! Start at [`cli`], which names every command and where it is done.

#![warn(clippy::print_stdout, clippy::print_stderr, reason = "they panic; see `terminal`")]

pub mod arm;
pub mod audit;
pub mod bench;
pub mod branch;
pub mod cli;
pub mod document;
pub mod episode;
pub mod estimate;
pub mod evaluate;
pub mod figure;
pub mod keep;
pub mod lock;
pub mod meter;
pub mod oracle;
pub mod paper;
pub mod plan;
pub mod policy;
pub mod record;
pub mod regime;
pub mod replay;
pub mod report;
pub mod reproduce;
pub mod risk;
pub mod rollout;
pub mod seed;
pub mod statistics;
pub mod table;
pub mod tables;
pub mod tasks;
pub mod telling;
pub mod terminal;
pub mod trace;
pub mod train;
pub mod view;
pub mod what_if;

/// The README's examples, compiled and run: this is the only crate that sees what they use.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
pub struct Readme;
