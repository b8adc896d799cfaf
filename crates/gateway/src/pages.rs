//! The hook for pages: asked for paths that the API does not have.

use std::fmt::Debug;

use bytes::Bytes;
use http::request::Parts;
use http::{HeaderMap, Response};

/// Pages for browsers beside the API.
pub trait Pages: Debug + Send + Sync {
    /// The answer to a request whose path the API does not have; `None` when it is no page either.
    fn answer(&self, request: &Parts) -> Option<Response<Bytes>>;

    /// The path under which a proxy offers this server to the browser that sent these headers, without a slash at its end; empty
    /// without one. It is part of cookies and addresses: letters, digits, `-`, `_`, `.` and `/`.
    fn base<'r>(&'r self, headers: &'r HeaderMap) -> &'r str;
}
