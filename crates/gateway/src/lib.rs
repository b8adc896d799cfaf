//! The edge: REST v2 and gRPC, two front ends over one door to the broker ([`skep_protocol::service::Broker`]).
//!
//! Both front ends do the same and nothing else: find the operation, decode the request into a
//! [`Command`](skep_protocol::Command), hand it to the broker, write the answer. There is no filter chain, no hand-off to
//! another thread and no task per request of ours; variables and headers pass through as the JSON text that they are.
//!
//! What bounds what:
//!
//! | What | Bound | At the bound |
//! |---|---|---|
//! | connections of a front end | [`GatewayConfig::max_connections`] | new ones wait in the listen queue |
//! | requests between decoding and answer | [`ExecutorConfig::slots`] | they wait, or 503 ([`OverloadPolicy`]) |
//! | bytes of larger request bodies | [`GatewayConfig::max_buffered_bytes`] | the body is not read further |
//! | one request | [`GatewayConfig::max_message_size`], [`MultipartLimits`] | 413, `RESOURCE_EXHAUSTED` |
//! | jobs on their way on a stream | [`GatewayConfig::job_stream_credit`] | no more are pushed |
//!
//! Requests that wait for something that the client asked to wait for (long polls, job streams, `awaitCompletion`) hold
//! neither a slot nor buffered bytes while they wait.

mod admission;
mod call;
mod check;
mod config;
mod connection;
mod detail;
mod grpc;
pub mod metrics;
mod oversize;
mod rest;
mod server;
mod stop;
mod trace;
mod undelivered;
mod words;

pub use config::{ExecutorConfig, GatewayConfig, LongPolling, MultipartLimits, OverloadPolicy};
pub use metrics::GatewayMetrics;
pub use rest::openapi::OPENAPI;
pub use server::Gateway;
pub use trace::{RequestSpan, SpanListener, TraceParent};
