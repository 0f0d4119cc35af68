//! Where do the paper's tables disagree with each other?
//!
//! Found by comparing its numbers with each other, and with nothing of ours. Each [`Doubt`] is one
//! sentence and the places it is about. Start at [`doubts`]. They matter to a reader who compares our
//! numbers with the paper's: some of the paper's cannot be what their caption says.
//!
//! **Absent on purpose:** guesses about how they came about.

use std::fmt;

use super::{
    ByRegime, COLLISION_CPSS, COLLISION_DQN, DISTANCE_CPSS, DISTANCE_DQN, MAIN_DISTANCE,
    PROXIMITY_CPSS, PROXIMITY_DQN, REGIMES, SPREADS, SUMMARY_SPREAD, TASKS,
};
use crate::measure::statistics::{mean, standard_deviation};

/// Something in the paper's tables that does not fit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Doubt {
    /// What.
    pub claim: String,
    /// Where, with the numbers.
    pub places: Vec<String>,
}

impl fmt::Display for Doubt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({}.)", self.claim, self.places.join("; "))
    }
}

/// Everything that was found.
pub(crate) fn doubts() -> Vec<Doubt> {
    [
        main_text_distances(),
        moved_points(),
        same_rate_and_risk(),
        far_from_their_row(),
        spread_of_a_certainty(),
        same_spreads(),
        spread_over_regimes(),
    ]
    .into_iter()
    .filter(|doubt| !doubt.places.is_empty())
    .collect()
}

/// DQN and CPSS.
const METHODS: [&str; 2] = ["DQN", "CPSS"];
const COLLISIONS: [&ByRegime; 2] = [&COLLISION_DQN, &COLLISION_CPSS];
const PROXIMITIES: [&ByRegime; 2] = [&PROXIMITY_DQN, &PROXIMITY_CPSS];
const DISTANCES: [&ByRegime; 2] = [&DISTANCE_DQN, &DISTANCE_CPSS];

/// Every method, task and regime, by place.
fn cells() -> impl Iterator<Item = [usize; 3]> {
    (0..2).flat_map(|method| {
        (0..4).flat_map(move |task| (0..4).map(move |regime| [method, task, regime]))
    })
}

fn name([method, task, regime]: [usize; 3]) -> String {
    format!("{} on {} under {}", METHODS[method], TASKS[task], REGIMES[regime])
}

fn main_text_distances() -> Doubt {
    const AVERAGE: usize = 2;
    const HIGH: usize = 3;
    let mut places = Vec::new();
    for (task, name) in TASKS.iter().enumerate() {
        for (method, distances) in DISTANCES.iter().enumerate() {
            let main = MAIN_DISTANCE[task][method];
            if main == distances[task][HIGH] && main != distances[task][AVERAGE] {
                let other = distances[task][AVERAGE];
                places.push(format!("{} on {name}: {main}, appendix {other}", METHODS[method]));
            }
        }
    }
    Doubt {
        claim:
            "The main text's minimum distances are captioned \"average\" and are the appendix's \
                \"high\" column."
                .to_owned(),
        places,
    }
}

fn moved_points() -> Doubt {
    let mut places = Vec::new();
    for cell @ [method, task, regime] in cells() {
        let distance = DISTANCES[method][task][regime];
        for (metric, tables) in [("collision rate", COLLISIONS), ("proximity risk", PROXIMITIES)] {
            let other = tables[method][task][regime];
            if digits(distance) == digits(other) && digits(distance).len() > 1 {
                places.push(format!("{}: {distance} m, {metric} {other}", name(cell)));
                break;
            }
        }
    }
    Doubt {
        claim: "Minimum distances in metres have the digits of the same cell's collision rate or \
                proximity risk, with the point moved."
            .to_owned(),
        places,
    }
}

fn same_rate_and_risk() -> Doubt {
    let places = cells().filter_map(|cell @ [method, task, regime]| {
        let rate = COLLISIONS[method][task][regime];
        (rate == PROXIMITIES[method][task][regime]).then(|| format!("{}: {rate}", name(cell)))
    });
    Doubt {
        claim:
            "A collision rate, a share of episodes, equals the proximity risk, a share of steps, \
                to the last digit."
                .to_owned(),
        places: places.collect(),
    }
}

