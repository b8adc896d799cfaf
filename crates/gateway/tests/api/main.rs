//! The gateways over real sockets, against a broker that does what a test tells it.

mod arrays_for_objects;
mod bodies;
mod connections;
mod decisions;
mod described;
mod fake;
mod grpc;
mod http;
mod job_results;
mod large_jobs;
mod long_texts;
mod metrics;
mod modification;
mod openapi;
mod overload;
mod path_escapes;
mod rest_errors;
mod rest_routes;
mod schema;
mod shutdown;
mod spans;
mod statistics;
mod streams;
mod unreadable_variables;
mod waiting_at_shutdown;
mod wrong_values;
