//! Browsers logged in at an identity provider: any node serves their sessions, whichever node is lost.

use std::io::{Read, Write};

use serde_json::{Value, json};
use skep_testbed::issuer::Issuer;

use super::*;

struct Answer {
    status: u16,
    head: String,
    body: Value,
}

impl Answer {
    fn header(&self, name: &str) -> impl Iterator<Item = &str> {
        let fields = self.head.lines().filter_map(|line| line.split_once(": "));
        fields
            .filter(move |(found, _)| found.eq_ignore_ascii_case(name))
            .map(|(_, value)| value)
    }

    /// Name and value of a cookie that the answer sets.
    fn cookie(&self, name: &str) -> String {
        let mut cookies = self.header("set-cookie");
        let found = cookies.find(|cookie| cookie.starts_with(name));
        let found = found.unwrap_or_else(|| panic!("{}", self.head));
        found.split(';').next().unwrap().to_string()
    }
}

/// Sends a request. `None`: the node does not answer.
fn ask(server: &Server, method: &str, path: &str, headers: &str) -> Option<Answer> {
    let mut stream = std::net::TcpStream::connect(("127.0.0.1", server.rest)).ok()?;
    let patience = Some(Duration::from_secs(60));
    stream.set_read_timeout(patience).ok()?;
    let request = format!(
        "{method} {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: 0\r\n{headers}\r\n"
    );
    stream.write_all(request.as_bytes()).ok()?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).ok()?;
    let (head, body) = answer.split_once("\r\n\r\n")?;
    Some(Answer {
        status: head.split(' ').nth(1)?.parse().ok()?,
        head: head.to_string(),
        body: serde_json::from_str(body).unwrap_or_default(),
    })
}

/// The headers of a browser logged in at this node.
async fn logged_in(server: &Server, issuer: &Issuer) -> String {
    let mut away = None;
    eventually("the provider to say where logins go", async || {
        away = ask(server, "GET", "/oauth2/authorization/oidc", "");
        away.as_ref().is_some_and(|it| it.status == 302)
    })
    .await;
    let away = away.unwrap();
    let there = away.header("location").next().unwrap();
    let back = issuer.logs_in(there, &json!({"sub": "anna", "groups": ["first"]}));
    let kept = format!("Cookie: {}\r\n", away.cookie("skep-login-"));
    let home = ask(server, "GET", &format!("/sso-callback?{back}"), &kept).unwrap();
    assert_eq!(home.header("location").next(), Some("/"), "{}", home.head);
    let csrf = home.header("x-csrf-token").next().unwrap();
    let session = home.cookie("camunda-session=");
    assert!(session.contains('.'), "the cluster keeps it: {session}");
    format!("Cookie: {session}\r\nX-CSRF-TOKEN: {csrf}\r\n")
}

/// The groups of the user; `None`: temporarily unknown.
fn groups(server: &Server, browser: &str) -> Option<Value> {
    let answer = ask(server, "GET", "/v2/authentication/me", browser)?;
    match answer.status {
        200 => Some(answer.body["groups"].clone()),
        503 => None,
        other => panic!("{other}: {}", answer.body),
    }
}

fn is_ended(server: &Server, browser: &str) -> bool {
    let answer = ask(server, "GET", "/v2/authentication/me", browser);
    answer.is_some_and(|answer| answer.status == 401)
}

fn settings(issuer: &Issuer) -> Vec<String> {
    let oidc = "authentication.oidc";
    let all = [
        ("authentication.method".to_string(), "oidc".to_string()),
        (format!("{oidc}.issuer-uri"), issuer.uri()),
        (format!("{oidc}.audiences"), "skep".to_string()),
        (format!("{oidc}.client-id"), "skep".to_string()),
        (format!("{oidc}.client-secret"), "hush".to_string()),
        (format!("{oidc}.groups-claim"), "groups".to_string()),
    ];
    let set = |(name, value): (String, String)| {
        [
            "--set".to_string(),
            format!("camunda.security.{name}={value}"),
        ]
    };
    all.into_iter().flat_map(set).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 6)]
async fn a_session_outlives_the_node_that_began_it_and_ends_on_all_of_them() {
    let issuer = Issuer::start();
    issuer.gives_refresh_tokens(2);
    let mut nodes = Nodes::new(1);
    nodes.more = settings(&issuer);
    let mut servers = nodes.all().await;
    let anna = logged_in(&servers[0], &issuer).await;
    for server in &servers {
        eventually("the session on each node", async || {
            groups(server, &anna).is_some()
        })
        .await;
    }
    servers[0].kill();
    // Later changes at the provider can be noticed only by the other nodes.
    issuer.says_at_refresh(&json!({"groups": ["second"]}));
    for server in &servers[1..] {
        eventually("the session without its first node", async || {
            groups(server, &anna) == Some(json!(["second"]))
        })
        .await;
    }
    servers[0] = nodes.start(0).await.unwrap();
    eventually("the session on the node that is back", async || {
        groups(&servers[0], &anna) == Some(json!(["second"]))
    })
    .await;
    assert!(issuer.all_last(), "a refresh token was shown twice");

    eventually("the logout", async || {
        let out = ask(&servers[1], "POST", "/logout", &anna).unwrap();
        assert!(matches!(out.status, 204 | 503), "{}", out.head);
        out.status == 204
    })
    .await;
    assert!(is_ended(&servers[1], &anna));
    for server in &servers {
        eventually("the end on each node", async || is_ended(server, &anna)).await;
    }
}
