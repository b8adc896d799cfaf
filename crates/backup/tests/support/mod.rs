//! A store of backups in a temporary directory, and what the tests put into it.
#![allow(dead_code)] // Each test file uses its part.

use bytes::Bytes;
use skep_backup::{
    BackupKind, Begun, Cut, FORMAT, Location, LogPart, Manifest, PartitionManifest, Store,
    StoredObject, Upload, Writer, encode_entries,
};
use skep_cluster::{Layout, State};
use skep_storage::kv::{KvBatch, KvStore, MemoryKv, StreamWriter};
use skep_storage::log::Entry;

/// The term of all entries.
pub const TERM: u64 = 2;

pub struct Fixture {
    pub directory: tempfile::TempDir,
    pub store: Store,
}

impl Fixture {
    pub fn new() -> Fixture {
        let directory = tempfile::tempdir().unwrap();
        let store = Store::open(&Location::Directory(directory.path().to_path_buf())).unwrap();
        Fixture { directory, store }
    }
}

/// The state of a cluster with one node and one partition.
pub fn state() -> State {
    let layout = Layout {
        nodes: vec![0],
        copies: 1,
        partitions: 1,
    };
    State::bootstrapped("it".to_string(), &layout, 0)
}

/// A cluster that was never restored.
pub fn by(cluster_id: &str) -> Writer<'_> {
    Writer {
        cluster_id,
        epoch: 0,
    }
}

/// A backup that was begun at this time.
pub fn begun(id: u64, at: i64) -> Begun {
    Begun {
        backup_id: id,
        cluster_id: "it".to_string(),
        version: "0".to_string(),
        began_at: at,
        broker_id: 0,
        partitions: 1,
    }
}

/// The part of partition 1: its state up to entry 5, and the log from there to the cut.
pub fn partition(cut: Cut, state: Vec<StoredObject>, log: Vec<StoredObject>) -> PartitionManifest {
    PartitionManifest {
        partition: 1,
        broker_id: 0,
        cut,
        checkpoint_index: 5,
        state,
        query: None,
        log: LogPart {
            base_index: 5,
            base_term: 1,
            objects: log,
        },
    }
}

/// The manifest of a backup that took no time.
pub fn manifest(id: u64, at: i64, partitions: Vec<PartitionManifest>) -> Manifest {
    Manifest {
        format: FORMAT,
        backup_id: id,
        version: "0".to_string(),
        kind: BackupKind::default(),
        documents: Vec::new(),
        began_at: at,
        cut_at: at,
        completed_at: at,
        cluster: state(),
        partitions,
    }
}

/// Entries without records, as after elections.
pub fn entries(from: u64, to: u64) -> Vec<u8> {
    let mut content = Vec::new();
    for index in from..=to {
        let entry = Entry {
            index,
            term: TERM,
            tag: 0,
            payload: Bytes::new(),
        };
        encode_entries(&entry, &mut content);
    }
    content
}

/// Uploads the state of partition 1, which has one row.
pub fn upload_state(store: &Store, id: u64) -> Vec<StoredObject> {
    let mut kv = MemoryKv::new();
    let mut batch = KvBatch::new();
    batch.put(1, b"key".as_slice(), b"row".as_slice());
    kv.commit(batch).unwrap();
    let view = kv.view().unwrap();
    let mut rows = StreamWriter::new(&*view, 1 << 10).unwrap();
    let mut upload = Upload::new(store, (id, 1), "state", u64::MAX);
    while let Some(chunk) = rows.next_chunk().unwrap() {
        upload.add(&chunk).unwrap();
    }
    upload.finish()
}
