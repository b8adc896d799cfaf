//! Arrays are refused in place of objects: they are not read as the object's fields in order.

use crate::fake::{KEY, start};
use crate::http::{JSON, send};

#[tokio::test]
async fn an_array_is_no_object_at_any_depth() {
    let gateway = start().await;
    let job = format!("/v2/jobs/{KEY}");
    let completion = format!("/v2/jobs/{KEY}/completion");
    let failure = format!("/v2/jobs/{KEY}/failure");
    for (method, path, body, said) in [
        (
            "POST",
            "/v2/messages/publication",
            r#"["n","k",0,null,null,null]"#,
            "The request body",
        ),
        ("PUT", "/v2/clock", "[1795308000000]", "The request body"),
        (
            "POST",
            "/v2/process-instances",
            r#"["o",null,null,{},null,null,null,null,false,null,null,null,null]"#,
            "The request body",
        ),
        (
            "POST",
            "/v2/jobs/activation",
            r#"["t","w",1000,1,null,-1,null,null]"#,
            "The request body",
        ),
        ("PATCH", &job, "[[3,null],null]", "The request body"),
        ("PATCH", &job, r#"{"changeset":[3,null]}"#, "'changeset'"),
        ("POST", &completion, "[]", "The request body"),
        ("POST", &failure, "[2]", "The request body"),
        (
            "POST",
            &completion,
            r#"{"result":["userTask"]}"#,
            "'result'",
        ),
        (
            "POST",
            "/v2/process-instances",
            r#"{"processDefinitionId":"o","startInstructions":[["t"]]}"#,
            "'startInstructions[0]'",
        ),
        (
            "POST",
            "/v2/process-instances",
            r#"{"processDefinitionId":"o","runtimeInstructions":[{"afterElementId":"a"},["x","t"]]}"#,
            "'runtimeInstructions[1]'",
        ),
    ] {
        let answer = send(gateway.rest, method, path, Some(JSON), body).await;
        let (status, title, detail) = answer.problem();
        assert_eq!(
            (status, title.as_str()),
            (400, "INVALID_ARGUMENT"),
            "{body}"
        );
        assert!(detail.contains(said), "{body}: {detail}");
        assert!(
            detail.ends_with("it is an array, but must be a JSON object."),
            "{detail}"
        );
    }
    let deep = "[".repeat(100_000);
    let answer = send(gateway.rest, "PUT", "/v2/clock", Some(JSON), deep).await;
    assert_eq!(answer.problem().0, 400);
    assert!(gateway.broker.requests.lock().is_empty());
}

#[tokio::test]
async fn an_operation_without_a_body_takes_none() {
    let gateway = start().await;
    for body in ["garbage", r#"{"x":1}"#, "[]"] {
        let answer = send(gateway.rest, "POST", "/v2/clock/reset", Some(JSON), body).await;
        assert_eq!(answer.problem().0, 400, "{body}");
    }
    let answer = send(
        gateway.rest,
        "POST",
        "/v2/clock/reset",
        Some("text/plain"),
        "x",
    )
    .await;
    assert_eq!(answer.problem().0, 415);
    for body in ["", "{}"] {
        let answer = send(gateway.rest, "POST", "/v2/clock/reset", Some(JSON), body).await;
        assert_eq!(answer.status, 204, "{body}");
    }
}
