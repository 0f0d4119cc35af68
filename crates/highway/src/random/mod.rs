//! Which random numbers would NumPy draw here?
//!
//! `numpy.random.Generator(PCG64(SeedSequence(seed)))`, in the forms that highway-env uses, bit
//! for bit: Gymnasium's `reset(seed=k)` seeds exactly this chain, so the same `k` puts the same
//! cars on the road. Start at [`Generator`]; [`SeedSequence`] turns a seed into state words and
//! [`Pcg64`] turns those into raw bits.
//!
//! **Absent on purpose:** every distribution that highway-env does not draw from.

mod generator;
mod pcg64;
mod seed_sequence;
mod ziggurat;

pub use generator::Generator;
pub use pcg64::Pcg64;
pub use seed_sequence::SeedSequence;
