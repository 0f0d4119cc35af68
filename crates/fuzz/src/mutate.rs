//! How is a good file damaged?
//!
//! [`Mutator::next`] takes a seed and damages it a few times: bits and bytes, pieces that go, come twice or from another
//! seed, numbers in the text, deep nesting, and an early end. A [`Format`] says what is put right again afterwards, so that
//! the damage comes further than the first check.

use cpss::trace::chain::Chain;

use crate::random::Random;

/// What a file is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Text: TOML or JSON.
    Text,
    /// Bytes without a frame that could be put right.
    Bytes,
    /// `safetensors`: a length, a header in JSON, numbers. The length is put right, mostly.
    Tensors,
    /// Lines of JSON, each with a hash of all before it. The hashes are made anew, mostly.
    Trace,
}

/// Numbers that readers stumble over.
const NUMBERS: [&str; 24] = [
    "0",
    "-1",
    "1",
    "2",
    "255",
    "65536",
    "16384",
    "16385",
    "1000000",
    "4294967295",
    "4294967296",
    "9223372036854775807",
    "9223372036854775808",
    "18446744073709551615",
    "1e308",
    "1e309",
    "-1e309",
    "1e-320",
    "0.5",
    "-0.0",
    "nan",
    "inf",
    "\"nan\"",
    "1_0",
];

/// Pieces of text that are a structure somewhere.
const PIECES: [&str; 16] = [
    "[", "]", "{", "}", "\"", ",", ":", "\n", "=", "[[a]]", "null", "true", "\\u0000", "\u{feff}",
    "[]", "{}",
];

/// The most that an input may be \[bytes\]. Longer ones only take longer.
const MOST: usize = 1 << 20;

/// Damages seeds.
pub struct Mutator {
    format: Format,
    random: Random,
}

impl Mutator {
    /// A mutator whose damage follows from the seed.
    pub fn new(format: Format, seed: u64) -> Mutator {
        Mutator { format, random: Random::new(seed) }
    }

    /// A damaged file, of some seeds, of which there is at least one.
    pub fn next(&mut self, seeds: &[Vec<u8>]) -> Vec<u8> {
        let seed = seeds[self.random.below(seeds.len())].clone();
        let other = &seeds[self.random.below(seeds.len())];
        match self.format {
            Format::Tensors => self.tensors(seed, other),
            Format::Trace => self.trace(&seed, other),
            Format::Text | Format::Bytes => self.several(seed, other),
        }
    }

    /// Damages the header and the numbers apart, and says the header's new length.
    fn tensors(&mut self, seed: Vec<u8>, other: &[u8]) -> Vec<u8> {
        if self.random.below(8) == 0 {
            return self.several(seed, other);
        }
        let (header, numbers) = split_tensors(&seed);
        let (mut header, mut numbers) = (header.to_vec(), numbers.to_vec());
        match self.random.below(4) {
            0 => numbers = self.several(numbers, split_tensors(other).1),
            _ => header = self.several(header, split_tensors(other).0),
        }
        let length = (header.len() as u64).to_le_bytes();
        [&length[..], &header, &numbers].concat()
    }

    /// Damages lines, and mostly makes the hashes anew.
    fn trace(&mut self, seed: &[u8], other: &[u8]) -> Vec<u8> {
        let body = |line: &str| {
            line.rsplit_once(",\"h\":").map_or(line.to_owned(), |(body, _)| format!("{body}}}"))
        };
        let text = String::from_utf8_lossy(seed).into_owned();
        let mut lines: Vec<String> = text.lines().map(body).collect();
        let place = self.random.below(lines.len());
        match (self.random.below(6), lines.is_empty()) {
            (_, true) => {}
            (0, _) => drop(lines.remove(place)),
            (1, _) => lines.insert(place, lines[place].clone()),
            _ => {
                let others = String::from_utf8_lossy(other).into_owned();
                let donor = others.lines().nth(place).map(body).unwrap_or_default();
                let line = std::mem::take(&mut lines[place]).into_bytes();
                let damaged = self.several(line, donor.as_bytes());
                lines[place] = String::from_utf8_lossy(&damaged).replace('\n', " ");
            }
        }
        if self.random.below(8) == 0 {
            return (lines.join("\n") + "\n").into_bytes();
        }
        let (mut chain, mut sealed) = (Chain::default(), String::new());
        for (number, line) in lines.iter().enumerate() {
            sealed += &(chain.seal(line, number + 1 == lines.len()) + "\n");
        }
        sealed.into_bytes()
    }

