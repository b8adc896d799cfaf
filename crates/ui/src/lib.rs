//! The web interface in the binary: files that `make ui` built from `ui/`, and the addresses under which browsers find them. It
//! is independent of the engine: the pages use the API like any client.
//!
//! | address | answer |
//! |---|---|
//! | `/` | to `/ui/` |
//! | `/ui/assets/…` | a file whose name changes with its content, kept for good |
//! | `/ui/…` | the page, never kept: what it shows is decided by its script |
//! | `/ui/studio…` | the same page, with a policy that lets the modeller style what it draws |
//! | addresses of Camunda's web applications | to the screen that shows the same (`moved`) |

#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::indexing_slicing))]

mod files;
mod moved;
mod page;
pub mod prefix;

use bytes::Bytes;
use http::header::{ALLOW, CACHE_CONTROL, CONTENT_TYPE, LOCATION};
use http::{HeaderMap, HeaderValue, Method, Response, StatusCode};

pub use files::version;

/// Settings of the web interface.
#[derive(Debug, Clone, Default)]
pub struct Settings {
    /// The path under which a proxy exposes this server (`skep.ui.base-path`); `/` and an empty string mean none.
    pub base_path: String,
    /// Whether the header `X-Forwarded-Prefix` of a request may name another path (`skep.ui.trust-forwarded-prefix`).
    pub trust_forwarded_prefix: bool,
    /// Address of Grafana for browsers (`skep.ui.grafana-url`); empty without one.
    pub grafana_url: String,
}

/// What the server asks of callers. Pages that know it ask only what can be answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// Nobody logs in, and everybody may do everything.
    Open,
    /// Callers log in, and may then do everything.
    Login,
    /// Callers log in, and may do what they were granted.
    Grants,
}

impl Access {
    fn name(self) -> &'static str {
        match self {
            Access::Open => "open",
            Access::Login => "login",
            Access::Grants => "grants",
        }
    }
}

/// What a browser asks for.
#[derive(Debug, Clone, Copy)]
pub struct Asked<'r> {
    pub method: &'r Method,
    pub path: &'r str,
    pub query: Option<&'r str>,
    pub headers: &'r HeaderMap,
    /// Whether the browser accepts gzip.
    pub takes_gzip: bool,
}

/// The web interface of a server.
#[derive(Debug)]
pub struct Interface {
    /// Path prefix added by a proxy, without a trailing slash.
    base: String,
    /// Whether a request may have another one.
    trusts_forwarded: bool,
    grafana: String,
    access: Access,
}

impl Interface {
    pub fn new(settings: &Settings, access: Access) -> Interface {
        Interface {
            base: settings.base_path.trim_end_matches('/').to_string(),
            trusts_forwarded: settings.trust_forwarded_prefix,
            grafana: settings.grafana_url.clone(),
            access,
        }
    }

    /// The answer to a browser; `None` if the path does not belong to the interface.
    pub fn answer(&self, asked: Asked<'_>) -> Option<Response<Bytes>> {
        let within = asked.path.strip_prefix("/ui").filter(|rest| {
            // `/uix` belongs to somebody else.
            rest.is_empty() || rest.starts_with('/')
        });
        let moved = match within {
            None => Some(moved::target(asked.path, asked.query)?),
            Some("") => Some("/".to_string()),
            Some(_) => None,
        };
        if !matches!(*asked.method, Method::GET | Method::HEAD) {
            return Some(only_for_reading());
        }
        if let Some(target) = moved {
            return Some(redirect(self.base(asked.headers), &target));
        }
        let within = within?.trim_start_matches('/');
        Some(match within.strip_prefix("assets/") {
            Some(_) => files::answer(within, asked.takes_gzip),
            None => page::answer(self, page::Document::of(within), asked.headers),
        })
    }

    /// The path under which the browser sees this server, without a slash at its end; empty without a proxy that adds one.
    pub fn base<'r>(&'r self, headers: &'r HeaderMap) -> &'r str {
        let forwarded = self.trusts_forwarded.then(|| prefix::forwarded(headers));
        forwarded.flatten().unwrap_or(&self.base)
    }
}

fn redirect(base: &str, target: &str) -> Response<Bytes> {
    match HeaderValue::try_from(format!("{base}/ui{target}")) {
        Ok(location) => {
            let mut response = status(StatusCode::FOUND);
            response.headers_mut().insert(LOCATION, location);
            response.headers_mut().insert(CACHE_CONTROL, NO_STORE);
            response
        }
        Err(_) => status(StatusCode::NOT_FOUND),
    }
}

const NO_STORE: HeaderValue = HeaderValue::from_static("no-store");
const HTML: HeaderValue = HeaderValue::from_static("text/html; charset=utf-8");

fn status(status: StatusCode) -> Response<Bytes> {
    let mut response = Response::new(Bytes::new());
    *response.status_mut() = status;
    response
}

fn only_for_reading() -> Response<Bytes> {
    let mut response = status(StatusCode::METHOD_NOT_ALLOWED);
    response
        .headers_mut()
        .insert(ALLOW, HeaderValue::from_static("GET, HEAD"));
    response
}

fn html(status: StatusCode, text: String) -> Response<Bytes> {
    let mut response = Response::new(Bytes::from(text));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HTML);
    response.headers_mut().insert(CACHE_CONTROL, NO_STORE);
    response
}

#[cfg(test)]
mod tests;
