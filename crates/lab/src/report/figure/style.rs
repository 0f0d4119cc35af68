//! How does each arm look, on every figure?
//!
//! Marker, fill and dash are different for each, and the two that matter most, the policy alone and
//! the whole shield, are also far apart in brightness. What is the paper's is hollow and has no line.

use super::canvas::{Dash, Ink};
use super::chart::{Marker, Style};

const ORANGE: Ink = [0xd9, 0x5f, 0x0e];
const BLUE: Ink = [0x0b, 0x35, 0x6b];
const GREEN: Ink = [0x4d, 0x92, 0x21];
const PURPLE: Ink = [0x98, 0x4e, 0xa3];
const TEAL: Ink = [0x2c, 0x96, 0x9c];
const GREY: Ink = [0x77, 0x77, 0x77];

/// The style of an arm.
pub(super) fn style(arm: &str) -> Style {
    let (ink, marker, filled, dash, width) = match arm {
        "dqn" => (ORANGE, Marker::Circle, true, Dash::Dashed, 1.5),
        "cpss" => (BLUE, Marker::Square, true, Dash::Solid, 1.9),
        "priced" => (PURPLE, Marker::Diamond, true, Dash::Solid, 1.5),
        "fixed" => (GREEN, Marker::Triangle, false, Dash::Dotted, 1.4),
        "budget-only" => (PURPLE, Marker::Diamond, false, Dash::Mixed, 1.2),
        "context-only" => (TEAL, Marker::Diamond, true, Dash::Dashed, 1.2),
        _ => (GREY, Marker::Cross, false, Dash::Dotted, 1.2),
    };
    Style { ink, marker, filled, line: Some(dash), width }
}

/// The style of an arm's number in the paper.
pub(super) fn paper(arm: &str) -> Style {
    Style { filled: false, line: None, ..style(arm) }
}

/// A bare line.
pub(super) fn line(arm: &str, dash: Dash, width: f64) -> Style {
    Style { marker: Marker::Bare, line: Some(dash), width, ..style(arm) }
}

/// What an arm's number in the paper is called in a legend.
pub(super) fn paper_name(arm: &str) -> String {
    if arm == "dqn" { "DQN, the paper's".to_owned() } else { "CPSS, the paper's".to_owned() }
}

/// What an arm is called in a legend.
pub(super) fn name(arm: &str) -> String {
    match arm {
        "dqn" => "DQN alone".to_owned(),
        "cpss" => "CPSS".to_owned(),
        "priced" => "CPSS with a price".to_owned(),
        "fixed" => "fixed threshold B / T".to_owned(),
        "threshold" => "constant threshold".to_owned(),
        "oracle" => "oracle (privileged)".to_owned(),
        "barrier" => "control barrier function".to_owned(),
        other => other.to_owned(),
    }
}
