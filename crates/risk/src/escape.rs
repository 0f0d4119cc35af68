//! Is there a way out for an ego that steers itself, and how much room does it leave?
//!
//! An ego without brakes can let others be in two ways: be in another lane in time, or lose way by weaving from edge to
//! edge. Which, and when, is decided by whether lanes will be free many seconds ahead, and by decimetres; a critic sees it
//! too late, since the least of several noisy risks looks small, decision after decision. So what geometry alone says stands under its
//! risks as a floor. Five steering angles for the decision itself are each followed by steering for a lane or by weaving,
//! step by step ([`Drive`]), and then by the best way through the [`lattice`]. The closer the best way comes to something, the
//! higher the floor; an angle that ends off the road is certain to fail.
//!
//! This is the ego's own bicycle and the road: bodies follow their lanes at their speeds, queue behind who is ahead, and who moves
//! across goes on for a moment. What drivers really do is for the critic to know. The floor is no calibrated probability.
//!
//! Start at [`Escape::of`].

mod lattice;
mod road;

use cpss_highway::Task;
use cpss_highway::action::Pedals;
use cpss_highway::scene::{Body, Ego};

use crate::actions::ActionKey;
use crate::swerve::{STEERING, slip_of};
use crate::way::Way;
use lattice::Lattice;
use road::{Others, Stretch};

/// Steps until the lattice takes over, and how long one is \[s\]. The first is the decision itself.
const STEPS: usize = 7;
const STEP: f32 = 0.2;
/// How close is close: to a body, and to the edge of the road for the middle of the ego \[m\].
const APART: f32 = 1.0;
const EDGE: f32 = 0.2;
/// How much less the end of the time ahead counts than the present, and when that is \[s\].
const FADE: f32 = 0.7;
const AHEAD: f32 = 12.0;

/// The least that each steering angle risks.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Escape {
    /// Steering angles, rising \[rad\], and the least risk of each.
    floors: [(f64, f64); STEERING.len()],
}

impl Escape {
    /// Looks for ways out among some bodies; `None` where the ego has brakes, or decides more or less often than the
    /// steps here stand for.
    pub(crate) fn of<'a>(
        task: &Task,
        ego: &Ego,
        way: &Way,
        pedals: &Pedals,
        bodies: impl Iterator<Item = &'a Body>,
    ) -> Option<Escape> {
        let has_brakes = pedals.command(&[-1.0; 2]).acceleration != 0.0;
        if has_brakes || (task.decision_time - f64::from(STEP)).abs() > 1e-3 {
            return None;
        }
        let road = Stretch::of(&task.network, way);
        let body = &ego.body;
        let found = road.find(body.lane, body.position, body.heading).unwrap_or_default();
        let [s, d, turn] = found.map(|number| number as f32);
        let others = Others::of(s, &road, body, bodies);
        let slips = STEERING.map(|share| slip_of(pedals, share));
        let drive = Drive {
            road: &road,
            others: &others,
            speed: body.speed as f32,
            half: [body.length as f32 / 2.0, body.width as f32 / 2.0],
            locks: [slips[0].min(slips[4]) as f32, slips[0].max(slips[4]) as f32],
            mean: 0.5 * (1.0 - 1.0 / task.frames.max(1) as f32),
        };
        let lattice = (others.count > 0).then(|| Lattice::of(&road, &others, s, drive.speed));
        let start = Car { s, d, turn };
        let floors = std::array::from_fn(|place| {
            let angle = pedals.command(&[STEERING[place]; 2]).steering;
            if ends_off_road(task, body, slips[place]) {
                return (angle, 1.0);
            }
            let [closest, soon] = drive.best(&start, slips[place] as f32, lattice.as_ref());
            // To touch is to fail, half-way there is not half as bad, and what comes soon counts beside what comes at all.
            // Between a tenth of this and twice as much the same would run.
            let square = |number: f32| f64::from(number) * f64::from(number);
            (angle, 0.5 * (square(closest) + square(soon)))
        });
        Some(Escape { floors })
    }

    /// Raises risks to what geometry says of their actions.
    pub(crate) fn raise(&self, actions: &[ActionKey], risks: &mut [f64]) {
        for (action, risk) in actions.iter().zip(risks) {
            if let ActionKey::Raw([_, angle]) = action {
                // Never lower, in floating point too.
                *risk += (1.0 - *risk) * self.floor(*angle);
            }
        }
    }

    /// The least risk of an angle; between two it lies between theirs.
    fn floor(&self, angle: f64) -> f64 {
        let above = self.floors.iter().position(|(known, _)| *known >= angle);
        let above = above.unwrap_or(STEERING.len() - 1);
        let ((low, from), (high, to)) = (self.floors[above.saturating_sub(1)], self.floors[above]);
        let share = if high > low { ((angle - low) / (high - low)).clamp(0.0, 1.0) } else { 1.0 };
        from + (to - from) * share
    }
}

/// Whether an ego with this slip is off the road when it decides next, by the bicycle model frame by frame. Between some
/// lanes there are slits as narrow as a hand, and who is in one when it is looked is off the road.
fn ends_off_road(task: &Task, ego: &Body, slip: f64) -> bool {
    let ([mut x, mut y], mut heading) = (ego.position, ego.heading);
    for _ in 0..task.frames {
        let (sin, cos) = (heading + slip.asin()).sin_cos();
        x += ego.speed * cos * task.frame_time;
        y += ego.speed * sin * task.frame_time;
        heading += ego.speed * slip / (ego.length / 2.0) * task.frame_time;
    }
    let found = task.network.locate([x, y], heading, ego.lane);
    !task.network.lane(found.lane).contains(found.along, found.across, 0.0)
}

