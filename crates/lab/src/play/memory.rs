//! How is a shield's memory kept from one run to the next, and how do those of a fleet become one?
//!
//! In a small file: JSON that a person can read. It says which critic it is about, by what settings it learns, and all
//! that was found; and it ends in a hash of all that, so that an edited file is refused. [`Keeper`] is the
//! file in use: it is one run's alone, and written whole after every episode, so that a run that is
//! killed loses the running one at most. Start at [`Keeper::open`].
//!
//! [`MemoryFile::fork`] gives each car of a fleet its own, and [`MemoryFile::merge`] puts what they bring back together.
//! What that means is said at [`cpss_shield::Memory::join`].
//!
//! **Invariants:** what is read back has the same bits; a file of another critic, of other settings or of another
//! base is refused with the reason, and never overwritten.

use std::io::{ErrorKind, Read as _};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow, bail, ensure};
use cpss_risk::LearnedRisk;
use cpss_shield::{Memory, RiskSpec};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::critic::hash;
use crate::files::atomic::write_atomically;
use crate::files::lock::Lock;
use crate::record::memory::{MemoryLine, MemorySettings};

/// The version of the format.
const VERSION: u32 = 1;

/// A memory as a file holds it.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct MemoryFile {
    /// Version of the format; its name tells what kind of file this is.
    cpss_memory: u32,
    /// The task that the critic was learned in.
    pub task: String,
    /// The hash of the critic's file.
    pub critic: String,
    /// By what it learns.
    pub settings: MemorySettings,
    /// What it was forked from, if it was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base: Option<Base>,
    /// What it has found.
    pub memory: MemoryLine,
}

/// What a memory was forked from.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Base {
    /// The hash that its file ended in.
    pub sha256: String,
    /// What it had found.
    pub memory: MemoryLine,
}

/// The file as it stands on the disk: with the hash of the rest at its end.
#[derive(Deserialize, Serialize)]
struct Sealed {
    #[serde(flatten)]
    body: serde_json::Map<String, serde_json::Value>,
    sha256: String,
}

impl MemoryFile {
    /// A memory of a critic in which nothing is yet.
    ///
    /// # Errors
    ///
    /// Settings that make no sense.
    pub fn new(risk: &LearnedRisk, settings: MemorySettings) -> Result<MemoryFile> {
        MemoryFile::about(risk.card().env.clone(), hash(risk), settings)
    }

    /// The same of any critic, by the name of its task and the hash of its file.
    ///
    /// # Errors
    ///
    /// Settings that make no sense.
    pub fn about(task: String, critic: String, settings: MemorySettings) -> Result<MemoryFile> {
        let (_, memory) =
            settings.open(&RiskSpec::new()).map_err(|e| anyhow!("the memory: {e}"))?;
        Ok(MemoryFile {
            cpss_memory: VERSION,
            task,
            critic,
            settings,
            base: None,
            memory: MemoryLine::of(&memory),
        })
    }

    /// Reads a file.
    ///
    /// # Errors
    ///
    /// A file that is not there, is no memory, or was edited.
    pub fn read(place: &Path) -> Result<MemoryFile> {
        /// More than any memory takes; what is no file may never end.
        const MOST: u64 = 1 << 20;
        let mut bytes = Vec::new();
        std::fs::File::open(place)
            .and_then(|file| file.take(MOST).read_to_end(&mut bytes))
            .with_context(|| format!("cannot read the memory {}", place.display()))?;
        MemoryFile::parse(&bytes).with_context(|| format!("the memory {}", place.display()))
    }

    /// Reads the bytes of a file.
    ///
    /// # Errors
    ///
    /// What is no memory, or was edited.
    pub fn parse(bytes: &[u8]) -> Result<MemoryFile> {
        let whole: serde_json::Value = serde_json::from_slice(bytes)
            .context("this is no memory: it is not JSON, or was cut")?;
        match whole.get("cpss_memory").and_then(serde_json::Value::as_u64) {
            None => bail!("this is no memory: it has no `cpss_memory`"),
            Some(found) if found != u64::from(VERSION) => {
                bail!("it is of version {found}, and this program knows {VERSION}")
            }
            Some(_) => {}
        }
        let Sealed { body, sha256 } = serde_json::from_value(whole).context("it has no hash")?;
        let file: MemoryFile =
            serde_json::from_value(serde_json::Value::Object(body)).context("it was edited")?;
        ensure!(
            file.sha256() == sha256,
            "it was edited: its numbers do not belong to its hash. A memory is made by playing only; take \
             the file from a copy, or begin anew"
        );
        file.memory().context("it cannot be used")?;
        Ok(file)
    }

    /// The text of the file.
    ///
    /// # Errors
    ///
    /// Never, of a memory that can be used.
    pub fn text(&self) -> Result<String> {
        let serde_json::Value::Object(body) = serde_json::to_value(self)? else {
            bail!("a memory is a JSON object");
        };
        let sealed = Sealed { body, sha256: self.sha256() };
        Ok(format!("{}\n", serde_json::to_string_pretty(&sealed)?))
    }

    /// Writes the file, whole or not at all.
    ///
    /// # Errors
    ///
    /// A place that cannot be written.
    pub fn write(&self, place: &Path) -> Result<()> {
        write_atomically(place, self.text()?.as_bytes())
    }

    /// The hash of all that it says.
    pub fn sha256(&self) -> String {
        // Plain data, which always becomes JSON, in the order of its struct.
        let text = serde_json::to_string(self).unwrap_or_default();
        Sha256::digest(text).iter().map(|byte| format!("{byte:02x}")).collect()
    }

