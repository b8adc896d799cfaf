//! The gateways over real sockets, against a broker that does what a test tells it.

mod bodies;
mod connections;
mod decisions;
mod described;
mod fake;
mod grpc;
mod http;
mod job_results;
mod metrics;
mod openapi;
mod overload;
mod probe_arrays;
mod probe_large_jobs;
mod probe_limits;
mod probe_long_texts;
mod probe_paths;
mod probe_variables;
mod probe_waiting;
mod rest_errors;
mod rest_routes;
mod schema;
mod shutdown;
mod spans;
mod streams;
