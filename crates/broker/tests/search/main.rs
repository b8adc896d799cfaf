//! Everything that happened can be searched: on every partition, immediately, exactly once, and also after a restart.
#![allow(clippy::duplicate_mod)] // The suites are compiled for each back end.

#[path = "../support/mod.rs"]
mod support;

mod asking;

use skep_query::entities::{JOB, PROCESS_INSTANCE};
use skep_query::{Consistency, Query, QueryError, Storage, search};
use support::{Rig, one_task};

use self::asking::{find, text};

/// The suites over a back end.
macro_rules! over {
    ($name:ident, $backend:ident) => {
        #[path = "."]
        mod $name {
            mod batch_operations;
            mod searches;

            /// A broker with this kind of store.
            async fn open(partitions: u32) -> crate::support::Rig {
                crate::support::Rig::new(|config| {
                    config.secondary_storage =
                        Some(skep_testkit::stores::Backend::$backend.config());
                    config.partitions = partitions;
                })
                .await
            }

            /// A broker with a process whose instances wait for a job.
            async fn with_one_task(partitions: u32) -> crate::support::Rig {
                let rig = open(partitions).await;
                rig.deploy(&crate::support::one_task()).await;
                rig
            }
        }
    };
}

over!(embedded, Embedded);
over!(postgres, Postgres);
over!(opensearch, OpenSearch);

#[tokio::test]
async fn a_file_that_is_lost_is_filled_from_the_log() {
    let rig = Rig::new(|_| {}).await;
    rig.deploy(&one_task()).await;
    rig.create("one-task", "{}").await.unwrap();
    let directory = rig.directory.clone();
    let broker = rig.broker.clone();
    drop(rig);
    tokio::task::spawn_blocking(move || broker.stop())
        .await
        .unwrap();
    let partition = directory.path().join("partitions/1");
    for name in ["query.sqlite", "query.sqlite-wal", "query.sqlite-shm"] {
        let _ = std::fs::remove_file(partition.join(name));
    }
    let rig = Rig::open(directory, |_| {}).await;
    rig.create("one-task", "{}").await.unwrap();
    let found = find(
        &rig,
        &PROCESS_INSTANCE,
        r#"{"sort": [{"field": "startDate", "order": "DESC"}]}"#,
    )
    .await;
    // The log may have been compacted: new rows exist in any case, with the names of their definition.
    assert!(found.total >= 1);
    assert_eq!(
        text(&PROCESS_INSTANCE, &found.rows[0], "processDefinitionId"),
        "\"one-task\""
    );
}

#[tokio::test]
async fn an_unreadable_file_is_put_aside_and_rebuilt_from_a_complete_log() {
    let directory = std::sync::Arc::new(tempfile::tempdir().unwrap());
    let partition = directory.path().join("partitions/1");
    std::fs::create_dir_all(&partition).unwrap();
    std::fs::write(
        partition.join("query.sqlite"),
        "this is no database, but a text that is long enough",
    )
    .unwrap();
    let rig = Rig::open(directory, |_| {}).await;
    rig.deploy(&one_task()).await;
    rig.create("one-task", "{}").await.unwrap();
    assert_eq!(find(&rig, &PROCESS_INSTANCE, "").await.total, 1);
    assert!(partition.join("query.damaged").exists());
}

#[tokio::test]
async fn without_secondary_storage_searches_are_refused() {
    let rig = Rig::new(|config| config.secondary_storage = None).await;
    let query = Query::Search(search(&JOB, "").unwrap());
    let answer = rig.broker.query(query, Consistency::ReadYourWrites).await;
    assert_eq!(answer, Err(QueryError::Disabled));
    assert!(
        !rig.directory
            .path()
            .join("partitions/1/query.sqlite")
            .exists()
    );
}
