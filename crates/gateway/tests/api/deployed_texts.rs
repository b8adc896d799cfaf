//! Deployed texts. They come from users, and browsers run scripts in XML: whoever opens one with a session must not run what is in it.
//! They never change, so a browser fetches each of them once, as long as its user may read it.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use skep_gateway::{Login, Tenancy};
use skep_model::builder::Bpmn;
use skep_query::{Answer, BoxFuture, Consistency, Query, QueryError, Storage};
use skep_testkit::rig::{Rig, decision};
use skep_testkit::stores::{Backend, Filled};

use crate::fake::{Running, start_over};
use crate::http::open;
use crate::login::{self, ask, basic, directory};
use crate::searches::Stored;

/// A store with a text of each kind, and the addresses of all texts.
fn deployed() -> (Arc<dyn Storage>, [String; 5]) {
    let mut rig = Rig::new();
    rig.record_batches();
    let process = Bpmn::process("p").start("s").end("e").xml();
    let deployed = rig.deployed(vec![
        ("p.bpmn", process),
        ("d.dmn", decision("file", "d", "1")),
        ("script.rpa", r#"{"id":"script","script":"x"}"#.to_string()),
    ]);
    let location = Backend::Embedded.config().location;
    let store = Filled::at(location, 1, Duration::from_millis(5));
    store.follow(&std::mem::take(&mut rig.batches));
    let script = deployed.resources[0].key;
    let requirements = deployed.decision_requirements[0].key;
    let paths = [
        format!("process-definitions/{}/xml", deployed.processes[0].key),
        format!("decision-definitions/{}/xml", deployed.decisions[0].key),
        format!("decision-requirements/{requirements}/xml"),
        format!("resources/{script}/content"),
        format!("resources/{script}/content/binary"),
    ];
    (
        Arc::new(Stored(store)),
        paths.map(|path| format!("/v2/{path}")),
    )
}

#[tokio::test]
async fn browsers_run_nothing_in_what_was_deployed() {
    let (store, paths) = deployed();
    let gateway = start_over(store, |_| {}).await;
    for path in paths {
        let answer = open(gateway.rest, "GET", &path, None, "").await;
        assert_eq!(answer.status(), 200, "{path}");
        let header = |name: &str| answer.headers()[name].to_str().expect("a text");
        let policy = header("content-security-policy");
        for rule in ["default-src 'none'", "sandbox"] {
            assert!(policy.split("; ").any(|it| it == rule), "{path}: {policy}");
        }
        assert_eq!(header("x-content-type-options"), "nosniff", "{path}");
    }
}

/// The entity tag of an answer to a plain request.
async fn tag_of(gateway: &Running, path: &str) -> String {
    let answer = ask(gateway, ("GET", path), &[], "").await;
    assert_eq!(answer.status, 200, "{path}: {}", answer.text);
    assert!(!answer.text.is_empty(), "{path}");
    assert_eq!(answer.headers["cache-control"], "no-cache", "{path}");
    let tag = answer.headers["etag"].to_str().unwrap().to_string();
    assert!(tag.starts_with('"') && tag.ends_with('"'), "{path}: {tag}");
    tag
}

#[tokio::test]
async fn a_text_that_the_caller_has_is_not_sent_again() {
    let (store, paths) = deployed();
    let gateway = start_over(store, |_| {}).await;
    let mut tags = BTreeSet::new();
    for path in &paths {
        let tag = tag_of(&gateway, path).await;
        assert_eq!(tag_of(&gateway, path).await, tag, "{path}");
        for list in [tag.clone(), format!("\"other\", W/{tag}"), "*".to_string()] {
            let known = [("if-none-match", &*list)];
            let again = ask(&gateway, ("GET", path), &known, "").await;
            assert_eq!((again.status, &*again.text), (304, ""), "{path}: {list}");
            assert_eq!(again.headers["etag"], tag, "{path}");
            assert_eq!(again.headers.get("content-type"), None, "{path}");
        }
        let other = [("if-none-match", "\"other\"")];
        let answer = ask(&gateway, ("GET", path), &other, "").await;
        assert_eq!(answer.status, 200, "{path}");
        assert!(!answer.text.is_empty(), "{path}");
        tags.insert(tag);
    }
    // The decision and its requirements are one file, and so are the two forms of the script.
    assert_eq!(tags.len(), 3, "{tags:?}");
    let missing = "/v2/process-definitions/1/xml";
    let known = [("if-none-match", "*")];
    let answer = ask(&gateway, ("GET", missing), &known, "").await;
    assert_eq!(answer.status, 404, "{}", answer.text);
}

#[tokio::test]
async fn a_shared_text_is_the_whole_one_for_those_who_do_not_have_it() {
    let (store, [path, ..]) = deployed();
    let gateway = start_over(store, |_| {}).await;
    // A shared answer does not wait for what is being stored.
    tag_of(&gateway, &path).await;
    let shared = ("skep-consistency", "shared");
    for has_it in [true, false, true] {
        let known = [shared, ("if-none-match", "*")];
        let headers = if has_it { &known[..] } else { &known[..1] };
        let answer = ask(&gateway, ("GET", &path), headers, "").await;
        assert_eq!(answer.status, if has_it { 304 } else { 200 });
        assert_eq!(answer.text.is_empty(), has_it);
        assert!(answer.headers.contains_key("etag"));
    }
}

/// A store that reports a lag.
struct Behind(Arc<dyn Storage>);

impl Storage for Behind {
    fn query(
        &self,
        query: Query,
        consistency: Consistency,
    ) -> BoxFuture<'_, Result<(Answer, u64), QueryError>> {
        let answered = self.0.query(query, consistency);
        Box::pin(async move { answered.await.map(|(answer, _)| (answer, 5_000)) })
    }
}

#[tokio::test]
async fn a_text_from_a_store_that_is_behind_is_not_kept_with_the_lag() {
    let (store, paths) = deployed();
    let gateway = start_over(Arc::new(Behind(store)), |_| {}).await;
    let known = [("if-none-match", "*")];
    for path in &paths {
        let answer = ask(&gateway, ("GET", path), &known, "").await;
        assert_eq!(answer.status, 200, "{path}: {}", answer.text);
        assert_eq!(answer.headers["skep-behind-ms"], "5000", "{path}");
        assert_eq!(answer.headers.get("etag"), None, "{path}");
    }
}

#[tokio::test]
async fn whoever_may_not_read_a_text_does_not_learn_that_it_is_unchanged() {
    let (store, paths) = deployed();
    let unprotected = start_over(Arc::clone(&store), |_| {}).await;
    let granted = start_over(Arc::clone(&store), login::protect).await;
    let of_tenants = start_over(store, |config| {
        config.security.login = Login::Basic;
        config.security.tenancy = Tenancy::On;
    })
    .await;
    for gateway in [&granted, &of_tenants] {
        *gateway.broker.directory.lock() = directory().await.into();
    }
    let shown = basic("bert", "right");
    for path in &paths {
        let tag = tag_of(&unprotected, path).await;
        for known in [&*tag, "*"] {
            let asks = [("if-none-match", known), ("authorization", &*shown)];
            for (gateway, status) in [(&granted, 403), (&of_tenants, 404)] {
                let answer = ask(gateway, ("GET", path), &asks, "").await;
                assert_eq!(answer.status, status, "{path}: {}", answer.text);
                assert_eq!(answer.headers.get("etag"), None, "{path}");
            }
            let answer = ask(&granted, ("GET", path), &asks[..1], "").await;
            assert_eq!(answer.status, 401, "{path}: {}", answer.text);
        }
    }
}
