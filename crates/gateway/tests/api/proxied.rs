//! Logins behind a proxy that offers this server under a path: the provider sends browsers back to that path, and cookies belong to it.

use std::sync::Arc;

use http::request::Parts;
use hyper::Response;
use hyper::body::Bytes;
use hyper::header::HeaderMap;
use serde_json::json;
use skep_gateway::{Login, Pages};
use skep_testbed::issuer::Issuer;

use crate::bearer::{arrived, departed, location, provider, set};
use crate::fake::{Running, start_with};
use crate::login::{Answer, ask, directory, protect};

/// Pages below the path that the proxy names, or the one of a setting.
#[derive(Debug)]
struct Below;

impl Pages for Below {
    fn answer(&self, _: &Parts) -> Option<Response<Bytes>> {
        None
    }

    fn base<'r>(&'r self, headers: &'r HeaderMap) -> &'r str {
        let named = headers.get(FORWARDED);
        named.map_or("/skep", |named| named.to_str().unwrap())
    }
}

const FORWARDED: &str = "x-forwarded-prefix";
const FORM: (&str, &str) = ("content-type", "application/x-www-form-urlencoded");

/// Name and path of each cookie that an answer sets or deletes.
fn kept(answer: &Answer) -> Vec<(String, String)> {
    let mut kept = Vec::new();
    for cookie in answer.headers.get_all("set-cookie") {
        let cookie = cookie.to_str().unwrap();
        let (name, rest) = cookie.split_once('=').unwrap();
        let (_, path) = rest.split_once("; Path=").unwrap();
        let (path, _) = path.split_once(';').unwrap();
        kept.push((name.to_string(), path.to_string()));
    }
    kept
}

fn pairs(expected: &[(&str, &str)]) -> Vec<(String, String)> {
    let owned = |(name, path): &(&str, &str)| (name.to_string(), path.to_string());
    expected.iter().map(owned).collect()
}

async fn post(gateway: &Running, path: &str, header: (&'static str, &str), body: &str) -> Answer {
    let answer = ask(gateway, ("POST", path), &[FORM, header], body).await;
    assert_eq!(answer.status, 204, "{path}: {}", answer.text);
    answer
}

#[tokio::test]
async fn cookies_are_sent_to_nothing_else_behind_the_proxy() {
    let gateway = start_with(|config| {
        protect(config);
        config.hooks.pages = Some(Arc::new(Below));
    })
    .await;
    *gateway.broker.directory.lock() = directory().await.into();
    for (header, path) in [
        (("accept", "*/*"), "/skep"),
        ((FORWARDED, "/bpm"), "/bpm"),
        ((FORWARDED, ""), "/"),
    ] {
        let form = "username=anna&password=right";
        let answer = post(&gateway, "/login", header, form).await;
        let both = [("camunda-session", path), ("X-CSRF-TOKEN", path)];
        assert_eq!(kept(&answer), pairs(&both));
        let session = set(&answer, "camunda-session=");
        let shown = [("cookie", &*session)];
        let topology = ask(&gateway, ("GET", "/v2/topology"), &shown, "").await;
        assert_eq!(topology.status, 200);
        let answer = post(&gateway, "/logout", header, "").await;
        // A session of an earlier version is at `/`, and must not be left.
        let mut ended = vec![("camunda-session", path)];
        ended.extend((path != "/").then_some(("camunda-session", "/")));
        assert_eq!(kept(&answer), pairs(&ended));
    }
}

/// Otherwise a browser that is led to the same host over plain HTTP shows the session to everyone in between.
#[tokio::test]
async fn cookies_stay_on_tls_behind_a_proxy_that_ends_it() {
    let gateway = start_with(|config| {
        protect(config);
        config.hooks.pages = Some(Arc::new(Below));
    })
    .await;
    *gateway.broker.directory.lock() = directory().await.into();
    for (scheme, is_secure) in [
        ("https", true),
        ("HTTPS , http", true),
        ("http", false),
        ("http, https", false),
        ("", false),
    ] {
        let header = ("x-forwarded-proto", scheme);
        let form = "username=anna&password=right";
        let began = post(&gateway, "/login", header, form).await;
        let ended = post(&gateway, "/logout", header, "").await;
        for answer in [began, ended] {
            for cookie in answer.headers.get_all("set-cookie") {
                let cookie = cookie.to_str().unwrap();
                assert_eq!(
                    cookie.ends_with("; Secure"),
                    is_secure,
                    "{scheme}: {cookie}"
                );
            }
            assert_eq!(kept(&answer)[0], ("camunda-session".into(), "/skep".into()));
        }
    }
}

#[tokio::test]
async fn the_provider_sends_browsers_back_to_the_path_of_the_proxy() {
    let issuer = Issuer::start();
    let gateway = start_with(|config| {
        config.security.login = Login::Bearer;
        config.security.providers = vec![provider("oidc", &issuer)];
        config.hooks.pages = Some(Arc::new(Below));
    })
    .await;
    let host = format!("http%3A%2F%2F127.0.0.1%3A{}", gateway.rest.port());
    let (there, cookie) = departed(&gateway, "/skep/ui/tasks").await;
    let wanted = format!("&redirect_uri={host}%2Fskep%2Fsso-callback&");
    assert!(there.contains(&wanted), "{there}");
    let back = issuer.logs_in(&there, &json!({"sub": "anna"}));
    let answer = arrived(&gateway, &back, &cookie).await;
    assert_eq!(
        (answer.status, location(&answer)),
        (302, "/skep/ui/tasks"),
        "{}",
        answer.text
    );
    let attempt = cookie.split('=').next().unwrap();
    let all = ["camunda-session", "X-CSRF-TOKEN", attempt].map(|name| (name, "/skep"));
    assert_eq!(kept(&answer), pairs(&all));
    let session = set(&answer, "camunda-session=");
    let csrf = answer.headers["x-csrf-token"].to_str().unwrap();
    let own = [("cookie", &*session), ("x-csrf-token", csrf)];
    let out = ask(&gateway, ("POST", "/logout"), &own, "").await;
    let there = out.headers["skep-logout-uri"].to_str().unwrap();
    let wanted = format!("&post_logout_redirect_uri={host}%2Fskep%2Fpost-logout");
    assert!(there.ends_with(&wanted), "{there}");
    // The proxy adds its path to this request, so the browser stays below it.
    let home = ask(&gateway, ("GET", "/post-logout"), &[], "").await;
    assert_eq!((home.status, location(&home)), (302, "ui/logged-out"));
}
