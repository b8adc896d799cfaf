//! The configurations and requests of docs/security.md: a server with each of them does what the page says.

use std::path::Path;

use serde_json::json;
use skep_testbed::issuer::{Issuer, now};
use tempfile::TempDir;

use super::{ADMIN, BASIC, SECRET, Server, ask, eventually, exchange, log_of, run};

const PAGE: &str = include_str!("../../../../docs/security.md");
/// Names on the page that stand for those of an installation.
const ISSUER: &str = "https://id.example.org/realms/skep";
const STORE: &str = "/etc/skep/client.p12";
/// What the server shows to the provider.
const CLIENT_SECRET: &str = "not-to-be-shown";
const OF_PROVIDER: [(&str, &str); 2] = [
    ("CLIENT_SECRET", CLIENT_SECRET),
    ("KEYSTORE_PASSWORD", "hush"),
];

/// The configurations, in files of this directory.
fn files(directory: &Path, issuer: &Issuer) -> [String; 5] {
    assert!(PAGE.contains(ISSUER) && PAGE.contains(STORE));
    let store = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tls/tests/key_stores/rsa.p12");
    let blocks = PAGE.split("```yaml\n").skip(1);
    let files: Vec<String> = blocks
        .enumerate()
        .map(|(number, block)| {
            let (text, _) = block.split_once("```").unwrap();
            let text = text.replace(ISSUER, &issuer.uri());
            let text = text.replace(STORE, &store.display().to_string());
            let file = directory.join(format!("{number}.yaml"));
            std::fs::write(&file, text).unwrap();
            file.display().to_string()
        })
        .collect();
    files
        .try_into()
        .unwrap_or_else(|files: Vec<_>| panic!("the page has {} configurations", files.len()))
}

/// A server with these configurations, one after the other.
fn started(directory: &Path, files: &[&String]) -> Server {
    let args: Vec<&str> = files
        .iter()
        .flat_map(|file| ["--config", file.as_str()])
        .collect();
    Server::start(directory, &args, &[&SECRET[..], &OF_PROVIDER].concat())
}

/// The requests by curl: method, path and body, in their order.
fn requests() -> Vec<[String; 3]> {
    let blocks = PAGE.split("```sh\n").skip(1);
    let blocks = blocks.map(|block| block.split("```").next().unwrap());
    let commands = blocks.flat_map(|block| block.split("curl ").skip(1));
    let requests = commands.map(|command| {
        let after = |sign: &str, end: &[char]| {
            let (_, rest) = command.split_once(sign)?;
            rest.split(end).next()
        };
        let method = after("-X ", &[' ']).unwrap_or("GET");
        let path = after("http://localhost:8080", &[' ', '\n']).unwrap();
        let body = after("-d '", &['\'']).unwrap_or_default();
        [method, path, body].map(str::to_string)
    });
    requests.collect()
}

#[test]
fn the_requests_of_the_page_succeed_in_their_order() {
    const SETUP: &str = "/v2/setup/user";
    const USERS: &str = "/v2/users";
    let directory = TempDir::new().unwrap();
    let server = Server::start(directory.path(), &[], &BASIC);
    eventually("the roles are there", || {
        server.get("/v2/topology", ADMIN).0 == 401
    });
    let mut requests = requests();
    // Those before it are for a server whose configuration has an administrator.
    requests.sort_by_key(|[_, path, _]| path != SETUP);
    assert_eq!(requests.len(), 6, "{requests:?}");
    // The page says that the user of the last one is created like the first user.
    let worker = requests.iter().position(|[_, path, _]| path == USERS);
    let worker = requests[worker.unwrap()].clone();
    let worker = worker.map(|text| text.replace("anna", "worker"));
    requests.insert(1, worker);
    for [method, path, body] in &requests {
        let login = (path != SETUP).then_some(("admin", "…"));
        let (status, answer) = ask(&server.rest, method, path, body, login);
        assert!(
            (200..300).contains(&status),
            "{method} {path} {body}: {status} {answer}"
        );
    }
}

