//! How does a trace become a file that robotics tools open?
//!
//! [`mcap`] writes a trace as MCAP, which Foxglove and Rerun read: the scene as Foxglove's own `SceneUpdate`, every
//! decision and the certificate as messages with JSON schemas, and the trace itself as an attachment, byte for byte, so
//! that whoever has the file can audit it.
//!
//! | channel | schema | when |
//! |---|---|---|
//! | `/road` | `foxglove.SceneUpdate` | once: lanes and obstacles |
//! | `/scene` | `foxglove.SceneUpdate` | every decision: the cars, the ego in green, wrecks in red |
//! | `/decision` | `cpss.Decision` | every decision: what the shield was told and what it answered |
//! | `/certificate` | `cpss.Certificate` | at the end |
//!
//! **Invariants:** time begins at 0 and is the episode's own; the same trace gives the same bytes. highway-env's `y` points
//! to the right of the road's direction: it is turned around here, so that right is right on a screen.

use std::collections::BTreeMap;
use std::io::Cursor;
use std::mem::discriminant;

use anyhow::{Context, Result};
use mcap::records::MessageHeader;
use mcap::{Attachment, WriteOptions, Writer};
use serde_json::{Value, json};

use super::audit::Report;
use super::format::{End, Header, Step, read_line};
use crate::record::pose::Pose;

mod scene;
mod schema;

/// Writes a trace as MCAP, with what its audit found.
///
/// # Errors
///
/// Lines that are none of a trace.
pub(crate) fn mcap(trace: &[u8], name: &str, found: &Report) -> Result<Vec<u8>> {
    let text = std::str::from_utf8(trace).context("a trace is text")?;
    let mut lines = text.lines();
    let header: Header = read_line(lines.next().context("the trace is empty")?)?;
    let mut film = Film::begin(&header)?;
    let mut last = None;
    for line in lines {
        match line.starts_with("{\"end\":") {
            true => last = Some(read_line::<End>(line)?),
            false => film.step(&header, &read_line::<Step>(line)?)?,
        }
    }
    film.end(&header, &last.context("the trace has no end")?, found)?;
    film.close(&header, trace, name)
}

/// An MCAP while it is written.
struct Film {
    writer: Writer<Cursor<Vec<u8>>>,
    channels: [u16; 3],
    decisions: u64,
}

/// The places of the channels.
const ROAD: usize = 0;
const SCENE: usize = 1;
const DECISION: usize = 2;

impl Film {
    fn begin(header: &Header) -> Result<Film> {
        let options = WriteOptions::new().compression(None).profile("").library("cpss");
        let mut writer = options.create(Cursor::new(Vec::new()))?;
        let scenes = ("foxglove.SceneUpdate", schema::scene_update());
        let channels = [
            ("/road", scenes.clone()),
            ("/scene", scenes),
            ("/decision", ("cpss.Decision", schema::decision())),
        ];
        let mut ids = [0; 3];
        for (id, (topic, (name, schema))) in ids.iter_mut().zip(channels) {
            *id = add_channel(&mut writer, topic, name, &schema)?;
        }
        let mut film = Film { writer, channels: ids, decisions: 0 };
        film.write(film.channels[ROAD], 0, &scene::road(header))?;
        Ok(film)
    }

    fn step(&mut self, header: &Header, step: &Step) -> Result<()> {
        let time = nanoseconds(header, self.decisions);
        self.cars(header, time, &step.scene)?;
        let action = |place: usize| header.actions.get(place).cloned().unwrap_or_default();
        let mut message = serde_json::to_value(step)?;
        if let Some(fields) = message.as_object_mut() {
            // The scene is on a channel of its own, and short names are spelled out.
            fields.remove("scene");
            fields.insert("timestamp".to_owned(), stamp(time));
            fields.insert("proposed_action".to_owned(), json!(action(step.proposal)));
            fields.insert("executed_action".to_owned(), json!(action(step.ran)));
            fields.insert("threshold".to_owned(), serde_json::to_value(step.tau.0)?);
            fields.insert("spent".to_owned(), serde_json::to_value(step.ledger.1)?);
            fields.insert("remaining".to_owned(), serde_json::to_value(step.ledger.2)?);
            // A word among numbers could not be plotted, and no schema would fit both.
            fields
                .retain(|name, value| !schema::EXACT.contains(&name.as_str()) || is_numeric(value));
        }
        self.decisions += 1;
        self.write(self.channels[DECISION], time, &message)
    }

