//! Where are bodies along the road, and where will they be?
//!
//! In the road's own coordinates: `s` along the ego's lane and `d` to the right of it \[m\], so that a bend is a number
//! in a table. Turns are positive to the right.

use cpss_highway::road::{LaneId, Network};
use cpss_highway::scene::Body;

use super::lattice::{MOMENT, MOMENTS};
use super::{STEP, STEPS};
use crate::way::Way;

/// The most lanes that are looked at.
pub(super) const LANES: usize = 4;
/// Bodies farther away than this are not looked at \[m\], nor more than so many, those that come closest.
const NEAR: f64 = 80.0;
pub(super) const BODIES: usize = 8;
/// How far behind and ahead along the road they may be \[m\].
const BEHIND: f32 = -20.0;
const BEYOND: f32 = 150.0;
/// For how many steps, and moments, who moves across goes on doing so.
const CROSSING_STEPS: usize = 3;
const CROSSING_MOMENTS: usize = 1;
/// Room between two cars that queue, from middle to middle \[m\].
const QUEUE: f32 = 7.0;
/// The road's table: where it begins, how long a cell is \[m\], and how many there are.
const FIRST: f32 = -84.0;
const CELL: f32 = 4.0;
const CELLS: usize = 76;
/// The most roads one after the other.
const MOST_ROADS: usize = 8;

/// The road ahead and behind.
pub(super) struct Stretch<'a> {
    network: &'a Network,
    /// The ego's lane and those that follow it, and how far ahead each begins \[m\].
    roads: [(LaneId, f64); MOST_ROADS],
    count: usize,
    /// Lanes side by side, which of them is the ego's, and how wide they are \[m\].
    pub(super) lanes: usize,
    pub(super) own: usize,
    pub(super) width: f32,
    /// By how much the road turns \[rad/m\].
    bends: [f32; CELLS],
}

impl Stretch<'_> {
    pub(super) fn of<'a>(network: &'a Network, way: &Way) -> Stretch<'a> {
        let known = way.lanes();
        let (first, _) = known[0];
        let mut stretch = Stretch {
            network,
            roads: [known[0]; MOST_ROADS],
            count: known.len().min(MOST_ROADS),
            lanes: network.lane_count(network.road_of(first)).min(LANES),
            own: network.lane_offset(first).min(LANES - 1),
            width: network.lane(first).width as f32,
            bends: [0.0; CELLS],
        };
        // Lanes may overlap or leave a gap: where one begins is seen from the one before, not from its length.
        for (place, (lane, _)) in known.iter().enumerate().take(MOST_ROADS).skip(1) {
            let (before, begin) = stretch.roads[place - 1];
            let start = network.lane(*lane).position(0.0, 0.0);
            let (along, _) = network.lane(before).local_coordinates(start);
            stretch.roads[place] = (*lane, begin + along);
        }
        let mut road = 0;
        for place in 0..CELLS {
            let middle = f64::from(FIRST + (place as f32 + 0.5) * CELL);
            while road + 1 < stretch.count && stretch.roads[road + 1].1 <= middle {
                road += 1;
            }
            let (lane, begin) = stretch.roads[road];
            let lane = network.lane(lane);
            let turn =
                lane.heading_at(middle - begin + 0.5) - lane.heading_at(middle - begin - 0.5);
            stretch.bends[place] = turn as f32;
        }
        stretch
    }

    #[inline]
    pub(super) fn bend(&self, s: f32) -> f32 {
        let place = ((s - FIRST) * (1.0 / CELL)) as usize;
        self.bends[place.min(CELLS - 1)]
    }

    /// How many metres of the ego's lane one metre beside it is.
    #[inline]
    pub(super) fn gain(&self, s: f32, d: f32) -> f32 {
        1.0 / (1.0 - d * self.bend(s)).max(0.2)
    }

    /// How far to the right the middle of a lane is.
    #[inline]
    pub(super) fn middle(&self, lane: usize) -> f32 {
        (lane as f32 - self.own as f32) * self.width
    }

    /// The edges of the road.
    #[inline]
    pub(super) fn edges(&self) -> [f32; 2] {
        [self.middle(0) - self.width / 2.0, self.middle(self.lanes - 1) + self.width / 2.0]
    }

    /// Where something on a lane is, along and across, and how it is turned to the road; `None` if the road does not
    /// lead there.
    pub(super) fn find(&self, lane: LaneId, position: [f64; 2], heading: f64) -> Option<[f64; 3]> {
        let road = self.network.road_of(lane);
        let mut known = self.roads[..self.count].iter();
        let &(own, begin) = known.find(|(own, _)| self.network.road_of(*own) == road)?;
        let own = self.network.lane(own);
        let (along, across) = own.local_coordinates(position);
        Some([begin + along, across, own.angle_at(along, heading)])
    }

    /// The same for something on a road that the ego has left, as if all were straight.
    pub(super) fn find_behind(&self, ego: &Body, body: &Body) -> [f64; 3] {
        let (lane, begin) = self.roads[0];
        let lane = self.network.lane(lane);
        let (sin, cos) = lane.heading_at(-begin).sin_cos();
        let (_, across) = lane.local_coordinates(ego.position);
        let [x, y] = [body.position[0] - ego.position[0], body.position[1] - ego.position[1]];
        [x * cos + y * sin, across + y * cos - x * sin, lane.angle_at(-begin, body.heading)]
    }
}

