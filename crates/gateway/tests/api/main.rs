//! The gateways over real sockets, against a broker that does what a test tells it.

mod connections;
mod fake;
mod grpc;
mod http;
mod metrics;
mod openapi;
mod overload;
mod rest_errors;
mod rest_routes;
mod schema;
mod shutdown;
mod spans;
mod streams;
