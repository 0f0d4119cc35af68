//! Where is everybody, in as many digits as anybody needs?
//!
//! Scenes are kept rounded to the centimetre: they are for people, and for checks that allow for it.

use cpss_highway::Scene;
use cpss_highway::scene::Body;

/// A car: x, y \[m\], heading \[rad\], speed \[m/s\], and 1 if it is a wreck. Rounded.
pub type Pose = (f64, f64, f64, f64, u8);

/// Where everybody is, the ego first, rounded to the centimetre.
pub fn poses(scene: &Scene) -> Vec<Pose> {
    let bodies = scene.ego.iter().map(|ego| &ego.body).chain(&scene.others);
    bodies.map(pose).collect()
}

fn pose(body: &Body) -> Pose {
    let [x, y] = body.position;
    let heading = round(body.heading, 1e3);
    (round(x, 1e2), round(y, 1e2), heading, round(body.speed, 1e2), u8::from(body.crashed))
}

/// Where the ego is, rounded as scenes are: x, y \[m\], heading \[rad\].
pub(crate) fn ghost_pose(scene: &Scene) -> Option<[f64; 3]> {
    let (x, y, heading, ..) = pose(&scene.ego.as_ref()?.body);
    Some([x, y, heading])
}

/// Rounds to a fraction, without the minus sign of a zero.
pub fn round(value: f64, fraction: f64) -> f64 {
    (value * fraction).round() / fraction + 0.0
}