/// An ego somewhere along the road.
#[derive(Clone, Copy, Debug)]
struct Car {
    s: f32,
    d: f32,
    turn: f32,
}

/// The ego's own driving, step by step.
struct Drive<'a> {
    road: &'a Stretch<'a>,
    others: &'a Others,
    speed: f32,
    half: [f32; 2],
    locks: [f32; 2],
    /// How far a turn has come on average over a step: the world moves a car on before it turns it, frame by frame.
    mean: f32,
}

impl Drive<'_> {
    /// How close the best way that begins with a slip comes to something, over all of it and within the first steps.
    fn best(&self, start: &Car, slip: f32, lattice: Option<&Lattice>) -> [f32; 2] {
        let mut best = [1.0_f32; 2];
        let mut first = *start;
        let begun = self.go(&mut first, slip, 0);
        // What is close to nothing at all cannot be bettered: mostly that is found at once, on the ego's own lane.
        let plans = std::iter::once(self.road.own)
            .chain((0..=self.road.lanes).filter(|plan| *plan != self.road.own));
        for plan in plans {
            if best == [0.0; 2] {
                break;
            }
            let (mut car, mut soon) = (first, begun);
            for step in 1..STEPS {
                let slip = match plan == self.road.lanes {
                    true => self.weave(&car),
                    false => self.steer_for(&car, self.road.middle(plan)),
                };
                soon = soon.max(self.go(&mut car, slip, step));
            }
            let ahead = lattice.map_or(0.0, |lattice| lattice.ahead(&car, self.road, self.speed));
            best = [best[0].min(soon.max(ahead)), best[1].min(soon)];
        }
        best
    }

    /// Moves on by a step; says how close that comes to a body or to the edge of the road.
    fn go(&self, car: &mut Car, slip: f32, step: usize) -> f32 {
        let bend = self.road.bend(car.s);
        let turns = self.speed * slip / self.half[0] * STEP;
        let course = car.turn + slip + self.mean * (turns - bend * self.speed * STEP);
        let (sin, cos) = course.sin_cos();
        let along = self.speed * cos * STEP * self.road.gain(car.s, car.d);
        car.s += along;
        car.d += self.speed * sin * STEP;
        car.turn += turns - bend * along;
        let [left, right] = self.road.edges();
        let room = (car.d - left).min(right - car.d);
        // Only its middle has to stay on the road.
        let mut closest = (1.0 - room / EDGE).clamp(0.0, 1.0);
        let (sin, cos) = car.turn.sin_cos();
        let (sin_size, cos_size) = (sin.abs(), cos.abs());
        let [long, wide] = self.half;
        for (other, half) in
            self.others.soon[step][..self.others.count].iter().zip(&self.others.half)
        {
            let x = (other.s - car.s) / self.road.gain(car.s, 0.5 * (car.d + other.d));
            let y = other.d - car.d;
            let [length, width] = *half;
            if x.abs().max(y.abs()) > APART + long + wide + length + width {
                continue;
            }
            // Apart along any axis of either rectangle is apart.
            let gap = (x.abs() - (long * cos_size + wide * sin_size + length))
                .max(y.abs() - (long * sin_size + wide * cos_size + width))
                .max((x * cos + y * sin).abs() - (length * cos_size + width * sin_size + long))
                .max((y * cos - x * sin).abs() - (length * sin_size + width * cos_size + wide));
            closest = closest.max((1.0 - gap / APART).clamp(0.0, 1.0));
        }
        closest * weight((step + 1) as f32 * STEP)
    }

    /// The slip that brings it to a place across the road.
    fn steer_for(&self, car: &Car, across: f32) -> f32 {
        /// How long that is to take \[s\], and the most that it turns for it, as a sine.
        const TAKES: f32 = 0.6;
        const MOST: f32 = 0.75;
        let speed = self.speed.max(1.0);
        let wish = ((across - car.d) / (TAKES * speed)).clamp(-MOST, MOST).asin();
        self.turn_to(car, wish)
    }

    fn turn_to(&self, car: &Car, wish: f32) -> f32 {
        let on = self.road.bend(car.s) * self.half[0];
        let slip = on + (wish - car.turn) * self.half[0] / (self.speed.max(1.0) * STEP);
        slip.clamp(self.locks[0], self.locks[1])
    }

    /// The slip that weaving takes: full lock to the side to which it goes, as long as the other lock would still keep it on
    /// the road.
    fn weave(&self, car: &Car) -> f32 {
        const ROOM: f32 = 0.6;
        let [left, right] = self.road.edges();
        let to_right =
            if car.turn.abs() > 0.05 { car.turn > 0.0 } else { car.d < 0.5 * (left + right) };
        let side = if to_right { 1.0 } else { -1.0 };
        let room = if to_right { right - car.d } else { car.d - left } - ROOM;
        let lock = self.locks[1].min(-self.locks[0]).max(1e-3);
        let radius = self.half[0] / lock;
        let turn = side * car.turn;
        let ahead = turn + self.mean * self.speed / radius * STEP + lock;
        let across = self.speed * ahead.sin() * STEP;
        let course = (turn + self.speed / radius * STEP - lock).max(0.0);
        let keeps_on = across + radius * (1.0 - course.min(3.0).cos()) <= room;
        (lock * if keeps_on { side } else { -side }).clamp(self.locks[0], self.locks[1])
    }
}

/// How much a moment counts: what is later can still be averted.
fn weight(time: f32) -> f32 {
    1.0 - FADE * time / AHEAD
}
