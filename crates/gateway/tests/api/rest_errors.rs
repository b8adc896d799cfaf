//! Every error of REST requests: status, title, and a detail that names the problem.

use std::time::Duration;

use skep_protocol::{Failure, RejectionType};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::fake::{KEY, rejection, start, start_with};
use crate::http::{JSON, post, send};

/// Sends bodies that are refused, and compares status, title and a part of the detail.
async fn refused(method: &str, path: &str, cases: &[(&str, &str)]) {
    let gateway = start().await;
    for (body, said) in cases {
        let answer = send(gateway.rest, method, path, Some(JSON), body.to_string()).await;
        let (status, title, detail) = answer.problem();
        assert_eq!(
            (status, title.as_str()),
            (400, "INVALID_ARGUMENT"),
            "{body}: {detail}"
        );
        assert!(detail.contains(said), "{body}: {detail}");
    }
    assert!(
        gateway.broker.requests.lock().is_empty(),
        "the broker was asked"
    );
}

#[tokio::test]
async fn bodies_that_are_no_json_object_are_refused() {
    let cases = [
        ("", "body is missing"),
        ("  ", "body is missing"),
        ("{", "not valid JSON"),
        ("{}x", "not valid JSON"),
        ("{'a': 1}", "not valid JSON"),
        ("[]", "not have the form that this operation expects"),
        ("\"x\"", "not have the form that this operation expects"),
        ("null", "not have the form that this operation expects"),
        (
            r#"{"name": "a", "variables": {"x": tru}}"#,
            "not valid JSON",
        ),
    ];
    refused("POST", "/v2/messages/publication", &cases).await;
}

