//! Which actions may run in the worlds of a batch?
//!
//! A [`Guard`] asks the critic about the scenes of all worlds, as many at once as fit a thread's share, and has the
//! proposals judged. Start at [`Guard::judge`].
//!
//! **Invariants:** what a world's actions risk does not depend on who shares its thread; judging changes no ledger; a world that is about to be reset is not judged; if any
//! proposal makes no sense, nothing runs.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use cpss::play::critic::knows;
use cpss_highway::batch::Actions;
use cpss_highway::{Action, Task};
use cpss_risk::{Assessment, BatchModel};
use cpss_shield::candidates::{Neighbourhood, sample};
use cpss_shield::{JudgeError, Mode, Situation};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use rayon::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuilder};

use super::lock;
use super::report::Report;
use super::row::Row;
use crate::critic::Critic;
use crate::episode::{Episode, RiskTerms};
use crate::settings::read;
use crate::value_error;

/// What judges a batch's proposals.
pub(super) struct Guard {
    /// One per thread: a model owns its work space.
    models: Vec<Mutex<BatchModel>>,
    pool: Option<ThreadPool>,
    dimension: usize,
    candidates: usize,
    radius: Vec<f64>,
    resort: Vec<f64>,
}

/// What a policy wants, for every world.
pub(super) enum Proposals<'a> {
    /// An index each, and how much each action is liked, row after row; or nothing about that.
    Indices(&'a [usize], &'a [f64]),
    /// A point each, one after the other.
    Points(&'a [f32]),
}

/// What runs instead.
pub(super) enum Chosen {
    Indices(Vec<usize>),
    Points(Vec<f32>),
}

impl Chosen {
    pub(super) fn actions(&self) -> Actions<'_> {
        match self {
            Chosen::Indices(indices) => Actions::Indices(indices),
            Chosen::Points(points) => Actions::Points(points),
        }
    }
}