    fn end(&mut self, header: &Header, end: &End, found: &Report) -> Result<()> {
        let time = nanoseconds(header, self.decisions);
        self.cars(header, time, &end.scene)?;
        let mut message = json!({
            "timestamp": stamp(time),
            "budget": header.shield.budget,
            "incident": end.record.failed(),
            // Left out where nothing is promised.
            "promise": found.promise,
            "budget_kept": found.budget_kept,
            "account": found.account,
            // What the trace's last line vouches for all of it with.
            "chain_end": found.chain_end,
            "certificate": end.certificate,
            "record": end.record,
        });
        drop_untyped(&mut message);
        let schema = schema::certificate(&message);
        let channel = add_channel(&mut self.writer, "/certificate", "cpss.Certificate", &schema)?;
        self.write(channel, time, &message)
    }

    fn close(mut self, header: &Header, trace: &[u8], name: &str) -> Result<Vec<u8>> {
        let entries = [
            ("task", header.task.clone()),
            ("regime", header.regime.clone()),
            ("arm", header.arm.clone()),
            ("policy", header.policy.clone()),
            ("seed", header.seed.to_string()),
            ("program", header.program.clone()),
            ("critic_sha256", header.risk.sha256.clone()),
        ];
        let metadata = entries.map(|(key, value)| (key.to_owned(), value)).into();
        self.writer
            .write_metadata(&mcap::records::Metadata { name: "cpss".to_owned(), metadata })?;
        self.writer.attach(&Attachment {
            log_time: 0,
            create_time: 0,
            name: name.to_owned(),
            media_type: "application/x-ndjson".to_owned(),
            data: trace.into(),
        })?;
        self.writer.finish()?;
        Ok(self.writer.into_inner().into_inner())
    }

    fn cars(&mut self, header: &Header, time: u64, scene: &[Pose]) -> Result<()> {
        self.write(self.channels[SCENE], time, &scene::cars(header, stamp(time), scene))
    }

    fn write(&mut self, channel_id: u16, time: u64, message: &Value) -> Result<()> {
        let header = MessageHeader {
            channel_id,
            sequence: u32::try_from(self.decisions).unwrap_or(u32::MAX),
            log_time: time,
            publish_time: time,
        };
        Ok(self.writer.write_to_known_channel(&header, message.to_string().as_bytes())?)
    }
}

fn add_channel(
    writer: &mut Writer<Cursor<Vec<u8>>>,
    topic: &str,
    name: &str,
    schema: &Value,
) -> Result<u16> {
    let schema = writer.add_schema(name, "jsonschema", schema.to_string().as_bytes())?;
    Ok(writer.add_channel(schema, topic, "json", &BTreeMap::new())?)
}

fn is_numeric(value: &Value) -> bool {
    value.is_number() || value.as_array().is_some_and(|list| list.iter().all(Value::is_number))
}

/// Leaves out what no schema has one type for: fields without a value, and lists of words and numbers.
fn drop_untyped(value: &mut Value) {
    let typed = |value: &Value| match value {
        Value::Null => false,
        Value::Array(items) => {
            items.windows(2).all(|pair| discriminant(&pair[0]) == discriminant(&pair[1]))
        }
        _ => true,
    };
    if let Value::Object(fields) = value {
        fields.retain(|_, value| typed(value));
        fields.values_mut().for_each(drop_untyped);
    }
}

/// When a decision is taken, from the start of the episode \[ns\].
fn nanoseconds(header: &Header, decision: u64) -> u64 {
    (decision as f64 * header.decision_time * 1e9).round() as u64
}

/// A time as Foxglove writes it.
fn stamp(time: u64) -> Value {
    json!({ "sec": time / 1_000_000_000, "nsec": time % 1_000_000_000 })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_has_no_single_type_is_left_out() {
        let mut message =
            json!({ "a": null, "b": { "c": [1.0, "inf"], "d": [1.0, 2.0], "e": "inf" }, "f": [] });
        drop_untyped(&mut message);
        assert_eq!(message, json!({ "b": { "d": [1.0, 2.0], "e": "inf" }, "f": [] }));
        assert!(is_numeric(&json!(1.0)) && is_numeric(&json!([0.5, 1])));
        assert!(!is_numeric(&json!("nan")) && !is_numeric(&json!([0.5, "inf"])));
    }
}
