//! What others may rely on, one file per promise. Start at [`costs`]; [`stage`] sets the scenes.

#![allow(clippy::unwrap_used, reason = "a test that cannot set its scene has failed")]

mod costs;
mod observer;
mod properties;
mod realised;
mod rehearsed;
mod spec;
mod stage;
