//! Which seeds may be asked for?
//!
//! A seed is a whole number from 0 to 2^64 - 1, and episodes count up from the first: [`parse`] reads one from the
//! command line and [`from`] lists a run of them. A run that would pass the largest is refused: wrapped
//! around, it would play training seeds as if they were reporting ones.

use anyhow::{Context, Result};
use cpss_highway::random::Generator;

/// Reads a seed: a whole number that is not negative.
pub(crate) fn parse(text: &str) -> Result<u64, String> {
    text.parse().map_err(|_| "a seed is a whole number from 0 on, below 2^64".to_owned())
}

/// The seeds of some episodes, from the first on.
pub(crate) fn from(first: u64, episodes: u64) -> Result<Vec<u64>> {
    check(first, episodes)?;
    Ok((0..episodes).map(|place| first + place).collect())
}

/// Whether there are as many seeds from the first on.
pub(crate) fn check(first: u64, episodes: u64) -> Result<()> {
    let last = first.checked_add(episodes.saturating_sub(1));
    last.map(|_| ()).with_context(|| {
        format!("{episodes} episodes from seed {first} on need seeds beyond 2^64 - 1")
    })
}

/// Proposals of the random arm, from a stream that belongs to nobody else.
pub(crate) fn random_proposals(seed: u64) -> Generator {
    Generator::seeded(seed ^ 0xa2_1b9e_0000)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn regression_seeds_do_not_wrap_around() {
        assert_eq!(from(7, 3).unwrap(), [7, 8, 9]);
        assert_eq!(from(u64::MAX, 1).unwrap(), [u64::MAX]);
        assert!(from(u64::MAX, 0).unwrap().is_empty());
        let error = from(u64::MAX, 3).unwrap_err().to_string();
        assert!(error.contains("beyond 2^64 - 1"), "{error}");
        assert!(parse("-1").is_err() && parse("1.5").is_err() && parse("").is_err());
    }
}
