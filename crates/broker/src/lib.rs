//! The broker: partitions at work.
//!
//! A partition is an engine over a replicated log. [`partition::core`] joins the two without threads or IO (so that a
//! simulation can drive it); [`partition::thread`] gives it its thread, its log writer and its inbox. [`Broker`] routes
//! requests of the gateways to partitions, answers long polls and keeps the job streams.

#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::indexing_slicing))]

pub mod backup;
pub mod clock;
pub mod cluster;
pub mod config;
pub mod confirmation;
mod directory;
pub mod directory_view;
pub mod disk;
mod ending;
pub mod flow_control;
mod hosted;
mod hosting;
mod jobs;
mod known_state;
mod local;
pub mod metrics;
pub mod partition;
mod preparation;
mod queries;
mod replica_file;
mod router;
mod shared;
mod started;
mod watch;

use hosting::scaling;
pub use jobs::job_streams;
use jobs::{delivered_jobs, long_polling, stream_receiver, workers};
use queries::{asking, freshness};

pub use config::{BrokerConfig, ClusterConfig, NodeLease, REBALANCE_PACE};
pub use ending::LIMIT as STOP_LIMIT;
pub use hosted::Partitions;
pub use router::{Broker, OpenError};
pub use skep_transport::TlsFiles;
