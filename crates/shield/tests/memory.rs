//! Contract: a memory goes on where another has ended, and those of a fleet are one.
//!
//! The memory of a fleet is that of one system that lived through all of its episodes in a row. A memory that was
//! written down and recalled has the same bits. An alarm of the novelty raises risks at once. And what the recalibration has
//! learned bounds the mean surprise.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

mod strategies;

use cpss_shield::{
    Alarm, AlarmKind, JoinError, Memory, MemoryState, Novelty, NoveltyScale, RiskRules, RiskSpec,
    Sum, Surprise,
};
use proptest::prelude::*;
use strategies::any_float;

const SCALE: NoveltyScale =
    NoveltyScale { borders: [1.0, 2.0, 3.0, 4.0, 5.0], bounds: [0.6, 0.3, 0.2, 0.15, 0.1, 0.1] };

const SPEC: RiskSpec = RiskSpec {
    rate: 0.3,
    max_shift: 2.0,
    max_lift: 1.0,
    precaution: 1.0,
    alarm: 1e6,
    ..RiskSpec::new()
};

/// A memory that watches scores, up to this level.
fn memory(spec: RiskSpec, level: f64) -> Memory {
    RiskRules::new(spec).unwrap().memory().with_novelty(Novelty::new(SCALE, level).unwrap())
}

/// An episode: its surprises, and its score.
type Episode = (Vec<f64>, f64);

fn live(memory: &mut Memory, (surprises, score): &Episode) {
    for surprise in surprises {
        memory.learn(Surprise::of(*surprise));
    }
    memory.end_episode_scored(None, Some(*score));
}

fn episodes(most: usize) -> impl Strategy<Value = Vec<Episode>> {
    let episode = (prop::collection::vec(-0.3..0.3_f64, 1..20), 0.0..6.0_f64);
    prop::collection::vec(episode, 1..most)
}

#[test]
fn an_alarm_of_the_novelty_raises_risks_at_once_and_says_why() {
    let mut memory = memory(SPEC, 10.0);
    live(&mut memory, &(vec![], 9.0));
    assert_eq!((memory.alarm(), memory.recalibration().shift()), (None, 0.0));
    live(&mut memory, &(vec![], f64::NAN));
    let alarm = memory.alarm().unwrap();
    assert_eq!(alarm, Alarm { kind: AlarmKind::Novelty, after: 2 });
    assert!(alarm.to_string().starts_with("the world is not the one"), "{alarm}");
    assert_eq!(memory.recalibration().shift(), 1.0);
    // It relaxes; the next alarm of a change that lasts is counted, and leaves it to the surprises.
    live(&mut memory, &(vec![-1.0], 0.0));
    assert_eq!(memory.recalibration().shift(), 0.7);
    live(&mut memory, &(vec![], 9.0));
    live(&mut memory, &(vec![], 9.0));
    assert_eq!(memory.recalibration().shift(), 0.7);
    assert_eq!((memory.alarm(), memory.novelty().unwrap().alarms()), (Some(alarm), 2));
    // Once it was seen to, another change is met as the first one was.
    memory.restart_evidence();
    assert_eq!((memory.alarm(), memory.recalibration().shift()), (None, 0.7));
    live(&mut memory, &(vec![], 9.0));
    live(&mut memory, &(vec![], 9.0));
    assert_eq!(memory.recalibration().shift(), 1.0);
}

#[test]
fn incidents_come_before_novelty_and_a_score_that_nobody_measured_is_nothing() {
    let mut memory = memory(RiskSpec { alarm: 2.0, ..SPEC }, 2.0);
    memory.end_episode(Some(Surprise::of(0.0)));
    assert_eq!(memory.novelty().unwrap().seen(), 0);
    memory.end_episode_scored(Some(Surprise::of(1.0)), Some(9.0));
    let kinds: Vec<AlarmKind> = memory.alarms().map(|alarm| alarm.kind).collect();
    assert_eq!(kinds, [AlarmKind::Incidents, AlarmKind::Novelty]);
    assert_eq!(memory.alarm().unwrap().after, 2);
    assert!(memory.alarm().unwrap().to_string().starts_with("incidents were more likely"));
}

