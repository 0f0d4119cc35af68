//! How did a step end, and what did it cost?

use cpss_highway::{Scene, Step, World};
use cpss_risk::closeness::closeness;
use cpss_shield::Ledger;

/// How close a step came to anything, or 1 if it ended off the road.
pub fn realised_cost(scene: &Scene, world: &World, taken: &Step) -> f64 {
    if taken.terminated && is_off_road(world) { 1.0 } else { closeness(world.task(), scene) }
}

/// Whether the ego has crashed or is off the road: what a policy is for avoiding.
pub fn has_failed(world: &World) -> bool {
    world.ego().crashed || is_off_road(world)
}

/// Whether what must not happen has happened: a crash, or an end off the road. Time that is up is no incident, wherever
/// the ego is then.
pub(crate) fn is_incident(world: &World, terminated: bool) -> bool {
    world.ego().crashed || terminated && is_off_road(world)
}

/// The share of the budget that is left, from 0 to 1, as a policy may see it.
pub(crate) fn budget_left(ledger: &Ledger) -> f32 {
    (ledger.remaining() / ledger.budget()).clamp(0.0, 1.0) as f32
}

/// Whether the ego is off the road.
pub(crate) fn is_off_road(world: &World) -> bool {
    !world.ego().on_road(&world.task().network)
}
