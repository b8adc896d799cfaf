//! What users of the web interface keep, by the real router: how revisions travel, and what is refused at the gateway.

use serde_json::json;
use skep_protocol::command::{Command, KeptCommand};
use skep_protocol::value::{KeptId, KeptKind, KeptOwner, KeptValue};
use skep_protocol::{Key, RejectionType, Response};

use crate::fake::{KEY, Running, rejection, start};
use crate::login::{Answer, ask, basic, protected};

const PATH: &str = "/skep/v1/kept/views/tasks-1";

/// A request of anna.
async fn as_anna(
    gateway: &Running,
    (method, path): (&str, &str),
    header: (&'static str, &str),
    body: &str,
) -> Answer {
    let anna = basic("anna", "right");
    let mut headers = vec![
        ("authorization", &*anna),
        ("content-type", "application/json"),
    ];
    if !header.0.is_empty() {
        headers.push(header);
    }
    ask(gateway, (method, path), &headers, body).await
}

fn kept(body: &str) -> KeptValue {
    KeptValue {
        id: KeptId {
            owner: KeptOwner::User("anna".into()),
            kind: KeptKind::Views,
            name: "tasks-1".into(),
        },
        title: "Mine".into(),
        shared: true,
        changed: 1_767_225_600_000,
        body: body.into(),
    }
}

fn command(gateway: &Running) -> KeptCommand {
    match gateway.broker.last().command {
        Command::Kept(command) => command,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn an_object_is_put_with_the_revision_that_it_replaces() {
    let gateway = protected().await;
    let body = r#"{"title": "Mine", "shared": true, "body": {"url": "/tasks", "n": 1.50}}"#;
    let tag = format!("\"{KEY}\"");
    for (header, revision) in [
        (("if-match", &*tag), KEY),
        (("if-none-match", "*"), Key::NONE),
    ] {
        gateway
            .broker
            .answer(Ok(Response::Kept(KEY, Box::new(kept("")))));
        let answer = as_anna(&gateway, ("PUT", PATH), header, body).await;
        assert_eq!(answer.status, 200, "{}", answer.text);
        assert_eq!(answer.headers["etag"], tag);
        let entry = json!({"name": "tasks-1", "title": "Mine", "revision": KEY.to_string(), "owner": "anna", "shared": true,
            "changed": "2026-01-01T00:00:00.000Z"});
        assert_eq!(
            serde_json::from_str::<serde_json::Value>(&answer.text).unwrap(),
            entry
        );
        let expected = KeptCommand::PutKept {
            kind: KeptKind::Views,
            name: "tasks-1".into(),
            title: "Mine".into(),
            shared: true,
            body: r#"{"url":"/tasks","n":1.50}"#.into(),
            revision,
        };
        assert_eq!(format!("{:?}", command(&gateway)), format!("{expected:?}"));
    }
}

#[tokio::test]
async fn an_object_is_read_with_its_revision_and_those_of_others_by_their_owner() {
    let gateway = protected().await;
    let value = kept(r#"{"x":1}"#);
    gateway
        .broker
        .answer(Ok(Response::Kept(KEY, Box::new(value))));
    let path = "/skep/v1/kept/models/a%20b?owner=be%20rt";
    let answer = as_anna(&gateway, ("GET", path), ("", ""), "").await;
    assert_eq!(answer.status, 200);
    assert_eq!(answer.headers["etag"], format!("\"{KEY}\""));
    assert!(answer.text.contains(r#""body":{"x":1}"#), "{}", answer.text);
    let KeptCommand::GetKept { kind, name, owner } = command(&gateway) else {
        panic!("it is read");
    };
    assert_eq!(
        (kind, &*name, owner.as_deref()),
        (KeptKind::Models, "a b", Some("be rt"))
    );
}

#[tokio::test]
async fn conflicts_are_failed_preconditions_and_other_refusals_keep_their_status() {
    let gateway = protected().await;
    for (kind, status) in [
        (RejectionType::AlreadyExists, 412),
        (RejectionType::InvalidState, 409),
        (RejectionType::NotFound, 404),
    ] {
        gateway.broker.answer(Err(rejection(kind)));
        let deleting = as_anna(&gateway, ("DELETE", PATH), ("if-match", "\"77\""), "").await;
        assert_eq!(deleting.status, status);
    }
}

#[tokio::test]
async fn invalid_objects_do_not_reach_the_broker() {
    let gateway = protected().await;
    let any = ("if-none-match", "*");
    let long = format!("/skep/v1/kept/views/{}", "x".repeat(201));
    let large = format!(r#"{{"body": {{"x": "{}"}}}}"#, "y".repeat(256 << 10));
    let title = format!(r#"{{"title": "{}", "body": {{}}}}"#, "t".repeat(201));
    for (path, header, body, status, says) in [
        (PATH, ("", ""), r#"{"body": {}}"#, 428, "If-None-Match: *"),
        (
            PATH,
            ("if-match", "*"),
            r#"{"body": {}}"#,
            400,
            "no revision",
        ),
        (PATH, any, "{}", 400, "body"),
        (PATH, any, r#"{"body": [1]}"#, 400, "not a JSON object"),
        (PATH, any, r#"{"body": {}, "owner": "bert"}"#, 400, "owner"),
        (PATH, any, &*large, 413, "262144 are allowed"),
        (PATH, any, &*title, 400, "The title has 201 characters"),
        (
            &*long,
            any,
            r#"{"body": {}}"#,
            400,
            "The name has 201 characters",
        ),
        (
            "/skep/v1/kept/others/a",
            any,
            r#"{"body": {}}"#,
            400,
            "views, drafts or models",
        ),
    ] {
        let answer = as_anna(&gateway, ("PUT", path), header, body).await;
        assert_eq!(answer.status, status, "{}", answer.text);
        assert!(answer.text.contains(says), "{says}: {}", answer.text);
    }
    let deleting = as_anna(&gateway, ("DELETE", PATH), ("", ""), "").await;
    assert_eq!(deleting.status, 428);
    assert!(gateway.broker.requests.lock().is_empty());
}

#[tokio::test]
async fn without_a_login_there_is_nobody_to_keep_something_for() {
    let gateway = start().await;
    for (method, path) in [
        ("GET", "/skep/v1/kept/views"),
        ("GET", PATH),
        ("PUT", PATH),
        ("DELETE", PATH),
    ] {
        let headers = [("content-type", "application/json"), ("if-match", "\"77\"")];
        let body = if method == "PUT" {
            r#"{"body": {}}"#
        } else {
            ""
        };
        let answer = ask(&gateway, (method, path), &headers, body).await;
        assert_eq!(answer.status, 501, "{}", answer.text);
        assert!(
            answer.text.contains("authentication.method"),
            "{}",
            answer.text
        );
    }
    assert!(gateway.broker.requests.lock().is_empty());
    let gateway = protected().await;
    let stranger = ask(&gateway, ("GET", PATH), &[], "").await;
    assert_eq!(stranger.status, 401);
}
