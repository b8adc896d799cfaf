//! The hook for pages: asked for paths that the API does not have.

use std::fmt::Debug;

use bytes::Bytes;
use http::Response;
use http::request::Parts;

/// Pages for browsers beside the API.
pub trait Pages: Debug + Send + Sync {
    /// The answer to a request whose path the API does not have; `None` when it is no page either.
    fn answer(&self, request: &Parts) -> Option<Response<Bytes>>;
}