#[test]
fn what_is_no_fork_or_has_other_settings_is_not_joined() {
    let base = memory(SPEC, 20.0);
    let other = memory(RiskSpec { rate: 0.2, ..SPEC }, 20.0).fork();
    assert_eq!(base.join(&[base.fork(), other]), Err(JoinError::OtherSettings(1)));
    assert_eq!(base.join(&[memory(SPEC, 21.0).fork()]), Err(JoinError::OtherSettings(0)));
    let mut grown = base;
    live(&mut grown, &(vec![0.1], 0.0));
    assert_eq!(base.join(&[base.fork(), grown.fork()]), Err(JoinError::NoFork(1)));
    assert_eq!(grown.join(&[grown.fork()]), Ok(grown), "a fork that did nothing adds nothing");
}

#[test]
fn a_car_that_has_raised_an_alarm_raises_that_of_its_fleet() {
    let mut base = memory(RiskSpec { alarm: 8.0, ..SPEC }, 14.0);
    live(&mut base, &(vec![0.0], 0.0));
    let (mut calm, mut struck) = (base.fork(), base.fork());
    live(&mut calm, &(vec![-1.0; 5], 0.0));
    live(&mut struck, &(vec![1.0; 4], 9.0));
    live(&mut struck, &(vec![-1.0; 5], 9.0));
    assert_eq!(struck.evidence().alarm(), Some(4));
    let fleet = base.join(&[calm, struck]).unwrap();
    let alarms: Vec<Alarm> = fleet.alarms().collect();
    // One decision and one episode of the base, five and one of the calm one, then its own.
    assert_eq!(alarms.iter().map(|alarm| alarm.after).collect::<Vec<_>>(), [9, 4]);
    assert!(fleet.recalibration().shift() >= 1.0, "the precaution holds for all");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    /// Forks of one episode each, or of several, against one car that played them in order.
    #[test]
    fn a_fleet_is_one_car_that_lived_through_all_of_it(
        (before, each) in (episodes(4), prop::collection::vec(episodes(4), 1..6)),
    ) {
        // Levels that nothing reaches, and a limit that no shift does, so that all of it is affine.
        let spec = RiskSpec { alarm: 1e200, rate: 0.01, max_shift: 40.0, max_lift: 40.0, ..SPEC };
        let mut base = memory(spec, 1e200);
        before.iter().for_each(|episode| live(&mut base, episode));
        let mut one = base;
        let forks: Vec<Memory> = each.iter().map(|lived| {
            let mut fork = base.fork();
            for episode in lived {
                live(&mut fork, episode);
                live(&mut one, episode);
            }
            fork
        }).collect();
        let fleet = base.join(&forks).unwrap();
        let near = |a: f64, b: f64| (a - b).abs() <= 1e-9 * (1.0 + a.abs());
        prop_assert!(near(fleet.evidence().value(), one.evidence().value()));
        let novelty = |memory: &Memory| memory.novelty().unwrap().value();
        prop_assert!(near(novelty(&fleet), novelty(&one)));
        prop_assert_eq!(fleet.evidence().seen(), one.evidence().seen());
        prop_assert_eq!(fleet.episodes(), one.episodes());
        // Fleets of fleets: a joint memory is a fork itself, if its base was.
        let mut again = base.fork();
        for fork in &forks {
            let mut next = again.fork();
            each[forks.iter().position(|known| std::ptr::eq(known, fork)).unwrap()]
                .iter().for_each(|episode| live(&mut next, episode));
            again = again.join(&[next]).unwrap();
        }
        let twice = base.join(&[again]).unwrap();
        prop_assert!(near(twice.evidence().value(), one.evidence().value()));
    }

    /// What was learned is what each added, within the limits, whatever the forks' order of magnitude.
    #[test]
    fn shifts_are_added_and_kept_within_their_limits(
        gains in prop::collection::vec(0.0..=1.0_f64, 1..8),
    ) {
        let base = memory(SPEC, 1e9);
        let forks: Vec<Memory> = gains.iter().map(|surprise| {
            let mut fork = base.fork();
            live(&mut fork, &(vec![*surprise], 0.0));
            fork
        }).collect();
        let fleet = base.join(&forks).unwrap();
        let sum = 0.3 * gains.iter().sum::<f64>();
        prop_assert!((fleet.recalibration().shift() - sum.min(2.0)).abs() < 1e-12);
    }

    #[test]
    fn a_memory_that_is_recalled_goes_on_with_the_same_bits(
        (before, after) in (episodes(6), episodes(6)),
        level in 10.0..100.0_f64,
    ) {
        let mut known = memory(SPEC, level);
        before.iter().for_each(|episode| live(&mut known, episode));
        let mut recalled = memory(SPEC, level).recall(&known.state()).unwrap();
        prop_assert_eq!(recalled, known);
        for episode in &after {
            live(&mut known, episode);
            live(&mut recalled, episode);
        }
        prop_assert_eq!(recalled, known);
    }

    /// Any numbers at all end in a memory whose numbers are usable, or in an error.
    #[test]
    fn garbage_is_refused_by_name_or_harmless(
        numbers in prop::array::uniform12(any_float()),
        counts in prop::array::uniform6(any::<u64>()),
    ) {
        let rules = memory(SPEC, 20.0);
        let MemoryState { mut evidence, mut recalibration, novelty, .. } = rules.state();
        let mut novelty = novelty.unwrap();
        let sum = |of: [f64; 3]| Sum { value: of[0], product: of[1], own: of[2] };
        evidence.sums[1] = sum([numbers[0], numbers[1], numbers[2]]);
        novelty.sums[2] = sum([numbers[3], numbers[4], numbers[5]]);
        (recalibration.learned, recalibration.shift) = (numbers[6], numbers[7]);
        recalibration.gained = numbers[8];
        [evidence.seen, evidence.seen_before, novelty.seen, novelty.alarms, ..] = counts;
        let [.., episodes, episodes_before] = counts;
        evidence.alarm = Some(counts[2]);
        let novelty = Some(novelty);
        let state = MemoryState { episodes, episodes_before, evidence, recalibration, novelty };
        let check = |memory: &Memory| {
            let found = [memory.evidence().value(), memory.novelty().unwrap().value()];
            let shift = memory.recalibration().shift();
            found.iter().all(|value| (0.0..f64::INFINITY).contains(value)) && (0.0..=2.0).contains(&shift)
        };
        match rules.recall(&state) {
            Err(error) => prop_assert!(!error.field.is_empty()),
            Ok(mut memory) => {
                prop_assert!(check(&memory));
                let mut fork = memory.fork();
                live(&mut fork, &(numbers.to_vec(), numbers[9]));
                memory = memory.join(&[fork, fork]).unwrap();
                prop_assert!(check(&memory));
                // A state is no fork of anything but its own base, and joining it never panics.
                let _ = rules.join(&[memory]);
            }
        }
    }

    /// The bound of the guide: while the upper limit was never active, surprises sum to `learned / rate` at most.
    #[test]
    fn what_was_learned_bounds_the_sum_of_surprises(
        lived in episodes(30),
        rate in 0.01..1.0_f64,
        precaution in 0.0..3.0_f64,
    ) {
        let spec = RiskSpec { rate, max_shift: 1.0, max_lift: 2.0, precaution, ..SPEC };
        let (mut memory, mut sum, mut is_clamped) = (memory(spec, 15.0), 0.0, false);
        for episode in &lived {
            for surprise in &episode.0 {
                is_clamped |= memory.recalibration().learned() + rate * surprise > 3.0;
                sum += surprise;
                memory.learn(Surprise::of(*surprise));
                if !is_clamped {
                    prop_assert!(sum <= memory.recalibration().learned() / rate + 1e-9);
                    prop_assert!(sum <= 3.0 / rate + 1e-9);
                }
            }
            memory.end_episode_scored(None, Some(episode.1));
        }
    }
}

