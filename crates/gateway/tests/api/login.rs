//! Authentication: Basic on REST and gRPC, sessions of browsers, and pages of other sites.

use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http_body_util::BodyExt as _;
use hyper::body::Bytes;
use hyper::header::{AUTHORIZATION, HeaderMap, HeaderName, HeaderValue};
use skep_gateway::door::passwords::Passwords;
use skep_gateway::door::secret::Secret;
use skep_gateway::{GatewayConfig, Login};
use skep_identity::{Directory, Entry};
use skep_protocol::Key;
use skep_protocol::origin::Claims;
use skep_protocol::permission::{PermissionType, ResourceType};
use skep_protocol::value::{
    AuthorizationValue, EntityType, Member, OwnerType, ParentValue, ResourceMatcher, UserValue,
};
use tonic::Code;

use crate::fake::{Running, start, start_with};
use crate::metrics::{exposed, has};
use crate::{grpc, http};

/// A directory with anna, whose password is `right`, and who may read the user bert.
pub async fn directory() -> Directory {
    let passwords = Passwords::start().unwrap();
    let hash = passwords.hash(Secret::new("right".into())).await.unwrap();
    let mut directory = Directory::default();
    for (n, name) in ["anna", "bert"].into_iter().enumerate() {
        let key = Key::new(1, n as u64 + 1);
        let user = UserValue {
            user_key: key,
            username: name.into(),
            name: "Anna B".into(),
            email: "a@example.org".into(),
            password: hash.clone(),
        };
        directory.add(key, &Entry::User(user));
    }
    let role = ParentValue {
        key: Key::new(1, 9),
        id: "clerk".into(),
        name: "Clerk".into(),
        description: "".into(),
        member: None,
    };
    directory.add(Key::new(1, 9), &Entry::Role(role));
    let member = Entry::RoleMember {
        parent: "clerk".into(),
        member: Member::new(EntityType::User, "anna"),
    };
    directory.add(Key(1), &member);
    let tasklist = AuthorizationValue {
        authorization_key: Key::new(1, 10),
        owner_type: OwnerType::Role,
        owner_id: "clerk".into(),
        resource_type: ResourceType::Component,
        matcher: ResourceMatcher::Id("tasklist".into()),
        permissions: vec![PermissionType::Access],
    };
    directory.add(Key::new(1, 10), &Entry::Authorization(tasklist));
    directory
}

/// Enables authentication and authorization.
pub fn protect(config: &mut GatewayConfig) {
    config.security.login = Login::Basic;
    config.security.authorizations = true;
}

pub async fn protected() -> Running {
    let gateway = start_with(protect).await;
    *gateway.broker.directory.lock() = directory().await.into();
    gateway
}

pub fn basic(name: &str, password: &str) -> String {
    format!("Basic {}", STANDARD.encode(format!("{name}:{password}")))
}

pub struct Answer {
    pub status: u16,
    pub headers: HeaderMap,
    pub text: String,
}

