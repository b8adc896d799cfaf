//! The configurations of docs/security.md: a server with each of them does what the page says.

use std::path::Path;

use serde_json::json;
use skep_testbed::issuer::{Issuer, now};
use tempfile::TempDir;

use super::{ADMIN, SECRET, Server, ask, eventually, exchange};

const PAGE: &str = include_str!("../../../../docs/security.md");
/// Names on the page that stand for those of an installation.
const ISSUER: &str = "https://id.example.org/realms/skep";
const STORE: &str = "/etc/skep/client.p12";

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
    let others = [("CLIENT_SECRET", "hush"), ("KEYSTORE_PASSWORD", "hush")];
    Server::start(directory, &args, &[&SECRET[..], &others].concat())
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
