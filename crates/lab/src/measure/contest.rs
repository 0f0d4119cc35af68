//! How are the episodes of one method on one task under one regime played?
//!
//! A [`Contest`] is one cell of the comparison with one policy: an arm, for a run of seeds, in parallel. The same
//! seeds give the same numbers for any number of threads.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use anyhow::{Result, bail};
use cpss_risk::LearnedRisk;
use cpss_shield::Memory;
use rayon::prelude::*;

use crate::files::atomic::write_atomically;
use crate::play::arm::{Arm, ShieldSettings};
use crate::play::episode::Player;
use crate::play::latency::Latencies;
use crate::play::memory::Keeper;
use crate::play::policy::{NO_POLICY, PolicySource};
use crate::play::regime::Regime;
use crate::play::sensor::{Behind, Gaze, PERFECT};
use crate::record::EpisodeRecord;
use crate::record::memory::{MemoryLine, MemorySettings};
use crate::trace::{Cell, TraceWriter};

/// One cell of the comparison with one policy: all that an episode depends on besides its seed.
#[derive(Clone, Debug)]
pub struct Contest<'a> {
    /// The regime.
    pub regime: &'a Regime,
    /// What it was asked for as: a name or a path.
    pub regime_name: &'a str,
    /// The arm.
    pub arm: Arm,
    /// The task's shield.
    pub settings: &'a ShieldSettings,
    /// The critic.
    pub risk: Arc<LearnedRisk>,
    /// The policy.
    pub policy: &'a PolicySource,
    /// Through which eyes policy and shield see the world,
    pub gaze: Gaze,
    /// and what they were asked for as: a sensor's name or path.
    pub sensor_name: &'a str,
    /// Whether it is found out what each refused action would have led to, which takes most of the time where
    /// there are many; a trace always tells.
    pub asks_what_if: bool,
}

/// Episodes that were played.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Played {
    /// What came of each, in the order of the seeds.
    pub episodes: Vec<EpisodeRecord>,
    /// For each step, in how many of them its proposal was refused.
    pub refusals: Vec<u32>,
    /// How long their decisions took; another time they take another time.
    pub(crate) latencies: Latencies,
    /// In how many decisions what could not be avoided was above the shield's cap.
    pub(crate) endangered: u64,
}

impl Played {
    fn by(player: &Player<'_>, episodes: Vec<EpisodeRecord>) -> Played {
        Played {
            episodes,
            refusals: player.refusals().to_vec(),
            latencies: player.latencies().clone(),
            endangered: player.endangered(),
        }
    }
}

/// An episode that was played with a trace writer.
#[derive(Clone, Debug, PartialEq)]
pub struct Traced {
    /// What came of it.
    pub record: EpisodeRecord,
    /// Its trace.
    pub text: String,
    /// The hash that the trace ends in.
    pub chain_end: String,
}