impl Guard {
    /// Takes its own settings out of the dictionary; the rest are the shield's. Also says how the critic's risks are
    /// accounted for.
    pub(super) fn new(
        task: &Arc<Task>,
        settings: &Bound<'_, PyDict>,
        threads: usize,
    ) -> PyResult<(Guard, RiskTerms)> {
        let take = |key: &str| -> PyResult<Option<Bound<'_, PyAny>>> {
            let value = settings.get_item(key)?;
            if value.is_some() {
                settings.del_item(key)?;
            }
            Ok(value)
        };
        let critic = take("risk")?.ok_or_else(|| value_error("`risk` is missing"))?;
        let critic = critic.cast::<Critic>()?.get();
        let (model, mut rules) = (BatchModel::new(critic.model(task)?), critic.rules()?);
        rules.is_conservative &= knows(critic.learned(), task);
        let candidates = take("candidates")?
            .map_or(Ok(0), |value| read("candidates", &value, "a whole number from 2"))?;
        let radius = take("radius")?
            .map_or(Ok(Vec::new()), |value| read("radius", &value, "a list of numbers"))?;
        let resort = take("resort")?
            .map_or(Ok(Vec::new()), |value| read("last_resort", &value, "a list of numbers"))?;
        let dimension = task.controls.box_dimension().unwrap_or(0);
        let pool = match threads {
            1 => None,
            _ => Some(ThreadPoolBuilder::new().num_threads(threads).build().map_err(value_error)?),
        };
        let models = (0..threads).map(|_| Mutex::new(model.clone())).collect();
        Ok((Guard { models, pool, dimension, candidates, radius, resort }, rules))
    }

    /// Judges every proposal, except in worlds that rest, and says what runs.
    pub(super) fn judge(
        &self,
        rows: &[Mutex<Row>],
        proposals: &Proposals<'_>,
        rests: impl Fn(usize) -> bool + Sync,
    ) -> Result<Chosen, String> {
        let fits = match proposals {
            Proposals::Indices(indices, _) => indices.len() == rows.len(),
            Proposals::Points(points) => points.len() == rows.len() * self.dimension,
        };
        if !fits {
            return Err(format!(
                "`actions` does not hold one action for each of {} environments",
                rows.len()
            ));
        }
        let judged = self.each(rows, rests, |i, row, scene| {
            let report = match proposals {
                Proposals::Indices(indices, preferences) => {
                    judge_index(row, scene, indices[i], preferences, (i, rows.len()))
                }
                Proposals::Points(points) => {
                    self.judge_point(row, scene, &points[i * self.dimension..][..self.dimension])
                }
            };
            report.map_err(|error| format!("environment {i}: {error}"))
        })?;
        Ok(match proposals {
            // A world that rests ignores its action, whatever it is.
            Proposals::Indices(..) => Chosen::Indices(
                judged
                    .iter()
                    .map(|report| report.as_ref().map_or(0, |r| r.executed as usize))
                    .collect(),
            ),
            Proposals::Points(_) => Chosen::Points(
                judged
                    .iter()
                    .flat_map(|report| match report {
                        Some(report) => report.executed_point.clone(),
                        None => vec![0.0; self.dimension],
                    })
                    .collect(),
            ),
        })
    }

    /// Which actions would be let through now; where none would be, the least costly one.
    pub(super) fn masks(&self, rows: &[Mutex<Row>], actions: usize) -> Result<Vec<bool>, String> {
        let masks = self.each(
            rows,
            |_| false,
            |_, row, mut scene| {
                let Row { assessment, episode, .. } = row;
                let Some(episode) = episode else { return Err("no shield".to_owned()) };
                let Assessment { costs, density, .. } = scene.of_list(assessment);
                mask(episode, costs, *density).map_err(|error| error.to_string())
            },
        )?;
        let flat: Vec<bool> = masks.into_iter().flatten().flatten().collect();
        debug_assert_eq!(flat.len(), rows.len() * actions);
        Ok(flat)
    }

    fn judge_point(
        &self,
        row: &mut Row,
        mut scene: Judge<'_>,
        proposal: &[f32],
    ) -> Result<Report, String> {
        let Row { episode, pending, .. } = row;
        let Some(episode) = episode else { return Err("no shield".to_owned()) };
        let dimension = self.dimension;
        // A learner's rounding may overshoot a bound by its last bits; anything beyond that is a mistake.
        let bound = 1.0 + 4.0 * f32::EPSILON;
        if let Some(value) = proposal.iter().find(|value| !(-bound..=bound).contains(*value)) {
            return Err(format!("the action holds {value}, but has to be from -1 to 1"));
        }
        let wide: Vec<f64> = proposal.iter().map(|value| f64::from(*value)).collect();
        let around = Neighbourhood {
            proposal: &wide,
            radius: &self.radius,
            low: &vec![-1.0; dimension],
            high: &vec![1.0; dimension],
        };
        let mut candidates = vec![0.0; self.candidates * dimension];
        sample(&around, &mut candidates).map_err(|error| error.to_string())?;
        let last = candidates.len() - dimension;
        candidates[last..].copy_from_slice(&self.resort);
        let points: Vec<f32> = candidates.iter().map(|value| *value as f32).collect();
        let assessment = scene.of_each(points.chunks_exact(dimension).map(Action::Point));
        let assessment = assessment.ok_or("nobody was asked what its actions risk")?;
        let judged = episode
            .judge_nearest(&around, &candidates, &assessment.costs, assessment.density)
            .map_err(|error| error.to_string())?;
        // What runs is what was judged, clamped to the box; but a shadow leaves the proposal alone.
        let executed = match episode.shield().rules().spec().mode {
            Mode::Shadow => proposal.to_vec(),
            Mode::Enforce => points[judged.decision.executed() * dimension..][..dimension].to_vec(),
        };
        let mut report = Report {
            proposed_point: proposal.to_vec(),
            executed_point: executed,
            ..Report::default()
        };
        let risk = assessment.risks[judged.decision.executed()];
        report.numbers[6..8].copy_from_slice(&[risk, assessment.unavoidable]);
        *pending = Some((judged, report.clone()));
        Ok(report)
    }

    /// Does something with every row that does not rest, in parallel.
    fn each<T: Send>(
        &self,
        rows: &[Mutex<Row>],
        rests: impl Fn(usize) -> bool + Sync,
        act: impl Fn(usize, &mut Row, Judge<'_>) -> Result<T, String> + Sync,
    ) -> Result<Vec<Option<T>>, String> {
        let share = rows.len().div_ceil(self.models.len()).clamp(1, MOST_AT_ONCE);
        let on = |(index, rows): (usize, &[Mutex<Row>])| {
            let thread = rayon::current_thread_index().unwrap_or(0) % self.models.len();
            let mut model = self.models[thread].lock().unwrap_or_else(PoisonError::into_inner);
            let mut rows: Vec<MutexGuard<'_, Row>> = rows.iter().map(lock).collect();
            let first = index * share;
            model.clear();
            let places: Vec<Option<usize>> = rows
                .iter()
                .enumerate()
                .map(|(i, row)| {
                    let is_open = row.assessment.is_none() && !rests(first + i);
                    is_open.then(|| model.push(row.judged_scene()))
                })
                .collect();
            model.run();
            let rows = rows.iter_mut().enumerate().zip(places);
            let done = rows.map(|((i, row), place)| {
                if rests(first + i) {
                    row.pending = None;
                    return Ok(None);
                }
                act(first + i, row, Judge { model: &mut model, place }).map(Some)
            });
            done.collect::<Result<Vec<_>, String>>()
        };
        let done: Vec<Vec<Option<T>>> = match &self.pool {
            None => rows.chunks(share).enumerate().map(on).collect::<Result<_, _>>(),
            Some(pool) => pool.install(|| rows.par_chunks(share).enumerate().map(on).collect()),
        }?;
        Ok(done.into_iter().flatten().collect())
    }
}

