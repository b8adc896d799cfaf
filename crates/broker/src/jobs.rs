//! Jobs on their way to workers: streams with credit, waiting activations, and what becomes of jobs that nobody took.

pub(crate) mod delivered_jobs;
pub mod job_streams;
pub(crate) mod long_polling;
pub(crate) mod stream_receiver;
pub(crate) mod workers;
