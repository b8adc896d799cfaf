//! A client and a job worker for the Camunda 8 REST v2 and Zeebe gRPC interfaces.
//!
//! One [`Client`] speaks either transport; everything else in this crate is the same for both.
//! Variables travel as JSON text in both directions: nothing here parses them.
//!
//! ```no_run
//! use skep_client::{Client, ClientConfig, CreateInstance, Outcome, Worker};
//!
//! # async fn example() -> Result<(), skep_client::Error> {
//! let client = Client::rest(ClientConfig::new("http://localhost:8080"))?;
//! client
//!     .create_instance(&CreateInstance::latest("order").variables(r#"{"amount": 12}"#))
//!     .await?;
//! let worker = Worker::builder(client, "charge-card")
//!     .max_jobs(16)
//!     .build(async |job| {
//!         println!("job {} with {}", job.key, job.variables);
//!         Outcome::complete()
//!     });
//! worker.run().await;
//! # Ok(())
//! # }
//! ```
//!
//! # Limits
//! * An answer or a pushed job may be [`ClientConfig::max_message_size`] bytes, 16 MiB unless changed.
//! * A worker holds at most [`WorkerBuilder::max_jobs`] jobs. At the bound it stops reading its
//!   stream, so that flow control holds the server back: unread bytes are bounded by
//!   [`ClientConfig::stream_window`].
//! * A client opens [`ClientConfig::connections`] connections (HTTP/2) or keeps that many idle
//!   ones (HTTP/1.1, which opens one more for each request beyond them), and one per job stream.
//! * Credentials ([`ClientConfig::authorization`]) travel with every request: as clear text unless the address is one of `https`.

#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::indexing_slicing))]

mod client;
mod config;
mod error;
mod grpc;
mod job;
mod net;
mod rest;
mod retry;
mod types;
mod worker;

pub use client::{Client, PreparedCreate, Transport};
pub use config::{Authorization, ClientConfig, HttpVersion, Renewal};
pub use error::{Code, Error, Problem};
pub use job::{ActivateJobs, FailJob, Job, JobStream, StreamJobs, ThrowError};
pub use net::base_path;
pub use retry::{Backoff, RetryPolicy};
pub use types::{
    BrokerInfo, CorrelatedMessage, CreateInstance, Deployed, Deployment, Instance, InstanceResult,
    Message, PartitionInfo, ProcessRef, PublishedMessage, Resource, Topology,
};
pub use worker::{
    Delivery, Finished, Outcome, OutcomeKind, Worker, WorkerBuilder, WorkerObserver, WorkerSummary,
};