#[test]
fn the_tenants_of_the_page_are_there_and_checked() {
    let directory = TempDir::new().unwrap();
    let here = directory.path();
    let [basic, tenants, ..] = files(here, &Issuer::start());
    let server = started(here, &[&basic, &tenants]);
    let (status, acme) = server.get("/v2/tenants/acme", ADMIN);
    assert_eq!((status, &acme["name"]), (200, &json!("Acme")));
    let (_, members) = server.post("/v2/tenants/acme/users/search", "{}", ADMIN);
    assert_eq!(members["items"][0]["username"], "anna");
    let signal = r#"{"signalName": "s"}"#;
    assert_eq!(server.post("/v2/signals/broadcast", signal, ADMIN).0, 400);
    let signal = r#"{"signalName": "s", "tenantId": "acme"}"#;
    assert_eq!(server.post("/v2/signals/broadcast", signal, ADMIN).0, 403);
}

#[test]
fn the_provider_of_the_page_says_who_calls() {
    for by_key in [false, true] {
        let directory = TempDir::new().unwrap();
        let here = directory.path();
        let issuer = Issuer::start();
        let [_, _, provider, key, _] = files(here, &issuer);
        let given = [&provider, &key];
        let server = started(here, &given[..1 + usize::from(by_key)]);
        for (claims, name, role) in [
            (json!({"preferred_username": "anna"}), "anna", "admin"),
            (
                json!({"client_id": "connectors"}),
                "connectors",
                "connectors",
            ),
        ] {
            let mut claims = claims;
            claims["aud"] = json!("skep");
            claims["exp"] = json!(now() + 300);
            let shown = format!("Bearer {}", issuer.token(&claims));
            let me = || {
                exchange(
                    &server.rest,
                    ("GET", "/v2/authentication/me"),
                    Some(&shown),
                    "",
                )
            };
            eventually("the keys are there", || me().0 != 503);
            let (status, me) = me();
            assert_eq!((status, &me["username"]), (200, &json!(name)), "{me}");
            assert_eq!(me["roles"], json!([role]), "{me}");
        }
        let (_, ways) = ask(&server.rest, "GET", "/oauth2/providers", "", None);
        assert_eq!(ways[0]["id"], "oidc", "{ways}");
    }
}

/// Neither the server's own secret nor the tokens of its callers, right or wrong.
#[test]
fn nothing_shows_the_secrets_of_a_login_by_token() {
    let directory = TempDir::new().unwrap();
    let here = directory.path();
    let issuer = Issuer::start();
    let [_, _, provider, ..] = files(here, &issuer);
    let server = started(here, &[&provider]);
    let [good, wrong] = ["skep", "other"].map(|audience| {
        issuer.token(&json!({"preferred_username": "anna", "aud": audience, "exp": now() + 300}))
    });
    let broadcast = |token: &str| {
        let (shown, signal) = (format!("Bearer {token}"), r#"{"signalName": "s"}"#);
        let request = ("POST", "/v2/signals/broadcast");
        exchange(&server.rest, request, Some(&shown), signal)
    };
    eventually("the keys are there", || broadcast(&good).0 == 200);
    let (status, problem) = broadcast(&wrong);
    assert_eq!(status, 401, "{problem}");
    eventually("the refusal is logged", || {
        log_of(here).contains("callers failed to authenticate")
    });
    let (_, settings) = ask(&server.management, "GET", "/actuator/configprops", "", None);
    let listed = run(here, &["config", "--config", &provider], &OF_PROVIDER);
    let listed = String::from_utf8(listed.stdout).unwrap();
    assert!(
        listed.contains("camunda.security.authentication.method"),
        "{listed}"
    );
    let data = here.join("data").display().to_string();
    let records = run(here, &["log", &data], &[]);
    let records = String::from_utf8(records.stdout).unwrap();
    assert!(
        records.contains("\"SIGNAL\"") && records.contains("\"anna\""),
        "{records}"
    );
    let signatures = [&good, &wrong].map(|token| token.rsplit('.').next().unwrap());
    for text in [
        settings.to_string(),
        problem.to_string(),
        listed,
        records,
        log_of(here),
    ] {
        for secret in [CLIENT_SECRET].iter().chain(&signatures) {
            assert!(!text.contains(secret), "{secret}: {text}");
        }
    }
}

#[test]
fn the_management_port_of_the_page_asks_for_a_login() {
    let directory = TempDir::new().unwrap();
    let here = directory.path();
    let [basic, _, _, _, management] = files(here, &Issuer::start());
    let server = started(here, &[&basic, &management]);
    let settings = |login| {
        ask(
            &server.management,
            "GET",
            "/actuator/configprops",
            "",
            login,
        )
        .0
    };
    assert_eq!(settings(None), 401);
    assert_eq!(settings(Some(("connectors", "shush-shush"))), 403);
    assert_eq!(settings(ADMIN), 200);
}
