//! Who may come near enough to an ego to cost it anything?
//!
//! Of all that is forecast, most is too far away at most looks, and to find that out is most of the
//! work. So it is kept in short as well: in single precision, eight side by side, and for each look
//! only those that an ego could come near to by then.
//!
//! Those are told by circles around both, each with its share of the margin: if neither of the ego's
//! own axes shows enough, the centres are no further apart than the diagonal of what is wanted
//! along both. How fast two bodies close in is at most the sum of what either velocity differs from
//! a third one, and with the ego's present one for that the circles stay small. Which of them an ego
//! has to mind is then told by its own axes, with a rectangle's extent along them from above: turned
//! by an angle, it takes at most the sine of that more of what it takes the other way.
//!
//! **Invariants:** whoever costs an ego anything is found, wherever that ego is (outside the places
//! where it was supposed to be, everybody is); tracks are found in their order; nothing is allocated
//! once the busiest scene has been seen.

use cpss_highway::Task;
use cpss_highway::action::Controls;
use cpss_highway::lane::Shape;
use cpss_highway::scene::Ego;

use crate::course::Course;
use crate::forecast::length;
use crate::looks::Looks;
use crate::proximity::{Margin, Pose};
use crate::traffic::Whereabouts;

/// Which tracks are where an ego could be, look by look.
#[derive(Clone, Debug, Default)]
pub(crate) struct Nearby {
    /// Where the ego was, from which spots are measured \[m\].
    origin: [f64; 2],
    /// The direction of its road, along which they are measured.
    direction: [f64; 2],
    /// Its velocity then \[m/s\].
    velocity: [f64; 2],
    tracks: Counted,
    rows: Vec<Row>,
    /// Groups of spots, so many for each row, not all of them in use.
    spots: Vec<Spots>,
    groups: usize,
}

/// How many tracks there are.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Counted {
    /// Those that count whatever the ego does, which come first.
    pub(crate) always: usize,
    /// With those that count if it leaves its lane.
    pub(crate) all: usize,
}

/// A look: where an ego is supposed to be, and how many may matter to it there.
#[derive(Clone, Copy, Debug)]
struct Row {
    /// Centre of the places along the road, and how far they reach from there, along and across \[m\].
    centre: f32,
    half: [f32; 2],
    /// How large its circle is there at most \[m\].
    room: f32,
    spots: Counted,
}

/// Eight poses in short: who is near an ego is found for all of them at once.
#[derive(Clone, Copy, Debug)]
struct Spots {
    /// Where it is, along the road and across \[m\].
    along: [f32; GROUP],
    across: [f32; GROUP],
    /// How fast it goes, the same ways \[m/s\].
    velocity_along: [f32; GROUP],
    velocity_across: [f32; GROUP],
    /// How far its rectangle reaches, the same ways \[m\].
    half_along: [f32; GROUP],
    half_across: [f32; GROUP],
    track: [u32; GROUP],
}

/// An ego, as the spots are given.
struct Seeker {
    place: [f32; 2],
    /// Cosine and sine of its heading against the road.
    turned: [f32; 2],
    speed: f32,
    /// Half its length and half its width, each with the margin at rest \[m\].
    wanted: [f32; 2],
    closing_time: f32,
}

/// How many poses are looked at together.
const GROUP: usize = 8;
/// More than what is lost by measuring spots in single precision \[m\].
const ROUNDING: f64 = 0.01;
/// Tracks for which there is room from the start.
pub(crate) const USUAL_TRACKS: usize = 128;
/// Half the diagonal of an ego, or a little more \[m\].
const EGO_SIZE: f64 = 2.7;
/// How far to the side an ego is supposed to get within the horizon \[m\].
const SIDEWAYS: f64 = 13.0;
/// Which share of its way an ego gets on along the road, that changes lane or not.
const STRAIGHT_ON: f64 = 0.95;
/// By how much its velocity changes sideways \[m/s\].
const TURNING: f64 = 5.0;
/// How much an ego with pedals of its own gains in a second \[m/s²\].
const PEDALS: f64 = 6.0;

