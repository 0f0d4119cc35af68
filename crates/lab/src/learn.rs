//! How are policies and critics made?
//!
//! | folder | question |
//! |---|---|
//! | [`files`] | which files does that leave? |
//! | [`train`] | how is a policy trained and scored? |
//! | [`risk`] | how is the risk of each action learned, and how good is what was learned? |

pub(crate) mod files;
pub(crate) mod risk;
pub(crate) mod train;