/// A request with these headers.
pub async fn ask(
    gateway: &Running,
    operation: (&str, &str),
    headers: &[(&'static str, &str)],
    body: &str,
) -> Answer {
    let (parts, bytes) = exchange(gateway, operation, headers, body)
        .await
        .into_parts();
    Answer {
        status: parts.status.as_u16(),
        headers: parts.headers,
        text: String::from_utf8(bytes.to_vec()).unwrap(),
    }
}

/// The same, with the bytes of the answer.
pub async fn exchange(
    gateway: &Running,
    (method, path): (&str, &str),
    headers: &[(&'static str, &str)],
    body: &str,
) -> hyper::Response<Bytes> {
    let io = tokio::net::TcpStream::connect(gateway.rest).await.unwrap();
    let io = hyper_util::rt::TokioIo::new(io);
    let (mut sender, connection) = hyper::client::conn::http1::handshake(io).await.unwrap();
    tokio::spawn(connection);
    let body = Bytes::from(body.to_string());
    let mut request = http::request(gateway.rest, method, path, None, body);
    for (name, value) in headers {
        let value = HeaderValue::from_str(value).unwrap();
        request
            .headers_mut()
            .append(HeaderName::from_static(name), value);
    }
    let (parts, body) = sender.send_request(request).await.unwrap().into_parts();
    let bytes = body.collect().await.unwrap().to_bytes();
    hyper::Response::from_parts(parts, bytes)
}

/// The status of a request that changes something, over a shared connection.
pub async fn pins(connection: &mut Connection, gateway: &Running, shown: &str) -> u16 {
    let (method, path) = PIN;
    let content_type = Some(http::JSON);
    let mut request = http::request(gateway.rest, method, path, content_type, BODY.into());
    let shown = HeaderValue::from_str(shown).unwrap();
    request.headers_mut().append(AUTHORIZATION, shown);
    connection.ready().await.unwrap();
    let answer = connection.send_request(request).await.unwrap();
    answer.status().as_u16()
}

pub type Connection = hyper::client::conn::http2::SendRequest<http_body_util::Full<Bytes>>;

pub const PIN: (&str, &str) = ("PUT", "/v2/clock");
pub const BODY: &str = r#"{"timestamp":1}"#;
pub const JSON: (&str, &str) = ("content-type", "application/json");

fn caller(gateway: &Running) -> String {
    match &gateway.broker.last().claims {
        Claims::User(user) => user.id.to_string(),
        other => format!("{other:?}"),
    }
}

#[tokio::test]
async fn while_the_users_are_unknown_or_outdated_nobody_is_called_wrong() {
    let gateway = start_with(|config| {
        protect(config);
        config.security.max_view_age = Some(Duration::from_secs(5));
    })
    .await;
    let shown = basic("anna", "right");
    let topology = async || {
        let shown = [("authorization", &*shown)];
        ask(&gateway, ("GET", "/v2/topology"), &shown, "").await
    };
    let answer = topology().await;
    assert_eq!(answer.status, 503, "{}", answer.text);
    assert!(answer.text.contains("not known yet"), "{}", answer.text);
    *gateway.broker.directory.lock() = directory().await.into();
    assert_eq!(topology().await.status, 200);
    *gateway.broker.reports.directory_age.lock() = Duration::from_secs(6);
    let answer = topology().await;
    assert_eq!(answer.status, 503, "{}", answer.text);
    assert!(
        answer.text.contains("skep.security.max-view-age: 5 s"),
        "{}",
        answer.text
    );
    has(&exposed(&gateway), "skep_permissions_age_seconds 6");
    *gateway.broker.reports.directory_age.lock() = Duration::from_secs(4);
    assert_eq!(topology().await.status, 200);
}

/// A browser that hears of an ended session asks for the password.
#[tokio::test]
async fn while_the_users_are_unknown_no_session_is_said_to_have_ended() {
    let gateway = protected().await;
    let form = [("content-type", "application/x-www-form-urlencoded")];
    let body = "username=anna&password=right";
    let answer = ask(&gateway, ("POST", "/login"), &form, body).await;
    assert_eq!(answer.status, 204, "{}", answer.text);
    let set = answer.headers["set-cookie"].to_str().unwrap();
    let cookie = set.split(';').next().unwrap().to_string();
    let topology = async || {
        let shown = [("cookie", &*cookie)];
        ask(&gateway, ("GET", "/v2/topology"), &shown, "")
            .await
            .status
    };
    assert_eq!(topology().await, 200);
    let users = std::mem::take(&mut *gateway.broker.directory.lock());
    assert_eq!(topology().await, 503);
    *gateway.broker.directory.lock() = users;
    assert_eq!(topology().await, 200);
}

#[tokio::test]
async fn a_missing_or_wrong_password_is_refused() {
    let gateway = protected().await;
    for (headers, detail) in [
        (vec![JSON], "authorization"),
        (
            vec![JSON, ("authorization", &*basic("anna", "wrong"))],
            "Invalid credentials",
        ),
        (
            vec![JSON, ("authorization", &*basic("nobody", "right"))],
            "Invalid credentials",
        ),
        (vec![JSON, ("authorization", "Bearer abc")], "Basic"),
        (
            vec![
                JSON,
                ("authorization", &*basic("anna", "right")),
                ("authorization", &*basic("bert", "right")),
            ],
            "several headers",
        ),
        (
            vec![
                JSON,
                ("authorization", &*basic("anna", "right")),
                ("authorization", ""),
            ],
            "several headers",
        ),
        (
            vec![JSON, ("cookie", "camunda-session=1.YW5uYQ.1.1.n.AAAA")],
            "session",
        ),
    ] {
        let answer = ask(&gateway, PIN, &headers, BODY).await;
        assert_eq!(answer.status, 401, "{headers:?}");
        let problem: serde_json::Value = serde_json::from_str(&answer.text).unwrap();
        assert_eq!(problem["title"], "Unauthorized");
        let text = problem["detail"].as_str().unwrap();
        assert!(text.contains(detail), "{text}");
        assert_eq!(answer.headers["www-authenticate"], r#"Basic realm="Skep""#);
    }
    assert!(gateway.broker.requests.lock().is_empty());
}

/// `WWW-Authenticate` makes a browser open its own login window, and the page's request waits for it.
#[tokio::test]
async fn a_page_that_asks_is_refused_without_a_window_of_the_browser() {
    let gateway = protected().await;
    for (mode, asks) in [("cors", false), ("same-origin", false), ("navigate", true)] {
        let headers = [
            JSON,
            ("sec-fetch-site", "same-origin"),
            ("sec-fetch-mode", mode),
        ];
        let answer = ask(&gateway, PIN, &headers, BODY).await;
        assert_eq!(answer.status, 401, "{mode}");
        assert_eq!(
            answer.headers.contains_key("www-authenticate"),
            asks,
            "{mode}"
        );
    }
}

#[tokio::test]
async fn the_right_password_comes_in_by_its_name() {
    let gateway = protected().await;
    let shown = basic("anna", "right");
    let answer = ask(&gateway, PIN, &[JSON, ("authorization", &shown)], BODY).await;
    assert_eq!(
        (answer.status, &*caller(&gateway)),
        (204, "anna"),
        "{}",
        answer.text
    );
    let me = ask(
        &gateway,
        ("GET", "/v2/authentication/me"),
        &[("authorization", &shown)],
        "",
    )
    .await;
    let me: serde_json::Value = serde_json::from_str(&me.text).unwrap();
    assert_eq!(me["username"], "anna");
    assert_eq!(me["displayName"], "Anna B");
    assert_eq!(me["roles"], serde_json::json!(["clerk"]));
    assert_eq!(me["authorizedComponents"], serde_json::json!(["tasklist"]));
}

#[tokio::test]
async fn a_deleted_user_is_refused_on_an_open_connection() {
    let gateway = protected().await;
    let mut connection = http::http2(gateway.rest).await;
    let (anna, bert) = (basic("anna", "right"), basic("bert", "right"));
    let users = gateway.broker.directory.lock().clone();
    for shown in [&anna, &anna, &bert, &bert, &anna] {
        assert_eq!(pins(&mut connection, &gateway, shown).await, 204);
    }
    assert_eq!(caller(&gateway), "anna");
    let wrong = basic("anna", "rigth");
    assert_eq!(pins(&mut connection, &gateway, &wrong).await, 401);
    let mut others = Directory::clone(&users);
    for (key, entry) in users.rows() {
        if matches!(&entry, Entry::User(user) if &*user.username == "anna") {
            others.remove(key, &entry);
        }
    }
    *gateway.broker.directory.lock() = others.into();
    assert_eq!(pins(&mut connection, &gateway, &anna).await, 401);
    *gateway.broker.directory.lock() = users;
    assert_eq!(pins(&mut connection, &gateway, &anna).await, 204);
}

#[tokio::test]
async fn refused_callers_are_counted_by_reason() {
    let gateway = protected().await;
    let wrong = basic("anna", "wrong");
    let form = ("content-type", "application/x-www-form-urlencoded");
    let foreign = ("sec-fetch-site", "cross-site");
    for (request, headers, body) in [
        (PIN, vec![JSON], BODY),
        (PIN, vec![JSON, ("authorization", &*wrong)], BODY),
        (PIN, vec![JSON, ("authorization", "Bearer x")], BODY),
        (PIN, vec![JSON, ("cookie", "camunda-session=x")], BODY),
        (PIN, vec![JSON, foreign], BODY),
        (("POST", "/login"), vec![form], "username=anna&password=no"),
        (("POST", "/login"), vec![form, foreign], ""),
    ] {
        let answer = ask(&gateway, request, &headers, body).await;
        assert!((401..=403).contains(&answer.status), "{}", answer.text);
    }
    let mut client = grpc::client(&gateway).await;
    let request = skep_proto::gateway_protocol::TopologyRequest {};
    client.topology(request).await.unwrap_err();
    let text = exposed(&gateway);
    for (protocol, reason, count) in [
        ("rest", "nothing", 1),
        ("rest", "password", 2),
        ("rest", "scheme", 1),
        ("rest", "session", 1),
        ("rest", "forged", 2),
        ("rest", "token", 0),
        ("grpc", "nothing", 1),
        ("grpc", "unavailable", 0),
    ] {
        let series = format!(
            "skep_authentication_failures_total{{protocol=\"{protocol}\",reason=\"{reason}\"}} {count}"
        );
        has(&text, &series);
    }
}

#[tokio::test]
async fn open_paths_need_no_login_and_an_unprotected_api_ignores_credentials() {
    let gateway = protected().await;
    for path in ["/v2/license", "/v2/status", "/v2/openapi.json"] {
        let answer = ask(&gateway, ("GET", path), &[], "").await;
        assert!(answer.status < 300, "{path}: {}", answer.text);
    }
    assert_eq!(
        ask(&gateway, ("GET", "/v2/topology"), &[], "").await.status,
        401
    );
    let open = start().await;
    let shown = basic("anna", "whatever");
    assert_eq!(
        ask(&open, PIN, &[JSON, ("authorization", &shown)], BODY)
            .await
            .status,
        204
    );
    assert_eq!(caller(&open), "Anonymous");
    let me = ask(&open, ("GET", "/v2/authentication/me"), &[], "").await;
    assert_eq!((me.status, &*me.text), (401, ""));
}

/// It leads to the same operation, which asks for a login, or nowhere.
#[tokio::test]
async fn no_spelling_of_a_path_leads_past_the_login() {
    let gateway = protected().await;
    let shown = basic("anna", "right");
    for (path, expected) in [
        ("/v2/topology", [401, 200]),
        ("/v2/topolog%79", [401, 200]),
        ("/%762/%74opology", [401, 200]),
        ("/v2/topology?/v2/license", [401, 200]),
        ("//v2/topology", [404; 2]),
        ("/v2//topology", [404; 2]),
        ("/v2/topology/", [404; 2]),
        ("/V2/topology", [404; 2]),
        ("/v2/Topology", [404; 2]),
        ("/v2/topology;license", [404; 2]),
        ("/v2/topology%00", [404; 2]),
        ("/v2/topology%20", [404; 2]),
        ("/v2/./topology", [404; 2]),
        ("/v2/%2e/topology", [404; 2]),
        ("/v2/license/../topology", [404; 2]),
        ("/v2/license/%2e%2e/topology", [404; 2]),
        ("/v2/license%2f..%2ftopology", [404; 2]),
        ("/ui/../v2/topology", [404; 2]),
        ("/v2/..;/v2/topology", [404; 2]),
        ("/;a=b/v2/topology", [404; 2]),
        ("/v2/topology%3b", [404; 2]),
        ("/v2%2ftopology", [404; 2]),
    ] {
        let login = [("authorization", &*shown)];
        let without = ask(&gateway, ("GET", path), &[], "").await;
        let with = ask(&gateway, ("GET", path), &login, "").await;
        let text = format!("{path}: {} {}", without.text, with.text);
        assert_eq!([without.status, with.status], expected, "{text}");
    }
}

/// Nor does any answer allow pages of other sites to ask.
#[tokio::test]
async fn no_method_leads_past_the_login() {
    let gateway = protected().await;
    let shown = basic("anna", "right");
    let asks = [
        ("origin", "https://evil.example.org"),
        ("access-control-request-method", "POST"),
        ("access-control-request-headers", "authorization"),
        ("x-http-method-override", "GET"),
    ];
    for (method, expected) in [
        ("HEAD", [401, 200]),
        ("OPTIONS", [405; 2]),
        ("TRACE", [405; 2]),
        ("POST", [405; 2]),
        ("get", [405; 2]),
    ] {
        let login = [&asks[..], &[("authorization", &*shown)]].concat();
        let without = ask(&gateway, (method, "/v2/topology"), &asks, "").await;
        let with = ask(&gateway, (method, "/v2/topology"), &login, "").await;
        assert_eq!([without.status, with.status], expected, "{method}");
        for answer in [without, with] {
            let mut names = answer.headers.keys().map(HeaderName::as_str);
            assert!(
                !names.any(|name| name.starts_with("access-control-")),
                "{method}"
            );
            assert!(method != "HEAD" || answer.text.is_empty());
        }
    }
}

#[tokio::test]
async fn a_browser_logs_in_and_shows_its_token_where_it_changes_something() {
    let gateway = protected().await;
    let form = ("content-type", "application/x-www-form-urlencoded");
    let wrong = ask(
        &gateway,
        ("POST", "/login"),
        &[form],
        "username=anna&password=no",
    )
    .await;
    assert_eq!(wrong.status, 401);
    let answer = ask(
        &gateway,
        ("POST", "/login"),
        &[form],
        "username=anna&password=right",
    )
    .await;
    assert_eq!(answer.status, 204, "{}", answer.text);
    let cookies: Vec<&str> = answer
        .headers
        .get_all("set-cookie")
        .iter()
        .map(|c| c.to_str().unwrap())
        .collect();
    let session = cookies
        .iter()
        .find(|c| c.starts_with("camunda-session="))
        .unwrap();
    assert!(
        session.contains("HttpOnly") && session.contains("SameSite=Lax"),
        "{session}"
    );
    let session = session.split(';').next().unwrap();
    let csrf = answer.headers["x-csrf-token"].to_str().unwrap();
    let topology = ask(
        &gateway,
        ("GET", "/v2/topology"),
        &[("cookie", session)],
        "",
    )
    .await;
    assert_eq!(topology.status, 200);
    let forged = ask(&gateway, PIN, &[JSON, ("cookie", session)], BODY).await;
    assert_eq!(forged.status, 403, "{}", forged.text);
    let own = [JSON, ("cookie", session), ("x-csrf-token", csrf)];
    assert_eq!(ask(&gateway, PIN, &own, BODY).await.status, 204);
    assert_eq!(caller(&gateway), "anna");
    let foreign = [("cookie", session), ("sec-fetch-site", "cross-site")];
    let forged = ask(&gateway, ("POST", "/logout"), &foreign, "").await;
    assert_eq!(forged.status, 403, "{}", forged.text);
    assert!(!forged.headers.contains_key("set-cookie"));
    let out = ask(&gateway, ("POST", "/logout"), &[("cookie", session)], "").await;
    let gone = out.headers["set-cookie"].to_str().unwrap();
    assert!(out.status == 204 && gone.contains("Max-Age=0"), "{gone}");
}

#[tokio::test]
async fn a_page_of_another_site_changes_nothing_with_a_login_and_without() {
    for gateway in [start().await, protected().await] {
        let shown = basic("anna", "right");
        for site in ["cross-site", "same-site"] {
            let headers = [JSON, ("authorization", &*shown), ("sec-fetch-site", site)];
            assert_eq!(
                ask(&gateway, PIN, &headers, BODY).await.status,
                403,
                "{site}"
            );
        }
        // Not even what needs no login.
        let user = r#"{"username": "eve", "password": "x"}"#;
        for headers in [
            [JSON, ("sec-fetch-site", "cross-site")],
            [JSON, ("origin", "http://evil.example")],
        ] {
            let answer = ask(&gateway, ("POST", "/v2/setup/user"), &headers, user).await;
            assert_eq!(answer.status, 403, "{headers:?}: {}", answer.text);
            assert!(answer.text.contains("another site"), "{}", answer.text);
        }
        assert!(gateway.broker.requests.lock().is_empty());
        let headers = [
            JSON,
            ("authorization", &*shown),
            ("sec-fetch-site", "same-origin"),
        ];
        assert_eq!(ask(&gateway, PIN, &headers, BODY).await.status, 204);
    }
}

/// Over plain HTTP, browsers do not say which site a page is of.
#[tokio::test]
async fn a_page_of_another_origin_changes_nothing() {
    let gateway = start().await;
    let own = gateway.rest.to_string();
    let own = &*own;
    let at_own = format!("http://{own}");
    for (origin, more, status) in [
        ("http://evil.example", vec![], 403),
        ("null", vec![], 403),
        ("", vec![], 403),
        (
            "https://skep.example",
            vec![("x-forwarded-host", "other.example")],
            403,
        ),
        (
            "https://skep.example",
            vec![("x-forwarded-host", "skep.example, inner.example")],
            204,
        ),
        (
            "https://skep.example",
            vec![("sec-fetch-site", "same-origin")],
            204,
        ),
        (&*at_own, vec![], 204),
        (&*at_own, vec![("sec-fetch-site", "cross-site")], 403),
    ] {
        let mut headers = vec![JSON, ("origin", origin)];
        headers.extend(more);
        let answer = ask(&gateway, PIN, &headers, BODY).await;
        assert_eq!(answer.status, status, "{headers:?} at {own}");
    }
    let read = [("origin", "http://evil.example")];
    let answer = ask(&gateway, ("GET", "/v2/topology"), &read, "").await;
    assert_eq!(answer.status, 200);
}

/// HTTP/2 has the host in the address, and browsers before 2023 only tell the origin.
#[tokio::test]
async fn over_http_2_a_page_of_this_origin_is_told_from_another() {
    let gateway = start().await;
    let mut connection = http::http2(gateway.rest).await;
    let own = format!("http://{}", gateway.rest);
    for (origin, status) in [("http://evil.example", 403), (&*own, 204)] {
        let (method, path) = PIN;
        let content_type = Some(http::JSON);
        let mut request = http::request(gateway.rest, method, path, content_type, BODY.into());
        let headers = request.headers_mut();
        headers.remove("host");
        headers.insert("origin", HeaderValue::from_str(origin).unwrap());
        connection.ready().await.unwrap();
        let answer = connection.send_request(request).await.unwrap();
        assert_eq!(answer.status().as_u16(), status, "{origin}");
    }
}

#[tokio::test]
async fn grpc_takes_the_same_header() {
    let gateway = protected().await;
    let mut client = grpc::client(&gateway).await;
    let request = |shown: Option<&str>| {
        let mut request = tonic::Request::new(skep_proto::gateway_protocol::CompleteJobRequest {
            job_key: 1,
            variables: String::new(),
            ..Default::default()
        });
        if let Some(shown) = shown {
            request
                .metadata_mut()
                .insert("authorization", shown.parse().unwrap());
        }
        request
    };
    for (shown, text) in [
        (None, "header with key [authorization]"),
        (Some("Bearer x".to_string()), "'Basic '"),
        (Some(basic("anna", "wrong")), "Invalid credentials"),
    ] {
        let refused = client
            .complete_job(request(shown.as_deref()))
            .await
            .unwrap_err();
        assert_eq!(refused.code(), Code::Unauthenticated);
        assert!(refused.message().contains(text), "{}", refused.message());
    }
    let shown = basic("anna", "right");
    let mut twice = request(Some(&shown));
    let second = basic("bert", "right").parse().unwrap();
    twice.metadata_mut().append("authorization", second);
    let refused = client.complete_job(twice).await.unwrap_err();
    assert_eq!(refused.code(), Code::Unauthenticated);
    let text = refused.message();
    assert!(text.contains("several headers"), "{text}");
    assert!(gateway.broker.requests.lock().is_empty());
    client.complete_job(request(Some(&shown))).await.unwrap();
    assert_eq!(caller(&gateway), "anna");
}

#[tokio::test]
async fn users_without_grants_find_nothing_and_may_not_see_documents() {
    let gateway = protected().await;
    let shown = basic("bert", "right");
    let headers = [JSON, ("authorization", &*shown)];
    let found = ask(
        &gateway,
        ("POST", "/v2/process-instances/search"),
        &headers,
        "{}",
    )
    .await;
    let found: serde_json::Value = serde_json::from_str(&found.text).unwrap();
    assert_eq!(found["items"], serde_json::json!([]), "{found}");
    assert_eq!(found["page"]["totalItems"], 0);
    let document = ask(&gateway, ("GET", "/v2/documents/x"), &headers, "").await;
    assert_eq!(document.status, 403, "{}", document.text);
    assert!(document.text.contains("DOCUMENT"), "{}", document.text);
}
