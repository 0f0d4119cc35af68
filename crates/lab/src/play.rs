//! What happens in an episode, and what does it depend on?
//!
//! | file | question |
//! |---|---|
//! | [`episode`] | what happens in one shielded episode? The main flow of the whole project |
//! | [`observer`] | who follows it, and what are they told? |
//! | `tally` | what is added to its record with each decision? |
//! | [`ending`] | how did a step end, and what did it cost? |
//! | [`branch`] | what would a replaced action have led to? |
//! | [`arm`] | which methods are compared, and with which shield? |
//! | [`policy`], `view` | which policy drives; what does it see, when it was not made here? |
//! | [`critic`] | which critic says what each action risks? |
//! | [`memory`] | how is a shield's memory kept from one run to the next? |
//! | [`regime`] | how does the traffic drift during an episode? |
//! | [`sensor`] | through which eyes do policy and shield see the world? |
//! | `oracle` | what would each action really lead to? (privileged) |
//! | `barrier` | does the next step keep its distance? |
//! | `seed` | which seeds may be asked for? |

pub mod arm;
pub(crate) mod barrier;
pub mod branch;
pub mod critic;
pub mod ending;
pub mod episode;
pub(crate) mod latency;
pub mod memory;
pub mod observer;
pub(crate) mod oracle;
pub mod policy;
pub mod regime;
pub(crate) mod seed;
pub mod sensor;
pub(crate) mod tally;
pub(crate) mod view;