impl Nearby {
    /// Room for some looks.
    pub(crate) fn new(looks: Looks) -> Nearby {
        Nearby {
            rows: Vec::with_capacity(looks.count()),
            spots: Vec::with_capacity(USUAL_TRACKS / GROUP * looks.count()),
            ..Nearby::default()
        }
    }

    /// Forgets everybody, and supposes where this ego will be.
    pub(crate) fn begin(
        &mut self,
        tracks: Counted,
        ego: &Ego,
        margin: &Margin,
        looks: Looks,
        task: &Task,
        gets_slower: bool,
    ) {
        self.origin = ego.body.position;
        self.direction = match task.network.lane(ego.body.lane).shape {
            Shape::Straight { direction, .. } => direction,
            _ => [ego.body.cos, ego.body.sin],
        };
        self.velocity = self.turn(ego.body.velocity());
        self.tracks = tracks;
        self.rows.clear();
        self.rows.extend(
            (1..=looks.count())
                .map(|look| Row::of(ego, looks.time(look), margin, task, gets_slower)),
        );
        self.groups = tracks.all.div_ceil(GROUP);
        let size = self.groups * looks.count();
        if self.spots.len() < size {
            self.spots.resize(size, Spots::NOWHERE);
        }
    }

    /// Notes where a track comes by. Tracks come in their order.
    pub(crate) fn note(
        &mut self,
        track: usize,
        course: Course<'_>,
        half_size: [f64; 2],
        margin: &Margin,
    ) {
        // However it is turned, a rectangle takes no more room along two axes than this.
        let size = half_size[0] + half_size[1];
        let fixed = length([margin.along, margin.across]) + ROUNDING + size;
        for look in 0..self.rows.len() {
            let place = self.place([course.x[look], course.y[look]]);
            let turned = self.turn([course.cos[look], course.sin[look]]);
            let velocity = turned.map(|part| course.speed[look] * part);
            let reach = (fixed + margin.closing_time * self.change(velocity)) as f32;
            let row = &mut self.rows[look];
            if row.excludes(place, row.room + reach) {
                continue;
            }
            let taken = row.spots.all;
            row.spots.all += 1;
            row.spots.always += usize::from(track < self.tracks.always);
            let spots = &mut self.spots[look * self.groups + taken / GROUP];
            let slot = taken % GROUP;
            let ([half_length, half_width], [cos, sin]) = (half_size, turned.map(f64::abs));
            [spots.along[slot], spots.across[slot]] = place;
            spots.velocity_along[slot] = velocity[0] as f32;
            spots.velocity_across[slot] = velocity[1] as f32;
            spots.half_along[slot] = (half_length * cos + half_width * sin) as f32;
            spots.half_across[slot] = (half_length * sin + half_width * cos) as f32;
            spots.track[slot] = track as u32;
        }
    }

    /// Calls with every track that may cost this ego anything at a look (from 1), in order.
    #[inline]
    pub(crate) fn each(
        &self,
        look: usize,
        ego: &Pose,
        margin: &Margin,
        whereabouts: Whereabouts,
        mut see: impl FnMut(usize),
    ) {
        let Some(row) = self.rows.get(look - 1) else { return };
        let place = self.place(ego.position);
        let turned = self.turn([ego.cos, ego.sin]);
        let change = self.change(turned.map(|part| ego.speed * part));
        let room = (EGO_SIZE + margin.closing_time * change) as f32;
        // A NaN is not where anybody supposed it.
        let is_as_supposed = room <= row.room && row.contains(place, 0.0);
        if !is_as_supposed {
            return (0..self.tracks.of(whereabouts)).for_each(see);
        }
        let wanted = |half: f64, margin: f64| (half + margin + ROUNDING) as f32;
        let ego = Seeker {
            place,
            turned: turned.map(|part| part as f32),
            speed: ego.speed as f32,
            wanted: [
                wanted(ego.half_size[0], margin.along),
                wanted(ego.half_size[1], margin.across),
            ],
            closing_time: margin.closing_time as f32,
        };
        let count = row.spots.of(whereabouts);
        let first = (look - 1) * self.groups;
        let groups = &self.spots[first..first + count.div_ceil(GROUP)];
        for (group, spots) in groups.iter().enumerate() {
            let unused = GROUP - GROUP.min(count - group * GROUP);
            // To go through the bits that are set takes fewer guesses at what comes next.
            let mut near = spots.near(&ego) & (u64::MAX >> (8 * unused));
            while near != 0 {
                see(spots.track[near.trailing_zeros() as usize / 8] as usize);
                near &= near - 1;
            }
        }
    }

