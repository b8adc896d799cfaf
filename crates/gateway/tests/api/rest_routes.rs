//! Each REST operation: the broker's command, and the answer.

use serde_json::json;
use skep_protocol::command::{ProcessRef, UpdateJobKind};
use skep_protocol::value::Corrections;
use skep_protocol::{Command, Document, Key};
use std::time::Duration;

use crate::fake::{KEY, job, start};
use crate::http::{JSON, post, send};

fn vars(text: &str) -> Document {
    Document::parse(text).expect("variables")
}

#[tokio::test]
async fn topology_names_nodes_and_partitions() {
    let gateway = start().await;
    let answer = send(gateway.rest, "GET", "/v2/topology", None, "").await;
    let topology = answer.json();
    assert_eq!(
        topology["brokers"][0]["partitions"][0],
        json!({"partitionId": 1, "role": "leader", "health": "healthy", "state": "active"})
    );
    assert_eq!(
        (&topology["clusterSize"], &topology["clusterId"]),
        (&json!(1), &json!("c-1"))
    );
}

#[tokio::test]
async fn status_is_good_while_some_partition_has_a_leader() {
    let gateway = start().await;
    assert_eq!(
        send(gateway.rest, "GET", "/v2/status", None, "")
            .await
            .status,
        204
    );
    *gateway.broker.no_leader.lock() = true;
    assert_eq!(
        send(gateway.rest, "GET", "/v2/status", None, "")
            .await
            .status,
        503
    );
}

#[tokio::test]
async fn the_cluster_status_distinguishes_healthy_degraded_and_down() {
    let gateway = start().await;
    let ask = async || {
        let answer = send(gateway.rest, "GET", "/cluster/v2/status", None, "").await;
        (answer.status.as_u16(), answer.json())
    };
    assert_eq!(ask().await, (200, json!({"status": "HEALTHY"})));
    *gateway.broker.lost_partitions.lock() = 1;
    assert_eq!(ask().await, (200, json!({"status": "DEGRADED"})));
    *gateway.broker.no_leader.lock() = true;
    assert_eq!(ask().await, (503, json!({"status": "DOWN"})));
}

#[tokio::test]
async fn license_and_openapi_are_served() {
    let gateway = start().await;
    let license = send(gateway.rest, "GET", "/v2/license", None, "")
        .await
        .json();
    assert_eq!(license["validLicense"], true);
    let document = send(gateway.rest, "GET", "/v2/openapi.json", None, "")
        .await
        .json();
    assert_eq!(document["openapi"], "3.0.3");
}

#[tokio::test]
async fn head_answers_like_get_without_a_body() {
    let gateway = start().await;
    let head = crate::http::open(gateway.rest, "HEAD", "/v2/topology", None, "").await;
    assert_eq!(head.status(), 200);
}

#[tokio::test]
async fn a_deployment_passes_files_on() {
    let gateway = start().await;
    let body = "--b\r\nContent-Disposition: form-data; name=\"resources\"; filename=\"order.bpmn\"\r\n\r\n<x/>\r\n--b--\r\n";
    let content_type = Some("multipart/form-data; boundary=b");
    let answer = send(gateway.rest, "POST", "/v2/deployments", content_type, body).await;
    assert_eq!(
        answer.json()["deployments"][0]["processDefinition"]["resourceName"],
        "order.bpmn"
    );
    let Command::Deploy(deploy) = gateway.broker.last().command else {
        panic!()
    };
    assert_eq!(
        (
            deploy.resources[0].name.as_str(),
            &deploy.resources[0].content[..]
        ),
        ("order.bpmn", &b"<x/>"[..])
    );
}

#[tokio::test]
async fn a_resource_is_deleted_by_its_key() {
    let gateway = start().await;
    let answer = post(
        gateway.rest,
        &format!("/v2/resources/{KEY}/deletion"),
        r#"{"operationReference": 7}"#,
    )
    .await;
    assert_eq!(
        answer.json(),
        json!({"resourceKey": KEY.to_string(), "batchOperation": null})
    );
    let request = gateway.broker.last();
    assert_eq!(request.operation_reference, Some(7));
    assert!(matches!(
        request.command,
        Command::DeleteResource {
            resource_key: KEY,
            delete_history: false,
        }
    ));
}

