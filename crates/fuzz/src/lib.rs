//! Which bytes bring a reader of this project down?
//!
//! Everything that reads a file from outside is a [`Target`](targets::Target): traces, policies, ONNX, critics, cards,
//! checkpoints, records, plans, regimes, shields, settings of learning, tasks, configs and scenes. Each has seeds, real
//! files, and a [`Mutator`](mutate::Mutator) damages them in the ways that its format has: lengths, numbers, names, whole
//! pieces, and for a trace the hashes made right again. [`watch`] looks at what a reader does with each.
//!
//! A reader passes if it never panics, answers in time, needs no more memory than its file explains, and says why it
//! refuses. Start at [`campaign`]. `cargo test -p cpss-fuzz` runs a few seconds with a fixed seed, and
//!
//! ```text
//! cargo run --release -p cpss-fuzz -- --seconds 600 [TARGET]
//! ```
//!
//! as long as one likes. An input that fails is kept, and its path is said.
//!
//! **Absent on purpose:** coverage from the compiler, which stable Rust does not offer without unstable flags. In its place an
//! input that is refused with a new reason, or not at all, becomes a seed itself.

pub mod campaign;
pub mod mutate;
mod random;
mod scenes;
pub mod targets;
pub mod watch;