    /// A position \[m\], from the origin: along the road and across.
    #[inline]
    fn place(&self, [x, y]: [f64; 2]) -> [f32; 2] {
        self.turn([x - self.origin[0], y - self.origin[1]]).map(|part| part as f32)
    }

    /// A vector, along the road and across.
    #[inline]
    fn turn(&self, [x, y]: [f64; 2]) -> [f64; 2] {
        let [cos, sin] = self.direction;
        [cos * x + sin * y, cos * y - sin * x]
    }

    /// By how much a velocity differs from the ego's present one \[m/s\], or a little more.
    #[inline]
    fn change(&self, velocity: [f64; 2]) -> f64 {
        (velocity[0] - self.velocity[0]).abs() + (velocity[1] - self.velocity[1]).abs()
    }
}

impl Counted {
    #[inline]
    fn of(self, ego: Whereabouts) -> usize {
        match ego {
            Whereabouts::OnItsLane => self.always,
            Whereabouts::Gone => self.all,
        }
    }
}

impl Row {
    /// Without spots yet: where an ego is supposed to be after a time \[s\]. A guess will do.
    fn of(ego: &Ego, time: f64, margin: &Margin, task: &Task, gets_slower: bool) -> Row {
        let body = &ego.body;
        let speed = body.speed;
        let (slowest, fastest, [back, front], side);
        match (&task.controls, &task.network.lane(body.lane).shape) {
            (Controls::Meta { target_speeds, .. }, Shape::Straight { .. }) => {
                let among = |ends: Option<&f64>| ends.copied().unwrap_or(speed);
                let (least, most) = (among(target_speeds.first()), among(target_speeds.last()));
                (slowest, fastest) = (STRAIGHT_ON * speed.min(least), speed.max(most));
                // One that slows down, after a lane change perhaps, has come down from its fastest after as
                // many decisions as there are speeds, and one.
                let fast = if gets_slower {
                    time.min((target_speeds.len() + 1) as f64 * task.decision_time)
                } else {
                    time
                };
                [back, front] = [slowest * time, fastest * fast + least * (time - fast)];
                side = SIDEWAYS;
            }
            _ => {
                fastest = speed.abs() + PEDALS * time;
                slowest = -fastest;
                [back, front] = [slowest * time, fastest * time];
                side = front + SIDEWAYS;
            }
        };
        let gains = (speed - slowest).max(fastest - speed) + TURNING;
        let room = EGO_SIZE + margin.closing_time * gains;
        Row {
            centre: ((back + front) / 2.0) as f32,
            half: [((front - back) / 2.0 + ROUNDING) as f32, side as f32],
            room: room as f32,
            spots: Counted::default(),
        }
    }

    /// Whether a place is within the places, widened by a distance \[m\]; not if that cannot be told.
    #[inline]
    fn contains(&self, [along, across]: [f32; 2], wider: f32) -> bool {
        ((along - self.centre).abs() <= self.half[0] + wider)
            & (across.abs() <= self.half[1] + wider)
    }

    /// Whether a place is outside the places, widened by a distance \[m\]; not if that cannot be told.
    #[inline]
    fn excludes(&self, [along, across]: [f32; 2], wider: f32) -> bool {
        ((along - self.centre).abs() > self.half[0] + wider) | (across.abs() > self.half[1] + wider)
    }
}

