//! The gateways over real sockets, against a broker that does what a test tells it.

mod arrays_for_objects;
mod bearer;
mod bodies;
mod connections;
mod constraints;
mod decisions;
mod deletion;
mod described;
mod documents;
mod fake;
mod grpc;
mod http;
mod identity;
mod job_results;
mod large_jobs;
mod login;
mod long_texts;
mod metrics;
mod modification;
mod newer_members;
mod openapi;
mod operations;
mod overload;
mod pages;
mod path_escapes;
mod rest_errors;
mod rest_routes;
mod schema;
mod searches;
mod shutdown;
mod spans;
mod stated_constraints;
mod statistics;
mod streams;
mod tenants;
mod unreadable_variables;
mod versions;
mod wait_states;
mod waiting_at_shutdown;
mod wrong_values;

/// Engine and stores behind [`searches`].
#[path = "../../../export/tests/backend/mod.rs"]
mod backend;
#[path = "../../../export/tests/opening/mod.rs"]
mod opening;
#[allow(dead_code)] // The tests of the stores use the rest.
#[path = "../../../export/tests/records/store.rs"]
mod store;
#[path = "../../../export/tests/records/story.rs"]
mod story;
#[path = "../../../engine/tests/support/mod.rs"]
mod support;

/// Where a store is that was given no place.
const BACKEND: backend::Backend = backend::Backend::Embedded;
