//! Waiting jobs and the workers requesting them: any node knows the workers and the partitions of all.

use super::*;
use skep_service::Work;
use skep_service::work::Way;

/// A node's knowledge, once it is as expected.
async fn until(rig: &Rig, what: &str, is_so: impl Fn(&Work) -> bool) -> Arc<Work> {
    let began = Instant::now();
    loop {
        let work = rig.broker.work().await;
        if is_so(&work) {
            return work;
        }
        assert!(began.elapsed() < DEADLINE, "no {what}: {work:?}");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

fn waiting(work: &Work) -> u64 {
    let partitions = work.nodes.iter().flat_map(|node| &node.partitions);
    let lines = partitions.flat_map(|partition| &partition.waiting);
    lines.map(|jobs| jobs.count).sum()
}

fn in_flight(work: &Work) -> u64 {
    let partitions = work.nodes.iter().flat_map(|node| &node.partitions);
    let lines = partitions.flat_map(|partition| &partition.in_flight);
    lines.map(|jobs| jobs.count).sum()
}

/// Worker, node and way of each request.
fn askers(work: &Work) -> Vec<(String, String, Way)> {
    let askers = work.nodes.iter().flat_map(|node| &node.askers);
    let mut askers: Vec<_> = askers
        .map(|it| (it.worker.to_string(), it.node.to_string(), it.way))
        .collect();
    askers.sort();
    askers
}

#[tokio::test(flavor = "multi_thread")]
async fn any_node_knows_the_jobs_of_all_partitions_and_the_workers_at_all_nodes() {
    let nodes = Nodes::new(3, 3);
    let mut rigs = nodes.all().await;
    rigs[0].deploy(&one_task()).await;
    for n in 0..6 {
        new_one(&rigs[n % 3]).await;
    }
    for rig in &rigs {
        let work = until(rig, "jobs", |work| waiting(work) == 6).await;
        assert_eq!(in_flight(&work), 0);
        assert!(askers(&work).is_empty() && !work.is_incomplete, "{work:?}");
        let partitions = work.nodes.iter().flat_map(|node| &node.partitions);
        let mut led: Vec<u32> = partitions.map(|it| it.partition).collect();
        led.sort_unstable();
        assert_eq!(led, [1, 2, 3]);
    }
    let taken = rigs[1].activate(2, Duration::ZERO).await;
    assert_eq!(taken.len(), 2);
    let streaming = ActivateJobs {
        job_type: "other".into(),
        worker: "pushed".into(),
        ..jobs(5)
    };
    let stream = rigs[2].broker.open_job_stream(streaming, Claims::Internal);
    let both = [
        ("pushed".to_string(), "2".to_string(), Way::Stream),
        ("test".to_string(), "1".to_string(), Way::Poll),
    ];
    for rig in &rigs {
        let is_so = |work: &Work| in_flight(work) == 2 && askers(work) == both;
        let work = until(rig, "workers", is_so).await;
        assert_eq!(waiting(&work), 4);
    }
    // A closed stream requests no more jobs; a recent poll is remembered.
    drop(stream);
    until(&rigs[0], "end of the stream", |work| {
        askers(work) == both[1..]
    })
    .await;
    // The missing node's knowledge is absent.
    stop(rigs.pop().unwrap()).await;
    until(&rigs[0], "gap", |work| work.is_incomplete).await;
}
