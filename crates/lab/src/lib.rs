//! Episodes, measurements and the `cpss` command: the only crate that sees all the others.
//!
//! Start at [`cli`], which names every command and where it is done.

pub mod bench;
pub mod cli;
pub mod policy;
pub mod rollout;
pub mod train;
