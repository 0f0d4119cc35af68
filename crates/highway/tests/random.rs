//! Contract: for any seed and order of calls, the generator draws NumPy's numbers, bit for bit.
//!
//! `golden/random.txt` was drawn by NumPy itself (`scripts/random_golden.py`): one line per call,
//! the seed, which call it was, and every number it gave as a hexadecimal float.

#![allow(clippy::unwrap_used, reason = "a test may stop at the first surprise")]

use cpss_highway::random::Generator;

#[test]
fn every_call_gives_numpys_bits() {
    let golden = include_str!("golden/random.txt");
    let mut current = None;
    let mut checked = 0;
    for line in golden.lines() {
        let mut words = line.split(' ');
        let seed: u64 = words.next().unwrap().parse().unwrap();
        let call: u32 = words.next().unwrap().parse().unwrap();
        let expected: Vec<u64> = words.map(|word| parse_hex_float(word).to_bits()).collect();
        let generator = match &mut current {
            Some((of, generator)) if *of == seed => generator,
            slot => &mut slot.insert((seed, Generator::seeded(seed))).1,
        };
        let drawn: Vec<u64> = draw(generator, call).into_iter().map(f64::to_bits).collect();
        assert_eq!(drawn, expected, "seed {seed}, call {call}");
        checked += 1;
    }
    assert!(checked > 1000);
}

#[test]
fn another_seed_draws_other_numbers() {
    assert_ne!(Generator::seeded(1).random(), Generator::seeded(2).random());
}

fn draw(generator: &mut Generator, call: u32) -> Vec<f64> {
    match call {
        0 => vec![generator.random()],
        1 => vec![generator.uniform(-5.0, 7.5)],
        2 => vec![generator.normal(1.0)],
        3 => vec![f64::from(generator.integers(1, 4))],
        4 => vec![generator.choice(5) as f64],
        5 => generator.choose_two(4).map(f64::from).to_vec(),
        6 => {
            let mut rows: Vec<f64> = (0..14).map(f64::from).collect();
            generator.shuffle_rows(&mut rows, 2);
            rows.chunks(2).map(|row| row[0]).collect()
        }
        _ => vec![generator.standard_normal()],
    }
}

/// Reads Python's `float.hex()` form.
fn parse_hex_float(text: &str) -> f64 {
    let (sign, rest) = text.strip_prefix('-').map_or((1.0, text), |rest| (-1.0, rest));
    let (mantissa, exponent) = rest.trim_start_matches("0x").split_once('p').unwrap();
    let (whole, fraction) = mantissa.split_once('.').unwrap();
    let digits = u64::from_str_radix(&format!("{whole}{fraction}"), 16).unwrap();
    let exponent: i32 = exponent.parse().unwrap();
    sign * digits as f64 * 2f64.powi(exponent - 4 * fraction.len() as i32)
}
