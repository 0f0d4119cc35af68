//! How does a robot's own loop, in C or C++, use the shield and a critic?
//!
//! Through `include/cpss.h`, which is made from this crate and teaches by itself; `docs/embedding.md` is the page
//! around it. Start at `cpss_shield_decide` in [`shield`]; a critic's inference is in [`critic`].
//!
//! | file | the question it answers |
//! |---|---|
//! | [`shield`] | which action runs now, what did it cost, and how did the episode go? |
//! | [`critic`] | what does each action risk? |
//! | [`settings`] | what may a person ask of a shield? |
//! | [`answers`] | what does a shield answer? |
//! | [`status`] | what went wrong, and which library is this? |
//! | `handle` | how does a pointer become something that may be used? |
//!
//! **Invariants:** every number that decides is `cpss_shield`'s or `cpss_learn`'s, to the last bit; a pointer that is
//! null or not aligned is a status, never read; no panic crosses the boundary; nothing is allocated after a handle
//! was made; a handle that is used by two threads at once answers one of them `CPSS_STATUS_BUSY`; whatever goes
//! wrong in a decision, the decision that comes back runs the last resort.
//!
//! **Absent on purpose:** an off switch, logging, files of settings, global state, and learning.

pub mod answers;
pub mod critic;
mod handle;
pub mod settings;
pub mod shield;
pub mod status;
