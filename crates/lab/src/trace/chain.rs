//! How does a line of a trace vouch for all lines before it?
//!
//! Each line ends in `"h"`, a hash of that line and of everything above it. An edited, missing,
//! added or moved line does not fit its neighbours, and [`Chain::open`] says which is the first that does
//! not. The last line carries the whole hash: who keeps those 64 digits elsewhere can tell whether
//! the trace is still the one that was written, even against a forger who hashes anew.
//!
//! ```text
//!   state_0 = SHA-256("cpss trace")        state_n = SHA-256(state_{n-1}, body_n)
//! ```
//!
//! where `body_n` is line `n` without its `"h"`.

use sha2::{Digest, Sha256};

/// Digits of the hash in every line but the last.
const SHORT: usize = 16;
/// Digits of a whole SHA-256.
const WHOLE: usize = 64;

/// The chain, as far as it has been written or read.
#[derive(Clone, Debug)]
pub struct Chain([u8; 32]);

impl Default for Chain {
    fn default() -> Chain {
        Chain(Sha256::digest(b"cpss trace").into())
    }
}

impl Chain {
    /// Takes a JSON object as the next line and returns it with its hash.
    pub fn seal(&mut self, body: &str, last: bool) -> String {
        self.extend(body.as_bytes());
        let open = body.strip_suffix('}').unwrap_or(body);
        format!("{open},\"h\":\"{}\"}}", self.digits(last))
    }

    /// Takes a sealed line and returns its body, if its hash is the one that belongs there.
    pub fn open(&mut self, line: &[u8]) -> Option<Opened> {
        let (body, found) = split(line)?;
        self.extend(&body);
        let last = found.len() == WHOLE;
        (found == self.digits(last).as_bytes()).then_some(Opened { body, last })
    }

    /// The hash of all lines so far, in hexadecimal digits.
    pub fn end(&self) -> String {
        self.digits(true)
    }

    fn extend(&mut self, body: &[u8]) {
        self.0 = Sha256::new().chain_update(self.0).chain_update(body).finalize().into();
    }

    fn digits(&self, all: bool) -> String {
        let bytes = if all { WHOLE / 2 } else { SHORT / 2 };
        self.0[..bytes].iter().map(|byte| format!("{byte:02x}")).collect()
    }
}

/// A line whose hash is right.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Opened {
    /// The line without its hash.
    pub body: Vec<u8>,
    /// Whether it is sealed as the last one.
    pub last: bool,
}

/// Parts a line into its body and its hash's digits.
fn split(line: &[u8]) -> Option<(Vec<u8>, &[u8])> {
    let end = line.strip_suffix(b"\"}")?;
    [SHORT, WHOLE].into_iter().find_map(|digits| {
        let (rest, found) = end.split_at_checked(end.len().checked_sub(digits)?)?;
        let open = rest.strip_suffix(b",\"h\":\"")?;
        Some(([open, b"}"].concat(), found))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sealed_line_opens_in_its_place_only() {
        let mut writer = Chain::default();
        let lines = [writer.seal(r#"{"a":1}"#, false), writer.seal(r#"{"b":2}"#, true)];
        let mut reader = Chain::default();
        let first = reader.open(lines[0].as_bytes()).unwrap();
        assert_eq!((first.body.as_slice(), first.last), (br#"{"a":1}"#.as_slice(), false));
        assert!(reader.open(lines[1].as_bytes()).unwrap().last);
        assert_eq!(reader.end(), writer.end());
        assert!(lines[1].contains(&writer.end()));
        assert!(Chain::default().open(lines[1].as_bytes()).is_none());
    }

    #[test]
    fn every_flipped_bit_of_a_line_is_seen() {
        let line = Chain::default().seal(r#"{"a":1.25}"#, false).into_bytes();
        for place in 0..line.len() {
            for bit in 0..8 {
                let mut changed = line.clone();
                changed[place] ^= 1 << bit;
                assert!(Chain::default().open(&changed).is_none(), "byte {place}, bit {bit}");
            }
        }
    }
}