#[tokio::test]
async fn unknown_and_wrong_fields_are_named() {
    let cases = [
        (r#"{"name": "a", "colour": 1}"#, "colour"),
        (r#"{"name": 5}"#, "'name'"),
        (r#"{"name": "a", "name": "b"}"#, "name"),
        (r#"{"name": "a", "timeToLive": "5"}"#, "'timeToLive'"),
        (r#"{"name": "a", "timeToLive": 1.5}"#, "'timeToLive'"),
        (
            r#"{"name": "a", "timeToLive": 99999999999999999999}"#,
            "'timeToLive'",
        ),
        (r#"{"name": "a", "variables": [1]}"#, "'variables'"),
        (r#"{"name": "a", "variables": "{}"}"#, "'variables'"),
        (r#"{"correlationKey": "k"}"#, "'name' is missing"),
        (r#"{"name": null}"#, "'name' is missing"),
        (r#"{"name": " "}"#, "'name' is missing or blank"),
        (r#"{"name": "a", "tenantId": "acme"}"#, "'acme'"),
    ];
    refused("POST", "/v2/messages/publication", &cases).await;
}

#[tokio::test]
async fn wrong_creations_are_refused() {
    let cases = [
        (
            "{}",
            "Neither 'processDefinitionId' nor 'processDefinitionKey'",
        ),
        (
            r#"{"processDefinitionId": "a", "processDefinitionKey": "1"}"#,
            "Both",
        ),
        (r#"{"processDefinitionId": ""}"#, "'processDefinitionId'"),
        (
            r#"{"processDefinitionKey": "12a"}"#,
            "'processDefinitionKey'",
        ),
        (r#"{"processDefinitionKey": 12}"#, "'processDefinitionKey'"),
        (
            r#"{"processDefinitionId": "a", "processDefinitionVersion": 3000000000}"#,
            "'processDefinitionVersion'",
        ),
        (
            r#"{"processDefinitionId": "a", "operationReference": 0}"#,
            "'operationReference'",
        ),
        (
            r#"{"processDefinitionId": "a", "startInstructions": [{}]}"#,
            "'startInstructions.elementId'",
        ),
        (
            r#"{"processDefinitionId": "a", "startInstructions": [{"elementId": 1}]}"#,
            "'startInstructions[0].elementId'",
        ),
        (
            r#"{"processDefinitionId": "a", "runtimeInstructions": [{"type": "STOP", "afterElementId": "x"}]}"#,
            "'STOP'",
        ),
        (
            r#"{"processDefinitionId": "a", "runtimeInstructions": [{}]}"#,
            "afterElementId",
        ),
        (r#"{"processDefinitionId": "a", "tags": ["1"]}"#, "'tags'"),
        (
            r#"{"processDefinitionId": "a", "businessId": ""}"#,
            "'businessId'",
        ),
        (
            r#"{"processDefinitionId": "a", "awaitCompletion": "yes"}"#,
            "'awaitCompletion'",
        ),
        (
            r#"{"processDefinitionId": "a", "tenantId": "acme"}"#,
            "'tenantId'",
        ),
    ];
    refused("POST", "/v2/process-instances", &cases).await;
}

#[tokio::test]
async fn wrong_activations_are_refused() {
    let cases = [
        (
            r#"{"timeout": 1, "maxJobsToActivate": 1}"#,
            "'type' is missing",
        ),
        (
            r#"{"type": "", "timeout": 1, "maxJobsToActivate": 1}"#,
            "'type' is missing or blank",
        ),
        (
            r#"{"type": "a", "maxJobsToActivate": 1}"#,
            "'timeout' is missing",
        ),
        (
            r#"{"type": "a", "timeout": 0, "maxJobsToActivate": 1}"#,
            "'timeout' is 0",
        ),
        (
            r#"{"type": "a", "timeout": 1}"#,
            "'maxJobsToActivate' is missing",
        ),
        (
            r#"{"type": "a", "timeout": 1, "maxJobsToActivate": -1}"#,
            "'maxJobsToActivate' is -1",
        ),
        (
            r#"{"type": "a", "timeout": 1, "maxJobsToActivate": 1, "tenantIds": ["acme"]}"#,
            "'tenantIds'",
        ),
        (
            r#"{"type": "a", "timeout": 1, "maxJobsToActivate": 1, "tenantFilter": "ALL"}"#,
            "'tenantFilter'",
        ),
    ];
    refused("POST", "/v2/jobs/activation", &cases).await;
    let cases = [
        (
            r#"{"type": "a", "timeout": 1, "maxJobsToActivate": 1}"#,
            "'maxJobsToActivate'",
        ),
        (
            r#"{"type": "a", "timeout": 1, "requestTimeout": 1}"#,
            "'requestTimeout'",
        ),
        (r#"{"type": "a"}"#, "'timeout' is missing"),
    ];
    refused("POST", "/v2/jobs/stream", &cases).await;
}

#[tokio::test]
async fn other_wrong_bodies_are_refused() {
    let job = format!("/v2/jobs/{KEY}");
    refused(
        "PATCH",
        &job,
        &[
            ("{}", "'changeset' is missing"),
            (r#"{"changeset": {}}"#, "changes nothing"),
            (r#"{"changeset": {"priority": 1}}"#, "priority"),
            (r#"{"changeset": {"retries": "1"}}"#, "'changeset.retries'"),
        ],
    )
    .await;
    refused(
        "POST",
        &format!("{job}/error"),
        &[
            ("", "body is missing"),
            ("{}", "'errorCode' is missing"),
            (r#"{"errorCode": ""}"#, "'errorCode' is missing or blank"),
        ],
    )
    .await;
    refused(
        "POST",
        &format!("{job}/completion"),
        &[
            (r#"{"variables": 1}"#, "'variables'"),
            (r#"{"result": {"type": "other"}}"#, "'result.type'"),
            (
                r#"{"result": {"type": "adHocSubProcess", "denied": true}}"#,
                "'result.denied'",
            ),
            (
                r#"{"result": {"corrections": {"priority": 101}}}"#,
                "'result.corrections.priority'",
            ),
            (
                r#"{"result": {"corrections": {"owner": "a"}}}"#,
                "'result.corrections.owner'",
            ),
            (
                r#"{"result": {"activateElements": [{"elementId": "a"}]}}"#,
                "'result.activateElements'",
            ),
            (
                r#"{"result": {"type": "adHocSubProcess", "activateElements": [{}]}}"#,
                "'result.activateElements.elementId'",
            ),
        ],
    )
    .await;
    refused(
        "PUT",
        &format!("/v2/element-instances/{KEY}/variables"),
        &[("{}", "'variables' is missing")],
    )
    .await;
    refused(
        "PUT",
        "/v2/clock",
        &[
            ("{}", "'timestamp'"),
            (r#"{"timestamp": -1}"#, "'timestamp' is -1"),
        ],
    )
    .await;
    refused(
        "POST",
        "/v2/expression/evaluation",
        &[("{}", "'expression' is missing")],
    )
    .await;
    refused(
        "POST",
        "/v2/messages/correlation",
        &[("{}", "'name' is missing")],
    )
    .await;
}

#[tokio::test]
async fn wrong_filters_are_refused() {
    refused(
        "POST",
        "/v2/global-task-listeners/search",
        &[
            (
                r#"{"filter": {"eventTypes": [1]}}"#,
                "'filter.eventTypes' must be strings",
            ),
            (r#"{"filter": {"name": "a"}}"#, "'filter.name' is not one"),
        ],
    )
    .await;
    refused(
        "POST",
        "/v2/decision-instances/deletion",
        &[
            ("{}", "'filter' is missing"),
            (
                r#"{"filter": {"hasIncident": true}}"#,
                "'filter.hasIncident' is not one",
            ),
        ],
    )
    .await;
}

#[tokio::test]
async fn keys_in_paths_are_decimal_numbers() {
    for key in ["abc", "1.5", "+1", "99999999999999999999"] {
        refused(
            "POST",
            &format!("/v2/jobs/{key}/completion"),
            &[("{}", key)],
        )
        .await;
    }
}

#[tokio::test]
async fn unknown_paths_wrong_methods_and_unimplemented_operations_have_different_errors() {
    let gateway = start().await;
    for path in ["/", "/v2", "/v2/nothing", "/v2/jobs/1/2/3", "/v2/topology/"] {
        let (status, title, detail) = send(gateway.rest, "GET", path, None, "").await.problem();
        assert_eq!((status, title.as_str()), (404, "NOT_FOUND"));
        assert!(detail.contains(path), "{detail}");
    }
    let answer = send(gateway.rest, "DELETE", "/v2/topology", None, "").await;
    assert_eq!(
        (
            answer.status.as_u16(),
            answer.headers["allow"].to_str().ok()
        ),
        (405, Some("GET"))
    );
    let (status, title, detail) = post(gateway.rest, "/v2/agent-instances/search", "{}")
        .await
        .problem();
    assert_eq!((status, title.as_str()), (501, "NOT_IMPLEMENTED"));
    assert!(detail.contains("'searchAgentInstances'"), "{detail}");
    // Operations of 8.10, including paths in place of a key.
    for (method, path, operation) in [
        ("GET", "/v2/backups/runtime", "listRuntimeBackups"),
        (
            "POST",
            "/v2/process-instances/suspension",
            "suspendProcessInstancesBatchOperation",
        ),
        ("POST", "/v2/jobs/batch-update", "updateJobsBatchOperation"),
        ("GET", "/cluster/v2/topology", "getClusterTopology"),
    ] {
        let answer = send(gateway.rest, method, path, Some(JSON), "{}").await;
        let (status, title, detail) = answer.problem();
        assert_eq!((status, title.as_str()), (501, "NOT_IMPLEMENTED"), "{path}");
        assert!(detail.contains(&format!("'{operation}'")), "{detail}");
    }
}

#[tokio::test]
async fn a_body_of_another_type_is_refused() {
    let gateway = start().await;
    for given in [
        None,
        Some("text/plain"),
        Some("application/x-www-form-urlencoded"),
    ] {
        let answer = send(
            gateway.rest,
            "POST",
            "/v2/messages/publication",
            given,
            r#"{"name": "a"}"#,
        )
        .await;
        assert_eq!(
            (answer.problem().0, answer.problem().1.as_str()),
            (415, "UNSUPPORTED_MEDIA_TYPE")
        );
    }
    let answer = send(gateway.rest, "POST", "/v2/deployments", Some(JSON), "{}").await;
    assert_eq!(answer.problem().0, 415);
    let charset = Some("Application/JSON; charset=utf-8");
    let answer = send(
        gateway.rest,
        "POST",
        "/v2/messages/publication",
        charset,
        r#"{"name": "a"}"#,
    )
    .await;
    assert_eq!(answer.status, 200);
}

#[tokio::test]
async fn a_compressed_body_is_refused_before_it_is_read() {
    const MULTIPART: &str = "multipart/form-data; boundary=xx";
    let gateway = start().await;
    for (path, content_type) in [
        ("/v2/messages/publication", JSON),
        ("/v2/process-instances/search", JSON),
        ("/v2/deployments", MULTIPART),
        ("/v2/documents", MULTIPART),
        ("/v2/documents/batch", MULTIPART),
        ("/v2/documents/some/links", JSON),
    ] {
        for encoding in ["gzip", "Deflate", "identity, br"] {
            // The body never arrives: without the refusal, this would wait for it.
            let head = format!(
                "POST {path} HTTP/1.1\r\nhost: x\r\ncontent-type: {content_type}\r\n\
                 content-encoding: {encoding}\r\ncontent-length: 10\r\n\r\n"
            );
            let mut socket = TcpStream::connect(gateway.rest).await.unwrap();
            socket.write_all(head.as_bytes()).await.unwrap();
            let mut answer = Vec::new();
            while !answer.ends_with(b"}") {
                let read = socket.read_buf(&mut answer).await.unwrap();
                assert_ne!(read, 0, "{path}: the answer breaks off");
            }
            let answer = String::from_utf8(answer).unwrap();
            assert!(answer.starts_with("HTTP/1.1 415 "), "{path}: {answer}");
            let said = format!("Content-Encoding '{encoding}'");
            assert!(answer.contains(&said), "{path}: {answer}");
            assert!(answer.contains("Send the body as it is"), "{answer}");
        }
    }
    assert!(gateway.broker.requests.lock().is_empty());
}

#[tokio::test]
async fn a_body_that_says_that_it_is_not_encoded_is_read() {
    let gateway = start().await;
    let request = "POST /v2/messages/publication HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\
                   content-type: application/json\r\ncontent-encoding: Identity\r\ncontent-length: 13\r\n\r\n\
                   {\"name\": \"a\"}";
    let mut socket = TcpStream::connect(gateway.rest).await.unwrap();
    socket.write_all(request.as_bytes()).await.unwrap();
    let mut answer = String::new();
    socket.read_to_string(&mut answer).await.unwrap();
    assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
}

#[tokio::test]
async fn a_body_over_the_limit_is_refused_with_or_without_a_declared_length() {
    let gateway = start_with(|config| config.max_message_size = 100_000).await;
    let of = |size: usize| {
        let frame = r#"{"name": "a", "variables": {"x": ""}}"#.len();
        format!(
            r#"{{"name": "a", "variables": {{"x": "{}"}}}}"#,
            "y".repeat(size - frame)
        )
    };
    assert_eq!(
        post(gateway.rest, "/v2/messages/publication", &of(100_000))
            .await
            .status,
        200
    );
    let (status, title, detail) = post(gateway.rest, "/v2/messages/publication", &of(100_001))
        .await
        .problem();
    assert_eq!((status, title.as_str()), (413, "PAYLOAD_TOO_LARGE"));
    assert!(detail.contains("100000"), "{detail}");

    let mut socket = TcpStream::connect(gateway.rest).await.expect("connects");
    let head = "POST /v2/messages/publication HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n";
    socket.write_all(head.as_bytes()).await.expect("writes");
    let body = of(100_001);
    // The gateway may close before it has read everything; the answer arrives in any case.
    let _ = socket
        .write_all(format!("{:x}\r\n{body}\r\n0\r\n\r\n", body.len()).as_bytes())
        .await;
    let mut answer = vec![0; 12];
    socket.read_exact(&mut answer).await.expect("answers");
    assert_eq!(answer, b"HTTP/1.1 413");
}

#[tokio::test]
async fn a_deployment_over_its_limits_is_refused() {
    let gateway = start_with(|config| {
        config.multipart.max_size = 1000;
        config.multipart.max_parts = 2;
    })
    .await;
    let part = |n: usize| {
        format!(
            "--b\r\nContent-Disposition: form-data; name=\"resources\"; filename=\"{n}.bpmn\"\r\n\r\nx\r\n"
        )
    };
    let body = |parts: usize| format!("{}--b--\r\n", (0..parts).map(part).collect::<String>());
    let send = |body: String| {
        send(
            gateway.rest,
            "POST",
            "/v2/deployments",
            Some("multipart/form-data; boundary=b"),
            body,
        )
    };
    assert_eq!(send(body(2)).await.status, 200);
    let (status, _, detail) = send(body(3)).await.problem();
    assert_eq!(status, 400);
    assert!(detail.contains("2 parts"), "{detail}");
    assert_eq!(send("x".repeat(1001)).await.problem().0, 413);
}

#[tokio::test]
async fn a_request_over_http_1_names_its_host_once() {
    let gateway = start().await;
    for (version, headers, status) in [
        ("1.1", "host: a\r\n", 200),
        ("1.1", "Host: [::1]:8080\r\n", 200),
        ("1.1", "", 400),
        ("1.1", "host: a\r\nhost: a\r\n", 400),
        ("1.1", "host: a\r\nx: y\r\nHost: b\r\n", 400),
        ("1.1", "host: a/b\r\n", 400),
        ("1.0", "", 200),
        ("1.0", "host: a\r\nhost: b\r\n", 400),
    ] {
        let mut socket = TcpStream::connect(gateway.rest).await.expect("connects");
        let head = format!("GET /v2/topology HTTP/{version}\r\n{headers}\r\n");
        socket.write_all(head.as_bytes()).await.expect("writes");
        let mut line = vec![0; 12];
        socket.read_exact(&mut line).await.expect("answers");
        let line = String::from_utf8_lossy(&line);
        assert!(line.ends_with(&format!(" {status}")), "{head}: {line}");
        if status == 400 {
            let mut rest = String::new();
            // A request that may be meant for another server ends its connection.
            socket.read_to_string(&mut rest).await.expect("ends");
            assert!(rest.contains("'host'"), "{rest}");
        }
    }
}

#[tokio::test]
async fn a_body_that_does_not_arrive_is_given_up() {
    let gateway = start_with(|config| config.body_timeout = Duration::from_millis(20)).await;
    let mut socket = TcpStream::connect(gateway.rest).await.expect("connects");
    let head = "POST /v2/messages/publication HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: 10\r\n\r\n{";
    socket.write_all(head.as_bytes()).await.expect("writes");
    let mut answer = vec![0; 12];
    socket.read_exact(&mut answer).await.expect("answers");
    assert_eq!(answer, b"HTTP/1.1 408");
}

#[tokio::test]
async fn failures_of_the_broker_have_their_status_and_title() {
    use RejectionType::*;
    let gateway = start().await;
    let text = || "because".to_string();
    for (failure, status, title) in [
        (rejection(InvalidArgument), 400, "INVALID_ARGUMENT"),
        (rejection(NotFound), 404, "NOT_FOUND"),
        (rejection(AlreadyExists), 409, "ALREADY_EXISTS"),
        (rejection(InvalidState), 409, "INVALID_STATE"),
        (rejection(ProcessingError), 500, "INTERNAL"),
        (rejection(ExceededBatchRecordSize), 500, "INTERNAL"),
        (Failure::InvalidArgument(text()), 400, "INVALID_ARGUMENT"),
        (Failure::NotFound(text()), 404, "NOT_FOUND"),
        (
            Failure::ResourceExhausted(text()),
            503,
            "RESOURCE_EXHAUSTED",
        ),
        (Failure::Unavailable(text()), 503, "UNAVAILABLE"),
        (Failure::DeadlineExceeded(text()), 504, "DEADLINE_EXCEEDED"),
        (Failure::Aborted(text()), 502, "ABORTED"),
        (Failure::Internal(text()), 500, "INTERNAL"),
    ] {
        gateway.broker.answer(Err(failure.clone()));
        let answer = post(gateway.rest, &format!("/v2/jobs/{KEY}/completion"), "{}").await;
        assert_eq!(
            answer.problem(),
            (status, title.to_string(), failure.to_string())
        );
    }
}

#[tokio::test]
async fn a_rejection_uses_the_wording_of_the_api() {
    let gateway = start().await;
    gateway
        .broker
        .answer(Err(rejection(RejectionType::NotFound)));
    let answer = post(gateway.rest, &format!("/v2/jobs/{KEY}/completion"), "{}").await;
    assert_eq!(
        answer.problem().2,
        "Command 'COMPLETE' rejected with code 'NOT_FOUND': it is so"
    );
}

#[tokio::test]
async fn a_broker_that_does_not_answer_in_time_is_a_504() {
    let gateway = start_with(|config| config.request_timeout = Duration::from_millis(20)).await;
    gateway.broker.hold();
    let answer = post(gateway.rest, &format!("/v2/jobs/{KEY}/completion"), "{}").await;
    assert_eq!(
        (answer.problem().0, answer.problem().1.as_str()),
        (504, "DEADLINE_EXCEEDED")
    );
    let body = r#"{"processDefinitionId": "a", "awaitCompletion": true, "requestTimeout": 20}"#;
    assert_eq!(
        post(gateway.rest, "/v2/process-instances", body)
            .await
            .problem()
            .0,
        504
    );
}

#[tokio::test]
async fn a_failed_activation_is_a_problem() {
    let gateway = start().await;
    gateway.broker.answer(Err(Failure::ResourceExhausted(
        "partition 1 is full".into(),
    )));
    let body = r#"{"type": "a", "timeout": 1, "maxJobsToActivate": 1}"#;
    let answer = post(gateway.rest, "/v2/jobs/activation", body).await;
    assert_eq!(answer.problem().0, 503);
}
