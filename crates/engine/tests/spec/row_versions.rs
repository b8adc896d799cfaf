//! Stored rows begin with the version of their encoding: earlier versions are read, unknown ones are refused with an error that names them.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use serde::{Deserialize, Serialize};
use skep_engine::state::subscriptions::{
    ProcessMessageSubscription, SignalOnItsWay, SignalSubscription,
};
use skep_engine::state::{
    BatchChunk, CheckpointWriter, Job, Row, State, Table, Tables, read_row, write_row,
};
use skep_model::builder::Bpmn;
use skep_protocol::record::{decode, encode};
use skep_protocol::{Key, TenantId};

use skep_testkit::rig::*;

const TABLE: u8 = 250;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct First {
    name: String,
}

impl Row for First {
    const TABLE: u8 = TABLE;

    fn weight(&self) -> usize {
        size_of::<Self>() + self.name.len()
    }
}

/// The later form of [`First`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Second {
    name: String,
    count: u32,
}

impl Row for Second {
    const TABLE: u8 = TABLE;
    const VERSION: u8 = 2;

    fn read_earlier(version: u8, bytes: &[u8]) -> Option<Result<Second, String>> {
        let read = |first: First| Second {
            name: first.name,
            count: 1,
        };
        (version == 1).then(|| decode::<First>(bytes).map(read))
    }

    fn weight(&self) -> usize {
        size_of::<Self>() + self.name.len()
    }
}

#[test]
fn rows_in_a_table_that_this_version_does_not_know_are_refused() {
    let key = Key::new(1, 7).0.to_be_bytes().to_vec();
    let store = |table: u8| {
        let row = ((table, key.clone()), vec![1, 2, 3]);
        MemoryStore(Arc::new(Mutex::new(BTreeMap::from([row]))))
    };
    let error = State::open(1, Arc::new(store(127))).err().unwrap();
    assert!(
        error.0.starts_with("table 127 has rows, and this release of Skep does not know it. Run the release that wrote it"),
        "{error}"
    );
}

fn store(row: Vec<u8>) -> MemoryStore {
    let key = Key::new(1, 7).0.to_be_bytes().to_vec();
    MemoryStore(Arc::new(Mutex::new(BTreeMap::from([((TABLE, key), row)]))))
}

#[test]
fn a_row_begins_with_its_version() {
    let first = First { name: "a".into() };
    let second = Second {
        name: "a".into(),
        count: 5,
    };
    assert_eq!(write_row(&first), [&[1][..], &encode(&first)].concat());
    assert_eq!(write_row(&second), [&[2][..], &encode(&second)].concat());
    assert_eq!(read_row(&write_row(&second)), Ok(second));
}

#[test]
fn a_row_of_an_earlier_version_is_read() {
    let store = store(write_row(&First { name: "a".into() }));
    let tables = Arc::new(Tables::new(Arc::new(store)));
    let mut table: Table<Second> = Table::open(&tables).unwrap();
    let read = Second {
        name: "a".into(),
        count: 1,
    };
    assert_eq!(table.get(Key::new(1, 7)), Some(&read));
    assert_eq!(tables.fault(), None);
}

#[test]
fn a_row_of_an_unknown_version_is_a_fault_that_names_it() {
    let of_newer = write_row(&Second {
        name: "a".into(),
        count: 5,
    });
    let tables = Arc::new(Tables::new(Arc::new(store(of_newer))));
    let mut table: Table<First> = Table::open(&tables).unwrap();
    assert_eq!(table.get(Key::new(1, 7)), None);
    assert_eq!(
        tables.fault().unwrap().to_string(),
        "the state store failed: row [00, 08, 00, 00, 00, 00, 00, 07] of table 250 cannot be read: it has version 2, and this \
         release of Skep knows only versions up to 1. Run the release that wrote it, or a newer one"
    );
    let empty = read_row::<First>(&[]).unwrap_err();
    assert_eq!(empty, "it is empty");
}

#[test]
fn a_state_with_a_row_of_an_unknown_version_does_not_open() {
    let key = Key::new(1, 7).0.to_be_bytes().to_vec();
    let rows = BTreeMap::from([((Job::TABLE, key), vec![99])]);
    let opened = State::open(1, Arc::new(MemoryStore(Arc::new(Mutex::new(rows)))));
    let error = opened.err().unwrap().to_string();
    assert!(
        error.contains("of table 3 cannot be read: it has version 99"),
        "{error}"
    );
}

