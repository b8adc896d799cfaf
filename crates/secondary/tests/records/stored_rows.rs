//! How far the rows go that all partitions keep in one place, as a restore reads it.

use std::time::Duration;

use skep_exporting::TargetError;
use skep_secondary::{Config, StoreLocation};
use skep_testkit::one_task::{create, rig};
use skep_testkit::stores::{Backend, Filled, documents, follow, rdbms};

use super::BACKEND;
use super::outage::recover;

fn config(location: &StoreLocation) -> Config {
    Config {
        location: location.clone(),
        ..Config::default()
    }
}

fn filled(location: &StoreLocation, partition: u32, instances: usize) -> Filled {
    let store = Filled::at(location.clone(), partition, Duration::from_millis(1));
    let mut rig = rig();
    create(&mut rig, instances);
    follow(&mut rig, &store);
    recover(&store);
    store
}

#[test]
fn a_place_says_whose_its_rows_are_and_how_far_they_go() {
    let config = config(&BACKEND.config().location);
    let Some(empty) = config.stored_rows().unwrap() else {
        // The embedded store is used instead of a server that is not here.
        return;
    };
    assert_eq!((empty.cluster, empty.half), (None, None));
    assert!(empty.positions.is_empty() && !empty.place.is_empty());
    let store = filled(&config.location, 1, 3);
    let rows = config.stored_rows().unwrap().unwrap();
    assert_eq!((rows.cluster.as_deref(), rows.half), (Some("test"), None));
    let only: Vec<u32> = rows.positions.keys().copied().collect();
    assert_eq!(only, [1]);
    assert_eq!(rows.positions[&1].entry, store.committed());
    assert!(rows.positions[&1].record > 0, "{rows:?}");
    assert_eq!(store.stop(), None);
    // What a purge notes beside the positions is no partition.
    config.purge("test", 5).unwrap();
    let rows = config.stored_rows().unwrap().unwrap();
    assert!(rows.positions.is_empty(), "{rows:?}");
}

/// A place, and what changes there as if a later version had written it.
fn of_later_version() -> Option<(StoreLocation, Box<dyn Fn()>)> {
    match BACKEND {
        Backend::Embedded => None,
        Backend::Postgres => {
            let server = skep_testbed::shared_postgres()?;
            let prefix = server.prefix();
            let later = format!("UPDATE {prefix}skep SET format = format + 1");
            let change = move || drop(server.sql(&later).unwrap());
            Some((rdbms(server, &prefix), Box::new(change)))
        }
        Backend::OpenSearch | Backend::Elasticsearch => {
            let server = BACKEND.search_server()?;
            let prefix = server.prefix();
            let owner = format!("/{prefix}-skep-state/_update/owner");
            let change = move || {
                drop(
                    server
                        .ask("POST", &owner, r#"{"doc":{"format":99}}"#)
                        .unwrap(),
                )
            };
            Some((documents(server, &prefix), Box::new(change)))
        }
    }
}

#[test]
fn rows_of_a_later_version_are_not_read() {
    let Some((location, change)) = of_later_version() else {
        return;
    };
    assert_eq!(filled(&location, 1, 1).stop(), None);
    change();
    let refused = config(&location).stored_rows().unwrap_err();
    assert!(
        matches!(&refused, TargetError::Foreign(reason) if reason.contains("by a later version of Skep")),
        "{refused:?}"
    );
}

/// The window that a writer had begun when its server was lost.
#[test]
fn a_window_that_was_not_written_to_its_end_is_named() {
    if !matches!(BACKEND, Backend::OpenSearch | Backend::Elasticsearch) {
        return;
    }
    let Some(server) = BACKEND.search_server() else {
        return;
    };
    let prefix = server.prefix();
    let location = documents(server, &prefix);
    assert_eq!(filled(&location, 1, 1).stop(), None);
    let progress = format!("/{prefix}-skep-state/_update/position-1");
    server
        .ask("POST", &progress, r#"{"doc":{"begun":1000}}"#)
        .unwrap();
    let rows = config(&location).stored_rows().unwrap().unwrap();
    assert_eq!(rows.half, Some(1));
}
