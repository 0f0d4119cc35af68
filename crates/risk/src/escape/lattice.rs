//! Which way through the traffic ahead comes least close to a body?
//!
//! The time ahead as a lattice of moments, lanes, and lags: by how much the ego is behind where it would be had it kept
//! its own lane. From moment to moment it keeps its lane, changes it, or weaves, which needs two lanes and loses way.
//! The best way is found from the end backwards, for all lags at once.
//!
//! Start at [`Lattice::of`].

use super::road::{LANES, Others, Stretch};
use super::{AHEAD, Car, STEP, STEPS, weight};

/// Moments, and how far apart they are \[s\].
pub(super) const MOMENTS: usize = 25;
pub(super) const MOMENT: f32 = AHEAD / (MOMENTS - 1) as f32;
/// The moment at which it begins.
const JOIN: usize = 3;
/// Lags: how many, how far apart \[m\], and which of them is none.
const LAGS: usize = 64;
const LAG: f32 = 0.5;
const NO_LAG: usize = 16;
/// A change of lane, and weaving, take so many moments; weaving loses so many lags.
const CHANGE: usize = 2;
const WOVEN: usize = 5;
/// How close is close, along a lane and across it \[m\].
const ALONG: f32 = 2.0;
const ACROSS: f32 = 1.0;
/// Half of the ego's length and width, near enough \[m\].
const EGO: [f32; 2] = [2.5, 1.0];

/// How close the best way comes to a body from each moment, lane and lag on.
pub(super) struct Lattice {
    best: [[[f32; LAGS]; LANES]; MOMENTS],
    /// How far the ego comes along its own lane until each moment.
    nominal: [f32; MOMENTS],
}

impl Lattice {
    pub(super) fn of(road: &Stretch<'_>, others: &Others, s: f32, speed: f32) -> Lattice {
        let nominal: [f32; MOMENTS] =
            std::array::from_fn(|moment| s + speed * moment as f32 * MOMENT);
        let mut lattice = Lattice { best: [[[0.0; LAGS]; LANES]; MOMENTS], nominal };
        // The last moment at which somebody is in the way: from there on any way is as good as any other.
        let mut last = 0;
        for (moment, rows) in lattice.best.iter_mut().enumerate().skip(JOIN) {
            let weight = weight(moment as f32 * MOMENT);
            for (lane, row) in rows.iter_mut().enumerate().take(road.lanes) {
                if fill(row, road, others, (moment, lane), nominal[moment], weight) {
                    last = moment;
                }
            }
        }
        // Beside the ego's lane a bend makes the way longer or shorter: so many lags from moment to moment.
        let mut lost = [[0.0_f32; MOMENTS]; LANES];
        for (lane, lost) in lost.iter_mut().enumerate().take(road.lanes) {
            for moment in 1..MOMENTS {
                let gain = road.gain(nominal[moment - 1], road.middle(lane));
                lost[moment] = lost[moment - 1] + speed * MOMENT * (1.0 - gain) / LAG;
            }
        }
        for moment in (JOIN..MOMENTS - 1).rev().skip_while(|moment| *moment > last) {
            let (now, later) = lattice.best.split_at_mut(moment + 1);
            let now = &mut now[moment];
            let here = *now;
            for lane in 0..road.lanes {
                let lags = |to: usize| {
                    let to = (moment + to).min(MOMENTS - 1);
                    (lost[lane][to].round() - lost[lane][moment].round()) as isize
                };
                let mut best = shifted(&later[0][lane], lags(1));
                let beside = [lane.checked_sub(1), Some(lane + 1).filter(|l| *l < road.lanes)];
                if later.len() >= CHANGE {
                    for other in beside.into_iter().flatten() {
                        let lanes = [lane, other];
                        go_beside(&mut best, &here[other], later, lanes, [lags(1), lags(CHANGE)]);
                    }
                }
                for lag in 0..LAGS {
                    now[lane][lag] = here[lane][lag].max(best[lag]);
                }
            }
        }
        lattice
    }

