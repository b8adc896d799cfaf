//! A replica that fails on a live node: the node still sends heartbeats, but its replica is gone.

use skep_service::PartitionHealth;

use super::*;

/// Longer than the delay until replicas hibernate.
const REST: Duration = Duration::from_secs(4);

/// Ends the replica as after a disk failure.
async fn fail(rig: &Rig, partition: u32) {
    let mut handles = rig.broker.partitions().into_iter();
    let handle = handles.find(|it| it.status.partition == partition).unwrap();
    tokio::task::spawn_blocking(move || {
        handle.abandon();
        handle.status.fail("its disk has failed".to_string());
    })
    .await
    .unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_leader_that_fails_while_its_group_hibernates_is_replaced_and_its_node_finds_the_next_one()
 {
    let nodes = Nodes::new(3, 2);
    let rigs = nodes.all().await;
    rigs[0].deploy(&one_task()).await;
    let mut created = HashSet::new();
    for rig in &rigs {
        created.insert(create_one(rig).await);
    }
    tokio::time::sleep(REST).await;
    let failed = leader(&rigs[0].broker.topology(), 1).unwrap();
    fail(&rigs[failed], 1).await;
    let began = Instant::now();
    for rig in &rigs {
        wait_until("another leader", || {
            leader(&rig.broker.topology(), 1).is_some_and(|it| it != failed)
        })
        .await;
    }
    println!("replaced after {:?}", began.elapsed());
    // This holds on the node with the failed replica as well, and for requests that concern all partitions.
    wait_until("the node to be ready", || rigs[failed].broker.is_ready()).await;
    rigs[failed].deploy(&one_task()).await;
    for _ in 0..4 {
        created.insert(create_one(&rigs[failed]).await);
    }
    all_are_there(&rigs[failed], created).await;
}

/// Its followers hear its node, and hibernate. It is the thread that hangs, as in a read of a disk that does not answer: here it hands out
/// a description that nobody takes.
#[tokio::test(flavor = "multi_thread")]
async fn a_leader_whose_thread_hangs_while_its_group_hibernates_is_replaced_and_follows_later() {
    let nodes = Nodes::new(3, 2);
    let rigs = nodes.all().await;
    rigs[0].deploy(&one_task()).await;
    let mut created = HashSet::new();
    for rig in &rigs {
        created.insert(create_one(rig).await);
    }
    tokio::time::sleep(REST).await;
    let hung = leader(&rigs[0].broker.topology(), 1).unwrap();
    let handle = rigs[hung].broker.partitions();
    let mut handle = handle.into_iter().filter(|it| it.status.partition == 1);
    let handle = handle.next().unwrap();
    let (sender, taken) = crossbeam_channel::bounded(0);
    handle.inbox.send(Report::DescribeCopy(sender));
    for rig in &rigs {
        wait_until("another leader", || {
            leader(&rig.broker.topology(), 1).is_some_and(|it| it != hung)
        })
        .await;
    }
    assert_eq!(handle.status.health(), PartitionHealth::Dead);
    assert!(handle.status.trouble().is_some());
    // The node finds the next leader, for requests that concern all partitions too.
    rigs[hung].deploy(&one_task()).await;
    for _ in 0..4 {
        created.insert(create_one(&rigs[hung]).await);
    }
    drop(taken);
    wait_until("the thread to go on", || {
        handle.status.health() == PartitionHealth::Healthy
    })
    .await;
    assert!(handle.status.trouble().is_none());
    wait_until("the replica to follow", || {
        let at = |rig: &Rig| {
            let mut handles = rig.broker.partitions().into_iter();
            let handle = handles.find(|it| it.status.partition == 1);
            handle.map(|it| it.status.applied.load(Ordering::Acquire))
        };
        rigs.iter().all(|rig| at(rig) == at(&rigs[hung]))
    })
    .await;
    all_are_there(&rigs[hung], created).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_node_is_ready_while_one_of_its_replicas_works_and_others_lead() {
    let nodes = Nodes::new(3, 2);
    let mut rigs = nodes.all().await;
    rigs[0].deploy(&one_task()).await;
    fail(&rigs[0], 1).await;
    wait_until("another leader", || rigs[0].broker.is_ready()).await;
    // One of three copies is still running.
    stop(rigs.pop().unwrap()).await;
    wait_until("nobody to lead", || !rigs[0].broker.is_ready()).await;
}

/// As after errors of its disk: the others go on, so the node itself sees leaders.
#[tokio::test(flavor = "multi_thread")]
async fn a_node_none_of_whose_replicas_works_is_not_ready() {
    let nodes = Nodes::new(3, 2);
    let rigs = nodes.all().await;
    rigs[0].deploy(&one_task()).await;
    fail(&rigs[0], 1).await;
    fail(&rigs[0], 2).await;
    for rig in &rigs {
        wait_until("other leaders", || {
            let topology = rig.broker.topology();
            [1, 2]
                .map(|partition| leader(&topology, partition))
                .iter()
                .all(|it| it.is_some_and(|it| it != 0))
        })
        .await;
    }
    wait_until("the others to be ready", || {
        rigs[1..].iter().all(|rig| rig.broker.is_ready())
    })
    .await;
    assert!(!rigs[0].broker.is_ready());
}

#[tokio::test(flavor = "multi_thread")]
async fn commands_between_partitions_wait_for_the_next_leader() {
    let mut nodes = Nodes::new(3, 2);
    // Nothing is repeated: a command arrives the first time, or never.
    nodes.retry_interval = Duration::from_secs(3600);
    let rigs = nodes.all().await;
    let leads = leader(&rigs[0].broker.topology(), 2).unwrap();
    fail(&rigs[leads], 2).await;
    // Deployed on partition 1, and answered once partition 2 has it too.
    rigs[leads].deploy(&one_task()).await;
    assert_ne!(leader(&rigs[leads].broker.topology(), 2), Some(leads));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_job_that_reaches_no_worker_goes_back_to_the_next_leader() {
    let mut nodes = Nodes::new(3, 1);
    // Jobs to be returned are held for this long.
    nodes.retry_interval = Duration::from_secs(3600);
    let rigs = nodes.all().await;
    rigs[0].deploy(&one_task()).await;
    create_one(&rigs[0]).await;
    let leads = leader(&rigs[0].broker.topology(), 1).unwrap();
    let other = &rigs[(leads + 1) % 3];
    let hour = ActivateJobs {
        timeout: 3_600_000,
        ..jobs(1)
    };
    let activate = |wait| {
        other
            .broker
            .activate_jobs(hour.clone(), Claims::Internal, wait)
    };
    let taken = activate(Duration::from_secs(30)).await.unwrap();
    assert_eq!(taken.len(), 1);
    fail(&rigs[leads], 1).await;
    // The node still considers the failed one the leader, or knows of none.
    let back = taken.iter().map(ActivatedJob::activation).collect();
    other.broker.give_back(back);
    let began = Instant::now();
    loop {
        let again = activate(Duration::from_secs(1)).await;
        if again.is_ok_and(|again| again.len() == 1) {
            break;
        }
        assert!(began.elapsed() < PATIENCE, "it waits for its time-out");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}
