//! What is measured of an episode, and how does it add up?
//!
//! A [`Metric`] is a quotient of sums over episodes: of counts by episodes, by steps or by replaced
//! actions, or of numbers by episodes. [`METRICS`] lists all of them; tables, figures and CSV go by it.

use crate::record::EpisodeRecord;

/// Something that is measured.
#[derive(Clone, Copy, Debug)]
pub struct Metric {
    /// Its name in tables.
    pub name: &'static str,
    /// Its key in CSV.
    pub key: &'static str,
    /// Decimals that are shown.
    pub decimals: usize,
    /// How it comes out of episodes.
    pub kind: Kind,
}

/// How a metric comes out of episodes.
#[derive(Clone, Copy, Debug)]
pub enum Kind {
    /// The share of episodes with a property.
    Episodes(fn(&EpisodeRecord) -> bool),
    /// The share of steps with a property.
    Steps(fn(&EpisodeRecord) -> u64),
    /// The share of replaced actions with a property.
    Replaced(fn(&EpisodeRecord) -> u64),
    /// The share of interventions with a property.
    Interventions(fn(&EpisodeRecord) -> u64),
    /// The mean over episodes.
    Mean(fn(&EpisodeRecord) -> f64),
}

/// Everything that is measured, in the order of tables.
pub(crate) const METRICS: [Metric; 20] = [
    Metric {
        name: "Collision rate",
        key: "collision_rate",
        decimals: 4,
        kind: Kind::Episodes(|e| e.failed()),
    },
    Metric {
        name: "Off road",
        key: "offroad_rate",
        decimals: 4,
        kind: Kind::Episodes(|e| e.off_road),
    },
    Metric {
        name: "Proximity risk",
        key: "proximity_risk",
        decimals: 4,
        kind: Kind::Steps(|e| e.close_steps),
    },
    Metric {
        name: "Minimum distance [m]",
        key: "min_distance",
        decimals: 2,
        kind: Kind::Mean(|e| e.min_distance),
    },
    Metric {
        name: "Return",
        key: "return_mean",
        decimals: 2,
        kind: Kind::Mean(|e| e.episode_return),
    },
    Metric {
        name: "Speed [m/s]",
        key: "mean_speed",
        decimals: 2,
        kind: Kind::Mean(|e| e.mean_speed),
    },
    Metric {
        name: "Success",
        key: "success_rate",
        decimals: 4,
        kind: Kind::Episodes(|e| e.success),
    },
    Metric {
        name: "Interventions",
        key: "intervention_rate",
        decimals: 4,
        kind: Kind::Steps(|e| e.interventions),
    },
    Metric {
        name: "Crash avoided",
        key: "avoided_share",
        decimals: 4,
        kind: Kind::Replaced(|e| e.avoided),
    },
    Metric {
        name: "Crash not avoided",
        key: "unavoided_share",
        decimals: 4,
        kind: Kind::Replaced(|e| e.unavoided),
    },
    Metric {
        name: "Closer call avoided",
        key: "closer_share",
        decimals: 4,
        kind: Kind::Replaced(|e| e.closer),
    },
    Metric {
        name: "False alarm",
        key: "false_alarm_share",
        decimals: 4,
        kind: Kind::Replaced(|e| e.false_alarms),
    },
    Metric {
        name: "Infeasible",
        key: "infeasible_rate",
        decimals: 4,
        kind: Kind::Steps(|e| e.infeasible),
    },
    Metric {
        name: "Mispredicted",
        key: "misprediction_rate",
        decimals: 4,
        kind: Kind::Steps(|e| e.mispredicted),
    },
    Metric {
        name: "Interventions only for what was spent",
        key: "by_ledger_share",
        decimals: 4,
        kind: Kind::Interventions(|e| e.by_ledger),
    },
    Metric { name: "Start", key: "start", decimals: 4, kind: Kind::Mean(|e| e.start) },
    Metric { name: "Chosen", key: "chosen", decimals: 4, kind: Kind::Mean(|e| e.chosen) },
    Metric {
        name: "Surprise",
        key: "surprise",
        decimals: 4,
        kind: Kind::Mean(EpisodeRecord::surprise),
    },
    Metric { name: "Arriving", key: "arriving", decimals: 4, kind: Kind::Mean(|e| e.arriving) },
    Metric {
        name: "Budget used",
        key: "budget_used",
        decimals: 4,
        kind: Kind::Mean(|e| e.budget_used),
    },
];

/// The metric of a key.
pub(crate) fn metric(key: &str) -> &'static Metric {
    METRICS.iter().find(|metric| metric.key == key).unwrap_or(&METRICS[0])
}

impl Kind {
    /// What an episode adds above and below the line.
    pub(super) fn parts(self, episode: &EpisodeRecord) -> [f64; 2] {
        match self {
            Kind::Episodes(is_so) => [f64::from(u8::from(is_so(episode))), 1.0],
            Kind::Steps(count) => [count(episode) as f64, episode.steps as f64],
            Kind::Replaced(count) => [count(episode) as f64, episode.replaced() as f64],
            Kind::Interventions(count) => [count(episode) as f64, episode.interventions as f64],
            Kind::Mean(number) => [number(episode), 1.0],
        }
    }

    /// What episodes come to; `None` where there is nothing to have a share in.
    pub(super) fn of<'a>(self, episodes: impl Iterator<Item = &'a EpisodeRecord>) -> Option<f64> {
        quotient(episodes.map(|episode| self.parts(episode)).fold([0.0; 2], add))
    }
}

/// What is above by what is below the line, if that is anything.
pub(super) fn quotient([above, below]: [f64; 2]) -> Option<f64> {
    (below > 0.0).then(|| above / below)
}

/// Adds what is above and what is below the line.
pub(super) fn add([above, below]: [f64; 2], [more_above, more_below]: [f64; 2]) -> [f64; 2] {
    [above + more_above, below + more_below]
}