#[test]
fn signal_subscriptions_of_the_default_tenant_are_stored_in_the_first_version() {
    let subscription = |tenant: &str| SignalSubscription {
        process_definition_key: Key::new(1, 2),
        bpmn_process_id: "p".into(),
        signal_name: "go".into(),
        catch_event: 3,
        element_instance_key: Key::new(1, 4),
        tenant: TenantId::new(tenant),
    };
    let (own, of_acme) = (subscription(""), subscription("acme"));
    let first = (1u8, Key::new(1, 2), "p", "go", 3u32, Key::new(1, 4));
    assert_eq!(write_row(&own), encode(&first));
    let second = (2u8, Key::new(1, 2), "p", "go", 3u32, Key::new(1, 4), "acme");
    assert_eq!(write_row(&of_acme), encode(&second));
    for row in [own, of_acme] {
        assert_eq!(read_row(&write_row(&row)), Ok(row));
    }
    let on_its_way = |tenant: &str| SignalOnItsWay {
        signal_name: "go".into(),
        variables: vec![("a".into(), "1".into())],
        last: Key::new(1, 4),
        tenant: TenantId::new(tenant),
    };
    for (tenant, version) in [("", 1), ("acme", 2)] {
        let row = on_its_way(tenant);
        let stored = write_row(&row);
        assert_eq!(stored.first(), Some(&version));
        assert_eq!(read_row(&stored), Ok(row));
    }
}

#[test]
fn the_second_version_of_a_subscription_has_all_its_correlated_messages() {
    let keys = (Key::new(1, 2), Key::new(1, 3), Key::new(1, 4));
    let opened = 1u8;
    let what = (3u32, keys, "p", "m", "k", false, 5u32, opened, 0u32);
    let first = encode(&(1u8, &what, Key::new(3, 9)));
    let second = encode(&(2u8, &what, Key::new(3, 9), [Key::new(3, 7)].as_slice()));
    for stored in [first, second] {
        let row: ProcessMessageSubscription = read_row(&stored).unwrap();
        assert_eq!(write_row(&row), stored);
        assert!(row.has_taken(Key::new(3, 9)));
        assert_eq!(row.has_taken(Key::new(3, 7)), stored.first() == Some(&2));
    }
}

#[test]
fn the_second_version_of_a_chunk_has_the_resources_of_its_items() {
    let keys = [Key::new(1, 2), Key::new(1, 3), Key::new(1, 4)];
    let first = encode(&(1u8, keys[0], [keys].as_slice(), 0u32));
    let resources = [("order", [0u32].as_slice())];
    let second = encode(&(2u8, keys[0], [keys].as_slice(), 0u32, resources.as_slice()));
    for (stored, resource) in [(&first, None), (&second, Some("order"))] {
        let row: BatchChunk = read_row(stored).unwrap();
        assert_eq!(write_row(&row), *stored);
        assert_eq!(row.resources.at(0).map(|id| &**id), resource);
        assert_eq!(row.resources.at(1), None);
        // Protocol 7 is that of nodes before the second version of the row.
        let known = row.known_to(7).unwrap_or(row);
        assert_eq!(write_row(&known), first);
        assert!(known.known_to(8).is_none());
    }
}

/// A checkpoint for a cluster in which the oldest node speaks this version of the protocol between nodes.
struct For {
    oldest_node: u32,
    rows: BTreeMap<(u8, Vec<u8>), Vec<u8>>,
}

impl CheckpointWriter for For {
    fn put(&mut self, table: u8, key: &[u8], row: Vec<u8>) {
        self.rows.insert((table, key.to_vec()), row);
    }

    fn delete(&mut self, table: u8, key: &[u8]) {
        self.rows.remove(&(table, key.to_vec()));
    }

    fn oldest_node(&self) -> u32 {
        self.oldest_node
    }
}

/// A checkpoint of an instance that has taken three messages with a non-interrupting event.
fn checkpoint_for(oldest_node: u32) -> For {
    let bpmn = Bpmn::process("p")
        .start("s")
        .service_task("task", "work")
        .end("e")
        .boundary_message("news", "task", "news", "=\"k\"")
        .non_interrupting()
        .service_task("read", "read")
        .end("e2");
    let mut rig = Rig::with(bpmn);
    rig.create("p", "{}");
    for _ in 0..3 {
        rig.publish("news", "k", 0, "{}");
    }
    let mut checkpoint = For {
        oldest_node,
        rows: BTreeMap::new(),
    };
    rig.engine(1).state.checkpoint(&mut checkpoint);
    checkpoint
}

#[test]
fn a_checkpoint_has_rows_that_the_oldest_node_of_the_cluster_can_read() {
    // Protocol 1 is that of nodes before the second version of the row.
    for (oldest_node, version) in [(1, 1), (2, 2), (u32::MAX, 2)] {
        let checkpoint = checkpoint_for(oldest_node);
        let mut subscriptions = checkpoint.rows.iter();
        let (_, row) = subscriptions
            .find(|((table, _), _)| *table == ProcessMessageSubscription::TABLE)
            .unwrap();
        assert_eq!(row.first(), Some(&version), "for protocol {oldest_node}");
        let read: ProcessMessageSubscription = read_row(row).unwrap();
        assert!(read.has_taken(read.last_message));
        let store = MemoryStore(Arc::new(Mutex::new(checkpoint.rows)));
        assert!(State::open(1, Arc::new(store)).is_ok());
    }
}
