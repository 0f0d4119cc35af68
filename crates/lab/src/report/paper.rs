//! What did the paper report?
//!
//! The numbers of its tables, to stand beside ours and never among them. By task in the order of
//! [`TASKS`], then by regime: stationary, mild, average, high. The places where the tables disagree
//! with each other are found by [`doubts`].

mod doubts;

pub(crate) use doubts::doubts;

/// The tasks, as the paper names them.
pub(crate) const TASKS: [&str; 4] = ["merge-v0", "highway-v0", "intersection-v0", "racetrack-v0"];

/// The regimes, as the paper names them.
pub(crate) const REGIMES: [&str; 4] = ["stationary", "mild", "average", "high"];

/// One method's numbers: task by regime.
pub(crate) type ByRegime = [[f64; 4]; 4];

/// Collision rate of the DQN (appendix, table of collision rates).
pub(crate) const COLLISION_DQN: ByRegime = [
    [0.1000, 0.1231, 0.1992, 0.0254],
    [0.0500, 0.0930, 0.0990, 0.1000],
    [0.0800, 0.0418, 0.0438, 0.0144],
    [0.0700, 0.0400, 0.0483, 0.1867],
];

/// Collision rate of the paper's CPSS.
pub(crate) const COLLISION_CPSS: ByRegime = [
    [0.0005, 0.0084, 0.0191, 0.0198],
    [0.0020, 0.0013, 0.0075, 0.0095],
    [0.0015, 0.0019, 0.0197, 0.0061],
    [0.0020, 0.0022, 0.0039, 0.0045],
];

/// Proximity risk of the DQN.
pub(crate) const PROXIMITY_DQN: ByRegime = [
    [0.880, 0.900, 1.000, 1.000],
    [0.871, 0.963, 1.000, 1.000],
    [0.712, 0.8118, 1.000, 1.000],
    [0.991, 1.000, 1.000, 1.000],
];

/// Proximity risk of the paper's CPSS.
pub(crate) const PROXIMITY_CPSS: ByRegime = [
    [0.0165, 0.0184, 0.0191, 0.0198],
    [0.0358, 0.0131, 0.0246, 0.0295],
    [0.0146, 0.0139, 0.297, 0.0311],
    [0.0256, 0.0218, 0.0392, 0.0453],
];

/// Minimum distance of the DQN.
pub(crate) const DISTANCE_DQN: ByRegime = [
    [11.08, 12.31, 19.92, 25.41],
    [12.00, 19.63, 13.73, 13.88],
    [7.12, 21.18, 28.38, 6.38],
    [4.99, 5.43, 14.83, 5.57],
];

/// Minimum distance of the paper's CPSS.
pub(crate) const DISTANCE_CPSS: ByRegime = [
    [10.50, 0.124, 19.10, 19.80],
    [11.80, 15.10, 12.46, 11.50],
    [8.15, 13.90, 26.30, 4.11],
    [3.26, 2.18, 3.92, 4.53],
];

/// Collision rate of the DQN in each task, mean over regimes, as the paper's summary has it.
pub(crate) const SUMMARY_DQN: [f64; 4] = [0.1119, 0.0855, 0.0450, 0.0863];

/// The same of CPSS.
pub(crate) const SUMMARY_CPSS: [f64; 4] = [0.0120, 0.0051, 0.0073, 0.0032];

/// Collision rate of the DQN, mean over tasks and regimes, as the paper's abstract has it.
pub(crate) const MEAN_DQN: f64 = 0.0822;

/// The same of CPSS.
pub(crate) const MEAN_CPSS: f64 = 0.0069;

/// The regime whose column the main text's minimum distances are, though it says "average".
pub(crate) const MAIN_TEXT_DISTANCE_COLUMN: usize = 3;

/// Minimum distance under "average" in the main text, by task: DQN, CPSS.
pub(crate) const MAIN_DISTANCE: [[f64; 2]; 4] =
    [[25.41, 19.80], [13.88, 11.50], [6.38, 4.11], [5.57, 4.53]];

/// What stands behind the ± of the summary, "standard deviation across regimes": DQN, then CPSS.
pub(crate) const SUMMARY_SPREAD: [[f64; 4]; 2] =
    [[0.0616, 0.0205, 0.0232, 0.0672], [0.0086, 0.0036, 0.0075, 0.0010]];

/// What stands behind the ± of the appendix: of collision rate, proximity risk and minimum distance,
/// each for the DQN, then CPSS.
pub(crate) const SPREADS: [[ByRegime; 2]; 3] = [
    [
        [
            [0.041, 0.046, 0.049, 0.083],
            [0.050, 0.040, 0.050, 0.046],
            [0.087, 0.091, 0.096, 0.145],
            [0.171, 0.182, 0.172, 0.185],
        ],
        [
            [0.009, 0.008, 0.009, 0.007],
            [0.005, 0.005, 0.007, 0.010],
            [0.052, 0.0006, 0.005, 0.010],
            [0.008, 0.0009, 0.012, 0.015],
        ],
    ],
    [SPREAD_DQN, SPREAD_CPSS],
    [SPREAD_DQN, SPREAD_CPSS],
];

/// The same in two tables.
const SPREAD_DQN: ByRegime = [
    [0.041, 0.046, 0.049, 0.083],
    [0.035, 0.040, 0.050, 0.046],
    [0.087, 0.091, 0.096, 0.145],
    [0.171, 0.182, 0.172, 0.185],
];

/// The same in two tables.
const SPREAD_CPSS: ByRegime = [
    [0.009, 0.008, 0.009, 0.007],
    [0.005, 0.005, 0.007, 0.010],
    [0.052, 0.006, 0.005, 0.010],
    [0.008, 0.009, 0.012, 0.015],
];

/// The paper's row of a task, if it has one.
pub(crate) fn row(task: &str) -> Option<usize> {
    TASKS.iter().position(|known| *known == task)
}

/// The paper's column of a regime, if it has one.
pub(crate) fn column(regime: &str) -> Option<usize> {
    REGIMES.iter().position(|known| *known == regime)
}

/// Those of some tasks that the paper has too, or all of them if it has none: what may stand beside its means.
pub(crate) fn shared<'a>(tasks: &[&'a str]) -> Vec<&'a str> {
    let shared: Vec<&str> = tasks.iter().copied().filter(|task| TASKS.contains(task)).collect();
    if shared.is_empty() { tasks.to_vec() } else { shared }
}

/// Mean over the regimes of one task's numbers.
pub(crate) fn mean_over_regimes(numbers: &ByRegime, task: usize) -> f64 {
    numbers[task].iter().sum::<f64>() / 4.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_means_are_those_of_the_papers_summary() {
        // To the four digits of the paper's own summary.
        for (numbers, summary) in [(&COLLISION_DQN, SUMMARY_DQN), (&COLLISION_CPSS, SUMMARY_CPSS)] {
            for (task, mean) in summary.into_iter().enumerate() {
                assert!((mean_over_regimes(numbers, task) - mean).abs() < 6e-5);
            }
        }
        let mean = |summary: [f64; 4]| summary.iter().sum::<f64>() / 4.0;
        assert!((mean(SUMMARY_DQN) - MEAN_DQN).abs() < 6e-5);
        assert!((mean(SUMMARY_CPSS) - MEAN_CPSS).abs() < 6e-5);
    }
}