/// More than five times above or below the median of its row.
fn far_from_their_row() -> Doubt {
    let mut places = Vec::new();
    for (metric, tables) in [("proximity risk", PROXIMITIES), ("minimum distance", DISTANCES)] {
        for cell @ [method, task, regime] in cells() {
            let mut row = tables[method][task];
            let value = row[regime];
            row.sort_by(f64::total_cmp);
            let median = f64::midpoint(row[1], row[2]);
            if value > 5.0 * median || 5.0 * value < median {
                places.push(format!("{metric} of {}: {value}", name(cell)));
            }
        }
    }
    Doubt {
        claim: "A value is more than five times above or below the median of its own row."
            .to_owned(),
        places,
    }
}

/// Shares with the mean `m` spread by at most `sqrt(m (1 - m))`, as a sample by at most `sqrt(2)` times
/// that.
fn spread_of_a_certainty() -> Doubt {
    let mut places = Vec::new();
    for (metric, tables, spreads) in
        [("collision rate", COLLISIONS, SPREADS[0]), ("proximity risk", PROXIMITIES, SPREADS[1])]
    {
        for cell @ [method, task, regime] in cells() {
            // The mean that is printed with three digits may have been this much lower.
            let share = tables[method][task][regime];
            let lowest = if share > 0.5 { share - 0.0005 } else { share };
            let spread = spreads[method][task][regime];
            if spread > (2.0 * lowest * (1.0 - lowest)).sqrt() {
                places.push(format!("{metric} of {}: {share:.3} ± {spread}", name(cell)));
            }
        }
    }
    Doubt {
        claim: "A share near 1 has a standard deviation that no numbers between 0 and 1 with that \
                mean can have."
            .to_owned(),
        places,
    }
}

fn same_spreads() -> Doubt {
    let same = cells().filter(|&[method, task, regime]| {
        let of = |metric: usize| SPREADS[metric][method][task][regime];
        of(0) == of(1) && of(1) == of(2)
    });
    let (same, all) = (same.count(), cells().count());
    Doubt {
        claim: "The ± of collision rate, proximity risk and minimum distance, three quantities in \
                different units, are the same number."
            .to_owned(),
        places: vec![format!("in {same} of {all} cells")],
    }
}

/// As the standard deviation of a sample or of all there is, whichever is closer.
fn spread_over_regimes() -> Doubt {
    let mut places = Vec::new();
    for (method, rates) in COLLISIONS.iter().enumerate() {
        for (task, name) in TASKS.iter().enumerate() {
            let sample = standard_deviation(&rates[task]);
            let whole = sample * 0.75_f64.sqrt();
            let printed = SUMMARY_SPREAD[method][task];
            // Rounding of the printed rates and of the result moves it by less than this.
            if (sample - printed).abs() > 2e-4 && (whole - printed).abs() > 2e-4 {
                places.push(format!(
                    "{} on {name}: ± {printed}, from the appendix {whole:.4} or {sample:.4} (mean {:.4})",
                    METHODS[method],
                    mean(&rates[task])
                ));
            }
        }
    }
    Doubt {
        claim: "The summary's \"standard deviation across regimes\" is not that of the appendix's four \
                rates, neither as a sample's nor as a population's."
            .to_owned(),
        places,
    }
}

/// The digits of a number from the first to the last that is not zero.
fn digits(value: f64) -> String {
    let plain: String = value.to_string().chars().filter(char::is_ascii_digit).collect();
    plain.trim_matches('0').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn places(words: &str) -> Vec<String> {
        let found = doubts().into_iter().find(|doubt| doubt.claim.contains(words));
        found.map(|doubt| doubt.places).unwrap_or_default()
    }

    #[test]
    fn what_a_reader_sees_is_found() {
        assert_eq!(places("main text").len(), 8, "both methods in all four tasks");
        assert!(
            places("point moved")
                .contains(&"CPSS on merge-v0 under high: 19.8 m, collision rate 0.0198".to_owned())
        );
        assert_eq!(places("share of episodes").len(), 2);
        assert_eq!(
            places("median"),
            [
                "proximity risk of CPSS on intersection-v0 under average: 0.297",
                "minimum distance of CPSS on merge-v0 under mild: 0.124"
            ]
        );
        assert_eq!(places("different units"), ["in 29 of 32 cells"]);
    }

    #[test]
    fn what_fits_is_not_a_doubt() {
        // The DQN's risks well below 1 could spread as printed.
        assert_eq!(places("share near 1").len(), 10);
        assert!(
            places("share near 1").iter().all(|place| place.starts_with("proximity risk of DQN"))
        );
        assert!(!places("median").iter().any(|place| place.contains("collision")));
    }

    #[test]
    fn digits_ignore_the_point() {
        assert_eq!((digits(19.8), digits(0.0198)), ("198".to_owned(), "198".to_owned()));
        assert_ne!(digits(19.8), digits(0.0189));
    }
}
