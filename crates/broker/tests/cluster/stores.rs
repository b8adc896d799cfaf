//! Replicas that lack data of the others: log entries or rows of secondary storage.

use super::*;

/// Takes a checkpoint, up to which the log may then be compacted.
pub async fn checkpoint(rig: &Rig) {
    for partition in rig.broker.partitions() {
        let (done, wait) = crossbeam_channel::bounded(1);
        partition.inbox.send(Report::TakeSnapshot(Some(done)));
        wait_until("a checkpoint", || wait.try_recv().is_ok()).await;
    }
}

pub fn committed(rig: &Rig) -> u64 {
    rig.broker.partitions()[0]
        .status
        .applied
        .load(Ordering::Acquire)
}

pub fn stored(rig: &Rig) -> u64 {
    match rig.broker.partitions()[0].secondary.get() {
        Secondary::Open(store) => store.status().durable().entry,
        other => panic!("{other:?}"),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_node_that_was_away_finds_what_it_lacks_in_the_log_or_gets_a_snapshot() {
    let nodes = Nodes::new(3, 1);
    let mut rigs = nodes.all().await;
    rigs[0].deploy(&one_task()).await;
    let mut created = Vec::new();
    for disk_is_full in [false, true] {
        stop(rigs.pop().unwrap()).await;
        for rig in &rigs {
            let status = &rig.broker.partitions()[0].status;
            status.disk_low.store(disk_is_full, Ordering::Relaxed);
        }
        for _ in 0..20 {
            created.push(create_one(&rigs[0]).await);
        }
        for rig in &rigs {
            // Secondary storage needs the log until its own rows survive power cuts.
            wait_until("secondary storage", || stored(rig) >= committed(&rigs[0])).await;
        }
        create_one(&rigs[0]).await;
        checkpoint(&rigs[0]).await;
        checkpoint(&rigs[1]).await;
        let back = nodes.open(2).await;
        wait_until("the node to catch up", || {
            committed(&back) >= committed(&rigs[0])
        })
        .await;
        // The node has the rows itself, or forwards searches until it does.
        for key in &created {
            assert!(finds(&back, *key).await);
        }
        rigs.push(back);
    }
    let secondary = &rigs[2].broker.partitions()[0].secondary;
    wait_until("secondary storage to be fetched", || {
        matches!(secondary.get(), Secondary::Open(_))
    })
    .await;
    stop(rigs.remove(0)).await;
    stop(rigs.remove(0)).await;
    for key in &created {
        assert!(finds(&rigs[0], *key).await, "the copy lacks {key}");
    }
    for node in [0, 1] {
        rigs.insert(node, nodes.open(node).await);
    }
    it_can_lead(&nodes, rigs, created.into_iter().collect()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn another_node_answers_for_a_store_that_is_lost_until_it_is_fetched() {
    let nodes = Nodes::new(3, 1);
    let mut rigs = nodes.all().await;
    rigs[0].deploy(&one_task()).await;
    let mut created = Vec::new();
    for n in 0..12 {
        created.push(new_one(&rigs[n % 3]).await);
    }
    for rig in &rigs {
        wait_until("secondary storage", || stored(rig) >= committed(&rigs[0])).await;
        checkpoint(rig).await;
    }
    // The entries were compacted away, and the file is lost.
    stop(rigs.pop().unwrap()).await;
    let files = nodes.directories[2].path().join("partitions/1");
    for file in ["query.sqlite", "query.sqlite-wal", "query.sqlite-shm"] {
        let _ = std::fs::remove_file(files.join(file));
    }
    rigs.push(nodes.open(2).await);
    wait_until("leaders", || reaches_all_leaders(&rigs[2])).await;
    let secondary = rigs[2].broker.partitions()[0].secondary.clone();
    wait_until("secondary storage to be fetched", || {
        matches!(secondary.get(), Secondary::Open(_))
    })
    .await;
    assert!(finds(&rigs[2], created[0]).await);
    // While the store is being fetched.
    let fetched = secondary.replace(Secondary::Fetching);
    for key in &created {
        assert!(finds(&rigs[2], *key).await);
    }
    let all = Query::Search(Search::all(&PROCESS_INSTANCE, Vec::new(), 100));
    let found = rigs[2]
        .broker
        .query(all.clone(), Consistency::ReadYourWrites)
        .await;
    assert!(matches!(&found, Ok((Answer::Page(found), 0)) if found.rows.len() == 12));
    stop(rigs.remove(0)).await;
    stop(rigs.remove(0)).await;
    wait_until("no other node", || is_alone(&rigs[0])).await;
    let refused = rigs[0].broker.query(all, Consistency::Eventual).await;
    assert!(
        matches!(&refused, Err(QueryError::Unavailable(why)) if why.contains("no node that has them")),
        "{refused:?}"
    );
    secondary.replace(fetched);
    for key in &created {
        assert!(finds(&rigs[0], *key).await, "the copy lacks {key}");
    }
}

async fn finds(rig: &Rig, key: Key) -> bool {
    let query = Query::Get {
        entity: &PROCESS_INSTANCE,
        key,
    };
    let began = Instant::now();
    loop {
        let query = query.clone();
        let found = rig.broker.query(query, Consistency::ReadYourWrites).await;
        match found {
            // The answer is marked as incomplete: the machine is busy.
            Ok((Answer::Row(None), 1..)) if began.elapsed() < DEADLINE => {}
            Ok((Answer::Row(row), _)) => return row.is_some(),
            other => panic!("{other:?}"),
        }
    }
}

/// Everything exists even without the nodes that sent the snapshot.
async fn it_can_lead(nodes: &Nodes, mut rigs: Vec<Rig>, created: HashSet<Key>) {
    stop(rigs.remove(0)).await;
    wait_until("a leader", || rigs.iter().all(reaches_all_leaders)).await;
    stop(rigs.remove(0)).await;
    rigs.push(nodes.open(0).await);
    wait_until("a leader", || rigs.iter().all(reaches_all_leaders)).await;
    all_are_there(&rigs[1], created).await;
}