    /// Damages something once, or a few times.
    fn several(&mut self, mut bytes: Vec<u8>, other: &[u8]) -> Vec<u8> {
        for _ in 0..=self.random.below(3) {
            self.damage(&mut bytes, other);
        }
        bytes.truncate(MOST);
        bytes
    }

    fn damage(&mut self, bytes: &mut Vec<u8>, other: &[u8]) {
        let at = self.random.below(bytes.len() + 1);
        let end = (at + 1 + self.random.below(32)).min(bytes.len());
        let binary = self.format == Format::Bytes;
        match self.random.below(if binary { 7 } else { 11 }) {
            0 if at < bytes.len() => bytes[at] ^= 1 << self.random.below(8),
            1 if at < bytes.len() => bytes[at] = [0, 1, 0x7f, 0x80, 0xff][self.random.below(5)],
            2 => drop(bytes.drain(at.min(end)..end)),
            3 => {
                let piece = bytes[at.min(end)..end].to_vec();
                bytes.splice(at..at, piece);
            }
            4 => bytes.truncate(at),
            5 => {
                let from = self.random.below(other.len() + 1);
                let to = (from + self.random.below(64)).min(other.len());
                bytes.splice(at.min(end)..end, other[from..to].iter().copied());
            }
            6 => {
                let number = self.random.bits().to_le_bytes();
                bytes.splice(at.min(end)..end.min(at + 8).max(at.min(end)), number);
            }
            7 => self.nest(bytes, at),
            8 => {
                let piece = self.random.one_of(&PIECES);
                bytes.splice(at..at, piece.bytes());
            }
            _ => self.numbers(bytes, at),
        }
    }

    /// Puts another number in the place of some that stand in the text, one after the other: sizes that are wrong
    /// together come further than one alone.
    fn numbers(&mut self, bytes: &mut Vec<u8>, mut from: usize) {
        let number = self.random.one_of(&NUMBERS);
        let of_number = |byte: &u8| byte.is_ascii_digit() || b".eE-+_".contains(byte);
        for _ in 0..=[0, 0, 0, 1, 2, 4][self.random.below(6)] {
            let Some(start) = bytes[from..].iter().position(u8::is_ascii_digit) else { return };
            let start = from + start;
            let length = bytes[start..].iter().position(|byte| !of_number(byte));
            let end = length.map_or(bytes.len(), |length| start + length);
            bytes.splice(start..end, number.bytes());
            from = start + number.len();
        }
    }

    /// Opens something very often.
    fn nest(&mut self, bytes: &mut Vec<u8>, at: usize) {
        let (open, times) =
            (self.random.one_of(&["[", "{\"a\":", "(", "a."]), self.random.below(4_000));
        bytes.splice(at..at, open.repeat(times).bytes());
    }
}

/// The header and the numbers of a `safetensors` file, as far as it is one.
fn split_tensors(bytes: &[u8]) -> (&[u8], &[u8]) {
    let Some((length, rest)) = bytes.split_first_chunk::<8>() else { return (bytes, &[]) };
    let length = usize::try_from(u64::from_le_bytes(*length)).unwrap_or(usize::MAX);
    rest.split_at(length.min(rest.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_seed_gives_the_same_damage_and_another_does_not() {
        let seeds = vec![b"budget = 0.01\nhorizon = 20\n".to_vec()];
        let run = |seed| {
            let mut mutator = Mutator::new(Format::Text, seed);
            (0..200).map(|_| mutator.next(&seeds)).collect::<Vec<_>>()
        };
        assert_eq!(run(1), run(1));
        assert_ne!(run(1), run(2));
        let unlike = run(1).into_iter().filter(|damaged| *damaged != seeds[0]).count();
        assert!(unlike > 180, "{unlike}");
    }

    #[test]
    fn nothing_at_all_can_be_damaged_too() {
        for format in [Format::Text, Format::Bytes, Format::Tensors, Format::Trace] {
            let mut mutator = Mutator::new(format, 3);
            for _ in 0..2_000 {
                mutator.next(&[Vec::new()]);
            }
        }
    }
}