#[test]
fn beyond_the_upper_limit_nothing_is_bounded() {
    let mut memory = memory(RiskSpec { rate: 1.0, ..SPEC }, 1e9);
    (0..10).for_each(|_| memory.learn(Surprise::of(1.0)));
    assert!(10.0 > memory.recalibration().learned() / 1.0, "the condition is needed");
}

/// A critic for which nothing is dangerous, in a world where one episode in ten ends in an incident whatever runs.
/// Returns what is unavoidable by it, and the surprise, on average over the second half.
fn deployed_blind(max_lift: f64) -> (f64, f64) {
    let spec = RiskSpec { rate: 0.3, max_shift: 1.0, max_lift, precaution: 0.0, ..SPEC };
    let rules = RiskRules::new(spec).unwrap();
    let (mut memory, mut means) = (rules.memory(), [0.0; 2]);
    for episode in 0..4_000 {
        let (risks, mut costs) = ([0.0001, 0.0101], [0.0; 2]);
        let unavoidable = rules.costs(memory.recalibration(), &risks, &mut costs).unwrap();
        // The shift makes odds e times as large at most, and costs with them; the lift leaves them.
        assert!(costs[0] == 0.0 && costs[1] < 0.0272, "{costs:?}");
        let mut account = rules.account();
        let risk = memory.recalibration().raising(&risks).raise(risks[0]);
        assert_eq!(account.enter(unavoidable, risk, costs[0]), None);
        let surprise = account.close(episode % 10 == 9).unwrap();
        memory.end_episode(Some(surprise));
        if episode >= 2_000 {
            means[0] += unavoidable / 2_000.0;
            means[1] += surprise.uncharged / 2_000.0;
        }
    }
    means.into()
}

