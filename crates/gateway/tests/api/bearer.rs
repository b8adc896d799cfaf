//! Tokens of an identity provider on REST and gRPC: authentication, the resulting identity, and the claims passed on with commands.

use std::time::Duration;

use serde_json::{Value, json};
use skep_gateway::Login;
use skep_identity::{Directory, Entry};
use skep_oidc::{BrowserSettings, ProviderSettings};
use skep_protocol::Key;
use skep_protocol::origin::{Claims, Principal};
use skep_protocol::value::MappingRuleValue;
use skep_testbed::issuer::{Behaviour, Issuer, now};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tonic::Code;

use crate::fake::{Running, start_with};
use crate::login::{Answer, BODY, JSON, PIN, ask, pins};
use crate::metrics::{exposed, has};
use crate::{grpc, http};

pub fn provider(name: &str, issuer: &Issuer) -> ProviderSettings {
    ProviderSettings {
        audiences: vec!["skep".to_string()],
        client_id_claim: Some("client_id".to_string()),
        groups_claim: Some("groups".to_string()),
        clock_skew: Duration::ZERO,
        browsers: Some(BrowserSettings {
            client_name: Some("Example".to_string()),
            resource: vec!["https://api.example.org".to_string()],
            parameters: vec![("prompt".to_string(), "select_account".to_string())],
            ..BrowserSettings::new("skep", "hush")
        }),
        ..ProviderSettings::new(name, &issuer.uri())
    }
}

pub async fn protected(issuer: &Issuer) -> Running {
    protected_by(vec![provider("oidc", issuer)]).await
}

pub async fn protected_by(providers: Vec<ProviderSettings>) -> Running {
    start_with(|config| {
        config.security.login = Login::Bearer;
        config.security.providers = providers;
        config.security.authorizations = true;
        config.security.users_api = false;
        config.security.groups_api = false;
    })
    .await
}

fn with_rule(claim: &str) -> Directory {
    let mut directory = Directory::default();
    let rule = MappingRuleValue {
        mapping_rule_key: Key::new(1, 1),
        mapping_rule_id: "r".into(),
        claim_name: claim.into(),
        claim_value: "sales".into(),
        name: "r".into(),
    };
    directory.add(Key::new(1, 1), &Entry::MappingRule(rule));
    directory
}

fn anna() -> Value {
    json!({"sub": "anna", "aud": "skep", "groups": ["g"], "dept": "sales", "secret": "hush"})
}

async fn pin(gateway: &Running, shown: &str) -> Answer {
    ask(gateway, PIN, &[JSON, ("authorization", shown)], BODY).await
}

fn problem(answer: &Answer) -> Value {
    serde_json::from_str(&answer.text).unwrap()
}

