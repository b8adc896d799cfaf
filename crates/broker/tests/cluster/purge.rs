//! Purges: partitions and secondary storage are empty afterwards, and no earlier data comes back.

use std::io::Read;

use rustix::fs::{CWD, Mode, OFlags, mkfifoat, open};
use skep_cluster::{Refusal, Request};
use skep_protocol::command::ExportingChange;
use skep_protocol::origin::Claims;
use skep_query::entities::PROCESS_DEFINITION;

use super::changes::{ask, is_over};
use super::*;

pub async fn purge(rig: &Rig) -> u64 {
    let planned = ask(rig, Request::Purge, false).await.unwrap();
    wait_until("the end of the purge", || is_over(rig, planned.change)).await;
    planned.change
}

/// Number of rows found by a search that sees all acknowledged work.
pub async fn rows(rig: &Rig, entity: &'static skep_query::Entity) -> usize {
    let query = Query::Search(Search::all(entity, Vec::new(), 1000));
    let began = Instant::now();
    loop {
        let found = rig
            .broker
            .query(query.clone(), Consistency::ReadYourWrites)
            .await;
        match found {
            Ok((Answer::Page(found), 0)) => return found.rows.len(),
            found => assert!(began.elapsed() < DEADLINE, "{found:?}"),
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

async fn expect_nothing(rig: &Rig) {
    assert_eq!(rows(rig, &PROCESS_INSTANCE).await, 0);
    assert_eq!(rows(rig, &PROCESS_DEFINITION).await, 0);
    let created = insist(rig, create("one-task", "{}", None)).await;
    assert!(matches!(created, Err(Failure::Rejected(_))), "{created:?}");
}

/// New work succeeds as before, with keys that were never used.
async fn expect_new_work(rig: &Rig, before: &HashSet<Key>) -> HashSet<Key> {
    rig.deploy(&one_task()).await;
    let mut created = HashSet::new();
    for _ in 0..6 {
        created.insert(create_one(rig).await);
    }
    let greatest = |key: &Key| {
        let of_partition = before.iter().filter(|it| it.partition() == key.partition());
        of_partition.map(|it| it.counter()).max().unwrap_or(0)
    };
    assert!(created.iter().all(|key| key.counter() > greatest(key)));
    created
}

fn alone(nodes: &Nodes) -> BrokerConfig {
    BrokerConfig {
        cluster: None,
        ..nodes.config(0)
    }
}

pub async fn open_alone(nodes: &Nodes) -> Rig {
    let config = alone(nodes);
    let broker = tokio::task::spawn_blocking(|| Broker::open(config, Arc::default()).unwrap());
    let rig = Rig {
        broker: broker.await.unwrap(),
        clock: Arc::default(),
        directory: nodes.directories[0].clone(),
    };
    wait_until("the node to be ready", || rig.broker.is_ready()).await;
    rig
}

async fn alone_is_empty_afterwards(nodes: Nodes) {
    let rig = open_alone(&nodes).await;
    rig.deploy(&one_task()).await;
    let mut before = HashSet::new();
    for _ in 0..6 {
        before.insert(create_one(&rig).await);
    }
    assert_eq!(rows(&rig, &PROCESS_INSTANCE).await, 6);
    let jobs_before = rig.activate(100, Duration::from_secs(5)).await;
    let mut stream = rig.broker.open_job_stream(jobs(8), Claims::Internal);
    // The credit has been used up, and is restored by the purge.
    let planned = ask(&rig, Request::Purge, true).await.unwrap();
    assert_eq!(planned.operations.len(), 2 * nodes.partitions as usize + 2);
    assert_eq!(rig.broker.cluster_state().running, None, "only planned");
    let began = Instant::now();
    assert_eq!(purge(&rig).await, 1);
    println!("purged after {:?}", began.elapsed());
    for job in jobs_before {
        let old = insist(
            &rig,
            Command::CompleteJob {
                job_key: job.key,
                variables: skep_protocol::Document::new(),
                result: None,
            },
        )
        .await;
        assert!(matches!(old, Err(Failure::Rejected(_))), "{old:?}");
    }
    expect_nothing(&rig).await;
    let created = expect_new_work(&rig, &before).await;
    let mut pushed = HashSet::new();
    while !created.is_subset(&pushed) {
        pushed.insert(next(&mut stream).await.unwrap().process_instance_key);
    }
    drop(stream);
    assert_eq!(rows(&rig, &PROCESS_INSTANCE).await, 6);
    stop(rig).await;
    // The data is still purged after a restart, and another purge is possible.
    let rig = open_alone(&nodes).await;
    assert_eq!(rows(&rig, &PROCESS_INSTANCE).await, 6);
    assert_eq!(rows(&rig, &PROCESS_DEFINITION).await, 1);
    assert_eq!(rig.broker.topology().last_completed_change_id, "1");
    before.extend(created);
    assert_eq!(purge(&rig).await, 2);
    expect_nothing(&rig).await;
    before.extend(expect_new_work(&rig, &before).await);
    stop(rig).await;
    // It becomes the first of several nodes, and keys still increase.
    let rig = nodes.open(0).await;
    wait_until("leaders", || knows_all_leaders(&rig)).await;
    assert_eq!(rows(&rig, &PROCESS_INSTANCE).await, 6);
    assert_eq!(purge(&rig).await, 3);
    expect_nothing(&rig).await;
    expect_new_work(&rig, &before).await;
    stop(rig).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_single_node_is_empty_after_a_purge_and_keeps_working() {
    alone_is_empty_afterwards(Nodes::new(1, 2)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_database_is_empty_afterwards() {
    let Some(nodes) = Nodes::new(1, 2).with_database() else {
        return;
    };
    alone_is_empty_afterwards(nodes).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn indices_are_empty_afterwards() {
    let Some(nodes) = Nodes::new(1, 2).with_search_server() else {
        return;
    };
    alone_is_empty_afterwards(nodes).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_purge_continues_after_a_restart() {
    let nodes = Nodes::new(1, 3);
    let rig = open_alone(&nodes).await;
    rig.deploy(&one_task()).await;
    let mut before = HashSet::new();
    for _ in 0..6 {
        before.insert(create_one(&rig).await);
    }
    let disable = Command::ChangeExporting {
        partition: 2,
        change: ExportingChange::Disable { id: "it".into() },
    };
    insist(&rig, disable).await.unwrap();
    ask(&rig, Request::Purge, false).await.unwrap();
    // Stopped halfway.
    stop(rig).await;
    let rig = open_alone(&nodes).await;
    wait_until("the end of the purge", || is_over(&rig, 1)).await;
    expect_nothing(&rig).await;
    expect_new_work(&rig, &before).await;
    let partitions = rig.broker.partitions();
    let exporting = partitions.iter().map(|it| it.exporters.value());
    let disabled = exporting.map(|value| value.exporter("it").is_some_and(|it| !it.is_enabled));
    assert_eq!(disabled.collect::<Vec<_>>(), [false, true, false]);
    let mut files: Vec<String> = std::fs::read_dir(nodes.directories[0].path().join("partitions"))
        .unwrap()
        .map(|file| file.unwrap().file_name().into_string().unwrap())
        .collect();
    files.sort();
    assert_eq!(files, ["1", "2", "3"]);
    stop(rig).await;
}

/// The disk fails while the node records what its copy leaves behind.
#[tokio::test(flavor = "multi_thread")]
async fn keys_and_exporter_settings_survive_a_record_that_fails_at_first() {
    const LEAP: u64 = 1 << 28;
    let nodes = Nodes::new(1, 1);
    let rig = open_alone(&nodes).await;
    rig.deploy(&one_task()).await;
    let last = create_one(&rig).await;
    let disable = Command::ChangeExporting {
        partition: 1,
        change: ExportingChange::Disable { id: "it".into() },
    };
    insist(&rig, disable).await.unwrap();
    // A pipe can be written, but not flushed.
    let path = nodes.directories[0].path().join("partitions").join("1.new");
    mkfifoat(CWD, &path, Mode::RUSR | Mode::WUSR).unwrap();
    let pipe = open(&path, OFlags::RDWR | OFlags::NONBLOCK, Mode::empty()).unwrap();
    let (mut pipe, mut record) = (std::fs::File::from(pipe), [0; 1024]);
    let planned = ask(&rig, Request::Purge, false).await.unwrap();
    wait_until("the first attempt", || {
        pipe.read(&mut record).is_ok_and(|bytes| bytes > 0)
    })
    .await;
    std::fs::remove_file(&path).unwrap();
    wait_until("the end of the purge", || is_over(&rig, planned.change)).await;
    let least = rig.broker.cluster_state().least_keys.get(&1).copied();
    assert!(least >= Some(last.counter() + LEAP), "{least:?}");
    let partitions = rig.broker.partitions();
    let exporting = partitions[0].exporters.value();
    assert!(exporting.exporter("it").is_some_and(|it| !it.is_enabled));
    expect_new_work(&rig, &HashSet::from([last])).await;
    stop(rig).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn three_nodes_are_empty_after_a_purge_and_an_absent_one_restores_nothing() {
    three_are_empty_afterwards(Nodes::new(3, 3)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_database_of_three_nodes_is_empty_afterwards() {
    let Some(nodes) = Nodes::new(3, 3).with_database() else {
        return;
    };
    three_are_empty_afterwards(nodes).await;
}

/// Nodes look around four times a second. A copy that joins takes five steps one after the other: it is added, asked to begin, gets its vote,
/// and is confirmed and recorded. Where each of them waits for a look, no purge is faster than that, however often it is tried.
#[tokio::test(flavor = "multi_thread")]
async fn the_steps_of_a_purge_do_not_wait_until_nodes_look_around() {
    const LOOK_AROUND: Duration = Duration::from_millis(250);
    const JOINS: u32 = 6;
    let nodes = Nodes::new(3, 3);
    let rigs = nodes.all().await;
    let begin = Instant::now();
    loop {
        let began = Instant::now();
        purge(&rigs[0]).await;
        let took = began.elapsed();
        if took < LOOK_AROUND * 4 * JOINS * 4 / 5 {
            break;
        }
        assert!(begin.elapsed() < PATIENCE, "the last took {took:?}");
        wait_until("leaders", || knows_all_leaders(&rigs[0])).await;
    }
    for rig in rigs {
        stop(rig).await;
    }
}

async fn three_are_empty_afterwards(nodes: Nodes) {
    let mut rigs = nodes.all().await;
    rigs[1].deploy(&one_task()).await;
    let mut before = HashSet::new();
    for n in 0..9 {
        before.insert(create_one(&rigs[n % 3]).await);
    }
    let layout: Vec<_> = (1..=3)
        .map(|p| {
            let replicas = rigs[0].broker.cluster_state().replicas(p);
            let nodes = replicas.into_iter().map(|(node, _)| node);
            nodes.collect::<Vec<_>>()
        })
        .collect();
    stop(rigs.remove(1)).await;
    let planned = loop {
        match ask(&rigs[0], Request::Purge, false).await {
            Ok(planned) => break planned,
            Err(refused) => assert!(matches!(refused, Refusal::Unreachable(_)), "{refused}"),
        }
    };
    // It waits for the copies of the missing node.
    wait_until("the purge to begin", || {
        let state = rigs[0].broker.cluster_state();
        state
            .running
            .as_ref()
            .is_some_and(|it| !it.completed.is_empty())
    })
    .await;
    let again = ask(&rigs[1], Request::Purge, false).await;
    assert!(matches!(again, Err(Refusal::Busy(_))), "{again:?}");
    rigs.insert(1, nodes.open(1).await);
    for rig in &rigs {
        wait_until("the end of the purge", || is_over(rig, planned.change)).await;
        wait_until("leaders", || knows_all_leaders(rig)).await;
    }
    for rig in &rigs {
        expect_nothing(rig).await;
    }
    let state = rigs[2].broker.cluster_state();
    for (partition, nodes) in (1..).zip(layout) {
        let replicas = state.replicas(partition).into_iter();
        assert_eq!(replicas.map(|(node, _)| node).collect::<Vec<_>>(), nodes);
    }
    let created = expect_new_work(&rigs[2], &before).await;
    all_are_there(&rigs[0], created).await;
    for rig in &rigs {
        wait_until("copies", || rig.broker.partitions().len() == 3).await;
        assert_eq!(rows(rig, &PROCESS_INSTANCE).await, 6);
    }
    for rig in rigs {
        stop(rig).await;
    }
}