/// So many scenes go through the critic at once, at most: more would not be faster, and leave less to share out.
const MOST_AT_ONCE: usize = 32;

/// What the critic has said of a row's scene.
struct Judge<'a> {
    model: &'a mut BatchModel,
    /// Where it was asked; not at all if the row knows already.
    place: Option<usize>,
}

impl Judge<'_> {
    /// What the actions of a list risk: as the row knows, or as it gets to know now.
    fn of_list<'r>(&mut self, known: &'r mut Option<Assessment>) -> &'r Assessment {
        known.get_or_insert_with(|| match self.place {
            Some(place) => self.model.assess(place).clone(),
            None => Assessment::default(),
        })
    }

    /// What some points risk; nothing is known of points beforehand.
    fn of_each<'p>(&mut self, points: impl Iterator<Item = Action<'p>>) -> Option<&Assessment> {
        self.place.map(|place| self.model.assess_each(place, points))
    }
}

fn judge_index(
    row: &mut Row,
    mut scene: Judge<'_>,
    proposal: usize,
    preferences: &[f64],
    (place, count): (usize, usize),
) -> Result<Report, String> {
    let Row { assessment, episode, pending, .. } = row;
    let Some(episode) = episode else { return Err("no shield".to_owned()) };
    let Assessment { risks, unavoidable, costs, density } = scene.of_list(assessment);
    let preferences = match preferences.len() {
        0 => &[],
        len if len == count * costs.len() => &preferences[place * costs.len()..][..costs.len()],
        len => {
            let wanted = count * costs.len();
            return Err(format!("`preferences` has {len} entries, but {wanted} are needed"));
        }
    };
    if proposal >= costs.len() {
        return Err(format!("the action has to be from 0 to {}", costs.len().saturating_sub(1)));
    }
    let situation = Situation { proposal, costs, preferences, density: *density };
    let judged = episode.judge(&situation).map_err(|error| error.to_string())?;
    let executed = judged.decision.executed();
    let mut report =
        Report { proposed: proposal as i64, executed: executed as i64, ..Report::default() };
    report.numbers[6..8].copy_from_slice(&[risks[executed], *unavoidable]);
    *pending = Some((judged, report.clone()));
    Ok(report)
}

/// Which actions a shield would let through; where none would be, the one it would run.
fn mask(episode: &Episode, costs: &[f64], density: f64) -> Result<Vec<bool>, JudgeError> {
    let shield = episode.shield();
    let judge = |proposal| shield.judge(&Situation { proposal, costs, preferences: &[], density });
    let mut mask = Vec::with_capacity(costs.len());
    for proposal in 0..costs.len() {
        mask.push(!judge(proposal)?.verdict().intervenes());
    }
    if !mask.contains(&true) {
        let least = judge(0)?.allowed();
        mask[least] = true;
    }
    Ok(mask)
}
