//! Stores whose files are damaged.

use std::os::unix::fs::FileExt;

use super::shared_stores::create_and_find;
use super::stores::{committed, stored};
use super::*;

/// Overwrites all but the first pages of a store's file, and deletes the files beside it.
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
        if !whole_file {
            damage(&files)
        } else {
            std::fs::write(files.join("query.sqlite"), vec![0x5a; 100_000]).unwrap()
        }
        let back = nodes.open(2).await;
        wait_until("the node to know the leaders", || knows_all_leaders(&back)).await;
        create_and_find(&[&rigs[0], &rigs[1], &back], 12, &mut created).await;
        // Others may answer meanwhile, but in the end the node has all rows itself.
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
            if let Ok(Ok((Answer::Page(found), 0))) = answer.await
                && found.rows.len() == created.len()
            {
                break;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        rigs.push(back);
    }
}
