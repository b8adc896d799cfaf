//! The hook for operators: the management port's endpoints, for callers of REST.

use std::fmt::Debug;

use bytes::Bytes;
use http::Response;
use http::request::Parts;
use skep_query::BoxFuture;

/// Carries out what operators ask for.
pub trait Operators: Debug + Send + Sync {
    /// The answer to a request that was let in. `path`: its segments below `/skep/v1/management/`. An error is a JSON object with a
    /// `message`.
    fn answer<'a>(
        &'a self,
        path: Vec<String>,
        request: &'a Parts,
        body: Bytes,
    ) -> BoxFuture<'a, Response<Bytes>>;
}
