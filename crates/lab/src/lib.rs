//! Episodes, measurements and the `cpss` command: the only crate that sees all the others.
//!
//! It has rooms, each of which uses only those below it; `tests/rooms.rs` sees to that.
//!
//! | room | the question it answers |
//! |---|---|
//! | [`commands`] | what can be asked of `cpss`, and how is it answered at a terminal? Start here |
//! | [`report`] | what is made of an experiment's records, for people to read? |
//! | [`plan`] | which work does an experiment consist of, and how is it run, resumed and shared out? |
//! | `learn` | how are policies and critics made? |
//! | [`measure`] | how are methods measured, and how sure are the numbers? |
//! | [`trace`] | what is kept of an episode, so that anyone can judge it again? |
//! | [`play`] | what happens in an episode, and what does it depend on? |
//! | [`record`] | what is kept of an episode as numbers? |
//! | [`tasks`] | what differs between tasks? |
//! | [`files`], `terminal` | how is nothing lost on the disk; how does the command speak? |

#![warn(clippy::print_stdout, clippy::print_stderr, reason = "they panic; see `terminal`")]

pub mod commands;
pub mod files;
pub(crate) mod learn;
pub mod measure;
pub mod plan;
pub mod play;
pub mod record;
pub mod report;
pub mod tasks;
pub(crate) mod terminal;
pub mod trace;

/// The README's examples, compiled and run: this is the only crate that sees what they use.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
pub struct Readme;
