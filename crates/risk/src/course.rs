//! Where is everybody at each look?
//!
//! A course is a [`Way`] driven to the horizon at given speeds. Most ways lead along a straight lane
//! that is long enough: those are worked out for all looks at once, by the same arithmetic as look
//! by look, which the compiler turns into a few wide instructions.
//!
//! **Invariants:** a course is what [`Way::go`] and [`Way::pose`] make of it; nothing is allocated
//! once the busiest scene has been seen.

use cpss_highway::lane::Shape;
use cpss_highway::road::Network;

use crate::looks::Looks;
use crate::proximity::Pose;
use crate::roadmap::Roadmap;
use crate::way::{Way, centring, slope, tilted};

/// The courses of all tracks, number by number, so that one instruction moves several looks.
#[derive(Clone, Debug)]
pub(crate) struct Courses {
    /// The time of a look \[s\].
    times: Vec<f64>,
    /// The time between a look and the one before it \[s\].
    spans: Vec<f64>,
    /// How much drivers close in on the middle of their lane meanwhile.
    centrings: Vec<f64>,
    /// Where they are \[m\], one track after the other, as all that follows.
    x: Vec<f64>,
    y: Vec<f64>,
    cos: Vec<f64>,
    sin: Vec<f64>,
    speed: Vec<f64>,
    /// Places on the lane of the course that is worked out \[m\].
    along: Vec<f64>,
    across: Vec<f64>,
}

/// One course, look by look.
#[derive(Clone, Copy)]
pub(crate) struct Course<'a> {
    pub(crate) x: &'a [f64],
    pub(crate) y: &'a [f64],
    pub(crate) cos: &'a [f64],
    pub(crate) sin: &'a [f64],
    pub(crate) speed: &'a [f64],
}

impl Courses {
    /// Room for some tracks.
    pub(crate) fn new(looks: Looks, tracks: usize) -> Courses {
        let spans = |look: usize| looks.time(look) - looks.time(look - 1);
        let strides = |look: usize| looks.strides(look) - looks.strides(look - 1);
        let [early, late] = [1.0, 2.0].map(|strides| centring(strides * looks.stride_time()));
        let count = looks.count();
        let mut courses = Courses {
            times: (1..=count).map(|look| looks.time(look)).collect(),
            spans: (1..=count).map(spans).collect(),
            centrings: (1..=count)
                .map(|look| if strides(look) == 1 { early } else { late })
                .collect(),
            x: Vec::new(),
            y: Vec::new(),
            cos: Vec::new(),
            sin: Vec::new(),
            speed: Vec::new(),
            along: vec![0.0; count],
            across: vec![0.0; count],
        };
        courses.make_room(tracks);
        courses
    }

    /// Makes sure that so many tracks fit in.
    pub(crate) fn make_room(&mut self, tracks: usize) {
        let size = tracks * self.spans.len();
        let Courses { x, y, cos, sin, speed, .. } = self;
        for numbers in [x, y, cos, sin, speed] {
            if numbers.len() < size {
                numbers.resize(size, 0.0);
            }
        }
    }

