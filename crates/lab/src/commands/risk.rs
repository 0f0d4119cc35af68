//! What can be asked about the risk of actions? (`cpss risk`)

pub(super) mod calibrate;
pub(super) mod learn;
pub(super) mod likeness;
pub(super) mod score;
