//! Shared by tests of outages: a store that is filled immediately, and conditions to wait for.

use std::time::{Duration, Instant};

use skep_query::entities::JOB;
use skep_query::{Query, QueryError, search};
use skep_secondary::StoreLocation;

use skep_testkit::stores::Filled;

/// Generous time limit: a loaded machine may be slow.
pub const PATIENCE: Duration = Duration::from_secs(600);

pub fn filled(location: StoreLocation) -> Filled {
    Filled::at(location, 1, Duration::from_millis(1))
}

/// Waits until everything is stored and there is no fault.
pub fn recover(store: &Filled) {
    let deadline = Instant::now() + PATIENCE;
    while store.durable() < store.committed() || store.fault().is_some() {
        assert!(Instant::now() < deadline, "{:?}", store.fault());
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Waits until the store has this fault.
pub fn fault(store: &Filled, wanted: &str) {
    let deadline = Instant::now() + PATIENCE;
    while !store.fault().is_some_and(|fault| fault.contains(wanted)) {
        assert!(Instant::now() < deadline, "{wanted}: {:?}", store.fault());
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Asserts that searches are refused with this text. Returns the whole reason.
pub fn refused(store: &Filled, wanted: &str) -> String {
    let jobs = search(&JOB, "{}").unwrap();
    match store.try_ask(Query::Search(jobs)) {
        Err(QueryError::Unavailable(reason)) => {
            assert!(reason.contains(wanted), "{reason}");
            reason
        }
        other => panic!("{wanted}: {other:?}"),
    }
}
