//! How is a policy trained and scored?
//!
//! | file | question |
//! |---|---|
//! | [`algorithm`] | which learners are there? |
//! | [`driving`] | how does a world look to the learner? |
//! | [`settings`] | with which settings? |
//! | [`journal`] | what is shown on the way, and what is left behind? |
//! | [`mod@score`] | how good is it? |

pub(crate) mod algorithm;
pub(crate) mod driving;
pub(crate) mod journal;
pub(crate) mod score;
pub(crate) mod settings;
