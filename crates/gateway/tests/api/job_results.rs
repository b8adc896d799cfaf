//! Jobs of listeners and ad-hoc sub-processes: the data sent to workers, and their results.

use serde_json::json;
use skep_proto::gateway_protocol as pb;
use skep_protocol::user_task::UserTaskProperties;
use skep_protocol::value::*;
use skep_protocol::{ActivatedJob, Command};

use crate::fake::{KEY, Running, job, start};
use crate::grpc::client;
use crate::http::post;

fn user_task() -> UserTaskProperties {
    UserTaskProperties {
        action: "complete".into(),
        assignee: Some("anna".into()),
        candidate_groups: vec!["managers".into()],
        candidate_users: vec![],
        changed_attributes: vec!["assignee".into()],
        due_date: Some("2031-05-06T07:08:09Z".into()),
        follow_up_date: None,
        form_key: None,
        priority: Some(50),
        user_task_key: Some(KEY.0 + 5),
    }
}

fn listener_job() -> ActivatedJob {
    ActivatedJob {
        kind: JobKind::TaskListener(ListenerEvent::Completing),
        user_task: Some(Box::new(user_task())),
        ..job(1)
    }
}

fn result_of(gateway: &Running) -> Option<JobResult> {
    let Command::CompleteJob { result, .. } = gateway.broker.last().command else {
        panic!("a job was completed")
    };
    result.map(|result| *result)
}

#[tokio::test]
async fn the_job_of_a_task_listener_contains_its_user_task() {
    let gateway = start().await;
    gateway.broker.jobs.lock().push(listener_job());
    let body = r#"{"type": "pay", "timeout": 1000, "maxJobsToActivate": 1}"#;
    let answer = post(gateway.rest, "/v2/jobs/activation", body).await;
    let job = &answer.json()["jobs"][0];
    assert_eq!(job["kind"], "TASK_LISTENER");
    assert_eq!(job["listenerEventType"], "COMPLETING");
    assert_eq!(
        job["userTask"],
        json!({
            "action": "complete", "assignee": "anna", "candidateGroups": ["managers"], "candidateUsers": [],
            "changedAttributes": ["assignee"], "dueDate": "2031-05-06T07:08:09Z", "followUpDate": null, "formKey": null,
            "priority": 50, "userTaskKey": (KEY.0 + 5).to_string(),
        })
    );

    gateway.broker.jobs.lock().push(listener_job());
    let request = crate::grpc::jobs::activation(0);
    let mut client = client(&gateway).await;
    let mut stream = client.activate_jobs(request).await.unwrap().into_inner();
    let job = stream.message().await.unwrap().unwrap().jobs.remove(0);
    assert_eq!(job.kind(), pb::activated_job::JobKind::TaskListener);
    assert_eq!(
        job.listener_event_type(),
        pb::activated_job::ListenerEventType::Completing
    );
    let expected = pb::UserTaskProperties {
        action: Some("complete".into()),
        assignee: Some("anna".into()),
        candidate_groups: vec!["managers".into()],
        candidate_users: vec![],
        changed_attributes: vec!["assignee".into()],
        due_date: Some("2031-05-06T07:08:09Z".into()),
        follow_up_date: None,
        form_key: None,
        priority: Some(50),
        user_task_key: Some(KEY.0 + 5),
    };
    assert_eq!(job.user_task, Some(expected));
}

#[tokio::test]
async fn the_names_of_kinds_and_events_are_the_same_on_both_sides() {
    use pb::activated_job::{JobKind as Kind, ListenerEventType as Event};
    let events = [
        (ListenerEvent::Start, Event::Start),
        (ListenerEvent::End, Event::End),
        (ListenerEvent::Creating, Event::Creating),
        (ListenerEvent::Assigning, Event::Assigning),
        (ListenerEvent::Updating, Event::Updating),
        (ListenerEvent::Completing, Event::Completing),
        (ListenerEvent::Canceling, Event::Canceling),
    ];
    let mut kinds = vec![
        (JobKind::BpmnElement, Kind::BpmnElement, Event::Unspecified),
        (
            JobKind::AdHocSubProcess,
            Kind::AdHocSubProcess,
            Event::Unspecified,
        ),
    ];
    for (event, wire) in events {
        assert_eq!(event.name(), wire.as_str_name());
        kinds.push((
            JobKind::ExecutionListener(event),
            Kind::ExecutionListener,
            wire,
        ));
        kinds.push((JobKind::TaskListener(event), Kind::TaskListener, wire));
    }
    let gateway = start().await;
    let mut client = client(&gateway).await;
    for (kind, wire_kind, wire_event) in kinds {
        gateway
            .broker
            .jobs
            .lock()
            .push(ActivatedJob { kind, ..job(1) });
        let request = crate::grpc::jobs::activation(0);
        let mut stream = client.activate_jobs(request).await.unwrap().into_inner();
        let job = stream.message().await.unwrap().unwrap().jobs.remove(0);
        assert_eq!(
            (job.kind(), job.listener_event_type()),
            (wire_kind, wire_event)
        );
        assert_eq!(kind.name(), wire_kind.as_str_name());
        assert_eq!(kind.listener_event_name(), wire_event.as_str_name());
        assert_eq!(job.user_task, None);
    }
}

