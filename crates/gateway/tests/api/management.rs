//! Operators' requests at the REST port: who may send them, what the endpoints of the management port get of them, and how their answers
//! are passed on.

use std::sync::Arc;

use bytes::Bytes;
use http::request::Parts;
use http::{Response, StatusCode};
use parking_lot::Mutex;
use serde_json::json;
use skep_gateway::operations::{Does, OPERATIONS};
use skep_gateway::{GatewayConfig, Operators};
use skep_identity::Entry;
use skep_protocol::Key;
use skep_protocol::permission::{PermissionType, ResourceType};
use skep_protocol::value::{AuthorizationValue, OwnerType, ResourceMatcher};
use skep_query::BoxFuture;

use crate::fake::{Running, start_with};
use crate::http::{JSON, open, send};
use crate::login::{ask, basic, directory, protect};

const CLUSTER: &str = "/skep/v1/management/cluster";
const CHANGES: &str = "/skep/v1/management/cluster/changes";
const REBALANCE: &str = "/skep/v1/management/rebalance";

/// Method, path, query and body.
type Asked = (String, Vec<String>, Option<String>, Bytes);

/// Endpoints that note what they are asked, and give the same answer each time.
#[derive(Debug)]
struct Endpoints {
    asked: Mutex<Vec<Asked>>,
    answer: (u16, &'static str),
}

impl Operators for Endpoints {
    fn answer<'a>(
        &'a self,
        path: Vec<String>,
        request: &'a Parts,
        body: Bytes,
    ) -> BoxFuture<'a, Response<Bytes>> {
        let query = request.uri.query().map(str::to_string);
        let asked = (request.method.to_string(), path, query, body);
        self.asked.lock().push(asked);
        let mut answer = Response::new(Bytes::from_static(self.answer.1.as_bytes()));
        *answer.status_mut() = StatusCode::from_u16(self.answer.0).expect("a status");
        if !self.answer.1.is_empty() {
            let json = http::HeaderValue::from_static(JSON);
            answer.headers_mut().insert("content-type", json);
        }
        Box::pin(std::future::ready(answer))
    }
}

