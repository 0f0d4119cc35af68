//! How is a policy trained and scored?
//!
//! | file | question |
//! |---|---|
//! | [`algorithm`] | which learners are there? |
//! | [`driving`] | how does a world look to the learner? |
//! | [`overseer`] | what does a shield inside the world do? |
//! | [`settings`] | with which settings? |
//! | [`journal`] | what is shown on the way, and what is left behind? |
//! | [`learning`] | which learner has a run? |
//! | [`finish`] | what becomes of the policy? |
//! | [`mod@score`] | how good is it? |

pub(crate) mod algorithm;
pub(crate) mod driving;
pub(crate) mod finish;
pub(crate) mod journal;
pub(crate) mod learning;
mod overseer;
pub(crate) mod score;
pub(crate) mod settings;
