//! Jobs on their way to workers: streams with credit, waiting activations, and the return of jobs that nobody took.

pub(crate) mod delivered_jobs;
pub mod job_streams;
pub(crate) mod long_polling;
pub(crate) mod stream_receiver;
pub(crate) mod workers;
