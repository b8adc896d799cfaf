//! Connections: lean HTTP/1.1 and HTTP/2, and reading streams under flow control.

mod endpoint;
mod framed;
mod goaway;
mod http1;
mod http2;

pub(crate) use endpoint::Endpoint;
pub use endpoint::base_path;
pub(crate) use framed::{ByteStream, Decode, Framed};
pub(crate) use http1::{Call, Http1Pool};
pub(crate) use http2::{Http2Channel, Windows};