async fn with(
    answer: (u16, &'static str),
    change: impl FnOnce(&mut GatewayConfig),
) -> (Running, Arc<Endpoints>) {
    let endpoints = Arc::new(Endpoints {
        asked: Mutex::default(),
        answer,
    });
    let operators = Arc::clone(&endpoints);
    let gateway = start_with(|config| {
        config.hooks.operators = Some(operators);
        change(config);
    });
    (gateway.await, endpoints)
}

#[tokio::test]
async fn an_endpoint_gets_the_path_the_query_and_the_body() {
    let (gateway, endpoints) = with((204, ""), |_| {}).await;
    let enable = "/skep/v1/management/exporters/my%20own/enable?dryRun=true";
    let body = r#"{"initializeFrom":"other"}"#;
    // Its answer is checked where it is made.
    let answer = open(gateway.rest, "POST", enable, Some(JSON), body).await;
    assert_eq!(answer.status(), 204);
    let asked = endpoints.asked.lock().pop();
    let path = ["exporters", "my own", "enable"]
        .map(str::to_string)
        .to_vec();
    let query = Some("dryRun=true".to_string());
    assert_eq!(asked, Some(("POST".into(), path, query, body.into())));
    let answer = send(gateway.rest, "POST", REBALANCE, None, "").await;
    assert_eq!((answer.status.as_u16(), &*answer.text), (204, ""));
}

#[tokio::test]
async fn an_answer_is_passed_on() {
    let (gateway, _) = with((200, "[]"), |_| {}).await;
    let answer = send(gateway.rest, "GET", CHANGES, None, "").await;
    assert_eq!((answer.status.as_u16(), answer.json()), (200, json!([])));
}

#[tokio::test]
async fn an_error_of_the_management_port_is_a_problem_of_rest() {
    for (status, title) in [
        (400, "INVALID_ARGUMENT"),
        (409, "INVALID_STATE"),
        (501, "NOT_IMPLEMENTED"),
        (502, "UNAVAILABLE"),
        (503, "UNAVAILABLE"),
        (504, "DEADLINE_EXCEEDED"),
        (500, "INTERNAL"),
    ] {
        let (gateway, _) = with((status, r#"{"message":"it is so"}"#), |_| {}).await;
        let answer = send(gateway.rest, "PATCH", CLUSTER, Some(JSON), "{}").await;
        assert_eq!(answer.problem(), (status, title.into(), "it is so".into()));
    }
}

#[tokio::test]
async fn bodies_are_small_and_json() {
    let (gateway, endpoints) = with((200, "{}"), |_| {}).await;
    let large = format!("{{\"x\":\"{}\"}}", "y".repeat(64 << 10));
    for (kind, body, status) in [
        (Some(JSON), large.as_str(), 413),
        (Some("text/plain"), "{}", 415),
        (None, "{}", 415),
    ] {
        let answer = open(gateway.rest, "PATCH", CLUSTER, kind, body.to_string()).await;
        assert_eq!(answer.status(), status, "{kind:?}");
    }
    assert!(endpoints.asked.lock().is_empty());
}

#[tokio::test]
async fn without_a_login_only_this_machine_makes_changes() {
    let (gateway, endpoints) = with((204, ""), |_| {}).await;
    for headers in [
        &[("x-forwarded-for", "10.0.0.7")][..],
        &[("forwarded", "for=10.0.0.7")],
        &[("x-real-ip", "10.0.0.7")],
    ] {
        let answer = ask(&gateway, ("POST", REBALANCE), headers, "").await;
        assert_eq!(answer.status, 403, "{headers:?}");
        assert!(answer.text.contains("requires no login"), "{}", answer.text);
        assert!(endpoints.asked.lock().is_empty());
        // Who reads may be anywhere, as with everything else that needs no login.
        assert_eq!(
            ask(&gateway, ("GET", CHANGES), headers, "").await.status,
            204
        );
        endpoints.asked.lock().clear();
    }
    assert_eq!(
        ask(&gateway, ("POST", REBALANCE), &[], "").await.status,
        204
    );
    let foreign = [("sec-fetch-site", "cross-site")];
    let answer = ask(&gateway, ("POST", REBALANCE), &foreign, "").await;
    assert_eq!(answer.status, 403, "a page of another site");
    assert_eq!(endpoints.asked.lock().len(), 1);
}

fn granting(permission: PermissionType) -> Entry {
    Entry::Authorization(AuthorizationValue {
        authorization_key: Key::new(1, 40),
        owner_type: OwnerType::User,
        owner_id: "bert".into(),
        resource_type: ResourceType::System,
        matcher: ResourceMatcher::Any,
        permissions: vec![permission],
    })
}

#[tokio::test]
async fn reading_and_changing_need_different_permissions() {
    let (gateway, _) = with((204, ""), protect).await;
    let shown = basic("bert", "right");
    // Who has the permission may be anywhere.
    let headers = [("authorization", &*shown), ("x-forwarded-for", "10.0.0.7")];
    for permission in [
        PermissionType::Read,
        PermissionType::Update,
        PermissionType::ReadJobMetric,
    ] {
        let mut granted = directory().await;
        granted.add(Key::new(1, 40), &granting(permission));
        *gateway.broker.directory.lock() = Arc::new(granted);
        let mut operations = 0;
        for row in OPERATIONS
            .iter()
            .filter(|row| matches!(row.does, Does::Manage))
        {
            let path = row.path.replace(['{', '}'], "");
            let needs = match row.method {
                "GET" => PermissionType::Read,
                _ => PermissionType::Update,
            };
            let expected = if permission == needs { 204 } else { 403 };
            let answer = ask(&gateway, (row.method, &path), &headers, "").await;
            assert_eq!(answer.status, expected, "{} with {permission:?}", row.id);
            operations += 1;
        }
        assert_eq!(operations, 15);
    }
    for method in ["GET", "PATCH"] {
        assert_eq!(ask(&gateway, (method, CLUSTER), &[], "").await.status, 401);
    }
}

#[tokio::test]
async fn what_the_management_port_alone_offers_is_not_there() {
    let (gateway, endpoints) = with((204, ""), |_| {}).await;
    for (method, path) in [
        ("POST", "cluster/purge"),
        ("POST", "cluster/brokers"),
        ("POST", "partitions/pauseProcessing"),
        ("POST", "loggers/skep"),
        ("POST", "clock/add"),
        ("POST", "banning/1"),
    ] {
        let path = format!("/skep/v1/management/{path}");
        let answer = open(gateway.rest, method, &path, Some(JSON), "{}").await;
        assert_eq!(answer.status(), 404, "{path}");
    }
    assert!(endpoints.asked.lock().is_empty());
}