#[tokio::test]
async fn an_instance_is_created_by_id_with_everything_that_can_be_said() {
    let gateway = start().await;
    let answer = post(
        gateway.rest,
        "/v2/process-instances",
        r#"{"processDefinitionId": "or\u0064er", "processDefinitionVersion": 2, "variables": {"a": 1.50, "b": {"c": [ ]}},
            "tenantId": "<default>", "operationReference": 5, "startInstructions": [{"elementId": "s"}],
            "runtimeInstructions": [{"type": "terminate_process_instance", "afterElementId": "t"}],
            "tags": ["x"], "businessId": "B-1"}"#,
    )
    .await;
    let created = answer.json();
    assert_eq!(answer.status, 200);
    assert_eq!(created["processInstanceKey"], (KEY.0 + 1).to_string());
    assert_eq!(
        (&created["variables"], &created["businessId"]),
        (&json!({}), &json!("B-1"))
    );
    let request = gateway.broker.last();
    assert_eq!(request.operation_reference, Some(5));
    let Command::CreateProcessInstance(create) = request.command else {
        panic!()
    };
    assert_eq!(
        create.process,
        ProcessRef::Id {
            bpmn_process_id: "order".into(),
            version: 2
        }
    );
    // Numbers keep their spelling, white space is removed.
    assert_eq!(create.variables.to_json(), r#"{"a":1.50,"b":{"c":[]}}"#);
    assert_eq!(
        (create.start_instructions, create.terminate_after),
        (vec!["s".to_string()], vec!["t".to_string()])
    );
    assert_eq!(
        (create.tags, create.business_id.as_deref()),
        (vec!["x".to_string()], Some("B-1"))
    );
    assert!(create.await_result.is_none());
}

#[tokio::test]
async fn an_instance_is_created_by_key_and_nulls_count_as_absent() {
    let gateway = start().await;
    let body = format!(
        r#"{{"processDefinitionKey": "{KEY}", "variables": null, "tags": null, "businessId": null}}"#
    );
    assert_eq!(
        post(gateway.rest, "/v2/process-instances", &body)
            .await
            .status,
        200
    );
    let Command::CreateProcessInstance(create) = gateway.broker.last().command else {
        panic!()
    };
    assert_eq!(create.process, ProcessRef::Key(KEY));
    post(
        gateway.rest,
        "/v2/process-instances",
        r#"{"processDefinitionId": "order"}"#,
    )
    .await;
    let Command::CreateProcessInstance(create) = gateway.broker.last().command else {
        panic!()
    };
    assert_eq!(
        create.process,
        ProcessRef::Id {
            bpmn_process_id: "order".into(),
            version: -1
        }
    );
}

