//! A location shared by all partitions is emptied, and filled again from the beginning.

use std::time::Duration;

use skep_exporting::TargetError;
use skep_query::entities::{
    ELEMENT_INSTANCE, JOB_STATISTICS, PROCESS_DEFINITION, PROCESS_INSTANCE,
};
use skep_secondary::{Config, StoreLocation};

use super::BACKEND;
use skep_testkit::one_task::{create, rig};
use skep_testkit::stores::{Filled, follow};

fn config(location: &StoreLocation) -> Config {
    Config {
        location: location.clone(),
        ..Config::default()
    }
}

fn filled(location: &StoreLocation, instances: usize) -> Filled {
    let store = Filled::at(location.clone(), 1, Duration::from_millis(1));
    let mut rig = rig();
    create(&mut rig, instances);
    follow(&mut rig, &store);
    assert_eq!(store.find(&PROCESS_INSTANCE, "{}").len(), instances);
    store
}

#[test]
fn a_purge_empties_the_location_and_new_partitions_begin_at_the_beginning() {
    let location = BACKEND.config().location;
    let others = BACKEND.config().location;
    if matches!(location, StoreLocation::Embedded) {
        return;
    }
    // Nothing has been written yet.
    config(&location).purge("test", 1).unwrap();
    assert_eq!(filled(&location, 5).stop(), None);
    let other = filled(&others, 2);
    let refused = config(&location).purge("another", 2).unwrap_err();
    assert!(
        matches!(&refused, TargetError::Foreign(reason) if reason.contains("to the cluster test, and")),
        "{refused:?}"
    );
    // It is repeated after a crash.
    for _ in 0..2 {
        config(&location).purge("test", 2).unwrap();
    }
    let empty = Filled::at(location.clone(), 2, Duration::from_millis(1));
    for entity in [
        &PROCESS_INSTANCE,
        &PROCESS_DEFINITION,
        &ELEMENT_INSTANCE,
        &JOB_STATISTICS,
    ] {
        assert_eq!(empty.find(entity, "{}"), [] as [serde_json::Value; 0]);
    }
    // The log of the new partition is shorter than the one before.
    let new = filled(&location, 3);
    assert_eq!(new.find(&PROCESS_DEFINITION, "{}").len(), 1);
    new.check_pages();
    assert_eq!(other.find(&PROCESS_INSTANCE, "{}").len(), 2, "not ours");
    for store in [empty, new, other] {
        assert_eq!(store.stop(), None);
    }
}

#[test]
fn a_node_that_was_paused_in_a_purge_deletes_nothing_that_was_written_since() {
    let location = BACKEND.config().location;
    if matches!(location, StoreLocation::Embedded) {
        return;
    }
    let instances = |store: &Filled| store.find(&PROCESS_INSTANCE, "{}").len();
    assert_eq!(filled(&location, 2).stop(), None);
    config(&location).purge("test", 7).unwrap();
    let store = filled(&location, 3);
    // The same step of the same purge is repeated by a node that does not know of later events.
    config(&location).purge("test", 7).unwrap();
    assert_eq!(instances(&store), 3);
    let overtaken = config(&location).purge("test", 6).unwrap_err();
    assert!(
        matches!(&overtaken, TargetError::Busy(reason) if reason.contains("purge 7")),
        "{overtaken:?}"
    );
    assert_eq!(instances(&store), 3);
    assert_eq!(store.stop(), None);
    config(&location).purge("test", 8).unwrap();
    let empty = Filled::at(location.clone(), 1, Duration::from_millis(1));
    assert_eq!(instances(&empty), 0);
    assert_eq!(empty.stop(), None);
}
