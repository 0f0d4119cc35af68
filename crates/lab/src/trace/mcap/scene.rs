//! How is a scene drawn by Foxglove?
//!
//! As the entities of a `SceneUpdate`: cars and obstacles are boxes, lanes are lines along their middle and both edges. All that
//! the schema has is written, empty or not: readers of JSON may insist on it.

use serde_json::{Value, json};

use crate::record::pose::Pose;
use crate::trace::format::Header;

const EGO: [f64; 4] = [0.13, 0.55, 0.33, 1.0];
const OTHER: [f64; 4] = [0.30, 0.45, 0.70, 1.0];
const WRECK: [f64; 4] = [0.80, 0.15, 0.15, 1.0];
const OBSTACLE: [f64; 4] = [0.35, 0.30, 0.25, 1.0];
const MARKING: [f64; 4] = [0.60, 0.60, 0.60, 1.0];

/// How high boxes are drawn \[m\].
const HEIGHT: f64 = 1.5;

/// The lanes and the obstacles, which never move.
pub(super) fn road(header: &Header) -> Value {
    let start = json!({ "sec": 0, "nsec": 0 });
    let edges = header.lanes.iter().flat_map(|lane| {
        [-lane.width / 2.0, lane.width / 2.0].map(|aside| line(&beside(&lane.line, aside)))
    });
    let obstacles = header.obstacles.iter().map(|[x, y, heading, length, width]| {
        cube([*x, *y], *heading, [*length, *width], OBSTACLE)
    });
    update(vec![entity("road", &start, obstacles.collect(), edges.collect())])
}

/// The cars, the ego first.
pub(super) fn cars(header: &Header, stamp: Value, scene: &[Pose]) -> Value {
    let car = |(place, (x, y, heading, _, wrecked)): (usize, &Pose)| {
        let colour = match (*wrecked, place) {
            (1.., _) => WRECK,
            (0, 0) => EGO,
            (0, _) => OTHER,
        };
        let name = if place == 0 { "ego".to_owned() } else { format!("car {place}") };
        entity(&name, &stamp, vec![cube([*x, *y], *heading, header.car, colour)], Vec::new())
    };
    let mut update = update(scene.iter().enumerate().map(car).collect());
    // Cars leave; whoever is there is drawn anew every time.
    update["deletions"] = json!([{ "timestamp": stamp, "type": 1, "id": "" }]);
    update
}

fn update(entities: Vec<Value>) -> Value {
    json!({ "deletions": [], "entities": entities })
}

fn entity(id: &str, stamp: &Value, cubes: Vec<Value>, lines: Vec<Value>) -> Value {
    json!({
        "timestamp": stamp,
        "frame_id": "road",
        "id": id,
        "lifetime": { "sec": 0, "nsec": 0 },
        "frame_locked": false,
        "metadata": [],
        "arrows": [],
        "cubes": cubes,
        "spheres": [],
        "cylinders": [],
        "lines": lines,
        "triangles": [],
        "texts": [],
        "models": [],
    })
}

fn cube([x, y]: [f64; 2], heading: f64, [length, width]: [f64; 2], colour: [f64; 4]) -> Value {
    let half = -heading / 2.0;
    json!({
        "pose": {
            "position": { "x": x, "y": -y, "z": HEIGHT / 2.0 },
            "orientation": { "x": 0.0, "y": 0.0, "z": half.sin(), "w": half.cos() },
        },
        "size": { "x": length, "y": width, "z": HEIGHT },
        "color": color(colour),
    })
}

fn line(points: &[[f64; 2]]) -> Value {
    let points: Vec<Value> =
        points.iter().map(|[x, y]| json!({ "x": x, "y": -y, "z": 0.0 })).collect();
    json!({
        // A strip.
        "type": 0,
        "pose": {
            "position": { "x": 0.0, "y": 0.0, "z": 0.0 },
            "orientation": { "x": 0.0, "y": 0.0, "z": 0.0, "w": 1.0 },
        },
        "thickness": 0.15,
        "scale_invariant": false,
        "points": points,
        "color": color(MARKING),
        "colors": [],
        "indices": [],
    })
}

fn color([r, g, b, a]: [f64; 4]) -> Value {
    json!({ "r": r, "g": g, "b": b, "a": a })
}

/// A line beside another.
fn beside(line: &[[f64; 2]], aside: f64) -> Vec<[f64; 2]> {
    let at = |place: usize| {
        let before = line[place.saturating_sub(1)];
        let after = line[(place + 1).min(line.len() - 1)];
        let [dx, dy] = [after[0] - before[0], after[1] - before[1]];
        let length = dx.hypot(dy).max(1e-9);
        [line[place][0] - dy / length * aside, line[place][1] + dx / length * aside]
    };
    (0..line.len()).map(at).collect()
}
