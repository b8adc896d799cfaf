//! Every store supports every search.
#![allow(clippy::duplicate_mod)] // The suite is compiled for each back end.

use std::sync::Arc;

use skep_exporting::LogProgress;
use skep_secondary::{Config, Store};

use skep_testkit::committed_log::Log;
use skep_testkit::stores::partition;

#[path = "."]
mod embedded {
    const BACKEND: skep_testkit::stores::Backend = skep_testkit::stores::Backend::Embedded;

    pub mod suite;
}

#[path = "."]
mod postgres {
    const BACKEND: skep_testkit::stores::Backend = skep_testkit::stores::Backend::Postgres;

    mod suite;
}

#[path = "."]
mod opensearch {
    const BACKEND: skep_testkit::stores::Backend = skep_testkit::stores::Backend::OpenSearch;

    mod suite;
}

#[path = "."]
mod elasticsearch {
    const BACKEND: skep_testkit::stores::Backend = skep_testkit::stores::Backend::Elasticsearch;

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

/// Files of an earlier version lack only the tables of users and permissions. Builds of November 2026 called a file with these tables
/// format 9.
#[test]
fn a_file_gets_the_tables_that_it_lacks_and_keeps_its_format() {
    for format in [8, 9] {
        missing_tables_and_columns_are_added(format);
    }
}

fn missing_tables_and_columns_are_added(format: i64) {
    let directory = tempfile::tempdir().expect("a directory");
    embedded::suite::open(&directory).stop();
    let file = directory.path().join("query.sqlite");
    let tables = |connection: &rusqlite::Connection| -> Vec<String> {
        let sql = "SELECT name FROM sqlite_master WHERE tbl_name LIKE 'identity_%' ORDER BY name";
        let mut statement = connection.prepare(sql).expect("a statement");
        let names = statement.query_map([], |row| row.get(0)).expect("names");
        names.map(|name| name.expect("a name")).collect()
    };
    let connection = rusqlite::Connection::open(&file).expect("a database");
    let there = tables(&connection);
    assert!(there.contains(&"identity_member".to_string()), "{there:?}");
    for table in there
        .iter()
        .filter(|name| !name.starts_with("sqlite") && name.matches('_').count() < 3)
    {
        let _ = connection.execute_batch(&format!("DROP TABLE IF EXISTS {table}"));
    }
    connection
        .pragma_update(None, "user_version", format)
        .expect("a version");
    drop(connection);
    embedded::suite::open(&directory).stop();
    let connection = rusqlite::Connection::open(&file).expect("a database");
    assert_eq!(tables(&connection), there);
    let version: i64 = connection
        .pragma_query_value(None, "user_version", |row| row.get(0))
        .expect("a version");
    assert_eq!(version, format);
}
