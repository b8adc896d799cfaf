//! Batch operations over a real store: items are chosen by a filter on every partition, and what became of them is found.
#![allow(clippy::duplicate_mod)] // The suite is compiled for each back end.

#[path = "../../../export/tests/backend/mod.rs"]
mod backend;
#[path = "../support/mod.rs"]
mod support;

#[path = "."]
mod embedded {
    const BACKEND: crate::backend::Backend = crate::backend::Backend::Embedded;

    mod suite;
}

#[path = "."]
mod postgres {
    const BACKEND: crate::backend::Backend = crate::backend::Backend::Postgres;

    mod suite;
}
