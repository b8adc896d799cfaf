//! What tests of outages share: a store that is filled at once, and what is waited for.

use std::time::{Duration, Instant};

use skep_query::entities::JOB;
use skep_query::{Query, QueryError, search};
use skep_secondary::StoreLocation;

use skep_testkit::stores::Filled;

/// How long is waited for what comes about; a loaded machine takes its time.
pub const PATIENCE: Duration = Duration::from_secs(600);

pub fn filled(location: StoreLocation) -> Filled {
    Filled::at(location, 1, Duration::from_millis(1))
}

/// Waits until everything is stored and nothing is in the way any more.
pub fn recover(store: &Filled) {
    let deadline = Instant::now() + PATIENCE;
    while store.durable() < store.committed() || store.fault().is_some() {
        assert!(Instant::now() < deadline, "{:?}", store.fault());
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Waits until this is in the way.
pub fn fault(store: &Filled, told: &str) {
    let deadline = Instant::now() + PATIENCE;
    while !store.fault().is_some_and(|fault| fault.contains(told)) {
        assert!(Instant::now() < deadline, "{told}: {:?}", store.fault());
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Whoever asks is told of this. All that they are told.
pub fn refused(store: &Filled, told: &str) -> String {
    let jobs = search(&JOB, "{}").unwrap();
    match store.try_ask(Query::Search(jobs)) {
        Err(QueryError::Unavailable(reason)) => {
            assert!(reason.contains(told), "{reason}");
            reason
        }
        other => panic!("{told}: {other:?}"),
    }
}
