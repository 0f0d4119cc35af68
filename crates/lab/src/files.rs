//! How is nothing lost on the disk, and nobody in the way of anybody?

pub(crate) mod atomic;
pub mod lock;
pub(crate) mod sheet;
