//! How far the rows in a database go, as a restore reads it.

use std::time::Duration;

use skep_exporting::TargetError;
use skep_secondary::{StoreLocation, StoredRows};
use skep_testkit::one_task::{create, rig};
use skep_testkit::stores::{Filled, follow, rdbms};

use super::BACKEND;
use super::outage::recover;

fn filled(location: &StoreLocation, partition: u32, instances: usize) -> Filled {
    let store = Filled::at(location.clone(), partition, Duration::from_millis(1));
    let mut rig = rig();
    create(&mut rig, instances);
    follow(&mut rig, &store);
    recover(&store);
    store
}

#[test]
fn a_database_says_whose_its_rows_are_and_how_far_they_go() {
    let location = BACKEND.config().location;
    let StoreLocation::Rdbms(database) = &location else {
        return;
    };
    assert_eq!(database.stored_rows(), Ok(StoredRows::default()), "empty");
    let store = filled(&location, 1, 3);
    let rows = database.stored_rows().unwrap();
    assert_eq!(rows.cluster.as_deref(), Some("test"));
    let only: Vec<u32> = rows.positions.keys().copied().collect();
    assert_eq!(only, [1]);
    assert_eq!(rows.positions[&1].entry, store.committed());
    assert!(rows.positions[&1].record > 0, "{rows:?}");
    assert_eq!(store.stop(), None);
    // What a purge notes in the same table is no partition.
    let config = skep_secondary::Config {
        location: location.clone(),
        ..skep_secondary::Config::default()
    };
    config.purge("test", 5).unwrap();
    let rows = database.stored_rows().unwrap();
    assert_eq!(rows.cluster.as_deref(), Some("test"));
    assert!(rows.positions.is_empty(), "{rows:?}");
}

#[test]
fn rows_of_a_later_version_are_not_read() {
    let Some(server) = skep_testbed::shared_postgres() else {
        return;
    };
    let prefix = server.prefix();
    let location = rdbms(server, &prefix);
    let StoreLocation::Rdbms(database) = &location else {
        return;
    };
    assert_eq!(filled(&location, 1, 1).stop(), None);
    let later = format!("UPDATE {prefix}skep SET format = format + 1");
    server.sql(&later).unwrap();
    let refused = database.stored_rows().unwrap_err();
    assert!(
        matches!(&refused, TargetError::Foreign(reason) if reason.contains("by a later version of Skep")),
        "{refused:?}"
    );
}