impl Spots {
    /// A group without anybody.
    const NOWHERE: Spots = Spots {
        along: [f32::INFINITY; GROUP],
        across: [0.0; GROUP],
        velocity_along: [0.0; GROUP],
        velocity_across: [0.0; GROUP],
        half_along: [0.0; GROUP],
        half_across: [0.0; GROUP],
        track: [0; GROUP],
    };

    /// Which of the group are near enough to an ego to be looked at closely: a byte each, of which the
    /// lowest bit says so. Those that cannot be told, for a NaN, are.
    #[inline]
    fn near(&self, ego: &Seeker) -> u64 {
        let [cos, sin] = ego.turned;
        let tilt = sin.abs();
        let near: [bool; GROUP] = std::array::from_fn(|slot| {
            let (dx, dy) = (self.along[slot] - ego.place[0], self.across[slot] - ego.place[1]);
            let (vx, vy) = (self.velocity_along[slot], self.velocity_across[slot]);
            let (half_along, half_across) = (self.half_along[slot], self.half_across[slot]);
            let is_apart = |distance: f32, velocity: f32, touch: f32| {
                let closing = if distance < 0.0 { velocity } else { -velocity };
                // Unlike `f32::max`, this lets a NaN through.
                let closing = if closing < 0.0 { 0.0 } else { closing };
                distance.abs() > touch + ego.closing_time * closing
            };
            let (ahead, beside) = (cos * dx + sin * dy, cos * dy - sin * dx);
            let (away, aside) = (cos * vx + sin * vy - ego.speed, cos * vy - sin * vx);
            let lengthwise = ego.wanted[0] + half_along + tilt * half_across;
            let crosswise = ego.wanted[1] + half_across + tilt * half_along;
            !(is_apart(ahead, away, lengthwise) | is_apart(beside, aside, crosswise))
        });
        u64::from_le_bytes(near.map(u8::from))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cpss_highway::vehicle::{LENGTH, WIDTH};
    use cpss_highway::{Scene, TaskId, World};
    use proptest::prelude::*;
    use std::sync::Arc;

    const MARGIN: Margin = Margin { along: 2.0, across: 0.4, closing_time: 0.3, boundary: 1.0 };

    fn margins() -> impl Strategy<Value = Margin> {
        let any = (0.1..15.0, 0.1..15.0, 0.0..1.0).prop_map(|(along, across, closing_time)| {
            Margin { along, across, closing_time, boundary: 1.0 }
        });
        prop_oneof![Just(MARGIN), any]
    }

    /// Ahead, right, turned by, speed, length, width.
    fn poses(ahead: f64) -> impl Strategy<Value = Vec<Pose>> {
        let turned = prop_oneof![Just(0.0), -0.3..0.3, -3.2..3.2];
        let pose = (-ahead..ahead, -14.0..14.0, turned, -10.0..40.0, 1.0..15.0, 1.0..4.0);
        let pose = pose.prop_map(
            |(x, y, heading, speed, length, width): (f64, f64, f64, f64, f64, f64)| {
                let (sin, cos) = heading.sin_cos();
                Pose { position: [x, y], cos, sin, speed, half_size: [length / 2.0, width / 2.0] }
            },
        );
        prop::collection::vec(pose, 0..40)
    }

    /// The same poses at each of three looks, around an ego that starts at the origin.
    fn nearby(
        id: TaskId,
        poses: &[Pose],
        always: usize,
        margin: &Margin,
        gets_slower: bool,
    ) -> Nearby {
        let task = Task::with_defaults(id);
        let mut scene = Scene::default();
        scene.observe(&World::new(Arc::clone(&task), 1));
        let mut ego = scene.ego.unwrap();
        ego.body.position = [0.0, 0.0];
        let looks = Looks::new(&task, 3.0, 1.0, false);
        let mut nearby = Nearby::new(looks);
        let tracks = Counted { always, all: poses.len() };
        nearby.begin(tracks, &ego, margin, looks, &task, gets_slower);
        for (track, pose) in poses.iter().enumerate() {
            let repeated = |number: f64| vec![number; looks.count()];
            let course = Course {
                x: &repeated(pose.position[0]),
                y: &repeated(pose.position[1]),
                cos: &repeated(pose.cos),
                sin: &repeated(pose.sin),
                speed: &repeated(pose.speed),
            };
            nearby.note(track, course, pose.half_size, margin);
        }
        nearby
    }

    fn found(
        nearby: &Nearby,
        look: usize,
        ego: &Pose,
        margin: &Margin,
        whereabouts: Whereabouts,
    ) -> Vec<usize> {
        let mut found = Vec::new();
        nearby.each(look, ego, margin, whereabouts, |track| found.push(track));
        found
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2000))]

        #[test]
        fn whoever_costs_an_ego_anything_is_found(
            id in prop_oneof![Just(TaskId::HighwayV0), Just(TaskId::RacetrackV0)],
            tracks in poses(60.0),
            egos in poses(50.0),
            share in 0.0..=1.0_f64,
            margin in margins(),
            gets_slower in any::<bool>(),
        ) {
            let always = (share * tracks.len() as f64) as usize;
            let nearby = nearby(id, &tracks, always, &margin, gets_slower);
            for (place, ego) in egos.iter().enumerate() {
                // Its own size is not up to it.
                let ego = Pose { half_size: [2.5, 1.0], ..*ego };
                for (whereabouts, count) in
                    [(Whereabouts::OnItsLane, always), (Whereabouts::Gone, tracks.len())]
                {
                    let found = found(&nearby, 1 + place % 3, &ego, &margin, whereabouts);
                    prop_assert!(found.is_sorted() && found.iter().all(|track| *track < count));
                    for (track, pose) in tracks[..count].iter().enumerate() {
                        let costs = margin.proximity(&ego, pose).cost > 0.0;
                        prop_assert!(!costs || found.contains(&track), "{track} {found:?}");
                    }
                }
            }
        }
    }

    #[test]
    fn an_ego_is_no_larger_than_it_is_taken_for() {
        assert!(length([LENGTH / 2.0, WIDTH / 2.0]) < EGO_SIZE);
    }

    #[test]
    fn those_too_far_away_or_beside_an_ego_along_its_road_are_not() {
        let car = |x: f64, y: f64| Pose {
            position: [x, y],
            cos: 1.0,
            sin: 0.0,
            speed: 25.0,
            half_size: [2.5, 1.0],
        };
        let tracks = [car(35.0, 0.0), car(28.0, 4.0), car(90.0, 0.0), car(25.0, 8.0)];
        let nearby = nearby(TaskId::HighwayV0, &tracks, 4, &MARGIN, false);
        let found = |ego: &Pose| found(&nearby, 1, ego, &MARGIN, Whereabouts::OnItsLane);
        assert_eq!(found(&car(28.0, 0.0)), [0]);
        let turned = Pose { cos: 0.3_f64.cos(), sin: 0.3_f64.sin(), ..car(28.0, 0.0) };
        assert_eq!(found(&turned), [0, 1], "a turned one minds the side it turns to");
        assert_eq!(found(&car(-70.0, 0.0)), [0, 1, 2, 3], "and one that is elsewhere at everybody");
        assert_eq!(found(&car(f64::NAN, 0.0)), [0, 1, 2, 3]);
    }

    #[test]
    fn whoever_makes_no_sense_is_near_everybody() {
        let car =
            Pose { position: [400.0, 0.0], cos: 1.0, sin: 0.0, speed: 25.0, half_size: [2.5, 1.0] };
        let tracks = [
            car,
            Pose { position: [f64::NAN, 0.0], ..car },
            Pose { position: [400.0, f64::NAN], ..car },
            Pose { sin: f64::NAN, ..car },
            Pose { speed: f64::NAN, ..car },
            Pose { half_size: [f64::NAN, 1.0], ..car },
        ];
        let nearby = nearby(TaskId::HighwayV0, &tracks, 6, &MARGIN, false);
        let ego = Pose { position: [28.0, 0.0], ..car };
        assert_eq!(found(&nearby, 1, &ego, &MARGIN, Whereabouts::OnItsLane), [1, 2, 3, 4, 5]);
    }
}
