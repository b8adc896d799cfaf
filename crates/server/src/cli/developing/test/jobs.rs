//! Instructions that complete jobs and user tasks.

use serde_json::{Map, Value, json};

use super::examples;
use super::instruction::{
    CompleteAdHocJob, CompleteJob, CompleteListenerJob, CompleteUserTask, ThrowBpmnError,
};
use super::selector::{JobSelector, Selector};
use super::wait::{Look, Wrong, until};
use super::world::{Search, World};
use crate::cli::rest::Body;
use crate::cli::search::word;

/// States of jobs that can be completed.
const OPEN: [&str; 5] = [
    "CREATED",
    "FAILED",
    "RETRIES_UPDATED",
    "TIMED_OUT",
    "MIGRATED",
];

/// The jobs that can be completed, oldest first.
pub async fn open(search: &Search, mut filter: Map<String, Value>) -> anyhow::Result<Vec<Value>> {
    filter.insert("state".into(), json!({"$in": OPEN}));
    let mut jobs = search.ours("jobs/search", "jobKey", filter).await?;
    jobs.retain(|job| job["retries"].as_i64().is_none_or(|retries| retries > 0));
    Ok(jobs)
}

async fn job(world: &World, selector: &JobSelector, kind: Option<&str>) -> Result<Value, Wrong> {
    let expected = format!("an open {selector}");
    let search = world.search();
    until(world.timeout, &expected, async || {
        let mut filter = selector.filter();
        if let Some(kind) = kind {
            filter.insert("kind".into(), kind.into());
        }
        let jobs = open(&search, filter).await?;
        if let Some(job) = jobs.into_iter().next() {
            return Ok(Look::Holds(job));
        }
        let others = open(&search, Map::new()).await?;
        Ok(Look::NotYet(if others.is_empty() {
            "there are no open jobs".into()
        } else {
            let others = others
                .iter()
                .map(|job| format!("type '{}' of {}", word(job, "type"), word(job, "elementId")));
            let others: Vec<String> = others.collect();
            format!("open jobs: {}", others.join(", "))
        }))
    })
    .await
}

async fn complete_with(world: &World, job: &Value, body: Body) -> Result<(), Wrong> {
    let path = format!("jobs/{}/completion", word(job, "jobKey"));
    world.rest.post(&path, body).await?;
    Ok(())
}

pub async fn complete(world: &World, of: &CompleteJob) -> Result<(), Wrong> {
    let job = job(world, &of.job_selector, None).await?;
    let body = match of.use_example_data {
        Some(true) => Body::default().with("variables", examples::of(&world.rest, &job).await?),
        _ => Body::default().with_some("variables", of.variables.as_ref()),
    };
    complete_with(world, &job, body).await
}

pub async fn complete_ad_hoc(world: &World, of: &CompleteAdHocJob) -> Result<(), Wrong> {
    let job = job(world, &of.job_selector, Some("AD_HOC_SUB_PROCESS")).await?;
    let result = Body::default()
        .with("type", "adHocSubProcess")
        .with_some("activateElements", of.activate_elements.as_ref())
        .with(
            "isCancelRemainingInstances",
            of.cancel_remaining_instances == Some(true),
        )
        .with(
            "isCompletionConditionFulfilled",
            of.completion_condition_fulfilled == Some(true),
        );
    let body = Body::default()
        .with_some("variables", of.variables.as_ref())
        .with("result", result);
    complete_with(world, &job, body).await
}

pub async fn complete_listener(world: &World, of: &CompleteListenerJob) -> Result<(), Wrong> {
    let job = job(world, &of.job_selector, Some("TASK_LISTENER")).await?;
    let denied = of.denied == Some(true);
    let corrections = of.corrections.as_ref().filter(|_| !denied);
    let result = Body::default()
        .with("type", "userTask")
        .with("denied", denied)
        .with_some("deniedReason", of.denied_reason.as_ref())
        .with_some("corrections", corrections);
    complete_with(world, &job, Body::default().with("result", result)).await
}

pub async fn throw(world: &World, of: &ThrowBpmnError) -> Result<(), Wrong> {
    let job = job(world, &of.job_selector, None).await?;
    let body = Body::default()
        .with("errorCode", &of.error_code)
        .with_some("errorMessage", of.error_message.as_ref())
        .with_some("variables", of.variables.as_ref());
    let path = format!("jobs/{}/error", word(&job, "jobKey"));
    world.rest.post(&path, body).await?;
    Ok(())
}

pub async fn complete_user_task(world: &mut World, of: &CompleteUserTask) -> Result<(), Wrong> {
    let selector = &of.user_task_selector;
    let search = world.search();
    let task = until(world.timeout, &format!("an open {selector}"), async || {
        let mut filter = selector.filter();
        filter.insert("state".into(), "CREATED".into());
        Ok(match search.user_tasks(filter).await?.into_iter().next() {
            Some(task) => Look::Holds(task),
            None => Look::NotYet("there is none".into()),
        })
    })
    .await?;
    let body = match of.use_example_data {
        Some(true) => Body::default().with("variables", examples::of(&world.rest, &task).await?),
        _ => Body::default().with_some("variables", of.variables.as_ref()),
    };
    let key = word(&task, "userTaskKey");
    let rest = world.rest.clone();
    let path = format!("user-tasks/{key}/completion");
    // The answer waits for the task's listeners, and the next instruction may complete the job of one of them.
    let (answer, mut answered) = tokio::sync::oneshot::channel();
    world.workers.spawn(async move {
        let _ = answer.send(rest.post(&path, body).await);
    });
    let expected = format!("user task {key} is completed");
    until(world.timeout, &expected, async || {
        if let Ok(answer) = answered.try_recv() {
            return answer.map(|_| Look::Holds(()));
        }
        let task = &search.rest.get(&format!("user-tasks/{key}")).await?;
        Ok(if task["state"] == "COMPLETING" {
            Look::Holds(())
        } else {
            Look::NotYet(format!("it is {}", word(task, "state")))
        })
    })
    .await
}
