//! Contract: a spec that makes no sense is refused by the name of its field.

use cpss_highway::{Task, TaskId};
use cpss_risk::{Guess, RiskModel, RiskSpec};

#[test]
fn every_task_has_a_usable_spec() {
    for id in TaskId::ALL {
        let task = Task::with_defaults(id);
        assert!(RiskModel::new(&task, RiskSpec::for_task(id)).is_ok(), "{}", id.name());
    }
}

#[test]
fn unusable_numbers_are_refused_by_name() {
    let task = Task::with_defaults(TaskId::HighwayV0);
    type Change = fn(&mut RiskSpec);
    let changes: [(Change, &str); 11] = [
        (|spec| spec.horizon = 0.0, "horizon"),
        (|spec| spec.horizon = 1e9, "horizon"),
        (|spec| spec.sample_time = f64::NAN, "sample_time"),
        (|spec| spec.margin.along = 0.0, "margin.along"),
        (|spec| spec.margin.closing_time = -0.1, "margin.closing_time"),
        (|spec| spec.habits.unlikely = 1.5, "habits.unlikely"),
        (|spec| spec.habits.brake = f64::INFINITY, "habits.brake"),
        (|spec| spec.fade = 1.0, "fade"),
        (|spec| spec.backups.clear(), "backups"),
        (|spec| spec.guesses.push(Guess { wish: -1.0, looked: 0.0 }), "guesses.wish"),
        (|spec| spec.guesses.push(Guess { wish: 8.0, looked: f64::NAN }), "guesses.looked"),
    ];
    for (change, field) in changes {
        let mut spec = RiskSpec::for_task(task.id);
        change(&mut spec);
        let error = RiskModel::new(&task, spec).unwrap_err();
        assert_eq!(error.field, field);
        assert!(error.to_string().contains(field));
    }
}
