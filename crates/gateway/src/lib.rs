//! The edge: REST v2 and gRPC, two front ends over one interface to the broker ([`skep_service::Broker`]).
//!
//! Both front ends do the same and nothing else: find the operation, decode the request into a
//! [`Command`](skep_protocol::Command), hand it to the broker, write the answer. There is no filter chain, no hand-off to
//! another thread and no task of our own per request; variables and headers pass through as JSON text. Only large answers to
//! browsers go through another thread, which compresses them (`rest::content_coding`).
//!
//! The limits:
//!
//! | What | Limit | At the limit |
//! |---|---|---|
//! | connections of a front end | [`GatewayConfig::max_connections`] | new connections wait in the listen queue |
//! | requests between decoding and answer | [`ExecutorConfig::slots`] | they wait at most [`GatewayConfig::request_timeout`], then 503; or 503 at once ([`OverloadPolicy`]) |
//! | bytes of larger request bodies | [`GatewayConfig::max_buffered_bytes`] | the body is not read further; 503 after [`GatewayConfig::body_timeout`] |
//! | one request | [`GatewayConfig::max_message_size`], [`MultipartLimits`] | 413, `RESOURCE_EXHAUSTED` |
//! | open job streams of a node and of a caller | `open_requests` | 503, `RESOURCE_EXHAUSTED` |
//! | waiting job activations of a node and of a caller | `open_requests` | they do not wait: without jobs 503, `RESOURCE_EXHAUSTED` |
//! | answers above 32 KiB that are being compressed | 2 | further ones are sent as they are |
//! | jobs on their way on a stream | [`GatewayConfig::job_stream_credit`] | no more are pushed |
//!
//! A command keeps its slot and its bytes ([`Held`](skep_protocol::command::Held)) until it was answered *and* the partition has
//! taken it out of its inbox, so clients that give up do not fill the inbox. Requests that wait on purpose (long polls, job
//! streams, `awaitCompletion`) hold neither while they wait.

#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::indexing_slicing))]

mod accept;
mod admission;
mod body;
mod budget;
mod call;
mod check;
mod config;
mod connection;
pub mod door;
mod failure_text;
mod grpc;
mod id_pattern;
mod json_errors;
pub mod metrics;
mod open_requests;
mod operators;
mod oversize;
mod pages;
mod rest;
mod server;
mod stop;
mod trace;
mod undelivered;
mod workers;

pub use check::Tenancy;
pub use config::{
    ExecutorConfig, GatewayConfig, Hooks, Lifetime, LongPolling, MultipartLimits, OverloadPolicy,
    Security, Tls,
};
pub use door::Login;
pub use door::guesses::GuessLimits;
pub use id_pattern::{DEFAULT_PATTERN, IdPattern};
pub use metrics::GatewayMetrics;
pub use operators::Operators;
pub use pages::Pages;
pub use rest::Faults as IdentityFaults;
pub use rest::content_coding::takes_gzip;
pub use rest::guard::{Denial, Guard};
pub use rest::openapi::OPENAPI;
pub use rest::operations;
pub use server::{Gateway, listen};
pub use trace::{RequestSpan, SpanListener, TraceParent};
