//! How is one world of a batch written down, and made again?
//!
//! As a single world is: by the random numbers that its episode began with and the actions that ran since, with what
//! was settled in its ledger, what it last reported, and, under conditions, the seed of drift and readings. Start at [`write`]; [`read`] is its inverse, to the last bit.

use cpss_highway::World;
use cpss_highway::random::Generator;

use super::report::{Numbers, Report};
use super::row::{Row, Told};
use crate::conditions::{Course, Prepared};
use crate::episode::{Episode, State, Terms};
use crate::world::Taken;

/// A world on paper: its generator's words and the seed of an episode under conditions, the indices or the points that
/// ran, the ledger, cost with speed, crash and drift now and at the last end, what was reported of both, and whether it
/// waits for a reset.
pub(super) type RowState = (
    ([u64; 5], u64),
    Vec<usize>,
    Vec<Vec<f32>>,
    State,
    ToldState,
    ToldState,
    ReportState,
    ReportState,
    bool,
);
type ToldState = (f64, f64, bool, f64);
type ReportState = (i64, i64, Vec<f32>, Vec<f32>, u8, u8, Numbers);

/// Writes a row down.
pub(super) fn write(row: &Row, ended: bool) -> RowState {
    let (mut indices, mut points) = (Vec::new(), Vec::new());
    for taken in &row.taken {
        match taken {
            Taken::Index(index) => indices.push(*index),
            Taken::Point(point) => points.push(point.clone()),
        }
    }
    let past = row.episode.as_ref().map(Episode::state).unwrap_or_default();
    let told = |told: &Told| (told.cost, told.speed, told.crashed, told.drift);
    let report = |of: &Report| {
        let (proposed, executed) = (of.proposed_point.clone(), of.executed_point.clone());
        (of.proposed, of.executed, proposed, executed, of.verdict, of.reason, of.numbers)
    };
    (
        (row.origin.words(), row.course.as_ref().map_or(0, |course| course.seed())),
        indices,
        points,
        past,
        told(&row.now),
        told(&row.closing),
        report(&row.report),
        report(&row.closing_report),
        ended,
    )
}

/// Makes the row of a state, its world, and whether that waits for a reset. `world` is any of the same task.
///
/// # Errors
///
/// If the state is of another task or another shield.
pub(super) fn read(
    state: RowState,
    mut world: World,
    terms: Option<Terms>,
    conditions: Option<&Prepared>,
) -> Result<(Row, World, bool), String> {
    let ((words, seed), indices, points, past, now, closing, report, closing_report, ended) = state;
    let origin = Generator::from_words(words);
    let mut seen = vec![0.0; world.task().observer.len()];
    let mut course = None;
    match conditions {
        None => world.reset_from(origin.clone(), &mut seen),
        Some(conditions) => {
            let began = Course::begin(conditions, origin.clone(), seed, &mut seen)?;
            (world, course) = (began.0, Some(Box::new(began.1)));
        }
    }
    let taken: Vec<Taken> =
        indices.into_iter().map(Taken::Index).chain(points.into_iter().map(Taken::Point)).collect();
    for action in &taken {
        let step = match &mut course {
            None => world.step(action.action(), &mut seen),
            Some(course) => course.step(&mut world, action.action(), &mut seen),
        };
        step.map_err(|error| error.to_string())?;
    }
    let episode = terms.map(|terms| Episode::of(terms, &past)).transpose()?;
    let told = |(cost, speed, crashed, drift): ToldState| Told { cost, speed, crashed, drift };
    let report_of = |state: ReportState| {
        let (proposed, executed, proposed_point, executed_point, verdict, reason, numbers) = state;
        Report { proposed, executed, proposed_point, executed_point, verdict, reason, numbers }
    };
    let row = Row {
        origin,
        taken,
        course,
        episode,
        now: told(now),
        closing: told(closing),
        report: report_of(report),
        closing_report: report_of(closing_report),
        ..Row::new(&world, None)
    };
    Ok((row, world, ended))
}
