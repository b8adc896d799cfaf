//! Secondary storage while its database is down, and after it is back.

use std::net::TcpListener;
use std::sync::Arc;
use std::sync::mpsc::channel;
use std::time::Duration;

use skep_query::entities::{ELEMENT_INSTANCE, JOB, PROCESS_INSTANCE};
use skep_random::Random;
use skep_secondary::{Rdbms, RdbmsSettings, StoreLocation};
use skep_testbed::{Postgres, Proxy};

use super::active_elements::counted;
use super::active_instances;
use super::outage::{fault, filled, recover, refused};
use skep_testkit::one_task::{create, rig};
use skep_testkit::rig::Rig;
use skep_testkit::stores::rdbms;
use skep_testkit::stores::{Filled, follow};

/// Error of a database for a wrong password.
const WRONG: &str = "password authentication failed";

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
    let port = server.port().to_string();
    fault(&store, &port);
    refused(&store, &port);
    assert_eq!(store.durable(), 0, "the log is kept");
    assert!(
        store.pulse().behind_ms > 0,
        "pages say that rows are lacking"
    );
    server.start().unwrap();
    recover(&store);
    assert_eq!(store.find(&PROCESS_INSTANCE, "{}").len(), 5);
    assert_eq!(store.pulse().behind_ms, 0);
}

