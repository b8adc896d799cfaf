//! The API's description, in our own words; served at `/v2/openapi.json`.

use bytes::Bytes;
use http::Response;

use super::{RestBody, encode};

/// OpenAPI 3.0 document of the operations that exist.
pub const OPENAPI: &str = include_str!("../../openapi/skep-v2.json");

pub fn document() -> Response<RestBody> {
    encode::json(Bytes::from_static(OPENAPI.as_bytes()))
}
