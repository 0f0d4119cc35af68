//! What do the messages look like, for a program that has never heard of us?
//!
//! JSON schemas. `foxglove.SceneUpdate` is Foxglove's, by name and by field, as far as it is used here.
//!
//! **Invariant:** Foxglove makes a type of each schema before it shows a message, and refuses the channel otherwise: every
//! field has one type by name, every object says its properties, and lists are of anything but lists. What may not be there
//! is not required.

use serde_json::{Map, Value, json};

/// An object of these properties, all of them required.
fn object(properties: &[(&str, Value)]) -> Value {
    let names: Vec<&str> = properties.iter().map(|(name, _)| *name).collect();
    let properties: Map<String, Value> =
        properties.iter().map(|(name, schema)| ((*name).to_owned(), schema.clone())).collect();
    json!({ "type": "object", "properties": properties, "required": names })
}

/// The same, with some that may be missing.
fn object_with(properties: &[(&str, Value)], optional: &[(&str, Value)]) -> Value {
    let mut object = object(properties);
    for (name, schema) in optional {
        object["properties"][*name] = schema.clone();
    }
    object
}

fn list(items: &Value) -> Value {
    json!({ "type": "array", "items": items })
}

fn numbers(names: &[&str]) -> Value {
    let number = json!({ "type": "number" });
    object(&names.iter().map(|name| (*name, number.clone())).collect::<Vec<_>>())
}

fn stamp() -> Value {
    let whole = json!({ "type": "integer", "minimum": 0 });
    object(&[("sec", whole.clone()), ("nsec", whole)])
}

fn titled(title: &str, mut schema: Value) -> Value {
    schema["title"] = json!(title);
    schema["$schema"] = json!("https://json-schema.org/draft/2020-12/schema");
    schema
}

pub(super) fn scene_update() -> Value {
    let text = json!({ "type": "string" });
    let whole = json!({ "type": "integer" });
    let number = json!({ "type": "number" });
    let truth = json!({ "type": "boolean" });
    let point = numbers(&["x", "y", "z"]);
    let color = numbers(&["r", "g", "b", "a"]);
    let pose =
        object(&[("position", point.clone()), ("orientation", numbers(&["x", "y", "z", "w"]))]);
    let cube = object(&[("pose", pose.clone()), ("size", point.clone()), ("color", color.clone())]);
    let line = object(&[
        ("type", whole.clone()),
        ("pose", pose),
        ("thickness", number),
        ("scale_invariant", truth.clone()),
        ("points", list(&point)),
        ("color", color.clone()),
        ("colors", list(&color)),
        ("indices", list(&whole)),
    ]);
    // Kinds of shapes that are never used here.
    let none = list(&object(&[]));
    let entity = object(&[
        ("timestamp", stamp()),
        ("frame_id", text.clone()),
        ("id", text.clone()),
        ("lifetime", stamp()),
        ("frame_locked", truth),
        ("metadata", list(&object(&[("key", text.clone()), ("value", text.clone())]))),
        ("arrows", none.clone()),
        ("cubes", list(&cube)),
        ("spheres", none.clone()),
        ("cylinders", none.clone()),
        ("lines", list(&line)),
        ("triangles", none.clone()),
        ("texts", none.clone()),
        ("models", none),
    ]);
    let deletion = object(&[("timestamp", stamp()), ("type", whole), ("id", text)]);
    titled(
        "foxglove.SceneUpdate",
        object(&[("deletions", list(&deletion)), ("entities", list(&entity))]),
    )
}

/// The numbers of a decision that may be none: see `record/exact.rs`. Such a field is not written.
pub(super) const EXACT: [&str; 8] =
    ["risks", "unavoidable", "costs", "density", "threshold", "charge", "spent", "remaining"];

pub(super) fn decision() -> Value {
    let whole = json!({ "type": "integer", "minimum": 0 });
    let text = json!({ "type": "string" });
    let number = json!({ "type": "number" });
    let exact = EXACT.map(|name| match name {
        "risks" | "costs" => (name, list(&number)),
        _ => (name, number.clone()),
    });
    titled(
        "cpss.Decision",
        object_with(
            &[
                ("timestamp", stamp()),
                ("t", whole.clone()),
                ("proposal", whole.clone()),
                ("proposed_action", text.clone()),
                ("ran", whole),
                ("executed_action", text.clone()),
                ("verdict", text),
                ("reward", number.clone()),
            ],
            &exact,
        ),
    )
}

/// Of this very message: what an episode's record has differs between tasks and arms.
pub(super) fn certificate(message: &Value) -> Value {
    let truth = json!({ "type": "boolean" });
    titled(
        "cpss.Certificate",
        object_with(
            &[
                ("timestamp", stamp()),
                ("budget", json!({ "type": "number" })),
                ("incident", truth.clone()),
                ("budget_kept", truth),
                ("chain_end", json!({ "type": "string" })),
                ("account", numbers(&["start", "chosen", "surprise", "arriving"])),
                ("certificate", described(&message["certificate"])),
                ("record", described(&message["record"])),
            ],
            &[("promise", json!({ "type": "number" }))],
        ),
    )
}

/// The schema of a value whose fields all have a type; of what there is nothing of, a number's.
fn described(value: &Value) -> Value {
    match value {
        Value::Object(fields) => {
            let fields: Vec<_> =
                fields.iter().map(|(name, value)| (name.as_str(), described(value))).collect();
            object(&fields)
        }
        Value::Array(items) => list(&described(items.first().unwrap_or(&Value::Null))),
        Value::Bool(_) => json!({ "type": "boolean" }),
        Value::String(_) => json!({ "type": "string" }),
        Value::Number(_) | Value::Null => json!({ "type": "number" }),
    }
}