#[tokio::test]
async fn a_creation_can_wait_for_the_end_of_the_instance() {
    let gateway = start().await;
    let body = r#"{"processDefinitionId": "order", "awaitCompletion": true, "fetchVariables": ["sum"], "requestTimeout": 5000}"#;
    let answer = post(gateway.rest, "/v2/process-instances", body).await;
    assert!(
        answer.text.contains(r#""variables":{"sum": 1.50}"#),
        "{}",
        answer.text
    );
    let Command::CreateProcessInstance(create) = gateway.broker.last().command else {
        panic!()
    };
    assert_eq!(create.await_result.expect("waits").fetch_variables, ["sum"]);
}

#[tokio::test]
async fn an_instance_is_cancelled_with_and_without_a_body() {
    let gateway = start().await;
    let path = format!("/v2/process-instances/{KEY}/cancellation");
    assert_eq!(
        send(gateway.rest, "POST", &path, None, "").await.status,
        204
    );
    assert_eq!(post(gateway.rest, &path, "null").await.status, 204);
    assert_eq!(
        post(gateway.rest, &path, r#"{"operationReference": 1}"#)
            .await
            .status,
        204
    );
    let requests = gateway.broker.requests.lock();
    assert!(requests.iter().all(|r| matches!(
        r.command,
        Command::CancelProcessInstance {
            process_instance_key: KEY
        }
    )));
    assert_eq!(
        requests
            .iter()
            .map(|r| r.operation_reference)
            .collect::<Vec<_>>(),
        [None, None, Some(1)]
    );
}

#[tokio::test]
async fn jobs_are_activated_with_all_their_fields() {
    let gateway = start().await;
    gateway.broker.jobs.lock().extend([job(1), job(2), job(3)]);
    let answer = post(
        gateway.rest,
        "/v2/jobs/activation",
        r#"{"type": "pay", "worker": "w", "timeout": 1000, "maxJobsToActivate": 2, "fetchVariable": ["amount"],
            "requestTimeout": 700, "tenantIds": ["<default>"], "tenantFilter": "provided"}"#,
    )
    .await;
    let jobs = answer.json()["jobs"].clone();
    assert_eq!(jobs.as_array().map(Vec::len), Some(2));
    assert_eq!(
        (&jobs[0]["customHeaders"], &jobs[0]["kind"]),
        (&json!({"h": "1"}), &json!("BPMN_ELEMENT"))
    );
    assert!(answer.text.contains(r#""variables":{"amount": 1.50}"#));
    let (command, wait) = gateway.broker.activations.lock()[0].clone();
    assert_eq!(
        (
            &*command.job_type,
            &*command.worker,
            command.timeout,
            command.max_jobs
        ),
        ("pay", "w", 1000, 2)
    );
    assert_eq!(
        (command.fetch_variables.len(), wait),
        (1, Duration::from_millis(700))
    );
}

#[tokio::test]
async fn a_negative_request_timeout_does_not_wait_and_zero_takes_the_default() {
    let gateway = start().await;
    let body = |timeout: i64| {
        format!(
            r#"{{"type": "pay", "timeout": 1, "maxJobsToActivate": 1, "requestTimeout": {timeout}}}"#
        )
    };
    let answer = post(gateway.rest, "/v2/jobs/activation", &body(-1)).await;
    assert_eq!(answer.json(), json!({"jobs": []}));
    gateway.broker.jobs.lock().push(job(1));
    post(gateway.rest, "/v2/jobs/activation", &body(0)).await;
    let waits: Vec<_> = gateway
        .broker
        .activations
        .lock()
        .iter()
        .map(|a| a.1)
        .collect();
    assert_eq!(waits, [Duration::ZERO, Duration::from_secs(10)]);
}

#[tokio::test]
async fn jobs_are_completed_failed_and_thrown_from() {
    let gateway = start().await;
    let path = |what: &str| format!("/v2/jobs/{KEY}/{what}");
    assert_eq!(
        send(gateway.rest, "POST", &path("completion"), None, "")
            .await
            .status,
        204
    );
    let body = r#"{"variables": {"x": 1}, "result": {"type": "userTask", "denied": false}}"#;
    assert_eq!(
        post(gateway.rest, &path("completion"), body).await.status,
        204
    );
    let Command::CompleteJob {
        job_key: KEY,
        variables,
        ..
    } = gateway.broker.last().command
    else {
        panic!()
    };
    assert_eq!(variables, vars(r#"{"x":1}"#));

    let body = r#"{"retries": 2, "errorMessage": "no", "retryBackOff": 9, "variables": {"y": 2}}"#;
    assert_eq!(post(gateway.rest, &path("failure"), body).await.status, 204);
    let Command::FailJob(fail) = gateway.broker.last().command else {
        panic!()
    };
    assert_eq!(
        (
            fail.job_key,
            fail.retries,
            fail.retry_back_off,
            fail.error_message.as_str()
        ),
        (KEY, 2, 9, "no")
    );
    assert_eq!(fail.variables, vars(r#"{"y":2}"#));

    let body = r#"{"errorCode": "E1", "errorMessage": null, "variables": null}"#;
    assert_eq!(post(gateway.rest, &path("error"), body).await.status, 204);
    let Command::ThrowError(throw) = gateway.broker.last().command else {
        panic!()
    };
    assert_eq!(
        (
            throw.job_key,
            throw.error_code.as_str(),
            throw.error_message.as_str()
        ),
        (KEY, "E1", "")
    );
}

#[tokio::test]
async fn a_job_failed_without_a_body_has_no_retries_left() {
    let gateway = start().await;
    let path = format!("/v2/jobs/{KEY}/failure");
    assert_eq!(
        send(gateway.rest, "POST", &path, None, "").await.status,
        204
    );
    let Command::FailJob(fail) = gateway.broker.last().command else {
        panic!()
    };
    assert_eq!((fail.retries, fail.retry_back_off), (0, 0));
}

#[tokio::test]
async fn a_job_update_names_what_it_changes() {
    let gateway = start().await;
    let path = format!("/v2/jobs/{KEY}");
    for (changeset, expected) in [
        (r#"{"retries": 3}"#, (Some(3), None, UpdateJobKind::Retries)),
        (
            r#"{"timeout": 50, "retries": null}"#,
            (None, Some(50), UpdateJobKind::Timeout),
        ),
        (
            r#"{"retries": 1, "timeout": 2}"#,
            (Some(1), Some(2), UpdateJobKind::Both),
        ),
    ] {
        let body = format!(r#"{{"changeset": {changeset}, "operationReference": 4}}"#);
        assert_eq!(
            send(gateway.rest, "PATCH", &path, Some(JSON), body)
                .await
                .status,
            204
        );
        let request = gateway.broker.last();
        let Command::UpdateJob {
            job_key: KEY,
            retries,
            timeout,
            kind,
        } = request.command
        else {
            panic!()
        };
        assert_eq!((retries, timeout, kind), expected);
        assert_eq!(request.operation_reference, Some(4));
    }
}

#[tokio::test]
async fn messages_are_published_and_correlated() {
    let gateway = start().await;
    let body = r#"{"name": "paid", "correlationKey": "k", "timeToLive": 60000, "messageId": "m", "variables": {"a": 1}}"#;
    let answer = post(gateway.rest, "/v2/messages/publication", body).await;
    assert_eq!(
        answer.json(),
        json!({"tenantId": "<default>", "messageKey": KEY.to_string()})
    );
    let Command::PublishMessage(publish) = gateway.broker.last().command else {
        panic!()
    };
    assert_eq!(
        (
            &*publish.name,
            &*publish.correlation_key,
            publish.time_to_live,
            &*publish.message_id
        ),
        ("paid", "k", 60000, "m")
    );

    let answer = post(
        gateway.rest,
        "/v2/messages/correlation",
        r#"{"name": "paid"}"#,
    )
    .await;
    assert_eq!(answer.json()["processInstanceKey"], (KEY.0 + 1).to_string());
    let Command::CorrelateMessage(correlate) = gateway.broker.last().command else {
        panic!()
    };
    assert_eq!(
        (&*correlate.name, &*correlate.correlation_key),
        ("paid", "")
    );
}

#[tokio::test]
async fn signals_are_broadcast() {
    let gateway = start().await;
    let body = r#"{"signalName": "stop", "variables": {"why": "late"}, "tenantId": "<default>"}"#;
    let answer = post(gateway.rest, "/v2/signals/broadcast", body).await;
    assert_eq!(answer.status, 200);
    assert_eq!(answer.json()["signalKey"], KEY.0.to_string());
    assert_eq!(answer.json()["tenantId"], "<default>");
    let Command::BroadcastSignal(broadcast) = gateway.broker.last().command else {
        panic!()
    };
    assert_eq!(&*broadcast.signal_name, "stop");
    assert_eq!(broadcast.variables.entries().len(), 1);
    for body in [r#"{}"#, r#"{"signalName": " "}"#] {
        let answer = post(gateway.rest, "/v2/signals/broadcast", body).await;
        assert_eq!(answer.status, 400, "{body}");
    }
}

#[tokio::test]
async fn variables_are_set_locally_or_not() {
    let gateway = start().await;
    let path = format!("/v2/element-instances/{KEY}/variables");
    for (body, expected) in [
        (r#"{"variables": {"a": 1}}"#, false),
        (r#"{"variables": {}, "local": true}"#, true),
    ] {
        assert_eq!(
            send(gateway.rest, "PUT", &path, Some(JSON), body)
                .await
                .status,
            204
        );
        let Command::SetVariables {
            element_instance_key: KEY,
            local,
            ..
        } = gateway.broker.last().command
        else {
            panic!()
        };
        assert_eq!(local, expected);
    }
}

#[tokio::test]
async fn incidents_are_resolved() {
    let gateway = start().await;
    let path = format!("/v2/incidents/{KEY}/resolution");
    assert_eq!(
        send(gateway.rest, "POST", &path, None, "").await.status,
        204
    );
    assert!(matches!(
        gateway.broker.last().command,
        Command::ResolveIncident { incident_key: KEY }
    ));
}

#[tokio::test]
async fn user_tasks_are_assigned_and_taken_away() {
    let gateway = start().await;
    let path = format!("/v2/user-tasks/{KEY}/assignment");
    for (body, action, claim) in [
        (r#"{"assignee": "anna"}"#, "", false),
        (
            r#"{"assignee": "anna", "action": "give", "allowOverride": null}"#,
            "give",
            false,
        ),
        (r#"{"assignee": "anna", "allowOverride": false}"#, "", true),
    ] {
        let answer = send(gateway.rest, "POST", &path, Some(JSON), body).await;
        assert_eq!(answer.status, 204);
        let Command::AssignUserTask(assign) = gateway.broker.last().command else {
            panic!()
        };
        assert_eq!(assign.user_task_key, KEY);
        assert_eq!(
            (&*assign.assignee, &*assign.action, assign.claim),
            ("anna", action, claim)
        );
    }
    let path = format!("/v2/user-tasks/{KEY}/assignee");
    let answer = send(gateway.rest, "DELETE", &path, None, "").await;
    assert_eq!(answer.status, 204);
    let Command::AssignUserTask(assign) = gateway.broker.last().command else {
        panic!()
    };
    assert_eq!((&*assign.assignee, &*assign.action), ("", "unassign"));
}

#[tokio::test]
async fn user_tasks_are_changed_and_completed() {
    let gateway = start().await;
    let path = format!("/v2/user-tasks/{KEY}");
    let body = r#"{"action": "delay", "changeset": {"dueDate": "2031-01-01T00:00:00Z", "followUpDate": "",
        "candidateUsers": [], "candidateGroups": null, "priority": 7, "color": "red"}}"#;
    let answer = send(gateway.rest, "PATCH", &path, Some(JSON), body).await;
    assert_eq!(answer.status, 204);
    let Command::UpdateUserTask(update) = gateway.broker.last().command else {
        panic!()
    };
    assert_eq!(&*update.action, "delay");
    let expected = Corrections {
        due_date: Some("2031-01-01T00:00:00Z".into()),
        follow_up_date: Some("".into()),
        candidate_users: Some(vec![]),
        priority: Some(7),
        ..Corrections::default()
    };
    assert_eq!(update.changes, expected);
    let path = format!("/v2/user-tasks/{KEY}/completion");
    for (body, action, variables) in [
        ("", "", "{}"),
        (
            r#"{"variables": {"a": 1}, "action": "approve"}"#,
            "approve",
            r#"{"a":1}"#,
        ),
    ] {
        let content_type = (!body.is_empty()).then_some(JSON);
        let answer = send(gateway.rest, "POST", &path, content_type, body).await;
        assert_eq!(answer.status, 204);
        let Command::CompleteUserTask(complete) = gateway.broker.last().command else {
            panic!()
        };
        assert_eq!(&*complete.action, action);
        assert_eq!(complete.variables, vars(variables));
    }
}

#[tokio::test]
async fn global_task_listeners_are_created_changed_and_deleted() {
    let gateway = start().await;
    let body =
        r#"{"id": "audit", "type": "write", "eventTypes": ["ALL", "completing"], "priority": 7}"#;
    let answer = post(gateway.rest, "/v2/global-task-listeners", body).await;
    assert_eq!(answer.status, 201);
    let expected = json!({
        "id": "audit",
        "type": "write",
        "retries": 3,
        "eventTypes": ["all", "completing"],
        "afterNonGlobal": false,
        "priority": 7,
        "source": "API",
    });
    assert_eq!(answer.json(), expected);
    let path = "/v2/global-task-listeners/au%40dit";
    let body =
        r#"{"type": "write", "eventTypes": ["canceling"], "retries": 1, "afterNonGlobal": true}"#;
    let answer = send(gateway.rest, "PUT", path, Some(JSON), body).await;
    assert_eq!(answer.status, 200);
    let Command::UpdateGlobalListener(listener) = gateway.broker.last().command else {
        panic!()
    };
    assert_eq!((&*listener.id, listener.retries), ("au@dit", 1));
    assert!(listener.after_non_global && listener.priority == 50);
    let answer = send(gateway.rest, "DELETE", path, None, "").await;
    assert_eq!(answer.status, 204);
    let Command::DeleteGlobalListener { id } = gateway.broker.last().command else {
        panic!()
    };
    assert_eq!(&*id, "au@dit");
}

#[tokio::test]
async fn the_conditions_of_start_events_are_evaluated() {
    let gateway = start().await;
    let body = format!(r#"{{"variables":{{"x":1}},"processDefinitionKey":"{KEY}"}}"#);
    let answer = post(gateway.rest, "/v2/conditionals/evaluation", &body).await;
    assert_eq!(answer.status, 200);
    let instance = (KEY.0 + 1).to_string();
    let expected = json!({
        "conditionalEvaluationKey": KEY.to_string(),
        "tenantId": "<default>",
        "processInstances": [
            {"processDefinitionKey": KEY.to_string(), "processInstanceKey": instance}
        ],
    });
    assert_eq!(answer.json(), expected);
    let Command::EvaluateConditionals(evaluate) = gateway.broker.last().command else {
        panic!()
    };
    assert_eq!(evaluate.process_definition_key, Some(KEY));
    assert_eq!(evaluate.variables, vars(r#"{"x":1}"#));
    let answer = post(gateway.rest, "/v2/conditionals/evaluation", "{}").await;
    assert_eq!(answer.status, 400);
}

#[tokio::test]
async fn cluster_variables_are_created_changed_and_deleted() {
    let gateway = start().await;
    let body = r#"{"name": "limit", "value": [1, 2.50]}"#;
    for (path, scope, tenant) in [
        ("/v2/cluster-variables/global", "GLOBAL", json!(null)),
        (
            "/v2/cluster-variables/tenants/%3Cdefault%3E",
            "TENANT",
            json!("<default>"),
        ),
    ] {
        let expected = |value: &str| json!({"name": "limit", "scope": scope, "tenantId": tenant, "value": value, "kind": "JSON", "metadata": {}});
        let answer = post(gateway.rest, path, body).await;
        assert_eq!(answer.status, 200);
        assert_eq!(answer.json(), expected("[1,2.50]"));
        let one = format!("{path}/limit");
        let answer = send(gateway.rest, "PUT", &one, Some(JSON), r#"{"value": false}"#).await;
        assert_eq!(answer.status, 200);
        assert_eq!(answer.json(), expected("false"));
        let answer = send(gateway.rest, "DELETE", &one, None, "").await;
        assert_eq!(answer.status, 204);
        let Command::DeleteClusterVariable { name, tenant: of } = gateway.broker.last().command
        else {
            panic!()
        };
        assert_eq!((&*name, of.is_some()), ("limit", scope == "TENANT"));
    }
    let other = "/v2/cluster-variables/tenants/acme";
    assert_eq!(post(gateway.rest, other, body).await.status, 400);
}

#[tokio::test]
async fn the_clock_is_pinned_and_reset() {
    let gateway = start().await;
    assert_eq!(
        send(
            gateway.rest,
            "PUT",
            "/v2/clock",
            Some(JSON),
            r#"{"timestamp": 1000}"#
        )
        .await
        .status,
        204
    );
    assert!(matches!(
        gateway.broker.last().command,
        Command::PinClock { timestamp: 1000 }
    ));
    assert_eq!(
        send(gateway.rest, "POST", "/v2/clock/reset", None, "")
            .await
            .status,
        204
    );
    assert!(matches!(gateway.broker.last().command, Command::ResetClock));
}

#[tokio::test]
async fn expressions_are_evaluated() {
    let gateway = start().await;
    let body = r#"{"expression": "=x + \"1\"", "variables": {"x": 1}}"#;
    let answer = post(gateway.rest, "/v2/expression/evaluation", body).await;
    assert_eq!(
        answer.json(),
        json!({"expression": "=x + \"1\"", "result": [1, 2.5], "warnings": [{"message": "no variable 'x'"}],
            "referencedSecrets": []})
    );
}

#[tokio::test]
async fn the_same_connection_serves_http2() {
    use http_body_util::BodyExt;
    let gateway = start().await;
    let mut client = crate::http::http2(gateway.rest).await;
    let path = format!("/v2/jobs/{KEY}/completion");
    let body = r#"{"variables": {"x": 1}}"#;
    let request = crate::http::request(gateway.rest, "POST", &path, Some(JSON), body.into());
    assert_eq!(
        client
            .send_request(request)
            .await
            .expect("an answer")
            .status(),
        204
    );
    let request = crate::http::request(gateway.rest, "GET", "/v2/topology", None, "".into());
    let answer = client.send_request(request).await.expect("an answer");
    assert_eq!(answer.status(), 200);
    assert!(
        !answer
            .into_body()
            .collect()
            .await
            .expect("a body")
            .to_bytes()
            .is_empty()
    );
    let Command::CompleteJob {
        job_key: Key(_),
        variables,
        ..
    } = gateway.broker.last().command
    else {
        panic!()
    };
    assert_eq!(variables, vars(r#"{"x":1}"#));
}

#[tokio::test]
async fn an_instance_is_migrated() {
    let gateway = start().await;
    let path = format!("/v2/process-instances/{KEY}/migration");
    let body = r#"{"targetProcessDefinitionKey": "7", "operationReference": 3, "mappingInstructions": [
        {"sourceElementId": "a", "targetElementId": "b"}, {"sourceElementId": "c", "targetElementId": "c"}]}"#;
    assert_eq!(post(gateway.rest, &path, body).await.status, 204);
    let request = gateway.broker.last();
    assert_eq!(request.operation_reference, Some(3));
    let Command::MigrateProcessInstance(migrate) = request.command else {
        panic!("{:?}", request.command)
    };
    let instructions = migrate.mapping_instructions.iter();
    let pairs: Vec<(&str, &str)> = instructions
        .map(|i| (&*i.source_element_id, &*i.target_element_id))
        .collect();
    assert_eq!(pairs, [("a", "b"), ("c", "c")]);
    assert_eq!(migrate.process_instance_key, KEY);
    assert_eq!(migrate.target_process_definition_key, Key(7));
    for (body, field) in [
        (
            r#"{"mappingInstructions": []}"#,
            "'targetProcessDefinitionKey'",
        ),
        (
            r#"{"targetProcessDefinitionKey": "7"}"#,
            "'mappingInstructions'",
        ),
        (
            r#"{"targetProcessDefinitionKey": "7", "mappingInstructions": [{"targetElementId": "b"}]}"#,
            "'mappingInstructions.sourceElementId'",
        ),
        (
            r#"{"targetProcessDefinitionKey": "7", "mappingInstructions": [{"sourceElementId": "a", "targetElementId": ""}]}"#,
            "'mappingInstructions.targetElementId'",
        ),
    ] {
        let answer = post(gateway.rest, &path, body).await;
        assert_eq!(answer.status, 400, "{body}");
        assert!(answer.text.contains(field), "{}", answer.text);
    }
}