impl Contest<'_> {
    /// Plays the episodes of some seeds, in parallel, and writes their traces if told where to; `played`
    /// is called after each.
    pub(crate) fn play_all(
        &self,
        seeds: &[u64],
        traces: Option<&Path>,
        played: &(dyn Fn() + Sync),
    ) -> Result<Played> {
        // Chunks keep a player, with its loaded policy and work space, for several episodes.
        let chunk = seeds.len().div_ceil(rayon::current_num_threads() * 4).max(1);
        let parts = seeds
            .par_chunks(chunk)
            .map(|seeds| {
                let mut player = self.player()?;
                if !self.asks_what_if && traces.is_none() {
                    player = player.without_branches();
                }
                let play = |seed: &u64| {
                    let record = self.play_one(&mut player, *seed, traces)?;
                    played();
                    Ok(record)
                };
                let episodes = seeds.iter().map(play).collect::<Result<Vec<_>>>()?;
                Ok(Played::by(&player, episodes))
            })
            .collect::<Result<Vec<_>>>()?;
        let mut all = Played::default();
        for part in parts {
            all.episodes.extend(part.episodes);
            let steps = all.refusals.len().max(part.refusals.len());
            all.refusals.resize(steps, 0);
            for (sum, count) in all.refusals.iter_mut().zip(part.refusals) {
                *sum += count;
            }
            all.latencies.merge(&part.latencies);
            all.endangered += part.endangered;
        }
        Ok(all)
    }

    /// Plays the episodes of some seeds in a row, with a memory of what surprised the critic, which is kept after each
    /// if there is a keeper, and writes their traces if told where to; `played` is called after each.
    pub(crate) fn play_in_a_row(
        &self,
        seeds: &[u64],
        traces: Option<&Path>,
        mut keeper: Option<&mut Keeper>,
        played: &(dyn Fn() + Sync),
    ) -> Result<(Played, Memory)> {
        let found = keeper.as_ref().map(|keeper| *keeper.line());
        let mut player = self.player()?.remembering(self.memory_settings(), found.as_ref())?;
        let mut episodes = Vec::new();
        for seed in seeds {
            episodes.push(self.play_one(&mut player, *seed, traces)?);
            if let Some(keeper) = &mut keeper {
                keeper.keep(player.memory())?;
            }
            played();
        }
        Ok((Played::by(&player, episodes), *player.memory()))
    }

    /// What a memory of this cell's shield depends on.
    pub(crate) fn memory_settings(&self) -> MemorySettings {
        MemorySettings::of(self.risk.card(), self.settings.adaptation)
    }

    /// Plays the episode of a seed, and writes its trace if told where to.
    fn play_one(
        &self,
        player: &mut Player<'_>,
        seed: u64,
        traces: Option<&Path>,
    ) -> Result<EpisodeRecord> {
        let Some(place) = traces else { return player.play(seed) };
        let mut writer = TraceWriter::new(self.cell());
        let record = player.play_with(&mut writer, seed)?;
        let place = place.join(self.trace_name(seed));
        // Neither settings nor a critic are in the name.
        let first_line = |text: &str| text.lines().next().map(str::to_owned);
        if let Ok(before) = fs::read_to_string(&place)
            && first_line(&before) != first_line(writer.text())
        {
            bail!(
                "{} is there already, and of other settings: give --trace another folder",
                place.display()
            );
        }
        write_atomically(&place, writer.text().as_bytes())?;
        Ok(record)
    }

    /// Plays some episodes in a row with a memory, which goes on from what was found, each with a trace writer.
    ///
    /// # Errors
    ///
    /// A policy that cannot be used, or settings of a memory that make no sense.
    pub fn trace_in_a_row(
        &self,
        seeds: &[u64],
        settings: MemorySettings,
        found: Option<&MemoryLine>,
    ) -> Result<Vec<Traced>> {
        let mut player = self.player()?.remembering(settings, found)?;
        let play = |seed: &u64| {
            let mut writer = TraceWriter::new(self.cell());
            let record = player.play_with(&mut writer, *seed)?;
            Ok(Traced { record, text: writer.text().to_owned(), chain_end: writer.chain_end() })
        };
        seeds.iter().map(play).collect()
    }

    /// Plays one episode with a trace writer.
    ///
    /// # Errors
    ///
    /// A policy that cannot be used.
    pub fn trace(&self, seed: u64) -> Result<Traced> {
        let mut writer = TraceWriter::new(self.cell());
        let record = self.player()?.play_with(&mut writer, seed)?;
        Ok(Traced { record, text: writer.text().to_owned(), chain_end: writer.chain_end() })
    }

    /// Whether the policy, if there is one, can be read and fits the task.
    pub(crate) fn check_policy(&self) -> Result<()> {
        self.player().map(|_| ())
    }

    /// The name of an episode's trace.
    pub(crate) fn trace_name(&self, seed: u64) -> String {
        let Cell { regime, sensor, behind, arm, policy } = self.cell();
        let sensor = match (sensor == PERFECT, behind) {
            (true, _) => String::new(),
            (false, Behind::Both) => format!("_{sensor}"),
            (false, Behind::Policy) => format!("_{sensor}-for-the-policy"),
            (false, Behind::Shield) => format!("_{sensor}-for-the-shield"),
        };
        let task = self.regime.task().id.name();
        // A regime and a policy may be paths, and an arm has a star; none belongs into a name.
        format!("{task}_{regime}{sensor}_{arm}_{policy}_{seed}.jsonl")
            .replace(['/', '\\', ':', '*'], "-")
    }

    fn cell(&self) -> Cell {
        let policy = match self.arm.is_floor() {
            true => NO_POLICY.to_owned(),
            false => self.policy.to_string(),
        };
        let [regime, sensor] = [self.regime_name, self.sensor_name].map(str::to_owned);
        Cell { regime, sensor, behind: self.gaze.behind, arm: self.arm, policy }
    }

    fn player(&self) -> Result<Player<'_>> {
        let policy = match self.arm.is_floor() {
            true => None,
            false => Some(self.policy.load(self.regime.task())?),
        };
        let risk = Arc::clone(&self.risk);
        let player = Player::new(self.regime, self.arm, self.settings, policy, risk)?;
        Ok(player.behind(self.gaze))
    }
}
