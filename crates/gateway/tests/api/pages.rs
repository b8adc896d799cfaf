//! Web pages beside the API: served only where the API has no path.

use std::sync::Arc;

use http_body_util::BodyExt;
use hyper::body::Bytes;
use hyper::header::HeaderMap;
use hyper::{Response, StatusCode};
use parking_lot::Mutex;
use skep_gateway::Pages;

use crate::fake::start_with;
use crate::http::open;

#[derive(Debug, Default)]
struct Fake {
    asked: Mutex<Vec<String>>,
}

impl Pages for Fake {
    fn answer(&self, request: &http::request::Parts) -> Option<Response<Bytes>> {
        let path = request.uri.path();
        self.asked.lock().push(path.to_string());
        (path == "/ui/").then(|| Response::new(Bytes::from_static(b"a page")))
    }

    fn base<'r>(&'r self, _: &'r HeaderMap) -> &'r str {
        ""
    }
}

#[tokio::test]
async fn a_page_is_asked_for_only_where_the_api_has_no_path() {
    let pages = Arc::new(Fake::default());
    let offered = pages.clone();
    let gateway = start_with(|config| config.hooks.pages = Some(offered)).await;
    let answer = open(gateway.rest, "GET", "/ui/", None, "").await;
    assert_eq!(answer.status(), StatusCode::OK);
    let body = answer.into_body().collect().await.expect("a body");
    assert_eq!(body.to_bytes(), "a page");
    for (method, path, status) in [
        ("GET", "/v2/topology", StatusCode::OK),
        ("PUT", "/v2/topology", StatusCode::METHOD_NOT_ALLOWED),
        ("GET", "/nothing", StatusCode::NOT_FOUND),
    ] {
        let answer = open(gateway.rest, method, path, None, "").await;
        assert_eq!(answer.status(), status, "{method} {path}");
    }
    assert_eq!(*pages.asked.lock(), ["/ui/", "/nothing"]);
}

#[tokio::test]
async fn without_pages_there_are_none() {
    let gateway = start_with(|_| {}).await;
    let answer = open(gateway.rest, "GET", "/ui/", None, "").await;
    assert_eq!(answer.status(), StatusCode::NOT_FOUND);
}
