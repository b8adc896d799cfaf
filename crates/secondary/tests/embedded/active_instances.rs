//! Counts of active process instances in files of earlier versions, some of which count active elements only.

use rusqlite::Connection;
use skep_query::entities::PROCESS_INSTANCE;
use skep_query::{Condition, Groups, Measure, Op, Search, Value};

use super::active_elements::{begun, change, group};
use super::{Filled, file};

/// How many instances are active.
fn active(filled: &Filled) -> i64 {
    let is_active = Condition::Field {
        field: PROCESS_INSTANCE.column("state"),
        op: Op::Eq(Value::text("ACTIVE")),
    };
    let groups = Groups {
        search: Search::all(&PROCESS_INSTANCE, vec![is_active], 0),
        by: vec![PROCESS_INSTANCE.column("processDefinitionId")],
        span: None,
        measures: vec![Measure::Rows],
    };
    let row = group(filled, groups);
    assert_eq!(row[0].as_text(), Some("p"));
    row[1].as_int().unwrap()
}

#[test]
fn answers_come_from_the_counts_while_they_are_those_of_the_rows() {
    let directory = tempfile::tempdir().unwrap();
    let (batches, _) = begun(3);
    let filled = Filled::open(directory.path(), batches.clone());
    filled.has(3);
    assert_eq!(active(&filled), 3);
    // Another number shows where the answer comes from.
    let wrong = "UPDATE active_instance SET active = 77";
    change(directory.path(), wrong);
    assert_eq!(active(&filled), 77);
    // As after an earlier version has written rows, and counted the elements alone.
    let earlier = "UPDATE position SET instances_counted = entry - 1";
    change(directory.path(), earlier);
    assert_eq!(active(&filled), 3);
    drop(filled);
    let filled = Filled::open(directory.path(), batches);
    filled.has(3);
    assert_eq!(active(&filled), 3);
    let connection = Connection::open(file(directory.path())).unwrap();
    let sql = "SELECT active, instances_counted = entry FROM active_instance, position";
    let counted = connection.query_row(sql, [], |row| Ok((row.get(0)?, row.get(1)?)));
    assert_eq!(counted, Ok((3, true)));
}

#[test]
fn a_file_whose_version_counted_elements_only_is_counted_once_at_the_first_start() {
    let directory = tempfile::tempdir().unwrap();
    let (batches, _) = begun(5);
    let (before, after) = batches.split_at(batches.len() - 2);
    let filled = Filled::open(directory.path(), before.to_vec());
    filled.has(3);
    drop(filled);
    change(
        directory.path(),
        "DROP TRIGGER active_instance_forgotten; DROP TABLE active_instance; ALTER TABLE position DROP COLUMN instances_counted;
        UPDATE active_element SET active = 55",
    );
    let filled = Filled::open(directory.path(), before.to_vec());
    filled.has(3);
    assert_eq!(active(&filled), 3);
    // The counts of elements hold, and are not made again.
    let connection = Connection::open(file(directory.path())).unwrap();
    let kept = connection.query_row("SELECT active FROM active_element", [], |row| row.get(0));
    assert_eq!(kept, Ok(55));
    filled.follow(after);
    filled.has(5);
    assert_eq!(active(&filled), 5);
    // A later start counts nothing again.
    drop(filled);
    change(directory.path(), "UPDATE active_instance SET active = 77");
    let filled = Filled::open(directory.path(), batches);
    filled.has(5);
    assert_eq!(active(&filled), 77);
}
