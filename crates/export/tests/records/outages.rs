//! What becomes of secondary storage while its database is away, and when it is back.

use std::sync::Arc;
use std::time::{Duration, Instant};

use skep_export::{Place, Rdbms, RdbmsSettings};
use skep_model::builder::Bpmn;
use skep_query::entities::{ELEMENT_INSTANCE, JOB, PROCESS_INSTANCE};
use skep_query::{Query, QueryError, search};
use skep_testbed::Postgres;

use super::store::{Filled, follow};
use crate::backend::rdbms;
use crate::support::Rig;

fn rig() -> Rig {
    let mut rig = Rig::new();
    rig.record_batches();
    rig.deploy(
        Bpmn::process("p")
            .start("start")
            .service_task("task", "work")
            .end("end"),
    );
    rig
}

fn create(rig: &mut Rig, count: usize) {
    for _ in 0..count {
        rig.create("p", r#"{"a":[1,2]}"#);
    }
}

fn filled(place: Place) -> Filled {
    Filled::at(place, 1, Duration::from_millis(1))
}

/// Waits until everything is stored and nothing is in the way any more.
fn recover(store: &Filled) {
    let deadline = Instant::now() + Duration::from_secs(120);
    while store.durable() < store.committed() || store.fault().is_some() {
        assert!(Instant::now() < deadline, "{:?}", store.fault());
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Waits until something is in the way, and tells what.
fn fault(store: &Filled) -> String {
    let deadline = Instant::now() + Duration::from_secs(60);
    loop {
        if let Some(fault) = store.fault() {
            return fault;
        }
        assert!(Instant::now() < deadline, "nothing is in the way");
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn refusal(store: &Filled) -> String {
    let jobs = search(&JOB, "{}").unwrap();
    match store.try_ask(Query::Search(jobs)) {
        Err(QueryError::Unavailable(reason)) => reason,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_database_that_comes_late_gets_everything() {
    let Some(mut server) = Postgres::start_new() else {
        return;
    };
    server.stop();
    let store = filled(rdbms(&server, ""));
    let mut rig = rig();
    create(&mut rig, 5);
    follow(&mut rig, &store);
    let (fault, refusal) = (fault(&store), refusal(&store));
    let port = server.port().to_string();
    assert!(fault.contains(&port), "{fault}");
    assert!(refusal.contains(&port), "{refusal}");
    assert_eq!(store.durable(), 0, "the log is kept");
    server.start().unwrap();
    recover(&store);
    assert_eq!(store.find(&PROCESS_INSTANCE, "{}").len(), 5);
}

#[test]
fn crashes_of_the_database_lose_and_repeat_nothing() {
    let Some(mut server) = Postgres::start_new() else {
        return;
    };
    let store = filled(rdbms(&server, ""));
    let mut rig = rig();
    for round in 1..=4 {
        // It dies while it is written to, each time at another point.
        for _ in 0..20 {
            create(&mut rig, 2);
            follow(&mut rig, &store);
            std::thread::sleep(Duration::from_micros(300 * round));
        }
        server.kill();
        create(&mut rig, 10);
        follow(&mut rig, &store);
        server.start().unwrap();
        create(&mut rig, 1);
        follow(&mut rig, &store);
    }
    recover(&store);
    let instances = 4 * 51;
    assert_eq!(store.find(&PROCESS_INSTANCE, "{}").len(), instances);
    assert_eq!(store.find(&ELEMENT_INSTANCE, "{}").len(), 2 * instances);
    // What adds up shows repeats.
    let sum = server.sql("SELECT sum(completed), sum(terminated) FROM ended_element");
    assert_eq!(sum.unwrap(), format!("{instances}|0"));
    let sum = server.sql("SELECT sum(created) FROM job_statistics");
    assert_eq!(sum.unwrap(), instances.to_string());
}

#[test]
fn who_was_given_up_writes_no_more() {
    let Some(server) = skep_testbed::shared_postgres() else {
        return;
    };
    let prefix = server.prefix();
    let mut rig = rig();
    let (old, new) = (
        filled(rdbms(server, &prefix)),
        filled(rdbms(server, &prefix)),
    );
    create(&mut rig, 3);
    let first = std::mem::take(&mut rig.batches);
    old.follow(&first);
    assert_eq!(old.find(&PROCESS_INSTANCE, "{}").len(), 3);
    // Both go on with the same log, as two nodes that both think that it is theirs.
    create(&mut rig, 3);
    let second = std::mem::take(&mut rig.batches);
    new.follow(&first);
    new.follow(&second);
    old.follow(&second);
    recover(&new);
    assert_eq!(new.find(&PROCESS_INSTANCE, "{}").len(), 6);
    recover(&old);
    let counted = server.sql(&format!("SELECT sum(completed) FROM {prefix}ended_element"));
    assert_eq!(counted.unwrap(), "6");
}

#[test]
fn a_wrong_password_is_told() {
    let Some(server) = skep_testbed::shared_postgres() else {
        return;
    };
    let settings = RdbmsSettings {
        url: server.url(),
        username: Some("skep".to_string()),
        password: Some("wrong".to_string()),
        prefix: server.prefix(),
        auto_ddl: true,
    };
    let store = filled(Place::Rdbms(Arc::new(Rdbms::new(&settings).unwrap())));
    for told in [fault(&store), refusal(&store)] {
        assert!(told.contains("password authentication failed"), "{told}");
    }
}

#[test]
fn tables_of_another_cluster_are_not_touched() {
    let Some(server) = skep_testbed::shared_postgres() else {
        return;
    };
    let prefix = server.prefix();
    let store = filled(rdbms(server, &prefix));
    assert_eq!(store.find(&JOB, "{}").len(), 0);
    drop(store);
    let other = format!("UPDATE {prefix}skep SET cluster = 'other'");
    server.sql(&other).unwrap();
    let store = filled(rdbms(server, &prefix));
    for told in [fault(&store), refusal(&store)] {
        assert!(told.contains("belongs to the cluster other"), "{told}");
    }
}

#[test]
fn columns_that_are_new_are_added() {
    let Some(server) = skep_testbed::shared_postgres() else {
        return;
    };
    let prefix = server.prefix();
    let mut rig = rig();
    create(&mut rig, 1);
    let batches = std::mem::take(&mut rig.batches);
    let store = filled(rdbms(server, &prefix));
    store.follow(&batches);
    assert_eq!(store.find(&JOB, "{}").len(), 1);
    drop(store);
    // As an earlier version left it.
    let earlier = format!(
        "ALTER TABLE {prefix}job DROP COLUMN \"type\"; DROP TABLE {prefix}incident;
        UPDATE {prefix}skep SET shape = 'earlier'"
    );
    server.sql(&earlier).unwrap();
    let store = filled(rdbms(server, &prefix));
    store.follow(&batches);
    create(&mut rig, 1);
    follow(&mut rig, &store);
    assert_eq!(store.find(&JOB, r#"{"type": "work"}"#).len(), 1);
    assert_eq!(store.find(&JOB, "{}").len(), 2);
}

#[test]
fn a_stop_does_not_wait_for_a_database_that_is_silent() {
    let Some(server) = skep_testbed::shared_postgres() else {
        return;
    };
    let prefix = server.prefix();
    let store = filled(rdbms(server, &prefix));
    assert_eq!(store.find(&JOB, "{}").len(), 0);
    let hold = format!("BEGIN; LOCK TABLE {prefix}position; SELECT pg_sleep(60); COMMIT");
    std::thread::scope(|scope| {
        let held = scope.spawn(|| server.sql(&hold));
        let locks = format!(
            "SELECT count(*) FROM pg_locks WHERE granted AND mode = 'AccessExclusiveLock'
                AND relation = '{prefix}position'::regclass"
        );
        while server.sql(&locks).unwrap() == "0" {
            assert!(!held.is_finished());
        }
        let mut rig = rig();
        create(&mut rig, 1);
        follow(&mut rig, &store);
        // It writes, and waits for the lock.
        let waiting = locks.replace("granted AND mode = 'AccessExclusiveLock'", "NOT granted");
        while server.sql(&waiting).unwrap() == "0" {
            assert!(!held.is_finished());
        }
        drop(store);
        assert!(!held.is_finished(), "the stop has waited for the database");
        let end = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query LIKE 'BEGIN; LOCK TABLE%'";
        server.sql(end).unwrap();
    });
}
