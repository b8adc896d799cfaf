//! Whatever a search may ask for, every store understands it.
#![allow(clippy::duplicate_mod)] // The suite is compiled for each back end.

#[path = "../backend/mod.rs"]
mod backend;
#[path = "../opening/mod.rs"]
mod opening;

use std::sync::Arc;

use skep_export::{Config, LogProgress, Store};

use opening::{Log, partition};

#[path = "."]
mod embedded {
    const BACKEND: crate::backend::Backend = crate::backend::Backend::Embedded;

    pub mod suite;
}

#[path = "."]
mod postgres {
    const BACKEND: crate::backend::Backend = crate::backend::Backend::Postgres;

    mod suite;
}

#[path = "."]
mod opensearch {
    const BACKEND: crate::backend::Backend = crate::backend::Backend::OpenSearch;

    mod suite;
}

#[path = "."]
mod elasticsearch {
    const BACKEND: crate::backend::Backend = crate::backend::Backend::Elasticsearch;

    mod suite;
}

#[test]
fn a_file_of_another_format_is_not_touched() {
    let directory = tempfile::tempdir().expect("a directory");
    embedded::suite::open(&directory).stop();
    let file = directory.path().join("query.sqlite");
    let connection = rusqlite::Connection::open(&file).expect("a database");
    connection
        .pragma_update(None, "user_version", 99)
        .expect("a version");
    drop(connection);
    let progress = Arc::new(LogProgress::default());
    let of = partition(1, directory.path());
    let opened = Store::open(of, Config::default(), Log::default(), progress);
    let error = opened.err().expect("it is refused").to_string();
    assert!(error.contains("format 99"), "{error}");
}
