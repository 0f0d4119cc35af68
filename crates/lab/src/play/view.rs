//! What does a policy see, when it was not made here?
//!
//! A policy from elsewhere was trained on some observation of highway-env's, often its default. The config of
//! that observation comes from `--config`, from a plan, or from the card of a `.safetensors` file (key
//! `config`); [`config_for`] puts it in the place of ours. By highway-env's rules, what a config leaves out is
//! highway-env's default, so `{}` is the task's own observation there.
//!
//! **Invariants:** only what the policy sees changes. Traffic, rewards, ends and the list of actions stay those
//! of [`policy_config`], because every policy is compared in the same episodes, and the shield, which judges
//! from the [`Scene`](cpss_highway::Scene) and never from an observation, gets to know nothing of it. A
//! policy is never shown anything else than its card says.

use cpss_highway::{ConfigError, Task, TaskId};
use cpss_learn::policy::card;
use serde_json::Value;

use crate::play::policy::{PolicyError, PolicySource};
use crate::tasks::policy_config;

/// The key of a config, and of a card, that this is about.
const OBSERVATION: &str = "observation";

/// A config that cannot be what a policy sees.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ViewError {
    /// Something else than an object.
    #[error(
        "the config or its observation is {0}, but has to be a JSON object, such as \
         {{\"observation\": {{\"type\": \"Kinematics\"}}}}"
    )]
    NoObject(Value),
    /// A key that is about something else.
    #[error(
        "`{0}` is not about what the policy sees: only `observation` may be set here, since traffic \
         and actions are the same for every policy"
    )]
    NotSeen(String),
    /// An order that draws from the random numbers of the episode.
    #[error(
        "`observation.order` is shuffled, which draws from the episode's random numbers and so would \
         change its traffic: only sorted can be compared"
    )]
    Shuffled,
    /// A config that the task refuses.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// A config that is not the card's.
    #[error(
        "the card of {policy} says that it sees something else: leave the config out, or give {card}"
    )]
    NotOfCard {
        /// The policy.
        policy: String,
        /// What its card says.
        card: Value,
    },
    /// A card that cannot be read.
    #[error("the card of {policy} has a config that is not JSON: {error}")]
    Card {
        /// The policy.
        policy: String,
        /// What is wrong with it.
        error: serde_json::Error,
    },
    /// A policy that cannot be read.
    #[error(transparent)]
    Policy(#[from] PolicyError),
}

/// Reads a config from the command line.
pub(crate) fn parse(text: &str) -> Result<Value, String> {
    serde_json::from_str(text).map_err(|error| format!("the config is not valid JSON: {error}"))
}

/// The task's config for a policy, given what a person says that it sees; otherwise as its card says;
/// otherwise ours. Where no policy drives, nobody sees anything, and there is no card.
pub(crate) fn config_for(
    policy: Option<&PolicySource>,
    id: TaskId,
    given: Option<&Value>,
) -> Result<Value, ViewError> {
    let on_card = match policy {
        Some(policy) => card_config(policy, id)?,
        None => None,
    };
    let on_card = on_card.map(|config| seen_as(id, &config)).transpose()?;
    match (given, on_card) {
        (None, on_card) => Ok(on_card.unwrap_or_else(|| policy_config(id))),
        (Some(given), None) => seen_as(id, given),
        (Some(given), Some(on_card)) => {
            let config = seen_as(id, given)?;
            // The same observation may be written in several ways, so what is built of it is compared.
            if Task::new(id, &config)?.observer == Task::new(id, &on_card)?.observer {
                return Ok(config);
            }
            let seen = on_card.get(OBSERVATION).map(|seen| (OBSERVATION.to_owned(), seen.clone()));
            let policy = policy.map(PolicySource::to_string).unwrap_or_default();
            Err(ViewError::NotOfCard { policy, card: Value::Object(seen.into_iter().collect()) })
        }
    }
}