    /// The memory, ready to go on.
    ///
    /// # Errors
    ///
    /// Numbers that no memory can hold.
    pub fn memory(&self) -> Result<Memory> {
        recall(&self.settings, &self.memory)
    }

    /// A memory for one car of a fleet, which remembers what it adds to this one.
    ///
    /// # Errors
    ///
    /// Numbers that no memory can hold.
    pub fn fork(&self) -> Result<MemoryFile> {
        let base = Some(Base { sha256: self.sha256(), memory: self.memory });
        Ok(MemoryFile { base, memory: MemoryLine::of(&self.memory()?.fork()), ..self.clone() })
    }

    /// The same after an alarm that was seen to: the evidence of both kinds begins anew, and what risks are raised by
    /// stays.
    ///
    /// # Errors
    ///
    /// A fork, whose evidence counts from its base; or numbers that no memory can hold.
    pub fn restarted(&self) -> Result<MemoryFile> {
        ensure!(
            self.base.is_none(),
            "it is one car's part of a fleet's memory: merge the fleet, restart that, and fork it again"
        );
        let mut memory = self.memory()?;
        memory.restart_evidence();
        Ok(MemoryFile { memory: MemoryLine::of(&memory), ..self.clone() })
    }

    /// The memory of a fleet, from its cars' files with their names, in this order.
    ///
    /// # Errors
    ///
    /// Files that were not forked from one base, or one that is given twice.
    pub fn merge(cars: &[(String, MemoryFile)]) -> Result<MemoryFile> {
        let (first_name, first) = cars.first().context("no memory is given")?;
        let base = |name: &str, file: &MemoryFile| {
            file.base.clone().with_context(|| {
                format!(
                    "{name} was not forked from anything: `cpss memory fork` gives each car its own \
                     memory, and those can be merged"
                )
            })
        };
        let common = base(first_name, first)?;
        let start = recall(&first.settings, &common.memory)?;
        let mut forks = Vec::new();
        for (place, (name, file)) in cars.iter().enumerate() {
            if let Some(why) = first.differs_from(file) {
                bail!("{name} and {first_name} cannot be merged: {why}");
            }
            ensure!(
                base(name, file)? == common,
                "{name} and {first_name} were not forked from the same memory"
            );
            let fork = file.memory()?;
            // Cars that have not driven yet are all alike, and add nothing.
            let has_lived = fork != start.fork();
            let twin = cars[..place].iter().find(|(_, other)| has_lived && other == file);
            if let Some((twin, _)) = twin {
                bail!("{name} and {twin} are the same memory, which would count twice");
            }
            forks.push(fork);
        }
        let joint =
            start.join(&forks).map_err(|error| anyhow!("they cannot be merged: {error}"))?;
        Ok(MemoryFile { base: None, memory: MemoryLine::of(&joint), ..first.clone() })
    }

    /// In which way another memory is not about the same; `None` if it is.
    pub fn differs_from(&self, other: &MemoryFile) -> Option<String> {
        let short = |hash: &str| hash.chars().take(12).collect::<String>();
        if self.critic != other.critic {
            let [mine, theirs] =
                [self, other].map(|f| format!("{} ({})", short(&f.critic), f.task));
            return Some(format!("one is about the critic {mine}, the other about {theirs}"));
        }
        (self.settings != other.settings).then(|| {
            let words =
                |file: &MemoryFile| serde_json::to_string(&file.settings).unwrap_or_default();
            format!("one learns by {}, the other by {}", words(self), words(other))
        })
    }
}

fn recall(settings: &MemorySettings, line: &MemoryLine) -> Result<Memory> {
    let recalled = settings.recall(&RiskSpec::new(), line);
    recalled.map(|(_, memory)| memory).map_err(|error| anyhow!("{error}"))
}

/// A memory file in use.
#[derive(Debug)]
pub struct Keeper {
    file: MemoryFile,
    place: PathBuf,
    _lock: Lock,
}

impl Keeper {
    /// Claims a file, and reads it if it is there.
    ///
    /// # Errors
    ///
    /// A file that is in use, was edited, is about another critic, or learns by other settings.
    pub fn open(place: &Path, risk: &LearnedRisk, settings: MemorySettings) -> Result<Keeper> {
        Keeper::claim(place, MemoryFile::new(risk, settings)?, "cpss evaluate --memory")
    }

    /// The same for a command, which has this memory if the file is not there.
    ///
    /// # Errors
    ///
    /// A file that is in use, was edited, or does not belong with this memory.
    pub fn claim(place: &Path, new: MemoryFile, command: &str) -> Result<Keeper> {
        let lock = Lock::take_file(place, command)?;
        let file = match std::fs::metadata(place) {
            Err(error) if error.kind() == ErrorKind::NotFound => {
                // Whether it can be written is found out before anything is played.
                new.write(place)?;
                new
            }
            _ => {
                let file = MemoryFile::read(place)?;
                if let Some(why) = file.differs_from(&new) {
                    bail!(
                        "the memory {} does not belong to this run: {why}; give another file",
                        place.display()
                    );
                }
                file
            }
        };
        Ok(Keeper { file, place: place.to_owned(), _lock: lock })
    }

    /// The file, as it was last kept.
    pub fn file(&self) -> &MemoryFile {
        &self.file
    }

    /// What was found before.
    pub fn line(&self) -> &MemoryLine {
        &self.file.memory
    }

    /// Keeps what is known now, after an episode.
    ///
    /// # Errors
    ///
    /// A place that cannot be written.
    pub fn keep(&mut self, memory: &Memory) -> Result<()> {
        self.file.memory = MemoryLine::of(memory);
        self.file.write(&self.place)
    }
}

#[cfg(test)]
mod tests;
