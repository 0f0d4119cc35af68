//! How does a training run show up in TensorBoard?
//!
//! [`EventWriter`] writes TensorBoard's event file: a stream of records, each framed by its length
//! and two checksums, each an `Event` message in protobuf. Only the few fields that a scalar needs are
//! written, so the encoding is spelt out here instead of generated.
//!
//! ```text
//!   record   u64 length | u32 crc(length) | message | u32 crc(message)
//!   Event    1: wall_time f64   2: step i64   3: file_version string   5: summary
//!   Summary  1: repeated value { 1: tag string   2: simple_value f32 }
//! ```
//!
//! TensorBoard finds a file by its name: it must contain `tfevents`.
//!
//! **Absent on purpose:** a clock. The caller says when an event happened.

use std::io::{self, Write};

use crate::progress::Progress;

/// Writes scalars as TensorBoard reads them.
#[derive(Debug)]
pub struct EventWriter<W> {
    out: W,
}

impl<W: Write> EventWriter<W> {
    /// Starts a stream at `wall_time` \[s since 1970\] by writing the record that names the format.
    ///
    /// # Errors
    ///
    /// Whatever `out` reports.
    pub fn new(out: W, wall_time: f64) -> io::Result<EventWriter<W>> {
        let mut writer = EventWriter { out };
        let mut event = Vec::new();
        put_f64(&mut event, 1, wall_time);
        put_bytes(&mut event, 3, b"brain.Event:2");
        writer.record(&event)?;
        Ok(writer)
    }

    /// Writes several scalars of one step as one event.
    ///
    /// # Errors
    ///
    /// Whatever the stream reports.
    pub fn scalars(
        &mut self,
        wall_time: f64,
        step: u64,
        scalars: &[(&str, f32)],
    ) -> io::Result<()> {
        let mut summary = Vec::new();
        for (tag, value) in scalars {
            let mut entry = Vec::new();
            put_bytes(&mut entry, 1, tag.as_bytes());
            put_f32(&mut entry, 2, *value);
            put_bytes(&mut summary, 1, &entry);
        }
        let mut event = Vec::new();
        put_f64(&mut event, 1, wall_time);
        put_varint(&mut event, 2, step);
        put_bytes(&mut event, 5, &summary);
        self.record(&event)
    }

    /// Writes a run's progress under Stable-Baselines3's tags.
    ///
    /// # Errors
    ///
    /// Whatever the stream reports.
    pub fn progress(&mut self, wall_time: f64, progress: &Progress) -> io::Result<()> {
        let mut scalars = vec![
            ("rollout/ep_rew_mean", progress.return_mean as f32),
            ("rollout/ep_len_mean", progress.length_mean as f32),
            ("rollout/incident_rate", progress.incident_rate as f32),
            ("train/loss", progress.loss),
        ];
        let epsilon = progress.epsilon.map(|epsilon| ("rollout/exploration_rate", epsilon as f32));
        let price = progress.multiplier.map(|price| ("train/multiplier", price as f32));
        scalars.extend(epsilon.into_iter().chain(price));
        self.scalars(wall_time, progress.steps, &scalars)
    }

    /// Hands the stream back.
    pub fn into_inner(self) -> W {
        self.out
    }

    fn record(&mut self, message: &[u8]) -> io::Result<()> {
        let length = (message.len() as u64).to_le_bytes();
        self.out.write_all(&length)?;
        self.out.write_all(&masked_crc(&length).to_le_bytes())?;
        self.out.write_all(message)?;
        self.out.write_all(&masked_crc(message).to_le_bytes())
    }
}

/// Protobuf's wire types: how the value after a field's key is encoded.
const VARINT: u64 = 0;
const FIXED_64: u64 = 1;
const BYTES: u64 = 2;
const FIXED_32: u64 = 5;

fn put_raw_varint(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

fn put_varint(out: &mut Vec<u8>, field: u64, value: u64) {
    put_raw_varint(out, field << 3 | VARINT);
    put_raw_varint(out, value);
}

fn put_f64(out: &mut Vec<u8>, field: u64, value: f64) {
    put_raw_varint(out, field << 3 | FIXED_64);
    out.extend_from_slice(&value.to_le_bytes());
}

fn put_f32(out: &mut Vec<u8>, field: u64, value: f32) {
    put_raw_varint(out, field << 3 | FIXED_32);
    out.extend_from_slice(&value.to_le_bytes());
}

fn put_bytes(out: &mut Vec<u8>, field: u64, bytes: &[u8]) {
    put_raw_varint(out, field << 3 | BYTES);
    put_raw_varint(out, bytes.len() as u64);
    out.extend_from_slice(bytes);
}

/// The record format stores no plain checksum, so that a checksum of data that contains checksums
/// stays a good one.
fn masked_crc(bytes: &[u8]) -> u32 {
    crc32c(bytes).rotate_right(15).wrapping_add(0xA282_EAD8)
}

/// CRC-32C bit by bit: a few hundred bytes a second need no table.
fn crc32c(bytes: &[u8]) -> u32 {
    let mut crc = u32::MAX;
    for byte in bytes {
        crc ^= u32::from(*byte);
        for _ in 0..8 {
            let polynomial = if crc & 1 == 1 { 0x82F6_3B78 } else { 0 };
            crc = (crc >> 1) ^ polynomial;
        }
    }
    !crc
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checksum_of_the_standard_check_string() {
        assert_eq!(crc32c(b"123456789"), 0xE306_9283);
    }

    #[test]
    fn varints_match_the_protobuf_guide() {
        let mut out = Vec::new();
        put_varint(&mut out, 1, 150);
        assert_eq!(out, [0x08, 0x96, 0x01]);
    }

    #[test]
    fn records_read_back() {
        let mut writer = EventWriter::new(Vec::new(), 1.5).unwrap();
        writer.scalars(2.5, 300, &[("a/b", 0.25)]).unwrap();
        let file = writer.into_inner();
        let mut rest = file.as_slice();
        let mut messages = Vec::new();
        while !rest.is_empty() {
            let (length, after) = rest.split_at(8);
            let len = u64::from_le_bytes(length.try_into().unwrap()) as usize;
            assert_eq!(after[..4], masked_crc(length).to_le_bytes());
            let message = &after[4..4 + len];
            assert_eq!(after[4 + len..8 + len], masked_crc(message).to_le_bytes());
            messages.push(message.to_vec());
            rest = &after[8 + len..];
        }
        let mut first = vec![0x09];
        first.extend_from_slice(&1.5_f64.to_le_bytes());
        first.extend_from_slice(b"\x1a\x0dbrain.Event:2");
        let mut second = vec![0x09];
        second.extend_from_slice(&2.5_f64.to_le_bytes());
        // Step 300 is the varint AC 02; then summary, value, tag and the float.
        second.extend_from_slice(b"\x10\xac\x02\x2a\x0c\x0a\x0a\x0a\x03a/b\x15");
        second.extend_from_slice(&0.25_f32.to_le_bytes());
        assert_eq!(messages, [first, second]);
    }
}