    /// How close the best way comes from where the first moments have led.
    pub(super) fn ahead(&self, car: &Car, road: &Stretch<'_>, speed: f32) -> f32 {
        // The first steps end a little before the moment.
        let rest = JOIN as f32 * MOMENT - STEPS as f32 * STEP;
        let s = car.s + rest * speed * car.turn.cos() * road.gain(car.s, car.d);
        let lag = (self.nominal[JOIN] - s) / LAG + NO_LAG as f32;
        let lag = lag.clamp(0.0, (LAGS - 1) as f32);
        let lane = ((car.d - road.middle(0)) / road.width).round().max(0.0) as usize;
        let row = &self.best[JOIN][lane.min(road.lanes - 1)];
        // Behind two cars abreast each decision loses or saves a few decimetres. Rounded away, there would never be a reason
        // to begin with it.
        let (below, share) = (lag as usize, lag.fract());
        row[below] + share * (row[(below + 1).min(LAGS - 1)] - row[below])
    }
}

/// Takes what is better for each lag: to go on as known so far, to change to the lane beside, or to weave over both.
/// `later` are the moments to come, and `lags` what the bend costs until the next and until the one after it.
fn go_beside(
    best: &mut [f32; LAGS],
    beside: &[f32; LAGS],
    later: &[[[f32; LAGS]; LANES]],
    [lane, other]: [usize; 2],
    [between, after]: [isize; 2],
) {
    let change = [
        shifted(&later[0][lane], between),
        shifted(&later[0][other], between),
        shifted(&later[1][other], after),
    ];
    let (half, woven) = (between + (WOVEN / 2) as isize, after + WOVEN as isize);
    let weave = [shifted(&later[0][lane], half), shifted(&later[0][other], half)];
    let then = [shifted(&later[1][lane], woven), shifted(&later[1][other], woven)];
    for lag in 0..LAGS {
        let changed = change[0][lag].max(change[1][lag]).max(change[2][lag]);
        // From edge to edge it needs both lanes throughout.
        let swept = beside[lag].max(weave[0][lag]).max(weave[1][lag]);
        let wove = swept.max(then[0][lag].min(then[1][lag]));
        best[lag] = best[lag].min(changed).min(wove);
    }
}

/// How close an ego in a lane is to bodies at a moment, for every lag; `false` if to none at any.
fn fill(
    row: &mut [f32; LAGS],
    road: &Stretch<'_>,
    others: &Others,
    (moment, lane): (usize, usize),
    nominal: f32,
    weight: f32,
) -> bool {
    let mut is_close = false;
    for (other, half) in others.later[moment][..others.count].iter().zip(&others.half) {
        let beside = (other.d - road.middle(lane)).abs() - EGO[1] - half[1];
        let across = (1.0 - beside / ACROSS).clamp(0.0, 1.0);
        if across == 0.0 {
            continue;
        }
        let scale = 1.0 / road.gain(other.s, road.middle(lane));
        let reach = EGO[0] + half[0];
        let [nearest, farthest] =
            [0, LAGS - 1].map(|lag| nominal - (lag as f32 - NO_LAG as f32) * LAG);
        let beyond = (other.s - nearest).max(farthest - other.s);
        if beyond * scale - reach > ALONG {
            continue;
        }
        is_close = true;
        for (lag, cell) in row.iter_mut().enumerate() {
            let s = nominal - (lag as f32 - NO_LAG as f32) * LAG;
            let gap = (other.s - s).abs() * scale - reach;
            let along = (1.0 - gap / ALONG).clamp(0.0, 1.0);
            *cell = cell.max(weight * across * along);
        }
    }
    is_close
}

/// A row as seen from so many lags before; who would lag beyond the last one lags as much as that.
fn shifted(row: &[f32; LAGS], by: isize) -> [f32; LAGS] {
    let steps = by.unsigned_abs().min(LAGS - 1);
    let mut found = [row[if by < 0 { 0 } else { LAGS - 1 }]; LAGS];
    match by < 0 {
        true => found[steps..].copy_from_slice(&row[..LAGS - steps]),
        false => found[..LAGS - steps].copy_from_slice(&row[steps..]),
    }
    found
}
