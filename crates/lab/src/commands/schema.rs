//! What may stand in a file that a person writes? (`cpss schema`)
//!
//! The schemas are made of the very types that the files are read into, so that they cannot part. An editor that knows
//! JSON Schema (Taplo and Even Better TOML do) completes keys with them, and marks what the program would refuse.

use anyhow::Result;
use clap::{Args, ValueEnum};
use schemars::{JsonSchema, generate::SchemaSettings};
use serde_json::{Map, Value, json};

use crate::learn::train::settings::TrainSpec;
use crate::plan::Plan;
use crate::plan::baselines::BaselinePlan;
use crate::plan::deployments::DeployPlan;
use crate::play::arm::{ShieldSettings, settings::Kind};
use crate::play::regime::RegimeSpec;
use crate::play::sensor::SensorSpec;
use crate::tasks::TaskSpec;
use crate::terminal::say;

/// Options of `cpss schema`.
#[derive(Debug, Args)]
#[command(after_help = "Example, for an editor:
  cpss schema plan > plan.schema.json
and as the first line of the plan:
  #:schema ./plan.schema.json")]
pub(super) struct Options {
    /// Which kind of file
    kind: File,
}

/// The files that people write.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum File {
    /// An experiment, for `cpss reproduce`, `run` and `merge`
    Plan,
    /// A drift regime, for `--regime`
    Regime,
    /// A sensor, for `--sensor`
    Sensor,
    /// Deployments into a changing world, for `cpss deploy`
    Deploy,
    /// A comparison of learners, for `cpss reproduce --baselines --plan`
    Baselines,
    /// A shield, for `cpss evaluate --shield`
    Shield,
    /// Training settings, for `cpss train --settings`, and a task's `train.toml`
    Train,
    /// A task's `task.toml`
    Task,
}

/// Runs `cpss schema`.
pub(super) fn run(options: &Options) -> Result<()> {
    let schema = match options.kind {
        File::Plan => of::<Plan>(),
        File::Regime => of::<RegimeSpec>(),
        File::Sensor => of::<SensorSpec>(),
        File::Deploy => of::<DeployPlan>(),
        File::Baselines => of::<BaselinePlan>(),
        File::Shield => shield(),
        File::Train => of::<TrainSpec>(),
        File::Task => of::<TaskSpec>(),
    };
    say!("{}", serde_json::to_string_pretty(&schema)?)
}

/// The schema of a type, in the dialect that editors of TOML know.
fn of<T: JsonSchema>() -> Value {
    let schema = SchemaSettings::draft07().into_generator().into_root_schema_for::<T>();
    let mut schema = schema.to_value();
    plain(&mut schema);
    schema
}

/// The shield's settings are a list and not a type: see [`ShieldSettings::of_a_file`].
fn shield() -> Value {
    let mut properties = Map::new();
    for (name, kind) in ShieldSettings::of_a_file() {
        let schema = match kind {
            Kind::Number => json!({ "type": "number" }),
            Kind::Whole => json!({ "type": "integer", "minimum": 0 }),
            Kind::Name(names) => json!({ "type": "string", "enum": names }),
        };
        properties.insert(name.to_owned(), schema);
    }
    json!({
        "$schema": "http://json-schema.org/draft-07/schema#",
        "title": "Shield",
        "description": "A shield's settings; what is left out is the default.",
        "type": "object",
        "required": ShieldSettings::REQUIRED,
        "properties": properties,
        "additionalProperties": false,
    })
}

/// Takes rustdoc's marks out of the descriptions.
fn plain(schema: &mut Value) {
    match schema {
        Value::Object(entries) => {
            for (key, value) in entries {
                match value {
                    Value::String(text) if key == "description" => {
                        *text = text
                            .replace("\\[", "[")
                            .replace("\\]", "]")
                            .replace("[`", "`")
                            .replace("`]", "`");
                    }
                    _ => plain(value),
                }
            }
        }
        Value::Array(values) => values.iter_mut().for_each(plain),
        _ => {}
    }
}
