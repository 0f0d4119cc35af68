//! What is kept of an episode, so that anyone can judge it again?
//!
//! A trace is JSON lines: a [`Header`] (which episode, under which rules, on which road), one
//! [`Step`] per decision, and an [`End`] with the certificate. It holds everything that the shield
//! was told and everything that it answered, so `cpss audit` can derive the answers again, and the
//! scene at every decision, so that a person can watch.
//!
//! ```text
//! {"cpss_trace":5,"task":"merge-v0",...,"h":"5d1c..."}
//! {"t":0,"proposal":1,"risks":[0.01,0.32],"costs":[0.0,0.31],...,"h":"90ab..."}
//! {"t":1,...}
//! {"end":5,"scene":[...],"record":{...},"certificate":{...},"h":"(all 64 digits)"}
//! ```
//!
//! Start at [`Header`]; [`chain`] is the hash in every line, [`TraceWriter`] writes a trace while an
//! episode is played.
//!
//! **Invariants:** numbers of the account (costs, thresholds, charges, ledger) are written so that they
//! read back to the same bits; scenes are rounded, and the audit allows for that.
//!
//! **Absent on purpose:** other drivers' minds, and whatever follows from the lines themselves, such as what an
//! intervention was good for; only the record, which tables are made of, says such things again.

pub mod audit;
pub mod chain;
mod format;
pub(crate) mod mcap;
mod road;
mod shield;
mod writer;

pub(crate) use format::read_line;
pub use format::{
    CertificateLine, End, Header, LaneLine, LedgerLine, Remembered, RiskLine, Step, Tau,
};
pub use road::Road;
pub use writer::{Cell, TraceWriter};
