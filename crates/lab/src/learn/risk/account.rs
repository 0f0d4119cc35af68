//! What do measured episodes come to?
//!
//! An [`Account`] puts what was foretold of episodes beside how they ended; [`Accounts`] also by regime, sensor and budget.

use serde::Serialize;

use super::Conditions;
use crate::record::EpisodeRecord;

/// What measured episodes come to, on average.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub(crate) struct Account {
    /// Episodes.
    pub episodes: u64,
    /// Share with an incident.
    pub incidents: f64,
    /// Mean return.
    pub return_mean: f64,
    /// Share of decisions on which the proposal was refused.
    pub interventions: f64,
    /// Share of these that happened only because of what had been spent before.
    pub by_ledger: f64,
    /// Unavoidable risk at the start.
    pub start: f64,
    /// Avoidable risk that was let through.
    pub chosen: f64,
    /// Risk that came into view.
    pub arriving: f64,
    /// What was not foreseen; the incidents are the sum of these four.
    pub surprise: f64,
    /// 95 % interval of the last.
    pub surprise_ci95: [f64; 2],
}

impl Account {
    /// Sums episodes up.
    pub(crate) fn of(all: &[EpisodeRecord]) -> Account {
        let n = all.len().max(1) as f64;
        let mean = |number: &dyn Fn(&EpisodeRecord) -> f64| all.iter().map(number).sum::<f64>() / n;
        let steps: u64 = all.iter().map(|episode| episode.steps).sum();
        let refused: u64 = all.iter().map(|episode| episode.interventions).sum();
        let by_ledger: u64 = all.iter().map(|episode| episode.by_ledger).sum();
        let surprise = mean(&EpisodeRecord::surprise);
        let variance = mean(&|episode| (episode.surprise() - surprise).powi(2));
        let incidents = mean(&|episode| f64::from(u8::from(episode.failed())));
        // Without a single incident the sample knows nothing of their spread: as if there had been one.
        let half = 1.96 * (variance.max(1.0 / n) / n).sqrt();
        Account {
            episodes: all.len() as u64,
            incidents,
            return_mean: mean(&|episode| episode.episode_return),
            interventions: refused as f64 / steps.max(1) as f64,
            by_ledger: by_ledger as f64 / refused.max(1) as f64,
            start: mean(&|episode| episode.start),
            chosen: mean(&|episode| episode.chosen),
            arriving: mean(&|episode| episode.arriving),
            surprise,
            surprise_ci95: [surprise - half, surprise + half],
        }
    }

    /// Whether risks were, with confidence, not underestimated.
    pub(crate) fn is_conservative(&self) -> bool {
        self.surprise_ci95[1] <= 0.0
    }
}

/// The account of all episodes, of those of each regime, sensor and budget, and of each regime under each budget.
pub(super) struct Accounts {
    pub(super) all: Account,
    pub(super) by_regime: Vec<Account>,
    pub(super) by_sensor: Vec<Account>,
    pub(super) by_budget: Vec<Account>,
    /// Regime by regime, under each budget.
    pub(super) by_cell: Vec<Account>,
}

impl Accounts {
    /// Sorts the episodes of each budget by regime and by sensor: [`play`](super::measure::play) takes them by turns.
    pub(super) fn of(of_budgets: &[Vec<EpisodeRecord>], conditions: Conditions<'_>) -> Accounts {
        let all = of_budgets.concat();
        let of = |those: &mut dyn Iterator<Item = &EpisodeRecord>| {
            Account::of(&those.copied().collect::<Vec<_>>())
        };
        let those = |count: usize, place_of: &dyn Fn(u64) -> usize| {
            let part =
                |place| of(&mut all.iter().filter(|episode| place_of(episode.seed) == place));
            (0..count).map(part).collect()
        };
        let regimes = conditions.regimes.len();
        let cell = |cell: usize| {
            let (regime, own) = (cell / of_budgets.len(), &of_budgets[cell % of_budgets.len()]);
            of(&mut own.iter().filter(|episode| conditions.regime_of(episode.seed) == regime))
        };
        Accounts {
            all: Account::of(&all),
            by_regime: those(regimes, &|seed| conditions.regime_of(seed)),
            by_sensor: those(conditions.sensors.len(), &|seed| conditions.sensor_of(seed)),
            by_budget: of_budgets.iter().map(|own| Account::of(own)).collect(),
            by_cell: (0..regimes * of_budgets.len()).map(cell).collect(),
        }
    }

    /// Whether risks were, with confidence, not underestimated; in no regime, behind no sensor and under no budget so on
    /// average; and in no regime under any budget clearly so. A budget is promised in one regime, and a large one that is
    /// seldom spent must not pay for a small one.
    pub(super) fn is_conservative(&self) -> bool {
        let cells_hold = self.by_cell.iter().all(|own| own.surprise_ci95[0] <= 0.0);
        self.all.is_conservative() && self.parts().all(|own| own.surprise <= 0.0) && cells_hold
    }

    /// By how much the log-odds of what is called unavoidable would have to be higher for that, nearly.
    pub(super) fn missing_lift(&self) -> f64 {
        let missing = |own: &Account, surprise: f64| {
            let foretold = own.start + own.arriving;
            (1.0 + surprise.max(0.0) / foretold).ln()
        };
        let of_parts = self.parts().map(|own| missing(own, own.surprise));
        let of_cells = self.by_cell.iter().map(|own| missing(own, own.surprise_ci95[0]));
        let most = of_parts.chain(of_cells).fold(0.0, f64::max);
        most.max(missing(&self.all, self.all.surprise_ci95[1]))
    }

    fn parts(&self) -> impl Iterator<Item = &Account> {
        self.by_regime.iter().chain(&self.by_sensor).chain(&self.by_budget)
    }

    /// In words, the surprises of each part behind the whole.
    pub(super) fn tell(&self) -> String {
        let parts = [
            ("regime", &self.by_regime),
            ("sensor", &self.by_sensor),
            ("budget", &self.by_budget),
            ("regime and budget", &self.by_cell),
        ];
        let mut words = self.all.to_string();
        for (name, each) in parts.into_iter().filter(|(_, each)| each.len() > 1) {
            let each: Vec<_> = each.iter().map(|own| format!("{:+.4}", own.surprise)).collect();
            words += &format!("; by {name} {}", each.join(" "));
        }
        words
    }
}

impl std::fmt::Display for Account {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Account { incidents, return_mean, start, chosen, arriving, surprise, .. } = self;
        write!(
            f,
            "incidents {incidents:.4} = start {start:.4} + chosen {chosen:.4} + arriving {arriving:.4} + \
             surprise {surprise:+.4}; return {return_mean:.2}, interventions {:.1} %",
            100.0 * self.interventions
        )
    }
}
