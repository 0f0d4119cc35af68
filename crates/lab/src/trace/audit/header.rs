//! Does a trace's first line agree with itself?
//!
//! The task says which actions, which road and how long a decision is; the arm says what the shield may not
//! choose freely (a shadow or not, which gain, whether the ledger binds), whether costs were privileged, and
//! whether there is a policy. [`Episode::of`] checks all of that, and what it returns is what the rest of
//! the audit goes by.

use std::sync::Arc;

use cpss_highway::random::Generator;
use cpss_highway::{Task, TaskId};
use cpss_shield::Mode;

use super::finding::{Problem, same};
use crate::play::arm::{Arm, ShieldSettings};
use crate::play::seed::random_proposals;
use crate::record::exact::Exact;
use crate::tasks::policy_task;
use crate::trace::format::Header;
use crate::trace::road::Road;

/// Which episode a trace says it is of.
#[derive(Debug)]
pub(super) struct Episode {
    /// The task.
    pub(super) task: Arc<Task>,
    /// The arm.
    pub(super) arm: Arm,
    /// Whether the shield is the one that this program has for it.
    pub(super) has_shipped_shield: bool,
    /// Where the random arm's proposals come from.
    pub(super) random: Generator,
}

impl Episode {
    /// Checks a header.
    pub(super) fn of(header: &Header) -> Result<Episode, Problem> {
        let unknown = |field, found: &str| Problem::Unknown { field, found: found.to_owned() };
        let id: TaskId = header.task.parse().map_err(|_| unknown("task", &header.task))?;
        let arm: Arm = header.arm.parse().map_err(|_| unknown("arm", &header.arm))?;
        same("arm", header.arm.as_str(), arm.to_string().as_str())?;
        same("privileged", header.privileged, arm == Arm::Oracle)?;
        same("policy: is there", header.policy != "none", !arm.is_floor())?;
        let task = policy_task(id);
        check_road(header, &task)?;
        check_shield(header, arm)?;
        // Nobody knows whether a file says what it said at calibration.
        let worlds = [Some(&header.regime), header.sensor.as_ref()];
        if worlds.into_iter().flatten().any(|name| name.ends_with(".toml")) {
            same("risk: conservative in a file's world", header.risk.conservative, false)?;
        }
        let shipped = ShieldSettings::shipped(id).map(|settings| arm.shield(&settings));
        Ok(Episode {
            task,
            arm,
            has_shipped_shield: shipped.is_ok_and(|spec| spec == header.shield),
            random: random_proposals(header.seed),
        })
    }
}

fn check_road(header: &Header, task: &Task) -> Result<(), Problem> {
    let Road { actions, decision_time, car, lanes, obstacles } = Road::of(task);
    for (field, is_so) in [
        ("actions", header.actions == actions),
        ("car", header.car == car),
        ("lanes", header.lanes == lanes),
        ("obstacles", header.obstacles == obstacles),
    ] {
        if !is_so {
            let (found, derived) = ("another".to_owned(), format!("that of {}", task.id.name()));
            return Err(Problem::Differs { field, found, derived });
        }
    }
    same("decision_time", Exact(header.decision_time), Exact(decision_time))
}

/// What the arm forces on the shield, whatever a person chose.
fn check_shield(header: &Header, arm: Arm) -> Result<(), Problem> {
    let shield = &header.shield;
    let forced = arm.forced(shield);
    same("shield: shadow", shield.mode == Mode::Shadow, forced.mode == Mode::Shadow)?;
    for (field, found, derived) in [
        ("shield: budget", shield.budget, forced.budget),
        ("shield: epsilon", shield.epsilon, forced.epsilon),
        ("shield: cap", shield.tau_cap, forced.tau_cap),
        ("shield: pace", shield.pace, forced.pace),
        ("shield: price", shield.price, forced.price),
    ] {
        same(field, Exact(found), Exact(derived))?;
    }
    same("shield: charge", shield.charge == forced.charge, true)?;
    let [gain, forced_gain] = [shield.gain, forced.gain].map(|gain| format!("{gain:?}"));
    same("shield: gain", gain, forced_gain)
}
