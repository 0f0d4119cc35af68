//! What does Python see of a shield's memory?
//!
//! [`MemoryInUse`] is the memory of one shield: it raises risks, learns from surprises, and is kept after every episode
//! if it has a file. A [`Memory`] is what was found at one moment, and never changes. Both are the lab's own: what
//! `cpss evaluate --memory` does over the same episodes comes out with the same bits.
//!
//! **Invariants:** what is in force stands still while an episode lasts; a file is one shield's alone, and one that was
//! edited or is about another critic is a `ValueError` with its name; a copy has no file.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use cpss::files::lock::Lock;
use cpss::play::memory::{Keeper, MemoryFile};
use cpss::record::memory::{Adaptation, MemoryLine, MemorySettings};
use cpss_risk::{Foresight, LearnedRisk};
use cpss_shield::{RiskRules, Surprise};
use numpy::{PyArray1, PyReadonlyArray1};
use pyo3::exceptions::PyOSError;
use pyo3::prelude::*;

use crate::shield::WhoKnows;
use crate::value_error;
use crate::world::World;

/// What was found up to one moment, about which critic, and by what settings.
#[pyclass(frozen, eq, module = "cpss._native")]
#[derive(Clone, PartialEq)]
pub(crate) struct Memory {
    file: MemoryFile,
    memory: cpss_shield::Memory,
}

#[pymethods]
impl Memory {
    /// Reads the text of a file.
    #[staticmethod]
    fn parse(text: &str) -> PyResult<Memory> {
        Memory::of(MemoryFile::parse(text.as_bytes()).map_err(in_words)?)
    }

    /// Reads a file.
    #[staticmethod]
    fn read(place: PathBuf) -> PyResult<Memory> {
        Memory::of(MemoryFile::read(&place).map_err(in_words)?)
    }

    /// Writes a file, unless somebody uses it.
    fn write(&self, place: PathBuf) -> PyResult<()> {
        let _lock = Lock::take_file(&place, "cpss.Memory").map_err(in_words)?;
        self.file.write(&place).map_err(|error| PyOSError::new_err(format!("{error:#}")))
    }

    /// The text of a file.
    fn text(&self) -> PyResult<String> {
        self.file.text().map_err(in_words)
    }

    /// One for another shield of a fleet, which remembers what it adds.
    fn fork(&self) -> PyResult<Memory> {
        Memory::of(self.file.fork().map_err(in_words)?)
    }

    /// The same with evidence of both kinds begun anew, after an alarm that was seen to.
    fn restarted(&self) -> PyResult<Memory> {
        Memory::of(self.file.restarted().map_err(in_words)?)
    }

    /// What some forks of one memory have found together, in this order.
    #[staticmethod]
    fn join(forks: Vec<PyRef<'_, Memory>>) -> PyResult<Memory> {
        let named = forks.iter().enumerate();
        let named = named.map(|(place, fork)| (format!("memory {place}"), fork.file.clone()));
        let forks: Vec<(String, MemoryFile)> = named.collect();
        Memory::of(MemoryFile::merge(&forks).map_err(in_words)?)
    }

    #[getter]
    fn task(&self) -> &str {
        &self.file.task
    }

    #[getter]
    fn episodes(&self) -> u64 {
        self.memory.episodes()
    }

    #[getter]
    fn decisions(&self) -> u64 {
        self.memory.evidence().seen()
    }

    #[getter]
    fn evidence(&self) -> f64 {
        self.memory.evidence().value()
    }

    #[getter]
    fn shift(&self) -> f64 {
        self.memory.recalibration().shift()
    }

    #[getter]
    fn lift(&self) -> f64 {
        self.memory.recalibration().lift()
    }

    #[getter]
    fn novelty(&self) -> Option<f64> {
        self.memory.novelty().map(cpss_shield::Novelty::value)
    }

    /// Why somebody has to look after the critic; empty if nobody has.
    #[getter]
    fn alarm(&self) -> String {
        alarms(&self.memory)
    }

    fn __str__(&self) -> String {
        self.memory.to_string()
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, (String,))> {
        Ok((py.get_type::<Memory>().getattr("parse")?, (self.text()?,)))
    }
}

impl Memory {
    fn of(file: MemoryFile) -> PyResult<Memory> {
        let memory = file.memory().map_err(in_words)?;
        Ok(Memory { file, memory })
    }
}

/// The memory of one shield, while it is used.
#[pyclass(module = "cpss._native")]
pub(crate) struct MemoryInUse {
    rules: RiskRules,
    memory: cpss_shield::Memory,
    /// What it is about, and what it goes on from.
    file: MemoryFile,
    keeper: Option<Keeper>,
    /// Who knows what traffic was like, where scores are watched.
    critic: Option<Arc<LearnedRisk>>,
    /// The traffic of this episode; `None` if it was not seen from its beginning.
    foresight: Option<Foresight>,
}