#[test]
fn where_a_critic_knows_nothing_of_a_danger_the_lift_says_how_much_happens() {
    let (unavoidable, surprise) = deployed_blind(12.0);
    assert!((unavoidable - 0.1).abs() < 0.01, "{unavoidable}");
    assert!(surprise.abs() < 1e-3, "{surprise}");
    let (unavoidable, surprise) = deployed_blind(0.0);
    assert!(
        unavoidable < 0.001 && surprise > 0.09,
        "a shift alone is soon at its limit: {surprise}"
    );
}

#[test]
fn a_fork_is_told_by_each_count_and_a_recalled_one_still_is_one() {
    let base = memory(SPEC, 20.0);
    assert_eq!(base.episodes(), 0);
    // Of the three counts one alone differs: episodes without decisions or scores, decisions, scores.
    let mut only_episodes = base;
    only_episodes.end_episode(None);
    only_episodes.end_episode(None);
    assert_eq!(only_episodes.episodes(), 2);
    let mut only_decisions = base;
    only_decisions.learn(Surprise::of(0.1));
    for grown in [only_episodes, only_decisions] {
        assert_eq!(base.join(&[grown.fork()]), Err(JoinError::NoFork(0)), "{grown:?}");
        assert_eq!(grown.join(&[base.fork()]), Err(JoinError::NoFork(0)), "{grown:?}");
        let recalled = base.recall(&grown.fork().state()).unwrap();
        assert_eq!(recalled, grown.fork());
        assert!(grown.join(&[recalled]).is_ok());
    }
}

#[test]
fn without_a_lift_a_negative_zero_keeps_its_bits() {
    let memory = memory(SPEC, 20.0);
    assert!(memory.recalibration().raising(&[0.0]).raise(-0.0).is_sign_negative());
}

#[test]
fn what_forks_of_a_memory_that_had_learned_add_counts_once_on_every_level() {
    let end = |memory: &mut Memory, surprise: f64| memory.end_episode(Some(Surprise::of(surprise)));
    let mut base = memory(SPEC, 1e9);
    end(&mut base, 1.0);
    let region = base.fork();
    let mut cars = [region.fork(), region.fork()];
    end(&mut cars[0], 1.0);
    end(&mut cars[1], -0.5);
    // A surprise of 1 is worth 0.3: 0.3 of the base, and 0.15 of both cars.
    let region = region.join(&cars).unwrap();
    let fleet = base.join(&[region]).unwrap();
    for joint in [region, fleet] {
        assert!((joint.recalibration().raised() - 0.45).abs() < 1e-12, "{joint}");
    }
}

#[test]
fn a_memory_at_its_limit_is_recalled() {
    for (max_shift, max_lift) in [(2.0, 1.0), (4.1, 12.0), (0.07, 0.3)] {
        let mut full =
            memory(RiskSpec { rate: 40.0, max_shift, max_lift, precaution: 0.0, ..SPEC }, 1e9);
        full.end_episode(Some(Surprise::of(1.0)));
        assert!((full.recalibration().raised() - (max_shift + max_lift)).abs() < 1e-12);
        assert_eq!(full.recall(&full.state()), Ok(full));
    }
}