    /// A track's course.
    pub(crate) fn of(&self, track: usize) -> Course<'_> {
        let looks = track * self.spans.len()..(track + 1) * self.spans.len();
        Course {
            x: &self.x[looks.clone()],
            y: &self.y[looks.clone()],
            cos: &self.cos[looks.clone()],
            sin: &self.sin[looks.clone()],
            speed: &self.speed[looks],
        }
    }

    /// Where a track is at a look (from 1), for a body of this size.
    #[inline]
    pub(crate) fn pose(&self, track: usize, look: usize, half_size: [f64; 2]) -> Pose {
        let place = track * self.spans.len() + look - 1;
        Pose {
            position: [self.x[place], self.y[place]],
            cos: self.cos[place],
            sin: self.sin[place],
            speed: self.speed[place],
            half_size,
        }
    }

    /// Drives a track from a speed \[m/s\] on; `speed_at` says how fast it is at a look (from 1),
    /// given its time \[s\].
    #[inline]
    pub(crate) fn drive(
        &mut self,
        track: usize,
        way: Way,
        speed: f64,
        speed_at: impl Fn(usize, f64) -> f64,
        network: &Network,
        map: &Roadmap,
    ) {
        let count = self.spans.len();
        let first = track * count;
        let speeds = self.speed[first..first + count].iter_mut();
        for (place, (speed, time)) in speeds.zip(&self.times).enumerate() {
            *speed = speed_at(place + 1, *time);
        }
        if !self.go_straight(first, &way, speed, network) {
            self.go(first, way, speed, network, map);
        }
    }

    /// Look by look, wherever the way leads.
    fn go(&mut self, first: usize, mut way: Way, from: f64, network: &Network, map: &Roadmap) {
        let mut before = from;
        for (look, (span, centring)) in self.spans.iter().zip(&self.centrings).enumerate() {
            let place = first + look;
            let speed = self.speed[place];
            way.go(span * (before + speed) / 2.0, *centring, network, map);
            before = speed;
            let Pose { position, cos, sin, .. } = way.pose(speed, [0.0; 2], network);
            [self.x[place], self.y[place]] = position;
            (self.cos[place], self.sin[place]) = (cos, sin);
        }
    }

    /// All looks at once, for a way that does not leave its straight lane. Says whether it does not.
    fn go_straight(&mut self, first: usize, way: &Way, from: f64, network: &Network) -> bool {
        let lane = network.lane(way.lane);
        let Shape::Straight { start, direction, .. } = lane.shape else { return false };
        let count = self.spans.len();
        let looks = first..first + count;
        let speed = &self.speed[looks.clone()];
        let (spans, centrings) = (&self.spans[..count], &self.centrings[..count]);
        let (along, across) = (&mut self.along[..count], &mut self.across[..count]);
        let (mut before, mut place, mut furthest) = (from, [way.along, way.across], way.along);
        for look in 0..count {
            place[0] += spans[look] * (before + speed[look]) / 2.0;
            place[1] *= centrings[look];
            before = speed[look];
            furthest = furthest.max(place[0]);
            [along[look], across[look]] = place;
        }
        if furthest > lane.length {
            return false;
        }
        let [ux, uy] = direction;
        let (x, y) = (&mut self.x[looks.clone()], &mut self.y[looks.clone()]);
        let (cos, sin) = (&mut self.cos[looks.clone()], &mut self.sin[looks]);
        for look in 0..count {
            x[look] = start[0] + along[look] * ux + across[look] * -uy;
            y[look] = start[1] + along[look] * uy + across[look] * ux;
            [cos[look], sin[look]] = tilted(direction, slope(across[look], speed[look]));
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cpss_highway::{Task, TaskId};

    #[test]
    fn all_looks_at_once_are_the_same_as_look_by_look() {
        for id in [TaskId::HighwayV0, TaskId::MergeV0, TaskId::RacetrackV0] {
            let task = Task::with_defaults(id);
            let map = Roadmap::new(&task.network);
            let looks = Looks::new(&task, 10.0, 1.0 / 3.0, true);
            let mut courses = Courses::new(looks, 2);
            let mut straight = 0;
            for (lane, _) in task.network.lanes() {
                for (along, across, speed) in
                    [(0.0, 0.0, 25.0), (3.0, -3.0, 18.0), (40.0, 0.7, 0.0), (20.0, 4.0, -3.0)]
                {
                    let position = task.network.lane(lane).position(along, across);
                    let way = Way::to(lane, position, &task.network);
                    let speed_at = |_, time: f64| speed + 0.3 * time;
                    courses.drive(0, way, speed, speed_at, &task.network, &map);
                    courses.drive(1, way, speed, speed_at, &task.network, &map);
                    straight += usize::from(courses.go_straight(0, &way, speed, &task.network));
                    courses.go(looks.count(), way, speed, &task.network, &map);
                    for look in 1..=looks.count() {
                        let [at_once, by_look] =
                            [0, 1].map(|track| courses.pose(track, look, [2.5, 1.0]));
                        assert_eq!(at_once, by_look, "{} {lane:?} {look}", id.name());
                    }
                }
            }
            assert!(straight > 0, "{}", id.name());
        }
    }
}
