//! Is every line of a trace in its place?
//!
//! [`Lines::open`] checks the hash chain from the first line to the last before anything is read, so a
//! damaged trace is found as such, wherever the damage is; [`Lines::parse`] then reads line by line.
//!
//! **Invariant:** any bytes at all end in lines or in a [`Finding`].

use serde::de::DeserializeOwned;

use super::finding::{Finding, Problem};
use crate::trace::chain::Chain;
use crate::trace::format::VERSION;

/// The lines of a trace, without their hashes.
pub(super) struct Lines {
    bodies: Vec<Vec<u8>>,
    /// The hash that they end in.
    pub(super) chain_end: String,
}

impl Lines {
    /// Opens every line, in order.
    pub(super) fn open(bytes: &[u8]) -> Result<Lines, Finding> {
        check_version(bytes)?;
        let mut chain = Chain::default();
        let mut bodies: Vec<Vec<u8>> = Vec::new();
        let mut rest = bytes;
        loop {
            let finding = |problem| Finding { line: bodies.len() + 1, problem };
            let Some(length) = rest.iter().position(|byte| *byte == b'\n') else {
                return Err(finding(Problem::Cut));
            };
            let (line, below) = rest.split_at(length);
            rest = &below[1..];
            let opened = chain.open(line).ok_or_else(|| finding(Problem::Chain))?;
            let is_end = opened.body.starts_with(b"{\"end\":");
            if opened.last != is_end || is_end && (bodies.is_empty() || !rest.is_empty()) {
                return Err(finding(Problem::Cut));
            }
            bodies.push(opened.body);
            if is_end {
                return Ok(Lines { bodies, chain_end: chain.end() });
            }
        }
    }

    /// How many lines there are; at least two.
    pub(super) fn count(&self) -> usize {
        self.bodies.len()
    }

    /// Reads a line, counted from 1.
    pub(super) fn parse<T: DeserializeOwned>(&self, line: usize) -> Result<T, Finding> {
        let body = line.checked_sub(1).and_then(|place| self.bodies.get(place));
        serde_json::from_slice(body.map_or(&[], Vec::as_slice))
            .map_err(|error| Finding { line, problem: Problem::Unreadable(error.to_string()) })
    }
}

/// Before the chain: another version may seal its lines in another way.
fn check_version(bytes: &[u8]) -> Result<(), Finding> {
    let line = bytes.split(|byte| *byte == b'\n').next().unwrap_or_default();
    let version = serde_json::from_slice::<serde_json::Value>(line)
        .ok()
        .and_then(|header| header.get("cpss_trace")?.as_u64());
    match version {
        Some(version) if version != u64::from(VERSION) => {
            let version = u32::try_from(version).unwrap_or(u32::MAX);
            Err(Finding { line: 1, problem: Problem::Version(version) })
        }
        _ => Ok(()),
    }
}
