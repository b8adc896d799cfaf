//! Compressed answers: JSON of some size, for pages of this server in a browser that accepts gzip. All others get it as it is.

use std::io::Read;
use std::sync::Arc;
use std::time::Duration;

use flate2::read::GzDecoder;
use hyper::Response;
use hyper::body::Bytes;
use skep_model::builder::Bpmn;
use skep_testkit::rig::Rig;
use skep_testkit::stores::{Backend, Filled};

use crate::fake::{Running, start_over};
use crate::login::exchange;
use crate::searches::Stored;

type Header = (&'static str, &'static str);

const OWN_PAGE: Header = ("sec-fetch-site", "same-origin");
const GZIP: Header = ("accept-encoding", "gzip, deflate, br");
const JSON: Header = ("content-type", "application/json");

const SMALL: (&str, &str) = ("GET", "/v2/topology");
/// Compressed at once.
const MIDDLE: (&str, &str) = ("POST", "/v2/process-instances/search");
/// Compressed by another thread.
const LARGE: (&str, &str) = ("GET", "/v2/openapi.json");
/// It has an entity tag.
const SCRIPT: &str = "/v2/resources/";

/// A gateway over a store with some instances and a large script, and the script's address.
async fn gateway() -> (Running, String) {
    let mut rig = Rig::new();
    rig.record_batches();
    let script = format!(r#"{{"id":"script","script":"{}"}}"#, "x".repeat(10_000));
    let deployed = rig.deployed(vec![("script.rpa", script)]);
    rig.deploy(
        Bpmn::process("p")
            .start("s")
            .service_task("t", "t")
            .end("e"),
    );
    for _ in 0..20 {
        rig.create("p", "{}");
    }
    let location = Backend::Embedded.config().location;
    let store = Filled::at(location, 1, Duration::from_millis(5));
    store.follow(&std::mem::take(&mut rig.batches));
    let gateway = start_over(Arc::new(Stored(store)), |_| {}).await;
    let path = format!("{SCRIPT}{}/content", deployed.resources[0].key);
    (gateway, path)
}

async fn answer(gateway: &Running, operation: (&str, &str), headers: &[Header]) -> Response<Bytes> {
    let body = if operation.0 == "POST" { "{}" } else { "" };
    let headers = [&[JSON][..], headers].concat();
    let response = exchange(gateway, operation, &headers, body).await;
    assert_eq!(response.status(), 200, "{operation:?}");
    response
}

fn coding(response: &Response<Bytes>) -> Option<&str> {
    let coding = response.headers().get("content-encoding");
    coding.map(|it| it.to_str().unwrap())
}

fn varies(response: &Response<Bytes>) -> bool {
    let vary = response.headers().get("vary");
    vary.is_some_and(|it| it == "accept-encoding, sec-fetch-site")
}

#[tokio::test]
async fn a_page_of_this_server_gets_json_compressed() {
    let (gateway, _) = gateway().await;
    for (operation, smaller) in [(MIDDLE, 3), (LARGE, 4)] {
        let plain = answer(&gateway, operation, &[]).await;
        let packed = answer(&gateway, operation, &[OWN_PAGE, GZIP]).await;
        assert_eq!(coding(&packed), Some("gzip"), "{operation:?}");
        assert!(varies(&packed), "{operation:?}");
        let size = packed.body().len();
        assert_eq!(packed.headers()["content-length"], size.to_string());
        assert!(size * smaller < plain.body().len(), "{operation:?}: {size}");
        let mut text = String::new();
        let mut unpacked = GzDecoder::new(&packed.body()[..]);
        unpacked.read_to_string(&mut text).unwrap();
        assert_eq!(text.as_bytes(), &plain.body()[..], "{operation:?}");
    }
    let size = answer(&gateway, MIDDLE, &[]).await.body().len();
    assert!((4_097..32_768).contains(&size), "{size}");
    assert!(answer(&gateway, LARGE, &[]).await.body().len() > 32_768);
}

#[tokio::test]
async fn others_get_it_as_it_is() {
    let (gateway, script) = gateway().await;
    let script = ("GET", &*script);
    assert!(answer(&gateway, script, &[]).await.body().len() > 10_000);
    for (operation, headers, depends) in [
        // An API client, a page of another site, and an address that was typed.
        (MIDDLE, &[GZIP][..], false),
        (LARGE, &[("sec-fetch-site", "cross-site"), GZIP], false),
        (LARGE, &[("sec-fetch-site", "same-site"), GZIP], false),
        (MIDDLE, &[("sec-fetch-site", "none"), GZIP], false),
        (SMALL, &[OWN_PAGE, GZIP], false),
        (script, &[OWN_PAGE, GZIP], false),
        (MIDDLE, &[OWN_PAGE], true),
        (MIDDLE, &[OWN_PAGE, ("accept-encoding", "gzip;q=0")], true),
        (LARGE, &[OWN_PAGE, ("accept-encoding", "br")], true),
    ] {
        let plain = answer(&gateway, operation, headers).await;
        assert_eq!(coding(&plain), None, "{operation:?} {headers:?}");
        assert_eq!(varies(&plain), depends, "{operation:?} {headers:?}");
        assert!(plain.body().starts_with(b"{") || plain.body().starts_with(b"\""));
    }
}

#[tokio::test]
async fn the_head_of_a_compressed_answer_is_the_same_without_its_body() {
    let (gateway, _) = gateway().await;
    let whole = answer(&gateway, LARGE, &[OWN_PAGE, GZIP]).await;
    let head = answer(&gateway, ("HEAD", LARGE.1), &[OWN_PAGE, GZIP]).await;
    assert!(head.body().is_empty());
    assert_eq!(coding(&head), Some("gzip"));
    for name in ["content-encoding", "content-length", "vary"] {
        assert_eq!(head.headers().get(name), whole.headers().get(name));
    }
}
