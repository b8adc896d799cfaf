//! Secondary storage of a cluster: one database for all nodes, and files that are damaged.

use std::os::unix::fs::FileExt;

use super::*;

/// Creates instances at each of the nodes in turn; each finds at once what it has just made.
async fn create_and_find(rigs: &[&Rig], count: usize, created: &mut HashSet<Key>) {
    for n in 0..count {
        let rig = rigs[n % rigs.len()];
        let answer = insist(rig, create("one-task", "{}", None)).await;
        let Ok(Response::ProcessInstanceCreated(new)) = answer else {
            panic!("{answer:?}");
        };
        let key = new.process_instance_key;
        let query = Query::Get {
            entity: &PROCESS_INSTANCE,
            key,
        };
        let answer = rig.broker.query(query, Consistency::ReadYourWrites).await;
        let found = matches!(answer, Ok((Answer::Row(Some(_)), 0)));
        assert!(found, "{key}: {answer:?}");
        created.insert(key);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn nodes_share_a_database_which_the_leaders_fill_each_entry_once() {
    let Some(server) = skep_testbed::shared_postgres() else {
        return;
    };
    let nodes = Nodes {
        store: in_database,
        database: Some(server),
        prefix: server.prefix(),
        ..Nodes::new(3, 2)
    };
    let mut rigs: Vec<Option<Rig>> = nodes.all().await.into_iter().map(Some).collect();
    rigs[0].as_ref().unwrap().deploy(&one_task()).await;
    let mut created = HashSet::new();
    for round in 0..3 {
        create_and_find(&rigs.iter().flatten().collect::<Vec<_>>(), 12, &mut created).await;
        // Those that lead with it hand over, and its checkpoint lets go of the log.
        stop(rigs[round].take().unwrap()).await;
        create_and_find(&rigs.iter().flatten().collect::<Vec<_>>(), 12, &mut created).await;
        let back = nodes.open(round).await;
        wait_until("the node to know the leaders", || knows_all_leaders(&back)).await;
        rigs[round] = Some(back);
    }
    let rigs: Vec<Rig> = rigs.into_iter().flatten().collect();
    for partition in 0..2 {
        let fills = |rig: &&Rig| {
            let handle = &rig.broker.partitions()[partition];
            handle.exporters.working().len() == 1
        };
        let filling = || rigs.iter().filter(fills).count();
        wait_until("one of them to fill the database", || filling() == 1).await;
    }
    // What adds up shows repeats.
    let prefix = &nodes.prefix;
    for (table, sum) in [
        ("process_instance", "count(*)"),
        ("job_statistics", "sum(created)"),
    ] {
        let counted = server.sql(&format!("SELECT {sum} FROM {prefix}{table}"));
        assert_eq!(counted.unwrap(), created.len().to_string(), "{table}");
    }
    // How far it is filled is in the state of every replica, which keeps the log from there on and no further.
    for rig in &rigs {
        for handle in rig.broker.partitions() {
            wait_until("replicas to know the position", || {
                let value = handle.exporters.value();
                value
                    .exporter("secondary-storage")
                    .is_some_and(|known| known.position.entry > 0)
            })
            .await;
        }
    }
}

/// Fills all but the first pages of a store's file with something else, and takes away what lies beside it.
fn damage(directory: &std::path::Path) {
    let name = |name: &str| directory.join(name);
    for beside in ["query.sqlite-wal", "query.sqlite-shm"] {
        let _ = std::fs::remove_file(name(beside));
    }
    let file = std::fs::File::options()
        .write(true)
        .open(name("query.sqlite"))
        .unwrap();
    let length = file.metadata().unwrap().len();
    let from = length / 8;
    let other = vec![0x5a; usize::try_from(length - from).unwrap()];
    file.write_all_at(&other, from).unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_store_that_is_damaged_is_fetched_from_another_node() {
    let nodes = Nodes::new(3, 1);
    let mut rigs = nodes.all().await;
    rigs[0].deploy(&one_task()).await;
    let mut created = HashSet::new();
    create_and_find(&rigs.iter().collect::<Vec<_>>(), 60, &mut created).await;
    for rig in &rigs {
        wait_until("secondary storage", || stored(rig) >= committed(&rigs[0])).await;
    }
    let files = nodes.directories[2].path().join("partitions/1");
    for whole_file in [false, true] {
        stop(rigs.pop().unwrap()).await;
        match whole_file {
            false => damage(&files),
            true => std::fs::write(files.join("query.sqlite"), vec![0x5a; 100_000]).unwrap(),
        }
        let back = nodes.open(2).await;
        wait_until("the node to know the leaders", || knows_all_leaders(&back)).await;
        create_and_find(&[&rigs[0], &rigs[1], &back], 12, &mut created).await;
        // Whoever answers meanwhile: in the end the node has all of it itself.
        let secondary = &back.broker.partitions()[0].secondary;
        let began = Instant::now();
        loop {
            assert!(began.elapsed() < DEADLINE, "{:?}", secondary.get());
            let Secondary::Open(store) = secondary.get() else {
                tokio::time::sleep(Duration::from_millis(20)).await;
                continue;
            };
            let (done, answer) = tokio::sync::oneshot::channel();
            let all = Query::Search(Search::all(&PROCESS_INSTANCE, Vec::new(), 1000));
            store.query(all, Consistency::ReadYourWrites, move |found| {
                let _ = done.send(found);
            });
            drop(store);
            if let Ok(Ok((Answer::Found(found), 0))) = answer.await
                && found.rows.len() == created.len()
            {
                break;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        rigs.push(back);
    }
}
