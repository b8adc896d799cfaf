//! Counts of active elements and instances that a store keeps beside its rows.

use std::time::Duration;

use rusqlite::Connection;
use skep_protocol::Key;
use skep_query::COUNTED_BY;
use skep_query::entities::PROCESS_INSTANCE;
use skep_random::Random;
use skep_secondary::StoreLocation;
use skep_testkit::stores::{Backend, Filled, follow, rdbms};

use super::active_elements::{Counts, among_all, counted, deletion, deployed, scanned, step};
use super::active_instances::{self, ByDefinition};

/// A store whose tables are read from outside.
struct Kept {
    store: Filled,
    /// Of the tables, in PostgreSQL.
    prefix: String,
}

impl Kept {
    /// `None`: there is no server, which is reported.
    fn new(window: u64) -> Option<Kept> {
        let window = Duration::from_millis(window);
        if super::BACKEND == Backend::Embedded {
            return Some(Kept {
                store: Filled::at(StoreLocation::Embedded, 1, window),
                prefix: String::new(),
            });
        }
        let server = skep_testbed::shared_postgres()?;
        let prefix = server.prefix();
        Some(Kept {
            store: Filled::at(rdbms(server, &prefix), 1, window),
            prefix,
        })
    }

    /// The rows that a statement returns, their columns between bars. `@` stands for the prefix of tables.
    fn run(&self, sql: &str) -> Vec<String> {
        let sql = sql.replace('@', &self.prefix);
        if super::BACKEND == Backend::Embedded {
            let file = self.store.directory().join("query.sqlite");
            let connection = Connection::open(file).expect("the file");
            let mut statement = connection.prepare(&sql).expect("a statement");
            let rows = statement.query_map([], |row| row.get(0)).expect("rows");
            return rows.map(|row| row.expect("a text")).collect();
        }
        let server = skep_testbed::shared_postgres().expect("a server");
        let rows = server.sql(&sql).expect("rows");
        rows.lines().map(String::from).collect()
    }

    /// The counts of a definition as the store keeps them.
    fn kept(&self, definition: Key) -> Counts {
        let rows = self.run(&format!(
            "SELECT \"elementId\" || '|' || active || '|' || incidents FROM @active_element
                WHERE \"processDefinitionKey\" = {definition} AND (active <> 0 OR incidents <> 0)"
        ));
        let row = |row: &String| {
            let columns: Vec<&str> = row.split('|').collect();
            let number = |at: usize| columns[at].parse().expect("a number");
            (columns[0].to_string(), [number(1), number(2)])
        };
        rows.iter().map(row).collect()
    }

    /// The counts of instances as the store keeps them.
    fn kept_instances(&self) -> ByDefinition {
        let columns = COUNTED_BY.map(|at| {
            let name = PROCESS_INSTANCE.field(at).name;
            format!("coalesce(CAST(\"{name}\" AS TEXT), 'null') || '|'")
        });
        let rows = self.run(&format!(
            "SELECT {} || active || '|' || incidents FROM @active_instance WHERE active <> 0 OR incidents <> 0",
            columns.join(" || ")
        ));
        let row = |row: &String| {
            let (row, incidents) = row.rsplit_once('|').expect("columns");
            let (of, active) = row.rsplit_once('|').expect("columns");
            let counts = [active, incidents].map(|count| count.parse().expect("a number"));
            (of.to_string(), counts)
        };
        rows.iter().map(row).collect()
    }

    /// Whether queries are answered from the counts.
    fn is_counted(&self) -> bool {
        let sql = "SELECT '' || count(*) FROM @position WHERE partition = 1 AND counted = entry AND instances_counted = entry";
        let sql = match super::BACKEND {
            Backend::Embedded => sql.replace("partition = 1", "id = 1"),
            _ => sql.to_string(),
        };
        self.run(&sql) == ["1"]
    }
}