#[tokio::test]
async fn results_of_task_listeners_reach_the_broker() {
    let gateway = start().await;
    let path = format!("/v2/jobs/{KEY}/completion");
    let body = r#"{"result": {"type": "userTask", "denied": true, "deniedReason": "no", "corrections": {"assignee": "",
        "dueDate": null, "followUpDate": "2031-05-06T07:08:09Z", "candidateUsers": [], "candidateGroups": ["g"],
        "priority": 7}, "activateElements": []}}"#;
    assert_eq!(post(gateway.rest, &path, body).await.status, 204);
    let expected = JobResult {
        kind: JobResultType::UserTask,
        denied: true,
        denied_reason: "no".into(),
        corrections: Corrections {
            assignee: Some("".into()),
            candidate_groups: Some(vec!["g".into()]),
            candidate_users: Some(vec![]),
            due_date: None,
            follow_up_date: Some("2031-05-06T07:08:09Z".into()),
            priority: Some(7),
        },
        ..JobResult::default()
    };
    assert_eq!(result_of(&gateway), Some(expected.clone()));

    let list = |values: &[&str]| pb::StringList {
        values: values.iter().map(|v| v.to_string()).collect(),
    };
    let request = pb::CompleteJobRequest {
        job_key: KEY.0,
        result: Some(pb::JobResult {
            denied: Some(true),
            denied_reason: Some("no".into()),
            corrections: Some(pb::JobResultCorrections {
                assignee: Some("".into()),
                due_date: None,
                follow_up_date: Some("2031-05-06T07:08:09Z".into()),
                candidate_users: Some(list(&[])),
                candidate_groups: Some(list(&["g"])),
                priority: Some(7),
            }),
            ..Default::default()
        }),
        ..Default::default()
    };
    client(&gateway).await.complete_job(request).await.unwrap();
    assert_eq!(result_of(&gateway), Some(expected));
}

#[tokio::test]
async fn results_of_ad_hoc_sub_processes_reach_the_broker() {
    let gateway = start().await;
    let path = format!("/v2/jobs/{KEY}/completion");
    let body = r#"{"result": {"type": "adHocSubProcess", "activateElements": [{"elementId": "a", "variables": {"x": 1.50}},
        {"elementId": "b", "variables": null}], "isCompletionConditionFulfilled": true, "isCancelRemainingInstances": true}}"#;
    assert_eq!(post(gateway.rest, &path, body).await.status, 204);
    let element = |id: &str, variables: &[(&str, &str)]| ActivateElement {
        element_id: id.into(),
        variables: variables
            .iter()
            .map(|(name, value)| ((*name).into(), (*value).into()))
            .collect(),
    };
    let expected = JobResult {
        kind: JobResultType::AdHocSubProcess,
        activate_elements: vec![element("a", &[("x", "1.50")]), element("b", &[])],
        completion_condition_fulfilled: true,
        cancel_remaining_instances: true,
        ..JobResult::default()
    };
    assert_eq!(result_of(&gateway), Some(expected.clone()));

    let activate = |id: &str, variables: &str| pb::JobResultActivateElement {
        element_id: id.into(),
        variables: variables.into(),
    };
    let request = pb::CompleteJobRequest {
        job_key: KEY.0,
        result: Some(pb::JobResult {
            r#type: Some("adHocSubProcess".into()),
            activate_elements: vec![activate("a", r#"{"x":1.50}"#), activate("b", "")],
            is_completion_condition_fulfilled: Some(true),
            is_cancel_remaining_instances: Some(true),
            ..Default::default()
        }),
        ..Default::default()
    };
    client(&gateway).await.complete_job(request).await.unwrap();
    assert_eq!(result_of(&gateway), Some(expected));
}

#[tokio::test]
async fn a_result_that_says_nothing_is_none() {
    let gateway = start().await;
    let path = format!("/v2/jobs/{KEY}/completion");
    for result in ["null", "{}", r#"{"type": "userTask", "denied": false}"#] {
        let body = format!(r#"{{"result": {result}}}"#);
        assert_eq!(post(gateway.rest, &path, &body).await.status, 204);
        assert_eq!(result_of(&gateway), None, "{result}");
    }
}

#[tokio::test]
async fn activities_of_an_ad_hoc_sub_process_are_activated_over_rest() {
    let gateway = start().await;
    let path = format!("/v2/element-instances/ad-hoc-activities/{KEY}/activation");
    let body = r#"{"elements": [{"elementId": "a", "variables": {"x": 1}}, {"elementId": "b"}], "cancelRemainingInstances": true}"#;
    assert_eq!(post(gateway.rest, &path, body).await.status, 204);
    let Command::ActivateAdHoc(command) = gateway.broker.last().command else {
        panic!("elements were activated")
    };
    assert_eq!(command.ad_hoc_sub_process_instance_key, KEY);
    assert!(command.cancel_remaining_instances);
    let element = |id: &str, variables: Vec<(_, _)>| ActivateElement {
        element_id: id.into(),
        variables,
    };
    let expected = [
        element("a", vec![("x".into(), "1".into())]),
        element("b", vec![]),
    ];
    assert_eq!(command.elements, expected);

    let answer = post(gateway.rest, &path, "{}").await;
    assert_eq!(answer.status, 400);
    assert!(answer.text.contains("elements"), "{}", answer.text);
    let answer = post(gateway.rest, &path, r#"{"elements": [{}]}"#).await;
    assert!(
        answer.text.contains("elements.elementId"),
        "{}",
        answer.text
    );
}
