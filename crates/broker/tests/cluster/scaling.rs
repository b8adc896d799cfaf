//! Partitions are added under load: nothing is lost, messages find what waits for them, and new partitions get work as soon as they have
//! the global data.

use skep_cluster::{Refusal, Request as Change};
use skep_protocol::command::{ExportingChange, Request};
use skep_protocol::value::ExportingPhase;
use skep_query::entities::PROCESS_DEFINITION;
use tokio::task::JoinHandle;

use super::changes::{ask, change, partitions_of};
use super::moments::continuous;
use super::purge::{open_alone, purge, rows};
use super::*;

fn to(partitions: u32) -> Change {
    Change::Scale {
        add: Vec::new(),
        remove: Vec::new(),
        count: None,
        partitions: Some(partitions),
        replication_factor: None,
    }
}

fn waits() -> Bpmn {
    Bpmn::process("waits")
        .start("s")
        .catch_message("m", "paid", "=order")
        .end("e")
}

fn waits_then_works() -> Bpmn {
    Bpmn::process("waits-then-works")
        .start("s")
        .catch_message("m", "paid", "=order")
        .service_task("t", "work")
        .end("e")
}

/// Creates instances until each of the partitions has one.
async fn work_on_all(rig: &Rig, partitions: u32) -> HashSet<Key> {
    let mut created = HashSet::new();
    let began = Instant::now();
    let has = |created: &HashSet<Key>| {
        let of: HashSet<_> = created.iter().filter_map(|key| key.partition()).collect();
        of.len() as u32 == partitions
    };
    while !has(&created) {
        assert!(began.elapsed() < DEADLINE, "some partition gets no work");
        created.insert(create_one(rig).await);
    }
    created
}

