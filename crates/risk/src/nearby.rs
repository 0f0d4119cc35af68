//! Who may come near enough to an ego to cost it anything?
//!
//! Of all that is forecast, most is too far away at most looks, and to find that out is most of the
//! work. So it is kept in short as well: in single precision, eight side by side, and for each look
//! only those that an ego could come near to by then.
//!
//! Where an ego could be at a look is guessed: a box along its road. Nobody there has to mind a body
//! that is further from the box than two radii: the ego's half diagonal and the body's, the diagonal
//! of what is wanted at rest, and what closing in adds. How fast two bodies close in is at most the
//! sum of what either velocity differs from a third one, and with the ego's present one for that the
//! radii stay small.
//!
//! Which of the others an ego has to mind is then told by its own two axes, as in
//! [`Margin::proximity`], but with the body's extent along them from above: turned by an angle, it is
//! at most the sine of that more of what it is the other way.
//!
//! **Invariants:** whoever costs an ego anything is found, wherever that ego is (outside the box
//! everybody is) and also if a number of theirs is a NaN; tracks are found in their order; nothing is
//! allocated once the busiest scene has been seen.
//!
//! **Absent on purpose:** infinite numbers, which count as far away. A scene that holds one is not
//! forecast at all.

use cpss_highway::Task;
use cpss_highway::action::Controls;
use cpss_highway::lane::Shape;
use cpss_highway::scene::Ego;

use crate::course::Course;
use crate::forecast::length;
use crate::looks::Looks;
use crate::proximity::{Margin, Pose};
use crate::spec::{Backup, RiskSpec};
use crate::traffic::Whereabouts;

/// Which tracks are where an ego could be, look by look.
#[derive(Clone, Debug)]
pub(crate) struct Nearby {
    margin: Margin,
    /// Whether no way out asks an ego to hold its speed or to get faster.
    gets_slower: bool,
    /// Where the ego was, from which spots are measured \[m\].
    origin: [f64; 2],
    /// The direction of its road, along which they are measured.
    direction: [f64; 2],
    /// Its velocity then \[m/s\].
    velocity: [f64; 2],
    tracks: Counted,
    rows: Vec<Row>,
    /// Groups of spots, as many for each row, not all of them in use.
    spots: Vec<Spots>,
    /// How many groups a row has.
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

/// A look: the box where an ego is supposed to be, and how many may matter to it there.
#[derive(Clone, Copy, Debug)]
struct Row {
    /// The box's centre along the road, and how far it reaches from there, along and across \[m\].
    centre: f32,
    half: [f32; 2],
    /// How large an ego's radius is there at most \[m\].
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
    /// Half its length and half its width, each with the margin at rest and for rounding \[m\].
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
    pub(crate) fn new(looks: Looks, spec: &RiskSpec) -> Nearby {
        Nearby {
            margin: spec.margin,
            gets_slower: spec.backups.iter().all(Backup::gets_slower),
            origin: [0.0; 2],
            direction: [1.0, 0.0],
            velocity: [0.0; 2],
            tracks: Counted::default(),
            rows: Vec::with_capacity(looks.count()),
            spots: Vec::with_capacity(USUAL_TRACKS / GROUP * looks.count()),
            groups: 0,
        }
    }

    /// Forgets everybody, and supposes where this ego will be.
    pub(crate) fn begin(&mut self, tracks: Counted, ego: &Ego, looks: Looks, task: &Task) {
        self.origin = ego.body.position;
        self.direction = match task.network.lane(ego.body.lane).shape {
            Shape::Straight { direction, .. } => direction,
            _ => [ego.body.cos, ego.body.sin],
        };
        self.velocity = self.turn(ego.body.velocity());
        self.tracks = tracks;
        self.rows.clear();
        for look in 1..=looks.count() {
            self.rows.push(self.suppose(ego, looks.time(look), task));
        }
        self.groups = tracks.all.div_ceil(GROUP);
        let size = self.groups * looks.count();
        if self.spots.len() < size {
            self.spots.resize(size, Spots::NOWHERE);
        }
    }

    /// Notes where a track comes by. Tracks come in their order.
    pub(crate) fn note(&mut self, track: usize, course: Course<'_>, half_size: [f64; 2]) {
        let margin = self.margin;
        // However a rectangle is turned, the diagonal of its extents along two axes is no longer than this.
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
        whereabouts: Whereabouts,
        mut see: impl FnMut(usize),
    ) {
        let margin = &self.margin;
        let row = &self.rows[look - 1];
        let place = self.place(ego.position);
        let turned = self.turn([ego.cos, ego.sin]);
        let change = self.change(turned.map(|part| ego.speed * part));
        let room = (EGO_SIZE + margin.closing_time * change) as f32;
        let [half_length, half_width] = ego.half_size;
        let diagonal = half_length * half_length + half_width * half_width;
        // A NaN is not where anybody supposed it.
        let is_as_supposed =
            diagonal <= EGO_SIZE * EGO_SIZE && room <= row.room && row.contains(place);
        if !is_as_supposed {
            return (0..self.tracks.of(whereabouts)).for_each(see);
        }
        let wanted = |half: f64, margin: f64| (half + margin + ROUNDING) as f32;
        let ego = Seeker {
            place,
            turned: turned.map(|part| part as f32),
            speed: ego.speed as f32,
            wanted: [wanted(half_length, margin.along), wanted(half_width, margin.across)],
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

    /// Where an ego is supposed to be after a time \[s\], a guess, and nobody there yet.
    fn suppose(&self, ego: &Ego, time: f64, task: &Task) -> Row {
        let body = &ego.body;
        let speed = body.speed;
        let road = &task.network.lane(body.lane).shape;
        let ([slowest, fastest], front, side) = match (&task.controls, road) {
            (Controls::Meta { target_speeds, .. }, Shape::Straight { .. }) => {
                let among = |ends: Option<&f64>| ends.copied().unwrap_or(speed);
                let (least, most) = (among(target_speeds.first()), among(target_speeds.last()));
                let [slowest, fastest] = [STRAIGHT_ON * speed.min(least), speed.max(most)];
                // One that slows down, after a lane change perhaps, has come down from its fastest after as
                // many decisions as there are speeds, and one.
                let decisions =
                    if self.gets_slower { (target_speeds.len() + 1) as f64 } else { f64::INFINITY };
                let fast = time.min(decisions * task.decision_time);
                ([slowest, fastest], fastest * fast + least * (time - fast), SIDEWAYS)
            }
            _ => {
                let fastest = speed.abs() + PEDALS * time;
                ([-fastest, fastest], fastest * time, fastest * time + SIDEWAYS)
            }
        };
        let back = slowest * time;
        let gains = (speed - slowest).max(fastest - speed) + TURNING;
        let room = EGO_SIZE + self.margin.closing_time * gains;
        Row {
            centre: ((back + front) / 2.0) as f32,
            half: [((front - back) / 2.0 + ROUNDING) as f32, side as f32],
            room: room as f32,
            spots: Counted::default(),
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
    /// Whether a place is in the box; not if that cannot be told, for a NaN.
    #[inline]
    fn contains(&self, [along, across]: [f32; 2]) -> bool {
        ((along - self.centre).abs() <= self.half[0]) & (across.abs() <= self.half[1])
    }

    /// Whether a place is further from the box than a distance \[m\]; not if that cannot be told.
    #[inline]
    fn excludes(&self, [along, across]: [f32; 2], distance: f32) -> bool {
        ((along - self.centre).abs() > self.half[0] + distance)
            | (across.abs() > self.half[1] + distance)
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
mod tests;