#[tokio::test]
async fn a_valid_token_is_accepted_and_others_are_refused_with_the_reason() {
    let issuer = Issuer::start();
    let gateway = protected(&issuer).await;
    let expired = issuer.token(&json!({"sub": "anna", "aud": "skep", "exp": now() - 9}));
    for (shown, said) in [
        (String::new(), "Bearer"),
        ("Basic YW5uYTpyaWdodA==".to_string(), "Bearer"),
        ("Bearer".to_string(), "Bearer"),
        ("Bearer x".to_string(), "valid token"),
        (format!("Bearer {expired}"), "expired"),
        (
            format!("Bearer {}", Issuer::start().token(&anna())),
            "issuer",
        ),
    ] {
        let answer = pin(&gateway, &shown).await;
        assert_eq!(answer.status, 401, "{shown}");
        let problem = problem(&answer);
        assert_eq!(problem["title"], "Unauthorized");
        let text = problem["detail"].as_str().unwrap();
        assert!(text.contains(said), "{text}");
        assert_eq!(answer.headers["www-authenticate"], r#"Bearer realm="Skep""#);
    }
    assert!(gateway.broker.requests.lock().is_empty());
    let text = exposed(&gateway);
    for (reason, count) in [("scheme", 3), ("token", 3)] {
        let series = format!(
            "skep_authentication_failures_total{{protocol=\"rest\",reason=\"{reason}\"}} {count}"
        );
        has(&text, &series);
    }
    has(
        &text,
        "skep_identity_provider_keys_age_seconds{provider=\"oidc\"} ",
    );
    let token = issuer.token(&anna());
    for scheme in ["bearer", "Bearer", "BEARER ", "bearer   "] {
        let answer = pin(&gateway, &format!("{scheme} {token}")).await;
        assert_eq!(answer.status, 204, "{}", answer.text);
    }
    // Each of these requests used its own connection.
    let known = "skep_authentication_lookups_total{result=\"remembered\"} 3";
    has(&exposed(&gateway), known);
    let client = issuer.token(&json!({"client_id": "worker", "aud": "skep"}));
    assert_eq!(pin(&gateway, &format!("Bearer {client}")).await.status, 204);
    let claims = gateway.broker.last().claims;
    assert!(
        matches!(&claims, Claims::Client(it) if &*it.id == "worker"),
        "{claims:?}"
    );
}

#[tokio::test]
async fn commands_have_the_groups_and_those_claims_that_a_rule_looks_at_then() {
    let issuer = Issuer::start();
    let gateway = protected(&issuer).await;
    let shown = format!("Bearer {}", issuer.token(&anna()));
    for (directory, token) in [
        (crate::login::directory().await, ""),
        (with_rule("dept"), r#"{"dept":"sales"}"#),
        (with_rule("$.dept"), r#"{"dept":"sales"}"#),
        (with_rule("missing"), ""),
    ] {
        *gateway.broker.directory.lock() = directory.into();
        assert_eq!(pin(&gateway, &shown).await.status, 204);
        let expected = Principal {
            id: "anna".into(),
            groups: Some(vec!["g".into()]),
            token: token.into(),
        };
        assert_eq!(gateway.broker.last().claims, Claims::User(expected.into()));
    }
}

#[tokio::test]
async fn a_token_that_expires_while_its_request_waits_is_good_and_afterwards_it_is_not() {
    let issuer = Issuer::start();
    let gateway = protected(&issuer).await;
    let token = issuer.token(&json!({"sub": "anna", "aud": "skep", "exp": now() + 2}));
    let shown = format!("Bearer {token}");
    assert_eq!(pin(&gateway, &shown).await.status, 204);
    let mut stream = tokio::net::TcpStream::connect(gateway.rest).await.unwrap();
    let head = format!(
        "PUT /v2/clock HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\nauthorization: {shown}\r\ncontent-length: {}\r\n\r\n",
        BODY.len()
    );
    stream.write_all(head.as_bytes()).await.unwrap();
    while pin(&gateway, &shown).await.status == 204 {
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    stream.write_all(BODY.as_bytes()).await.unwrap();
    let mut answer = [0; 12];
    stream.read_exact(&mut answer).await.unwrap();
    assert_eq!(&answer, b"HTTP/1.1 204");
}

#[tokio::test]
async fn a_connection_ends_no_check_of_a_token_that_expires_or_whose_key_goes() {
    let issuer = Issuer::start();
    let gateway = protected(&issuer).await;
    let mut connection = http::http2(gateway.rest).await;
    let brief = issuer.token(&json!({"sub": "anna", "aud": "skep", "exp": now() + 2}));
    let brief = format!("Bearer {brief}");
    assert_eq!(pins(&mut connection, &gateway, &brief).await, 204);
    while pins(&mut connection, &gateway, &brief).await == 204 {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    assert_eq!(pins(&mut connection, &gateway, &brief).await, 401);
    let old = format!("Bearer {}", issuer.token(&anna()));
    assert_eq!(pins(&mut connection, &gateway, &old).await, 204);
    issuer.rotate();
    let new = format!("Bearer {}", issuer.token(&anna()));
    assert_eq!(
        pins(&mut http::http2(gateway.rest).await, &gateway, &new).await,
        204
    );
    assert_eq!(pins(&mut connection, &gateway, &old).await, 401);
}

/// A token says who calls, but not what the caller may do: at a node that does not know yet, nothing would be found.
#[tokio::test]
async fn while_permissions_are_unknown_searches_are_refused_and_commands_go_on() {
    let issuer = Issuer::start();
    let gateway = protected(&issuer).await;
    let shown = format!("Bearer {}", issuer.token(&anna()));
    let search = async || {
        let headers = [JSON, ("authorization", &*shown)];
        ask(
            &gateway,
            ("POST", "/v2/process-instances/search"),
            &headers,
            "{}",
        )
        .await
    };
    let refused = search().await;
    assert_eq!(refused.status, 503, "{}", refused.text);
    assert!(refused.text.contains("not known yet"), "{}", refused.text);
    assert_eq!(pin(&gateway, &shown).await.status, 204);
    // Its rights may come by any of its claims, as no rule is known either.
    let Claims::User(sent) = gateway.broker.last().claims else {
        panic!("anna is a user");
    };
    let claims: Value = serde_json::from_str(&sent.token).unwrap();
    assert_eq!(
        (&claims["dept"], &claims["secret"]),
        (&"sales".into(), &"hush".into())
    );
    *gateway.broker.directory.lock() = crate::login::directory().await.into();
    assert_eq!(pin(&gateway, &shown).await.status, 204);
    let Claims::User(sent) = gateway.broker.last().claims else {
        panic!("anna is a user");
    };
    assert_eq!(&*sent.token, "");
    let answer = search().await;
    assert!(!answer.text.contains("not known yet"), "{}", answer.text);
}

#[tokio::test]
async fn users_and_groups_of_the_provider_cannot_be_managed_here() {
    let issuer = Issuer::start();
    let gateway = protected(&issuer).await;
    let shown = format!("Bearer {}", issuer.token(&anna()));
    for (path, said) in [
        ("/v2/users/search", "method is oidc"),
        ("/v2/groups/search", "groups-claim"),
        ("/v2/setup/user", "method is oidc"),
    ] {
        let headers = [JSON, ("authorization", &*shown)];
        let answer = ask(&gateway, ("POST", path), &headers, "{}").await;
        let problem = problem(&answer);
        assert_eq!(
            (answer.status, &problem["title"]),
            (403, &json!("Access issue"))
        );
        let text = problem["detail"].as_str().unwrap();
        assert!(text.contains(path) && text.contains(said), "{text}");
    }
}

#[tokio::test]
async fn while_the_provider_is_away_tokens_are_not_reported_as_wrong() {
    let issuer = Issuer::start();
    issuer.behaves(Behaviour::HangsUp);
    let gateway = protected(&issuer).await;
    let shown = format!("Bearer {}", issuer.token(&anna()));
    let answer = pin(&gateway, &shown).await;
    assert_eq!(answer.status, 503, "{}", answer.text);
    let mut client = grpc::client(&gateway).await;
    let refused = client.complete_job(job(&shown)).await.unwrap_err();
    assert_eq!(refused.code(), Code::Unavailable);
    let answers = |it: u8| format!("skep_identity_provider_up{{provider=\"oidc\"}} {it}");
    has(&exposed(&gateway), &answers(0));
    issuer.behaves(Behaviour::Answers);
    while pin(&gateway, &shown).await.status == 503 {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    assert_eq!(pin(&gateway, &shown).await.status, 204);
    has(&exposed(&gateway), &answers(1));
}

fn job(shown: &str) -> tonic::Request<skep_proto::gateway_protocol::CompleteJobRequest> {
    let mut request = tonic::Request::new(skep_proto::gateway_protocol::CompleteJobRequest {
        job_key: 1,
        ..Default::default()
    });
    request
        .metadata_mut()
        .insert("authorization", shown.parse().unwrap());
    request
}

/// A browser redirected to the provider: returns the location, and the cookie that it keeps.
pub async fn departed(gateway: &Running, to: &str) -> (String, String) {
    sent_to("oidc", gateway, to).await
}

/// Likewise, to the provider of this name.
pub async fn sent_to(provider: &str, gateway: &Running, to: &str) -> (String, String) {
    let path = format!("/oauth2/authorization/{provider}?to={to}");
    loop {
        let answer = ask(gateway, ("GET", &path), &[], "").await;
        // The provider's login endpoint may not be known yet.
        if answer.status == 302 {
            let location = answer.headers["location"].to_str().unwrap().to_string();
            return (location, set(&answer, "skep-login-"));
        }
        assert_eq!(answer.status, 503, "{}", answer.text);
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

/// Name and value of a cookie that an answer sets.
pub fn set(answer: &Answer, name: &str) -> String {
    let all = answer.headers.get_all("set-cookie").iter();
    let mut all = all.map(|cookie| cookie.to_str().unwrap());
    let cookie = all.find(|cookie| cookie.starts_with(name)).unwrap();
    assert!(
        name == "X-CSRF" || cookie.contains("HttpOnly; SameSite=Lax"),
        "{cookie}"
    );
    cookie.split(';').next().unwrap().to_string()
}

/// The browser returns from the provider.
pub async fn arrived(gateway: &Running, query: &str, cookie: &str) -> Answer {
    let path = format!("/sso-callback?{query}");
    ask(gateway, ("GET", &path), &[("cookie", cookie)], "").await
}

pub fn location(answer: &Answer) -> &str {
    answer.headers["location"].to_str().unwrap()
}

#[tokio::test]
async fn a_browser_logs_in_at_the_provider_and_has_a_session() {
    let issuer = Issuer::start();
    let gateway = protected(&issuer).await;
    let ways = ask(&gateway, ("GET", "/oauth2/providers"), &[], "").await;
    assert_eq!(ways.text, r#"[{"id":"oidc","name":"Example"}]"#);
    let (there, kept) = departed(&gateway, "/processes%3Fstate=active").await;
    for part in [
        &*format!(
            "{}/authorize?response_type=code&client_id=skep&",
            issuer.uri()
        ),
        &format!(
            "redirect_uri=http%3A%2F%2F127.0.0.1%3A{}%2Fsso-callback&",
            gateway.rest.port()
        ),
        "scope=openid+profile&",
        "code_challenge_method=S256&resource=https%3A%2F%2Fapi.example.org&prompt=select_account",
    ] {
        assert!(there.contains(part), "{part}: {there}");
    }
    let back = issuer.logs_in(&there, &json!({"sub": "anna", "groups": ["g"]}));
    let answer = arrived(&gateway, &back, &kept).await;
    assert_eq!(
        (answer.status, location(&answer)),
        (302, "/processes?state=active")
    );
    let session = set(&answer, "camunda-session=");
    let csrf = answer.headers["x-csrf-token"].to_str().unwrap();
    let cookie = ("cookie", &*session);
    let me = ask(&gateway, ("GET", "/v2/authentication/me"), &[cookie], "").await;
    let me: Value = serde_json::from_str(&me.text).unwrap();
    assert_eq!(
        (&me["username"], &me["groups"]),
        (&json!("anna"), &json!(["g"]))
    );
    assert_eq!(ask(&gateway, PIN, &[JSON, cookie], BODY).await.status, 403);
    let own = [JSON, cookie, ("x-csrf-token", csrf)];
    assert_eq!(ask(&gateway, PIN, &own, BODY).await.status, 204);
    // Another node with the same secret accepts the session; a node with another secret does not.
    let other = protected(&issuer).await;
    let keeper = gateway.broker.reports.keeper.lock().clone();
    *other.broker.reports.keeper.lock() = keeper;
    assert_eq!(ask(&other, PIN, &own, BODY).await.status, 204);
    let forged = ask(&gateway, ("POST", "/logout"), &[cookie], "").await;
    assert_eq!(forged.status, 403);
    let out = ask(
        &gateway,
        ("POST", "/logout"),
        &[cookie, ("x-csrf-token", csrf)],
        "",
    )
    .await;
    assert_eq!(
        (out.status, &*set(&out, "camunda-session=")),
        (204, "camunda-session=")
    );
    let there = out.headers["skep-logout-uri"].to_str().unwrap();
    assert!(
        there.starts_with(&format!("{}/end?client_id=skep&", issuer.uri())),
        "{there}"
    );
}

#[tokio::test]
async fn a_login_that_was_not_begun_here_or_is_not_for_this_browser_fails() {
    let issuer = Issuer::start();
    let gateway = protected(&issuer).await;
    let anna = json!({"sub": "anna"});
    let (there, kept) = departed(&gateway, "//evil.example.org").await;
    let back = issuer.logs_in(&there, &anna);
    let (state, code) = back.split_once('&').unwrap();
    let (other, other_kept) = departed(&gateway, "/").await;
    let others = issuer.logs_in(&other, &anna);
    let name = kept.split('=').next().unwrap();
    for (query, cookie, why) in [
        (&*back, "", "expired"),
        (&back, &*other_kept, "expired"),
        (
            &back,
            &format!("{name}={}", other_kept.split_once('=').unwrap().1),
            "expired",
        ),
        (&back, &format!("{kept}x"), "expired"),
        (&format!("{state}&code=other"), &kept, "failed"),
        (
            &format!("{state}&{}", others.split_once('&').unwrap().1),
            &kept,
            "failed",
        ),
        (&format!("{state}&error=access_denied"), &kept, "denied"),
        (code, &kept, "expired"),
    ] {
        let answer = arrived(&gateway, query, cookie).await;
        assert_eq!(
            location(&answer),
            format!("ui/login?failed={why}"),
            "{query} {cookie}"
        );
        assert!(!answer.headers.contains_key("x-csrf-token"));
    }
    // After all these attempts the right one still succeeds, and redirects to a path of this server.
    let answer = arrived(&gateway, &back, &kept).await;
    assert_eq!(location(&answer), "/");
    for claims in [
        json!({"sub": "anna", "nonce": "another"}),
        json!({"sub": "anna", "aud": "another"}),
        json!({"client_id": "worker"}),
    ] {
        let (there, kept) = departed(&gateway, "/").await;
        let answer = arrived(&gateway, &issuer.logs_in(&there, &claims), &kept).await;
        assert_eq!(location(&answer), "ui/login?failed=failed", "{claims}");
    }
    let nobody = ask(&gateway, ("GET", "/oauth2/authorization/other"), &[], "").await;
    assert_eq!(nobody.status, 404, "{}", nobody.text);
}

/// Whoever plants a session in a browser must not be in as the user who logs in there.
#[tokio::test]
async fn a_login_begins_another_session_than_the_one_that_the_browser_shows() {
    let issuer = Issuer::start();
    let gateway = protected(&issuer).await;
    let log_in = async |name: &str, shown: &str| {
        let (there, kept) = departed(&gateway, "/").await;
        let back = issuer.logs_in(&there, &json!({"sub": name}));
        let cookies = format!("{shown}; {kept}");
        set(
            &arrived(&gateway, &back, &cookies).await,
            "camunda-session=",
        )
    };
    let is_in = async |cookie: &str| {
        let shown = [("cookie", cookie)];
        let me = ask(&gateway, ("GET", "/v2/authentication/me"), &shown, "").await;
        serde_json::from_str::<Value>(&me.text).unwrap()["username"].clone()
    };
    let planted = log_in("mallory", "other=1").await;
    assert_eq!(is_in(&*planted).await, "mallory");
    let session = log_in("anna", &*planted).await;
    assert_eq!(is_in(&*session).await, "anna");
    assert_ne!(session, planted);
    assert_ne!(is_in(&*planted).await, "anna");
}

#[tokio::test]
async fn a_session_of_another_login_or_a_changed_one_is_none() {
    let issuer = Issuer::start();
    let gateway = protected(&issuer).await;
    let (there, kept) = departed(&gateway, "/").await;
    let back = issuer.logs_in(&there, &json!({"sub": "anna"}));
    let answer = arrived(&gateway, &back, &kept).await;
    let session = set(&answer, "camunda-session=");
    let attempt = kept.split_once('=').unwrap().1;
    for cookie in [
        format!("{session}A"),
        session.replace("oidc~", "other~"),
        format!("camunda-session={attempt}"),
        "camunda-session=".to_string(),
        format!("camunda-session={}", "x".repeat(9000)),
    ] {
        let answer = ask(
            &gateway,
            ("GET", "/v2/topology"),
            &[("cookie", &cookie)],
            "",
        )
        .await;
        assert_eq!(answer.status, 401, "{cookie}");
        assert!(
            problem(&answer)["detail"]
                .as_str()
                .unwrap()
                .contains("session")
        );
    }
}

#[tokio::test]
async fn grpc_takes_the_same_token() {
    let issuer = Issuer::start();
    let gateway = protected(&issuer).await;
    let mut client = grpc::client(&gateway).await;
    let nobody = issuer.token(&json!({"aud": "skep"}));
    for (shown, said) in [
        ("Basic YQ==".to_string(), "'Bearer '"),
        ("Bearer x".to_string(), "valid token"),
        (format!("Bearer {nobody}"), "'client_id'"),
    ] {
        let refused = client.complete_job(job(&shown)).await.unwrap_err();
        assert_eq!(refused.code(), Code::Unauthenticated);
        assert!(refused.message().contains(said), "{}", refused.message());
    }
    let shown = format!("Bearer {}", issuer.token(&anna()));
    // The fake broker's answer does not match the command.
    let answer = client.complete_job(job(&shown)).await;
    assert!(answer.is_ok() || answer.unwrap_err().code() != Code::Unauthenticated);
    let claims = gateway.broker.last().claims;
    assert!(
        matches!(&claims, Claims::User(it) if &*it.id == "anna"),
        "{claims:?}"
    );
}