/// An instance on every partition waits for its own message, and receives it.
async fn expect_messages_everywhere(rig: &Rig, partitions: u32) {
    let (mut seen, mut n) = (HashSet::new(), 0);
    while seen.len() < partitions as usize {
        n += 1;
        let order = format!("after-{n}");
        let variables = format!(r#"{{"order":"{order}"}}"#);
        let all = AwaitResult {
            fetch_variables: vec![],
        };
        let asked = rig
            .broker
            .execute(skep_protocol::command::Request::internal(create(
                "waits",
                &variables,
                Some(all),
            )));
        insist(rig, publish("paid", &order, "{}")).await.unwrap();
        let answer = tokio::time::timeout(DEADLINE, asked).await.unwrap().result;
        let Ok(Response::ProcessInstanceResult { created, .. }) = answer else {
            panic!("{answer:?}");
        };
        seen.extend(created.process_instance_key.partition());
    }
}

/// Starts instances that wait for messages, each with its own correlation key, and waits for their ends.
fn wait_for_orders(rig: &Rig, count: u32) -> Vec<JoinHandle<Result<Response, Failure>>> {
    let start = |number| {
        let broker = rig.broker.clone();
        let variables = format!(r#"{{"order":"order-{number}"}}"#);
        let all = AwaitResult {
            fetch_variables: vec![],
        };
        let request = Request::internal(create("waits", &variables, Some(all)));
        tokio::spawn(async move { broker.execute(request).await.result })
    };
    (0..count).map(start).collect()
}

/// Publishes a message for each of these orders. Returns the partitions that have them.
async fn pay(rig: &Rig, count: u32) -> HashSet<u32> {
    let mut places = HashSet::new();
    for number in 0..count {
        let message = publish("paid", &format!("order-{number}"), "{}");
        let published = insist(rig, message).await;
        let Ok(Response::MessagePublished { message_key }) = published else {
            panic!("{published:?}");
        };
        places.extend(message_key.partition());
    }
    places
}

#[tokio::test(flavor = "multi_thread")]
async fn a_node_that_is_alone_gets_more_partitions() {
    let nodes = Nodes::new(1, 1);
    let rig = open_alone(&nodes).await;
    rig.deploy(&one_task()).await;
    rig.deploy(&waits()).await;
    let mut created = HashSet::from([create_one(&rig).await]);
    let before = rig.create("waits", r#"{"order":"before"}"#).await.unwrap();
    let waiting = wait_for_orders(&rig, 60);
    let began = Instant::now();
    change(&[&rig], to(3)).await;
    println!("three partitions after {:?}", began.elapsed());
    created.extend(work_on_all(&rig, 3).await);
    expect_messages_everywhere(&rig, 3).await;
    // The instances that waited before the change get their messages, on the partitions to which their correlation keys have moved.
    let places = pay(&rig, 60).await;
    assert_eq!(places, [1, 2, 3].into());
    for instance in waiting {
        let ended = tokio::time::timeout(DEADLINE, instance).await.unwrap();
        let answer = ended.unwrap();
        let is_over = matches!(answer, Ok(Response::ProcessInstanceResult { .. }));
        assert!(is_over, "{answer:?}");
    }
    rig.send(publish("paid", "before", "{}")).await.unwrap();
    let gone = rig
        .send(Command::CancelProcessInstance {
            process_instance_key: before,
        })
        .await;
    assert!(matches!(gone, Err(Failure::Rejected(_))), "{gone:?}");
    let known = rows(&rig, &PROCESS_INSTANCE).await;
    assert!(known > created.len(), "{known}");
    assert_eq!(rows(&rig, &PROCESS_DEFINITION).await, 2);
    stop(rig).await;

    let rig = open_alone(&nodes).await;
    assert_eq!(rig.broker.routing().count(), 3);
    assert_eq!(rows(&rig, &PROCESS_INSTANCE).await, known);
    all_are_there(&rig, created).await;
    expect_messages_everywhere(&rig, 3).await;
    change(&[&rig], to(4)).await;
    work_on_all(&rig, 4).await;
    // All partitions are recreated, and receive the new deployments.
    purge(&rig).await;
    rig.deploy(&one_task()).await;
    rig.deploy(&waits()).await;
    work_on_all(&rig, 4).await;
    expect_messages_everywhere(&rig, 4).await;
    let fewer = ask(&rig, to(0), false).await;
    assert!(matches!(fewer, Err(Refusal::Invalid(_))), "{fewer:?}");
    stop(rig).await;
}

/// Whether a search finds the instance.
async fn is_found(rig: &Rig, key: Key) -> bool {
    let query = Query::Get {
        entity: &PROCESS_INSTANCE,
        key,
    };
    let found = rig.broker.query(query, Consistency::ReadYourWrites).await;
    matches!(found, Ok((Answer::Row(Some(_)), 0)))
}

/// The partitions that get new instances.
async fn partitions_of_new_work(rig: &Rig) -> HashSet<u32> {
    let mut seen = HashSet::new();
    for _ in 0..12 {
        seen.extend(create_one(rig).await.partition());
    }
    seen
}

#[tokio::test(flavor = "multi_thread")]
async fn a_draining_partition_finishes_its_work_and_gets_nothing_new() {
    let nodes = Nodes::new(3, 1);
    let mut rigs = nodes.all().await;
    rigs[0].deploy(&one_task()).await;
    rigs[0].deploy(&waits_then_works()).await;
    change(&rigs.iter().collect::<Vec<_>>(), to(3)).await;
    let mut under_way = work_on_all(&rigs[1], 3).await;
    let mut waiting = HashSet::new();
    let mut orders = Vec::new();
    while waiting.len() < 3 {
        let order = format!("order-{}", orders.len());
        let variables = format!(r#"{{"order":"{order}"}}"#);
        let new = insist(&rigs[0], create("waits-then-works", &variables, None)).await;
        let Ok(Response::ProcessInstanceCreated(new)) = new else {
            panic!("{new:?}");
        };
        waiting.extend(new.process_instance_key.partition());
        under_way.insert(new.process_instance_key);
        orders.push(order);
    }
    change(&rigs.iter().collect::<Vec<_>>(), to(1)).await;
    // A missing node learns of it later.
    stop(rigs.pop().unwrap()).await;
    rigs.push(nodes.open(2).await);
    for rig in &rigs {
        wait_until("the routing", || rig.broker.routing().accepting() == 1).await;
        assert_eq!(partitions_of_new_work(rig).await, [1].into());
    }
    for order in orders {
        insist(&rigs[2], publish("paid", &order, "{}"))
            .await
            .unwrap();
    }
    all_are_there(&rigs[0], under_way.clone()).await;
    for key in &under_way {
        let found = is_found(&rigs[1], *key).await;
        assert!(found, "{key} cannot be found");
    }
    // New partitions are deactivated and activated again, including the deployments in between.
    rigs[1]
        .deploy(&Bpmn::process("late").start("s").end("e"))
        .await;
    change(&rigs.iter().collect::<Vec<_>>(), to(2)).await;
    assert_eq!(partitions_of_new_work(&rigs[0]).await, [1, 2].into());
    change(&rigs.iter().collect::<Vec<_>>(), to(4)).await;
    work_on_all(&rigs[0], 4).await;
    for _ in 0..8 {
        insist(&rigs[2], create("late", "{}", None)).await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn new_partitions_take_over_the_exporting_phase() {
    let nodes = Nodes::new(1, 1);
    let rig = open_alone(&nodes).await;
    let change = ExportingChange::Phase(ExportingPhase::SoftPaused);
    let pause = Command::ChangeExporting {
        partition: 1,
        change,
    };
    rig.send(pause).await.unwrap();
    super::changes::change(&[&rig], to(3)).await;
    for partition in rig.broker.partitions() {
        let phase = partition.exporters.value().phase;
        assert_eq!(phase, ExportingPhase::SoftPaused);
    }
    stop(rig).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn partitions_are_doubled_under_load_while_a_node_is_restarted() {
    let nodes = Nodes::new(3, 2);
    let mut rigs = nodes.all().await;
    rigs[0].deploy(&one_task()).await;
    rigs[0].deploy(&waits()).await;
    let done = Arc::new(AtomicBool::new(false));
    let working = rigs[..2].iter().map(|rig| {
        let (broker, done) = (rig.broker.clone(), done.clone());
        let rig = Rig {
            broker,
            clock: rig.clock.clone(),
            directory: rig.directory.clone(),
        };
        tokio::spawn(async move {
            let mut created = HashSet::new();
            while !done.load(Ordering::Relaxed) {
                created.insert(create_one(&rig).await);
                tokio::time::sleep(Duration::from_millis(2)).await;
            }
            created
        })
    });
    let working: Vec<_> = working.collect();
    let planned = ask(&rigs[0], to(4), false).await.unwrap();
    let began = Instant::now();
    let has_begun = || rigs[0].broker.cluster_state().partitions == 4;
    wait_until("the new partitions to exist", has_begun).await;
    stop(rigs.pop().unwrap()).await;
    // The deployment does not wait for partitions that do not take part yet.
    let late = Bpmn::process("late").start("s").end("e");
    rigs[0].deploy(&late).await;
    rigs.push(nodes.open(2).await);
    for rig in &rigs {
        wait_until("the end of the change", || {
            super::changes::is_over(rig, planned.change)
        })
        .await;
        wait_until("copies", || partitions_of(rig) == [1, 2, 3, 4]).await;
    }
    println!("four partitions after {:?}", began.elapsed());
    let mut created = work_on_all(&rigs[2], 4).await;
    done.store(true, Ordering::Relaxed);
    for work in working {
        created.extend(work.await.unwrap());
    }
    expect_messages_everywhere(&rigs[1], 4).await;
    for _ in 0..8 {
        insist(&rigs[2], create("late", "{}", None)).await.unwrap();
    }
    // All copies exist: no single node is indispensable.
    stop(rigs.remove(0)).await;
    all_are_there(&rigs[1], created).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stuck_change_can_be_cancelled_and_continues_when_requested_again() {
    let mut nodes = Nodes::new(3, 1);
    nodes.retry_interval = Duration::from_millis(100);
    let store = tempfile::tempdir().unwrap();
    nodes.backup = Some(BackupConfig {
        continuous: None,
        ..continuous(&store)
    });
    let mut rigs = nodes.all().await;
    rigs[0].deploy(&one_task()).await;
    // The first copy of the second partition would be created there.
    let away = rigs.remove(1);
    stop(away).await;
    let planned = ask(&rigs[0], to(2), false).await.unwrap();
    let stuck = || rigs[0].broker.cluster_state().partitions == 2;
    wait_until("the new partition to exist", stuck).await;
    // A restored cluster would begin with a partition that lacks what every partition has.
    let backup = skep_broker::cluster::Ask::Backup(None);
    let refused = rigs[0].broker.ask_for(backup).await.err();
    assert!(
        matches!(&refused, Some(Refusal::Busy(why)) if why.contains("partitions are being added")),
        "{refused:?}"
    );
    rigs[0].deploy(&waits()).await;
    create_one(&rigs[1]).await;
    let cancel = skep_broker::cluster::Ask::Cancel {
        change: planned.change,
    };
    rigs[0].broker.ask_for(cancel).await.unwrap();
    let over = || rigs[0].broker.cluster_state().running.is_none();
    wait_until("it to be given up", over).await;
    assert_eq!(rigs[0].broker.routing().count(), 1);
    rigs[0]
        .deploy(&Bpmn::process("late").start("s").end("e"))
        .await;
    rigs.push(nodes.open(1).await);
    let all: Vec<&Rig> = rigs.iter().collect();
    change(&all, to(2)).await;
    work_on_all(&rigs[0], 2).await;
    expect_messages_everywhere(&rigs[1], 2).await;
}
