//! What do the messages look like, for a program that has never heard of us?
//!
//! JSON schemas. `foxglove.SceneUpdate` is Foxglove's, by name and by field, as far as it is used here.

use serde_json::{Map, Value, json};

/// An object of these properties, all of them required.
fn object(properties: &[(&str, Value)]) -> Value {
    let names: Vec<&str> = properties.iter().map(|(name, _)| *name).collect();
    let properties: Map<String, Value> =
        properties.iter().map(|(name, schema)| ((*name).to_owned(), schema.clone())).collect();
    json!({ "type": "object", "properties": properties, "required": names })
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
    let none = list(&json!({ "type": "object" }));
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

/// A number, or the name of one that JSON has not: see `record/exact.rs`.
fn exact() -> Value {
    json!({ "type": ["number", "string", "null"] })
}

pub(super) fn decision() -> Value {
    let whole = json!({ "type": "integer", "minimum": 0 });
    let text = json!({ "type": "string" });
    let number = json!({ "type": "number" });
    titled(
        "cpss.Decision",
        object(&[
            ("timestamp", stamp()),
            ("t", whole.clone()),
            ("proposal", whole.clone()),
            ("proposed_action", text.clone()),
            ("ran", whole),
            ("executed_action", text.clone()),
            ("verdict", text),
            ("risks", list(&exact())),
            ("unavoidable", exact()),
            ("costs", list(&exact())),
            ("density", exact()),
            ("threshold", exact()),
            ("charge", exact()),
            ("spent", exact()),
            ("remaining", exact()),
            ("reward", number),
        ]),
    )
}

pub(super) fn certificate() -> Value {
    let truth = json!({ "type": "boolean" });
    titled(
        "cpss.Certificate",
        object(&[
            ("timestamp", stamp()),
            ("budget", json!({ "type": "number" })),
            ("incident", truth.clone()),
            ("promise", json!({ "type": ["number", "null"] })),
            ("budget_kept", truth),
            ("chain_end", json!({ "type": "string" })),
            ("account", numbers(&["start", "chosen", "surprise", "arriving"])),
            ("certificate", json!({ "type": "object" })),
            ("record", json!({ "type": "object" })),
        ]),
    )
}