/// A body somewhere along the road.
#[derive(Clone, Copy, Default)]
pub(super) struct Place {
    pub(super) s: f32,
    pub(super) d: f32,
}

/// Where bodies will be, if they follow the road.
pub(super) struct Others {
    /// Half of their lengths and widths \[m\].
    pub(super) half: [[f32; 2]; BODIES],
    /// After each step of the first moments,
    pub(super) soon: [[Place; BODIES]; STEPS],
    /// and at each moment of the lattice.
    pub(super) later: [[Place; BODIES]; MOMENTS],
    pub(super) count: usize,
}

impl Others {
    pub(super) fn of<'a>(
        s: f32,
        road: &Stretch<'_>,
        ego: &Body,
        bodies: impl Iterator<Item = &'a Body>,
    ) -> Others {
        let mut others = Others {
            half: [[0.0; 2]; BODIES],
            soon: [[Place::default(); BODIES]; STEPS],
            later: [[Place::default(); BODIES]; MOMENTS],
            count: 0,
        };
        let mut now = [Place::default(); BODIES];
        let mut speeds = [[0.0_f32; 2]; BODIES];
        for body in bodies {
            let [x, y] = [body.position[0] - ego.position[0], body.position[1] - ego.position[1]];
            if x.abs().max(y.abs()) > NEAR || others.count == BODIES {
                continue;
            }
            let found = road.find(body.lane, body.position, body.heading);
            let [along, across, turn] = found.unwrap_or_else(|| road.find_behind(ego, body));
            let place = Place { s: along as f32, d: across as f32 };
            if !(BEHIND..BEYOND).contains(&(place.s - s)) {
                continue;
            }
            others.half[others.count] = [body.length as f32 / 2.0, body.width as f32 / 2.0];
            speeds[others.count] =
                [(body.speed * turn.cos()) as f32, (body.speed * turn.sin()) as f32];
            now[others.count] = place;
            others.count += 1;
        }
        others.later[0] = now;
        let count = others.count;
        let mut moved = now;
        for step in 0..STEPS {
            move_on(
                &mut moved[..count],
                &speeds,
                road,
                STEP,
                if step < CROSSING_STEPS { STEP } else { 0.0 },
            );
            others.soon[step] = moved;
        }
        let mut moved = now;
        for moment in 1..MOMENTS {
            let across = if moment <= CROSSING_MOMENTS { MOMENT } else { 0.0 };
            move_on(&mut moved[..count], &speeds, road, MOMENT, across);
            others.later[moment] = moved;
        }
        others
    }
}

/// Moves bodies along the road and across it for a while; who would run into who is ahead queues behind it, by where that
/// one is so far.
fn move_on(
    places: &mut [Place],
    speeds: &[[f32; 2]; BODIES],
    road: &Stretch<'_>,
    time: f32,
    across: f32,
) {
    let before: [Place; BODIES] =
        std::array::from_fn(|body| places.get(body).copied().unwrap_or_default());
    for (place, speed) in places.iter_mut().zip(speeds) {
        place.s += speed[0] * time * road.gain(place.s, place.d);
        place.d += speed[1] * across;
    }
    for body in 0..places.len() {
        for ahead in 0..places.len() {
            let is_ahead = before[ahead].s > before[body].s
                && (before[ahead].d - before[body].d).abs() < road.width / 2.0;
            if is_ahead {
                // Never backwards either, whoever stood too close to begin with.
                let most = (places[ahead].s - QUEUE).max(before[body].s);
                places[body].s = places[body].s.min(most);
            }
        }
    }
}
