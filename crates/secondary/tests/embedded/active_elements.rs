//! Counts of active elements in files of earlier versions, which change rows and not the counts.

use std::path::Path;
use std::sync::mpsc;

use bytes::Bytes;
use rusqlite::Connection;
use skep_query::{ActiveElements, Answer, Consistency, Groups, Query, Row};

use skep_testkit::one_task;

use super::{Filled, file};

/// Batches that begin this many instances, and the key of their definition.
pub fn begun(instances: usize) -> (Vec<Bytes>, skep_protocol::Key) {
    let mut rig = one_task::rig();
    one_task::create(&mut rig, instances);
    let batches = std::mem::take(&mut rig.batches).into_iter();
    let batches = batches.map(|(_, batch)| batch.into()).collect();
    (batches, rig.definition("p"))
}

/// The only group.
pub fn group(filled: &Filled, groups: Groups) -> Row {
    let (done, answer) = mpsc::channel();
    let query = Query::Groups(groups);
    filled
        .store
        .query(query, Consistency::ReadYourWrites, move |answered| {
            let _ = done.send(answered);
        });
    let (answer, behind) = answer.recv().unwrap().unwrap();
    assert_eq!(behind, 0);
    let Answer::Rows(rows) = answer else {
        panic!("{answer:?}");
    };
    let [row] = rows.as_slice() else {
        panic!("{rows:?}");
    };
    row.clone()
}

/// How many instances stand at the task.
fn at_task(filled: &Filled, definition: skep_protocol::Key) -> i64 {
    let asked = ActiveElements {
        definition,
        has_incident: None,
    };
    let row = group(filled, asked.groups());
    assert_eq!(row[0].as_text(), Some("task"));
    assert_eq!(row[2].as_int(), Some(0));
    row[1].as_int().unwrap()
}

pub fn change(directory: &Path, script: &str) {
    let connection = Connection::open(file(directory)).unwrap();
    connection.execute_batch(script).unwrap();
}

#[test]
fn answers_come_from_the_counts_while_they_are_those_of_the_rows() {
    let directory = tempfile::tempdir().unwrap();
    let (batches, definition) = begun(3);
    let filled = Filled::open(directory.path(), batches.clone());
    filled.has(3);
    assert_eq!(at_task(&filled, definition), 3);
    // Another number shows where the answer comes from.
    change(directory.path(), "UPDATE active_element SET active = 77");
    assert_eq!(at_task(&filled, definition), 77);
    // As after rows were written by an earlier version, which another process runs.
    change(directory.path(), "UPDATE position SET counted = entry - 1");
    assert_eq!(at_task(&filled, definition), 3);
    drop(filled);
    let filled = Filled::open(directory.path(), batches);
    filled.has(3);
    assert_eq!(at_task(&filled, definition), 3);
    let connection = Connection::open(file(directory.path())).unwrap();
    let sql = "SELECT active, counted = entry FROM active_element, position";
    let counted = connection.query_row(sql, [], |row| Ok((row.get(0)?, row.get(1)?)));
    assert_eq!(counted, Ok((3, true)));
}

#[test]
fn a_file_of_an_earlier_version_is_counted_once_at_the_first_start() {
    let directory = tempfile::tempdir().unwrap();
    let (batches, definition) = begun(5);
    let (before, after) = batches.split_at(batches.len() - 2);
    let filled = Filled::open(directory.path(), before.to_vec());
    filled.has(3);
    drop(filled);
    change(
        directory.path(),
        "DROP TRIGGER active_element_forgotten; DROP TABLE active_element; ALTER TABLE position DROP COLUMN counted",
    );
    let filled = Filled::open(directory.path(), before.to_vec());
    filled.has(3);
    assert_eq!(at_task(&filled, definition), 3);
    filled.follow(after);
    filled.has(5);
    assert_eq!(at_task(&filled, definition), 5);
    // A later start counts nothing again.
    drop(filled);
    change(directory.path(), "UPDATE active_element SET active = 77");
    let filled = Filled::open(directory.path(), batches);
    filled.has(5);
    assert_eq!(at_task(&filled, definition), 77);
}