#[pymethods]
impl MemoryInUse {
    /// A memory of a driving critic, or of a learned risk, by the name of its environment and the hash of its file. It goes
    /// on from another, or from what is in a file, if there is one.
    #[new]
    #[pyo3(signature = (critic, about = None, memory = None, place = None))]
    fn new(
        critic: WhoKnows<'_>,
        about: Option<(String, String)>,
        memory: Option<&Memory>,
        place: Option<PathBuf>,
    ) -> PyResult<MemoryInUse> {
        let (new, terms, critic) = match &critic {
            WhoKnows::Driving(critic) => {
                let critic = critic.get();
                (critic.memory()?, critic.rules()?, Some(Arc::clone(critic.learned())))
            }
            WhoKnows::Learned(terms) => {
                let (task, hash) = about.ok_or_else(|| value_error("`about` is missing"))?;
                let settings = MemorySettings::unscored(Adaptation::default());
                let new = MemoryFile::about(task, hash, settings);
                (new.map_err(in_words)?, terms.get().terms, None)
            }
        };
        let keeper = place.map(|place| keeper_of(&place, &new)).transpose()?;
        let file = match (memory, &keeper) {
            (Some(memory), _) => memory.file.clone(),
            (None, Some(keeper)) => keeper.file().clone(),
            (None, None) => new.clone(),
        };
        if let Some(why) = file.differs_from(&new) {
            return Err(value_error(format!("`memory` does not belong to this shield: {why}")));
        }
        let recalled = file.settings.recall(terms.rules.spec(), &file.memory);
        let (rules, memory) = recalled.map_err(value_error)?;
        let critic = critic.filter(|_| file.settings.novelty.is_some());
        Ok(MemoryInUse { rules, memory, file, keeper, critic, foresight: None })
    }

    /// What each action costs and risks, as they are raised, and the risk that cannot be avoided.
    #[expect(clippy::type_complexity, reason = "two arrays and a number")]
    fn costs<'py>(
        &self,
        py: Python<'py>,
        risks: PyReadonlyArray1<'_, f64>,
    ) -> PyResult<(Bound<'py, PyArray1<f64>>, Bound<'py, PyArray1<f64>>, f64)> {
        let risks = risks.as_slice()?;
        let recalibration = self.memory.recalibration();
        let mut costs = vec![0.0; risks.len()];
        let unavoidable = self.rules.costs(recalibration, risks, &mut costs);
        let raising = recalibration.raising(risks);
        let raised: Vec<f64> = risks.iter().map(|risk| raising.raise(*risk)).collect();
        let [costs, raised] = [costs, raised].map(|numbers| PyArray1::from_vec(py, numbers));
        Ok((costs, raised, unavoidable.map_err(value_error)?))
    }

    /// Takes a surprise into account.
    fn learn(&mut self, unforeseen: f64, uncharged: f64) {
        self.memory.learn(Surprise { unforeseen, uncharged });
    }

    /// An episode begins in a world whose cars have numbers, if there is one: its traffic is watched.
    #[pyo3(signature = (world = None))]
    fn begin(&mut self, world: Option<PyRef<'_, World>>) {
        let watched = world.filter(|_| self.critic.is_some());
        self.foresight = watched.map(|world| {
            let mut foresight = Foresight::default();
            foresight.begin();
            foresight.look(&world.task().network, world.scene(), 0.0);
            foresight
        });
    }

    /// Looks at the world after a decision.
    fn look(&mut self, world: &World) {
        if let Some(foresight) = &mut self.foresight {
            let task = world.task();
            foresight.look(&task.network, world.scene(), task.decision_time);
        }
    }

    /// The episode is over: what was learned comes into force and is kept. One that was left early has no score, since
    /// scores are those of whole episodes.
    fn end(&mut self, py: Python<'_>, is_whole: bool) -> PyResult<()> {
        let portrait = self.foresight.take().filter(|_| is_whole);
        let portrait = portrait.and_then(|foresight| foresight.portrait());
        let likeness = self.critic.as_ref().and_then(|critic| critic.card().likeness.as_ref());
        let score = likeness.zip(portrait).map(|(known, portrait)| known.score(&portrait));
        self.memory.end_episode_scored(None, score);
        let (keeper, memory) = (&mut self.keeper, &self.memory);
        py.detach(|| keeper.as_mut().map_or(Ok(()), |keeper| keeper.keep(memory)))
            .map_err(|error| PyOSError::new_err(format!("{error:#}")))
    }

    /// What was found up to now.
    fn found(&self) -> Memory {
        let mut file = self.file.clone();
        file.memory = MemoryLine::of(&self.memory);
        Memory { file, memory: self.memory }
    }

    /// Lets go of the file, as it was kept last.
    fn release(&mut self) {
        self.keeper = None;
    }

    /// One that goes on from the same, in the same episode, and has no file.
    fn copy(&self) -> MemoryInUse {
        MemoryInUse {
            file: self.file.clone(),
            keeper: None,
            critic: self.critic.clone(),
            foresight: self.foresight.clone(),
            ..*self
        }
    }

    /// The shift and the lift in force, the evidence, and the alarm, which is empty if there is none.
    #[getter]
    fn said(&self) -> (f64, f64, f64, String) {
        let (evidence, recalibration) = (self.memory.evidence(), self.memory.recalibration());
        (recalibration.shift(), recalibration.lift(), evidence.value(), alarms(&self.memory))
    }
}

fn keeper_of(place: &Path, new: &MemoryFile) -> PyResult<Keeper> {
    Keeper::claim(place, new.clone(), "cpss.ShieldWrapper").map_err(in_words)
}

fn alarms(memory: &cpss_shield::Memory) -> String {
    memory.alarms().map(|alarm| alarm.to_string()).collect::<Vec<_>>().join("; ")
}

fn in_words(error: anyhow::Error) -> PyErr {
    value_error(format!("{error:#}"))
}
