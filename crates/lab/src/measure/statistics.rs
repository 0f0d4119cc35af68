//! How sure is a number?
//!
//! Wilson intervals for rates, percentiles for bootstraps, mean and standard deviation over
//! training seeds. What is resampled, and how, is in [`estimate`](super::estimate).

/// The 97.5 % point of the standard normal distribution.
const Z: f64 = 1.959_963_984_540_054;

/// Mean of some values; zero of none.
pub(crate) fn mean(values: &[f64]) -> f64 {
    if values.is_empty() { 0.0 } else { values.iter().sum::<f64>() / values.len() as f64 }
}

/// Standard deviation of a sample; zero of fewer than two values.
pub(crate) fn standard_deviation(values: &[f64]) -> f64 {
    if values.len() < 2 {
        return 0.0;
    }
    let center = mean(values);
    let squares: f64 = values.iter().map(|value| (value - center).powi(2)).sum();
    (squares / (values.len() - 1) as f64).sqrt()
}

/// Wilson's 95 % interval of a rate.
pub(crate) fn wilson(successes: u64, trials: u64) -> [f64; 2] {
    if trials == 0 {
        return [0.0, 1.0];
    }
    let n = trials as f64;
    let rate = successes as f64 / n;
    let center = rate + Z * Z / (2.0 * n);
    let half = Z * (rate * (1.0 - rate) / n + Z * Z / (4.0 * n * n)).sqrt();
    let scale = 1.0 + Z * Z / n;
    // Exact at the ends, where rounding would leave a crumb.
    let low = if successes == 0 { 0.0 } else { ((center - half) / scale).max(0.0) };
    let high = if successes == trials { 1.0 } else { ((center + half) / scale).min(1.0) };
    [low, high]
}

/// An upper bound of a rate that is too small with at most this chance (Clopper and Pearson, one-sided).
pub(crate) fn upper_bound(successes: u64, trials: u64, chance: f64) -> f64 {
    if successes >= trials {
        return 1.0;
    }
    // The chance of so few successes falls as the rate grows: where it has fallen to `chance` is the bound.
    let [mut low, mut high] = [successes as f64 / trials as f64, 1.0];
    for _ in 0..60 {
        let middle = 0.5 * (low + high);
        match at_most(successes, trials, middle) > chance {
            true => low = middle,
            false => high = middle,
        }
    }
    high
}

/// The chance of at most so many successes at a rate strictly between 0 and 1.
fn at_most(successes: u64, trials: u64, rate: f64) -> f64 {
    let odds = (rate / (1.0 - rate)).ln();
    let mut term = trials as f64 * (-rate).ln_1p();
    let mut sum = term.exp();
    for k in 0..successes {
        term += ((trials - k) as f64 / (k + 1) as f64).ln() + odds;
        sum += term.exp();
    }
    sum
}

/// The 2.5 % and 97.5 % points of some values, which are sorted on the way; zero of none.
pub(crate) fn percentiles(values: &mut [f64]) -> [f64; 2] {
    values.sort_by(f64::total_cmp);
    let Some(last) = values.len().checked_sub(1) else { return [0.0; 2] };
    [0.025, 0.975].map(|share| values[(last as f64 * share).round() as usize])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wilson_agrees_with_known_cases() {
        // Newcombe (1998), table I: 81 of 263 and 15 of 148.
        for (successes, trials, low, high) in
            [(81, 263, 0.2553, 0.3662), (15, 148, 0.0624, 0.1605), (0, 20, 0.0, 0.1611)]
        {
            let [found_low, found_high] = wilson(successes, trials);
            assert!((found_low - low).abs() < 5e-5, "{found_low}");
            assert!((found_high - high).abs() < 5e-5, "{found_high}");
        }
        let [low, high] = wilson(0, 100);
        assert!(low == 0.0 && (high - 0.037).abs() < 0.0005);
        assert_eq!(wilson(20, 20)[1], 1.0);
        assert_eq!(wilson(0, 0), [0.0, 1.0]);
    }

    #[test]
    fn upper_bounds_agree_with_known_cases() {
        // None of 300: 3 / n, the rule of three; and tabulated values of Clopper and Pearson.
        assert!((upper_bound(0, 300, 0.05) - 0.009936).abs() < 1e-5);
        assert!((upper_bound(5, 50, 0.025) - 0.2181).abs() < 5e-5);
        assert!((upper_bound(100, 1_000, 0.025) - 0.1203).abs() < 5e-5);
        assert_eq!((upper_bound(7, 7, 0.01), upper_bound(0, 0, 0.01)), (1.0, 1.0));
        assert!(upper_bound(600, 1_200, 1e-4) > 0.5);
    }

    #[test]
    fn deviation_is_the_samples() {
        assert_eq!(
            standard_deviation(&[2.0, 4.0, 4.0, 4.0, 5.0, 5.0, 7.0, 9.0]),
            (32.0_f64 / 7.0).sqrt()
        );
        assert_eq!(standard_deviation(&[3.0]), 0.0);
    }

    #[test]
    fn percentiles_cut_a_fortieth_off_each_end() {
        let mut values: Vec<f64> = (0..=1000).rev().map(f64::from).collect();
        assert_eq!(percentiles(&mut values), [25.0, 975.0]);
        assert_eq!(percentiles(&mut [7.0]), [7.0, 7.0]);
        assert_eq!(percentiles(&mut []), [0.0, 0.0]);
    }
}