#[test]
fn a_store_keeps_the_counts_of_a_scan_after_any_sequence() {
    skep_sim::each(super::BACKEND.seeds(), |seed| {
        let window = [0, 5, 10_000][(seed % 3) as usize];
        let Some(mut kept) = Kept::new(window) else {
            return;
        };
        let (mut rig, mut random) = (deployed(), Random(seed));
        for n in 0..40 {
            step(&mut rig, &mut random);
            follow(&mut rig, &kept.store);
            if n % 8 == 5 {
                kept.store = kept.store.crashed();
            }
            if n % 10 == 9 {
                for process in ["called", "p", "q"] {
                    let definition = rig.definition(process);
                    // To search waits until all that was written is stored.
                    let scanned = scanned(&kept.store, definition, None);
                    assert_eq!(kept.kept(definition), scanned, "seed {seed}: {process}");
                }
                let scanned = active_instances::scanned(&kept.store);
                assert_eq!(kept.kept_instances(), scanned, "seed {seed}");
                assert!(kept.is_counted(), "seed {seed}");
            }
        }
    });
}

/// The engine refuses to delete what has not ended. The deletion comes from another one, in which the same instance did.
#[test]
fn what_is_deleted_while_it_is_active_counts_no_more() {
    let store = Filled::new(super::BACKEND, 1, Duration::from_millis(5));
    let mut rig = deployed();
    let [first, _] = [(); 2].map(|()| rig.create("p", "{}"));
    let job = rig
        .jobs("work")
        .into_iter()
        .find(|job| job.process_instance_key == first);
    rig.fail(&job.expect("a job"), 0, 0);
    follow(&mut rig, &store);
    let p = rig.definition("p");
    assert_eq!(counted(&store, p, None)["one"], [1, 1]);
    let running = |store: &Filled| {
        let counts = active_instances::counted(store);
        let of_p = counts
            .into_iter()
            .find(|(of, _)| of.starts_with(&p.to_string()));
        of_p.map(|(_, counts)| counts)
    };
    assert_eq!(running(&store), Some([1, 1]));
    let mut other = deployed();
    assert_eq!(other.create("p", "{}"), first);
    other.cancel(first).expect("canceled");
    other.batches.clear();
    other.send(deletion(first)).expect("deleted");
    follow(&mut other, &store);
    let left = Counts::from([("one".to_string(), [1, 0]), ("call".to_string(), [1, 0])]);
    assert_eq!(counted(&store, p, None), left);
    assert_eq!(among_all(&store, p), left);
    assert_eq!(counted(&store, p, Some(true)), Counts::new());
    assert_eq!(running(&store), Some([1, 0]));
    let instances = active_instances::counted(&store);
    assert_eq!(instances, active_instances::scanned(&store));
}

/// As after secondary storage was emptied, or turned on in a cluster that runs.
#[test]
fn elements_of_instances_that_are_older_than_the_store_count() {
    let Some(kept) = Kept::new(5) else {
        return;
    };
    let store = &kept.store;
    let mut rig = deployed();
    follow(&mut rig, store);
    let first = rig.create("p", "{}");
    let job = rig
        .jobs("work")
        .into_iter()
        .find(|job| job.process_instance_key == first);
    rig.batches.clear();
    rig.complete(&job.expect("a job"), "{}");
    follow(&mut rig, store);
    // Of the instance itself it knows a sequence flow.
    let active = store.find(&PROCESS_INSTANCE, r#"{"state": "ACTIVE"}"#);
    assert!(active.is_empty(), "{active:?}");
    let p = rig.definition("p");
    let begun = Counts::from([("then".to_string(), [1, 0])]);
    assert_eq!(counted(store, p, None), begun);
    assert_eq!(among_all(store, p), begun);
    // The instance counts for nothing: the store does not know that it is active.
    assert_eq!(active_instances::counted(store), ByDefinition::new());
    assert_eq!(kept.kept_instances(), ByDefinition::new());
    // While an earlier version writes, rows are counted.
    assert!(kept.is_counted());
    kept.run("UPDATE @position SET counted = entry - 1 RETURNING '1'");
    assert!(!kept.is_counted());
    assert_eq!(counted(store, p, None), begun);
    assert_eq!(among_all(store, p), begun);
}
