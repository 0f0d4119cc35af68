//! How sure is a number?
//!
//! Wilson intervals for rates, percentile bootstrap for everything else, mean and standard
//! deviation over training seeds. The bootstrap's randomness is an argument, so a table is the
//! same every time it is made.

use cpss_highway::random::Generator;

/// The 97.5 % point of the standard normal distribution.
const Z: f64 = 1.959_963_984_540_054;
/// Resamples of a bootstrap.
const RESAMPLES: usize = 2000;

/// Mean of some values; zero of none.
pub fn mean(values: &[f64]) -> f64 {
    if values.is_empty() { 0.0 } else { values.iter().sum::<f64>() / values.len() as f64 }
}

/// Standard deviation of a sample; zero of fewer than two values.
pub fn standard_deviation(values: &[f64]) -> f64 {
    if values.len() < 2 {
        return 0.0;
    }
    let center = mean(values);
    let squares: f64 = values.iter().map(|value| (value - center).powi(2)).sum();
    (squares / (values.len() - 1) as f64).sqrt()
}

/// Wilson's 95 % interval of a rate.
///
/// ```
/// let [low, high] = cpss::statistics::wilson(0, 100);
/// assert!(low == 0.0 && (high - 0.037).abs() < 0.0005);
/// ```
pub fn wilson(successes: u64, trials: u64) -> [f64; 2] {
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

/// The percentile bootstrap's 95 % interval of a mean; the value itself where there is only one.
pub fn bootstrap_mean(values: &[f64], random: &mut Generator) -> [f64; 2] {
    if values.len() < 2 {
        return [mean(values); 2];
    }
    let mut means: Vec<f64> = (0..RESAMPLES)
        .map(|_| {
            let drawn = (0..values.len()).map(|_| values[random.choice(values.len())]);
            drawn.sum::<f64>() / values.len() as f64
        })
        .collect();
    means.sort_by(f64::total_cmp);
    let at = |share: f64| means[((RESAMPLES - 1) as f64 * share).round() as usize];
    [at(0.025), at(0.975)]
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
        assert_eq!(wilson(20, 20)[1], 1.0);
        assert_eq!(wilson(0, 0), [0.0, 1.0]);
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
    fn the_bootstrap_surrounds_the_mean_and_shrinks_with_more_values() {
        let mut random = Generator::seeded(1);
        let few: Vec<f64> = (0..20).map(|_| random.standard_normal()).collect();
        let many: Vec<f64> = (0..2000).map(|_| random.standard_normal()).collect();
        let width = |[low, high]: [f64; 2]| high - low;
        let narrow = bootstrap_mean(&many, &mut Generator::seeded(2));
        assert!(narrow[0] < mean(&many) && mean(&many) < narrow[1]);
        // The theory says 2 z / sqrt(n) for unit deviation.
        assert!((width(narrow) - 2.0 * Z / 2000.0_f64.sqrt()).abs() < 0.01);
        assert!(width(bootstrap_mean(&few, &mut Generator::seeded(2))) > width(narrow));
        assert_eq!(narrow, bootstrap_mean(&many, &mut Generator::seeded(2)), "same every time");
    }
}