#[test]
fn crashes_of_the_database_lose_and_repeat_nothing() {
    let Some(mut server) = Postgres::start_new() else {
        return;
    };
    let store = filled(rdbms(&server, ""));
    let mut rig = rig();
    for round in 1..=4 {
        // It is killed during writes, each time at another point.
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
    // Sums reveal repeated writes.
    let sum = server.sql("SELECT sum(completed), sum(terminated) FROM ended_element");
    assert_eq!(sum.unwrap(), format!("{instances}|0"));
    for table in ["active_element", "active_instance"] {
        let sum = server.sql(&format!("SELECT sum(active), sum(incidents) FROM {table}"));
        assert_eq!(sum.unwrap(), format!("{instances}|0"), "{table}");
    }
    let sum = server.sql("SELECT sum(created) FROM job_statistics");
    assert_eq!(sum.unwrap(), instances.to_string());
}

#[test]
fn tables_of_an_earlier_version_get_their_counts_of_active_elements_at_the_first_start() {
    let Some(server) = skep_testbed::shared_postgres() else {
        return;
    };
    let prefix = server.prefix();
    let run = |script: &str| server.sql(&script.replace('@', &prefix)).unwrap();
    let store = filled(rdbms(server, &prefix));
    let mut rig = rig();
    create(&mut rig, 3);
    for job in rig.jobs("work") {
        rig.complete(&job, "{}");
    }
    let begin = |rig: &mut Rig, store: &Filled, count| {
        for _ in 0..count {
            rig.create("p", "{}");
        }
        follow(rig, store);
        recover(store);
    };
    begin(&mut rig, &store, 2);
    let definition = rig.definition("p");
    let at_task = |store: &Filled| counted(store, definition, None)["task"];
    assert_eq!(at_task(&store), [2, 0]);
    // Another number shows where the answer comes from.
    run("UPDATE @active_element SET active = 77 WHERE \"elementId\" = 'task'");
    assert_eq!(at_task(&store), [77, 0]);
    // Another node with an earlier version writes rows: queries count them.
    run("UPDATE @position SET counted = entry - 1 WHERE partition = 1");
    assert_eq!(at_task(&store), [2, 0]);
    // The next writer counts, and goes on from there.
    let store = store.crashed();
    begin(&mut rig, &store, 1);
    assert_eq!(at_task(&store), [3, 0]);
    let counted = "SELECT active, counted = entry FROM @active_element, @position
        WHERE \"elementId\" = 'task' AND @position.partition = 1";
    assert_eq!(run(counted), "3|t");
    run(
        "DROP TABLE @active_element; ALTER TABLE @position DROP COLUMN counted; UPDATE @skep SET shape = 'earlier'",
    );
    assert_eq!(at_task(&store), [3, 0]);
    let store = store.crashed();
    begin(&mut rig, &store, 1);
    assert_eq!(run(counted), "4|t");
    assert_eq!(at_task(&store), [4, 0]);
}

/// An earlier version counts the elements, but not the instances.
#[test]
fn tables_of_an_earlier_version_get_their_counts_of_active_instances_at_the_first_start() {
    let Some(server) = skep_testbed::shared_postgres() else {
        return;
    };
    let prefix = server.prefix();
    let run = |script: &str| server.sql(&script.replace('@', &prefix)).unwrap();
    let store = filled(rdbms(server, &prefix));
    let mut rig = rig();
    let begin = |rig: &mut Rig, store: &Filled, count| {
        create(rig, count);
        follow(rig, store);
        recover(store);
    };
    begin(&mut rig, &store, 2);
    let active = |store: &Filled| {
        let counted = active_instances::counted(store).into_values();
        counted.collect::<Vec<_>>()
    };
    assert_eq!(active(&store), [[2, 0]]);
    // Another number shows where the answer comes from.
    run("UPDATE @active_instance SET active = 77");
    assert_eq!(active(&store), [[77, 0]]);
    // Another node with an earlier version writes rows: queries count them.
    run("UPDATE @position SET instances_counted = entry - 1 WHERE partition = 1");
    assert_eq!(active(&store), [[2, 0]]);
    // The next writer counts, and goes on from there.
    let store = store.crashed();
    begin(&mut rig, &store, 1);
    let counted = "SELECT active, instances_counted = entry FROM @active_instance, @position
        WHERE @position.partition = 1";
    assert_eq!(run(counted), "3|t");
    assert_eq!(active(&store), [[3, 0]]);
    run(
        "DROP TABLE @active_instance; ALTER TABLE @position DROP COLUMN instances_counted;
        UPDATE @skep SET shape = 'earlier'",
    );
    assert_eq!(active(&store), [[3, 0]]);
    let store = store.crashed();
    begin(&mut rig, &store, 1);
    assert_eq!(run(counted), "4|t");
    assert_eq!(active(&store), [[4, 0]]);
}

/// Writers lock their position first, and rows after it. A script that locks them in the other order is a deadlock, which the database
/// notices a second after the last one began to wait.
#[test]
fn tables_are_brought_up_to_date_while_another_partition_writes() {
    let Some(server) = skep_testbed::shared_postgres() else {
        return;
    };
    let prefix = server.prefix();
    let run = |script: &str| server.sql(&script.replace('@', &prefix));
    let store = filled(rdbms(server, &prefix));
    let mut rig = rig();
    create(&mut rig, 1);
    follow(&mut rig, &store);
    recover(&store);
    run("INSERT INTO @position VALUES (2, 0, 0, 0); UPDATE @skep SET shape = 'earlier'").unwrap();
    let writes = "BEGIN; UPDATE @position SET entry = 1 WHERE partition = 2; SELECT pg_sleep(2);
        UPDATE @process_instance SET state = 'ACTIVE' WHERE state = 'none'; COMMIT";
    std::thread::scope(|scope| {
        let writer = scope.spawn(|| run(writes));
        let holds = "SELECT count(*) FROM pg_stat_activity WHERE query LIKE '%@position%pg_sleep%' AND wait_event = 'PgSleep'";
        while run(holds).unwrap() == "0" {
            std::thread::sleep(Duration::from_millis(5));
        }
        let store = store.crashed();
        create(&mut rig, 1);
        follow(&mut rig, &store);
        recover(&store);
        assert_eq!(writer.join().unwrap().map(drop), Ok(()));
        assert_eq!(store.fault(), None);
    });
}

#[test]
fn a_superseded_node_cannot_write_any_more() {
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
    // Both continue with the same log, like two nodes that each consider the location their own.
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
fn a_wrong_password_is_reported() {
    let Some(server) = skep_testbed::shared_postgres() else {
        return;
    };
    let settings = RdbmsSettings {
        url: server.url(),
        username: Some("skep".to_string()),
        password: Some("wrong".to_string()),
        prefix: server.prefix(),
        auto_ddl: true,
        tenants: false,
    };
    let store = filled(StoreLocation::Rdbms(Arc::new(
        Rdbms::new(&settings).unwrap(),
    )));
    fault(&store, WRONG);
    refused(&store, WRONG);
}

/// A location in the database of a server, for this user.
fn place_of(url: String, user: &str, prefix: &str) -> StoreLocation {
    let settings = RdbmsSettings {
        url,
        username: Some(user.to_string()),
        password: Some("secret".to_string()),
        prefix: prefix.to_string(),
        auto_ddl: true,
        tenants: false,
    };
    StoreLocation::Rdbms(Arc::new(Rdbms::new(&settings).unwrap()))
}

#[test]
fn a_password_changed_under_load_is_reported_and_nothing_is_lost() {
    let Some(server) = Postgres::start_new() else {
        return;
    };
    server
        .sql("CREATE ROLE writer LOGIN SUPERUSER PASSWORD 'secret'")
        .unwrap();
    let store = filled(place_of(server.url(), "writer", ""));
    let mut rig = rig();
    create(&mut rig, 5);
    follow(&mut rig, &store);
    recover(&store);
    server.sql("ALTER ROLE writer PASSWORD 'other'").unwrap();
    server.drop_connections().unwrap();
    create(&mut rig, 5);
    follow(&mut rig, &store);
    fault(&store, WRONG);
    refused(&store, WRONG);
    server.sql("ALTER ROLE writer PASSWORD 'secret'").unwrap();
    recover(&store);
    assert_eq!(store.find(&PROCESS_INSTANCE, "{}").len(), 10);
}

#[test]
fn a_database_that_is_full_gets_the_rest_when_it_has_room() {
    let Some(server) = Postgres::start_new() else {
        return;
    };
    // PostgreSQL's write-ahead log has files of 16 MiB, which exist already.
    if let Err(why) = server.limit_files(Some(17 << 20)) {
        panic!("prlimit: {why}");
    }
    let store = filled(rdbms(&server, ""));
    let mut rig = rig();
    let mut random = Random(1);
    for _ in 0..30 {
        rig.create("p", &format!(r#"{{"v":"{}"}}"#, random.noise(1 << 20)));
    }
    follow(&mut rig, &store);
    fault(&store, "could not");
    assert!(store.durable() < store.committed(), "the log is kept");
    server.limit_files(None).unwrap();
    recover(&store);
    assert_eq!(store.find(&PROCESS_INSTANCE, "{}").len(), 30);
    let sum = server.sql("SELECT sum(created) FROM job_statistics");
    assert_eq!(sum.unwrap(), "30");
}

#[test]
fn a_database_far_away_gets_everything_and_answers() {
    let Some(server) = skep_testbed::shared_postgres() else {
        return;
    };
    let proxy = Proxy::start(server.port(), Duration::from_millis(40)).unwrap();
    let url = format!("jdbc:postgresql://127.0.0.1:{}/postgres", proxy.port());
    let store = filled(place_of(url, "skep", &server.prefix()));
    let mut rig = rig();
    for _ in 0..10 {
        create(&mut rig, 10);
        follow(&mut rig, &store);
    }
    // Searches wait until acknowledged work is stored.
    assert_eq!(store.find(&PROCESS_INSTANCE, "{}").len(), 100);
    recover(&store);
    assert_eq!(store.find(&JOB, "{}").len(), 100);
}

#[test]
fn connections_are_encrypted_and_certificates_checked_as_the_url_says() {
    let Some(mut server) = Postgres::start_new() else {
        return;
    };
    let plain = filled(place_of(
        format!("{}?sslmode=require", server.url()),
        "skep",
        "a_",
    ));
    fault(&plain, "server does not support TLS");
    drop(plain);
    let own = rcgen::generate_simple_self_signed(vec!["127.0.0.1".to_string()]).unwrap();
    let (pem, key) = (own.cert.pem(), own.signing_key.serialize_pem());
    server.secure(&pem, &key).unwrap();
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path().join("root.pem");
    std::fs::write(&root, pem).unwrap();
    let root = root.display();
    for (n, (parameters, encrypted)) in [
        ("sslmode=disable".to_string(), Some("f")),
        ("sslmode=prefer".to_string(), Some("t")),
        ("sslmode=require".to_string(), Some("t")),
        (format!("sslmode=verify-full&sslrootcert={root}"), Some("t")),
        ("sslmode=verify-ca".to_string(), None),
    ]
    .into_iter()
    .enumerate()
    {
        let url = format!("{}?{parameters}&ApplicationName=store{n}", server.url());
        let store = filled(place_of(url, "skep", &format!("t{n}_")));
        let Some(encrypted) = encrypted else {
            fault(&store, "sslrootcert");
            refused(&store, "sslrootcert");
            continue;
        };
        let mut rig = rig();
        create(&mut rig, 2);
        follow(&mut rig, &store);
        assert_eq!(store.find(&PROCESS_INSTANCE, "{}").len(), 2, "{parameters}");
        let seen = server.sql(&format!(
            "SELECT DISTINCT ssl FROM pg_stat_ssl JOIN pg_stat_activity USING (pid) WHERE application_name = 'store{n}'"
        ));
        assert_eq!(seen.unwrap(), encrypted, "{parameters}");
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
    fault(&store, "belongs to the cluster other");
    refused(&store, "belongs to the cluster other");
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
    // As left by an earlier version.
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
fn an_index_of_an_earlier_version_is_made_again() {
    let Some(server) = skep_testbed::shared_postgres() else {
        return;
    };
    let prefix = server.prefix();
    let mut rig = rig();
    create(&mut rig, 1);
    let batches = std::mem::take(&mut rig.batches);
    let filled_once = || {
        let store = filled(rdbms(server, &prefix));
        store.follow(&batches);
        assert_eq!(store.find(&JOB, "{}").len(), 1);
    };
    filled_once();
    // As left by an earlier version.
    let name = format!("{prefix}element_instance_2");
    let earlier = format!(
        "DROP INDEX {name};
        CREATE INDEX {name} ON {prefix}element_instance (left(\"elementId\", 200), \"processDefinitionKey\");
        UPDATE {prefix}skep SET shape = 'earlier'"
    );
    server.sql(&earlier).unwrap();
    let has_start = format!(
        "SELECT count(*) FROM pg_indexes WHERE indexname = '{name}' AND indexdef LIKE '%startDate%'"
    );
    assert_eq!(server.sql(&has_start).unwrap().trim(), "0");
    filled_once();
    assert_eq!(server.sql(&has_start).unwrap().trim(), "1");
}

#[test]
fn a_stop_does_not_wait_for_a_database_that_lets_nobody_in() {
    // It accepts connections, but never answers.
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    // Longer than the test waits.
    let url = format!("postgresql://127.0.0.1:{port}/silent?connectTimeout=600");
    let store = filled(place_of(url, "skep", ""));
    let _connected = listener.accept().unwrap();
    let (finished, ended) = channel();
    std::thread::spawn(move || {
        drop(store);
        let _ = finished.send(());
    });
    let ended = ended.recv_timeout(Duration::from_secs(180));
    assert!(ended.is_ok(), "the stop waits for the database");
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
