//! Instructions that act on processes: instances, messages, signals, decisions, incidents, variables.

use http::Method;
use serde_json::json;

use super::assert::process::first;
use super::instruction::{
    BroadcastSignal, CorrelateMessage, CreateProcessInstance, EvaluateConditions, EvaluateDecision,
    PublishMessage, ResolveIncident, UpdateVariables,
};
use super::selector::Selector;
use super::wait::{Look, Wrong, until};
use super::world::World;
use crate::cli::rest::Body;
use crate::cli::search::word;
use crate::errors::code_of;

/// Time to live of a message unless the test case gives one: the value that the official clients send.
const TIME_TO_LIVE: i64 = 3_600_000;

pub async fn create(world: &World, of: &CreateProcessInstance) -> Result<(), Wrong> {
    let process = of.process_definition_selector.get("processDefinitionId");
    let body = Body::default()
        .with_some("processDefinitionId", process)
        .with_some("variables", of.variables.as_ref())
        .with_some("startInstructions", of.start_instructions.as_ref())
        .with_some("runtimeInstructions", of.runtime_instructions.as_ref());
    world.rest.post("process-instances", body).await?;
    Ok(())
}

pub async fn publish(world: &World, of: &PublishMessage) -> Result<(), Wrong> {
    let body = Body::default()
        .with("name", &of.name)
        .with(
            "correlationKey",
            of.correlation_key.as_deref().unwrap_or(""),
        )
        .with("timeToLive", of.time_to_live.unwrap_or(TIME_TO_LIVE))
        .with_some("messageId", of.message_id.as_ref())
        .with_some("variables", of.variables.as_ref());
    world.rest.post("messages/publication", body).await?;
    Ok(())
}

/// Correlates a message, with retries: a subscription may be about to open.
pub async fn correlate(world: &World, of: &CorrelateMessage) -> Result<(), Wrong> {
    let key = of.correlation_key.as_deref().unwrap_or("");
    let expected = format!(
        "a subscription to message '{}' with correlation key '{key}'",
        of.name
    );
    until(world.timeout, &expected, async || {
        let body = Body::default()
            .with("name", &of.name)
            .with("correlationKey", key)
            .with_some("variables", of.variables.as_ref());
        match world.rest.post("messages/correlation", body).await {
            Ok(_) => Ok(Look::Holds(())),
            Err(why) if code_of(&why) == "NOT_FOUND" => Ok(Look::NotYet("there is none".into())),
            Err(why) => Err(why),
        }
    })
    .await
}

pub async fn broadcast(world: &World, of: &BroadcastSignal) -> Result<(), Wrong> {
    let body = Body::default()
        .with("signalName", &of.signal_name)
        .with_some("variables", of.variables.as_ref());
    world.rest.post("signals/broadcast", body).await?;
    Ok(())
}

pub async fn evaluate_decision(world: &World, of: &EvaluateDecision) -> Result<(), Wrong> {
    let decision = of.decision_definition_selector.get("decisionDefinitionId");
    let body = Body::default()
        .with_some("decisionDefinitionId", decision)
        .with_some("variables", of.variables.as_ref());
    let path = "decision-definitions/evaluation";
    world.rest.post(path, body).await?;
    Ok(())
}

pub async fn evaluate_conditions(world: &World, of: &EvaluateConditions) -> Result<(), Wrong> {
    let body = Body::default().with("variables", &of.variables);
    world.rest.post("conditionals/evaluation", body).await?;
    Ok(())
}

/// Resolves an incident; a job incident also gives the job another retry.
pub async fn resolve(world: &World, of: &ResolveIncident) -> Result<(), Wrong> {
    let selector = &of.incident_selector;
    let expected = format!("an active {selector}");
    let search = world.search();
    let incident = &until(world.timeout, &expected, async || {
        let mut filter = selector.filter();
        filter.insert("state".into(), "ACTIVE".into());
        let found = search.ours("incidents/search", "incidentKey", filter);
        Ok(match found.await?.into_iter().next() {
            Some(incident) => Look::Holds(incident),
            None => Look::NotYet("there is none".into()),
        })
    })
    .await?;
    if !incident["jobKey"].is_null() {
        let path = format!("jobs/{}", word(incident, "jobKey"));
        let changes = Body::default().with("changeset", json!({"retries": 1}));
        world.rest.send(Method::PATCH, &path, changes).await?;
    }
    let path = format!("incidents/{}/resolution", word(incident, "incidentKey"));
    world.rest.post(&path, Body::default()).await?;
    Ok(())
}

pub async fn update_variables(world: &World, of: &UpdateVariables) -> Result<(), Wrong> {
    let selector = &of.process_instance_selector;
    let expected = match &of.element_selector {
        Some(element) => format!("an active {element} in a {selector}"),
        None => format!("an active {selector}"),
    };
    let search = world.search();
    let scope = until(world.timeout, &expected, async || {
        let Some(instance) = first(&search, selector).await? else {
            return Ok(Look::NotYet("there is no such instance".into()));
        };
        let key = word(&instance, "processInstanceKey");
        let Some(element) = &of.element_selector else {
            return Ok(Look::Holds(key));
        };
        let elements = super::assert::elements::of(&search, &key).await?;
        let mut active = elements.iter().filter(|item| item["state"] == "ACTIVE");
        let found = active.find(|item| super::assert::elements::is(element, item));
        Ok(match found {
            Some(found) => Look::Holds(word(found, "elementInstanceKey")),
            None => Look::NotYet(super::assert::elements::list(&elements)),
        })
    })
    .await?;
    let body = Body::default()
        .with("variables", &of.variables)
        .with("local", of.element_selector.is_some());
    let path = format!("element-instances/{scope}/variables");
    world.rest.send(Method::PUT, &path, body).await?;
    Ok(())
}
