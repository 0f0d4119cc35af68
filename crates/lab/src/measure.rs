//! How are methods measured, and how sure are the numbers?
//!
//! | file | question |
//! |---|---|
//! | [`contest`] | how are the episodes of one method on one task under one regime played? |
//! | `summary` | what do they come to? |
//! | [`deployment`] | what happens when the world changes and nobody says so? |
//! | [`mod@unit`] | what is one piece of an experiment's work, and its record? |
//! | [`estimate`] | what do the records of a cell come to, and how sure is that? |
//! | `statistics` | how sure is a number? |
//! | `bench` | how fast is it here? |

pub(crate) mod bench;
pub mod contest;
pub mod deployment;
pub mod estimate;
pub(crate) mod statistics;
pub(crate) mod summary;
pub mod unit;