/// Our config of the task with the observation of another.
fn seen_as(id: TaskId, config: &Value) -> Result<Value, ViewError> {
    let given = config.as_object().ok_or_else(|| ViewError::NoObject(config.clone()))?;
    let mut ours = policy_config(id);
    // A whole config is welcome, such as `cpss train` writes, where it agrees with ours.
    let foreign = |(key, value): &(&String, &Value)| {
        *key != OBSERVATION && ours.get(key.as_str()) != Some(*value)
    };
    if let Some((key, _)) = given.iter().find(foreign) {
        return Err(ViewError::NotSeen(key.clone()));
    }
    if let Some(seen) = given.get(OBSERVATION).filter(|seen| !seen.is_object()) {
        return Err(ViewError::NoObject(seen.clone()));
    }
    if config.pointer("/observation/order").is_some_and(|order| order == "shuffled") {
        return Err(ViewError::Shuffled);
    }
    if let Some(ours) = ours.as_object_mut() {
        ours.remove(OBSERVATION);
        ours.extend(given.get(OBSERVATION).map(|seen| (OBSERVATION.to_owned(), seen.clone())));
    }
    Task::new(id, &ours)?;
    Ok(ours)
}

/// What the policy's card says that it sees in this task, if it has one and is made for the task.
fn card_config(policy: &PolicySource, id: TaskId) -> Result<Option<Value>, ViewError> {
    let Some(all) = policy.card(id)? else { return Ok(None) };
    if all.get(card::ENV).is_some_and(|env| env != id.name()) {
        return Ok(None);
    }
    let Some(text) = all.get(card::CONFIG) else { return Ok(None) };
    let config = serde_json::from_str(text)
        .map_err(|error| ViewError::Card { policy: policy.to_string(), error })?;
    Ok(Some(config))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::tasks;

    const OWN: PolicySource = PolicySource::Builtin(0);

    fn elsewhere() -> PolicySource {
        "elsewhere.onnx".parse().unwrap()
    }

    #[test]
    fn without_a_word_every_policy_sees_what_ours_do() {
        for &id in tasks::shipped() {
            for policy in [Some(&OWN), Some(&elsewhere()), None] {
                assert_eq!(config_for(policy, id, None).unwrap(), policy_config(id));
            }
        }
    }

    #[test]
    fn an_empty_config_is_upstreams_observation_and_changes_nothing_else() {
        for &id in tasks::shipped() {
            let config = config_for(Some(&elsewhere()), id, Some(&json!({}))).unwrap();
            let (seen, ours) = (Task::new(id, &config).unwrap(), Task::new(id, &policy_config(id)));
            assert_eq!(seen.observer, Task::with_defaults(id).observer);
            assert_eq!(seen.controls.action_count(), ours.unwrap().controls.action_count());
        }
    }

    #[test]
    fn what_is_not_seen_and_what_the_card_contradicts_is_refused() {
        let id = TaskId::IntersectionV0;
        let said = |policy: &PolicySource, config| {
            config_for(Some(policy), id, Some(&config)).unwrap_err().to_string()
        };
        let other = elsewhere();
        assert!(said(&other, json!(3)).contains("is 3, but has to be a JSON object"));
        assert!(said(&other, json!({"observation": null})).contains("is null, but has to be"));
        assert!(said(&other, json!({"duration": 5})).contains("`duration` is not about what"));
        assert!(said(&other, json!({"action": {}})).contains("`action` is not about what"));
        let shuffled = json!({"observation": {"type": "Kinematics", "order": "shuffled"}});
        assert!(said(&other, shuffled).contains("would change its traffic"));
        let slip = json!({"observation": {"vehicle_count": 3}});
        assert!(said(&other, slip).contains("did you mean `vehicles_count`"));
        assert!(said(&OWN, json!({})).contains("the card of builtin:0 says"));
        // Its own observation is not a contradiction.
        config_for(Some(&OWN), id, Some(&policy_config(id))).unwrap();
    }
}
