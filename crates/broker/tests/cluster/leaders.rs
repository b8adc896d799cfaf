//! Leaders are spread over the live nodes automatically, by their number and by their load.

use super::*;

/// Number of partitions that each node leads, in ascending order; `None` while a partition has no leader.
fn led(rig: &Rig) -> Option<Vec<usize>> {
    let topology = rig.broker.topology();
    let mut led: BTreeMap<usize, usize> = topology
        .brokers
        .iter()
        .map(|broker| (broker.node_id as usize, 0))
        .collect();
    for partition in 1..=topology.partitions_count {
        *led.entry(leader(&topology, partition)?).or_default() += 1;
    }
    let mut counts: Vec<usize> = led.into_values().collect();
    counts.sort_unstable();
    Some(counts)
}

#[tokio::test(flavor = "multi_thread")]
async fn leaders_are_rebalanced_when_a_node_stops_and_when_it_returns() {
    let nodes = Nodes::new(3, 4);
    let mut rigs = nodes.all().await;
    rigs[0].deploy(&one_task()).await;
    let mut created = HashSet::from([new_one(&rigs[0]).await]);
    stop(rigs.pop().unwrap()).await;
    for rig in &rigs {
        wait_until("two leaders on each of two nodes", || {
            led(rig) == Some(vec![2, 2])
        })
        .await;
    }
    created.insert(create_one(&rigs[0]).await);
    rigs.push(nodes.open(2).await);
    for rig in &rigs {
        wait_until("leaders on all three nodes", || {
            led(rig) == Some(vec![1, 1, 2])
        })
        .await;
    }
    created.insert(create_one(&rigs[2]).await);
    all_are_there(&rigs[1], created).await;
}

/// The leaders of all partitions, in their order.
fn leaders(rig: &Rig) -> Option<Vec<usize>> {
    let topology = rig.broker.topology();
    let partitions = 1..=topology.partitions_count;
    partitions
        .map(|partition| leader(&topology, partition))
        .collect()
}

/// Counts half a core for the thread of each of these partitions that leads here, as if it worked, until this is dropped.
struct Works {
    done: Arc<AtomicBool>,
    thread: Option<std::thread::JoinHandle<()>>,
}

impl Works {
    fn new(rigs: &[Rig], partitions: &'static [u32]) -> Works {
        let brokers: Vec<Arc<Broker>> = rigs.iter().map(|rig| rig.broker.clone()).collect();
        let done = Arc::new(AtomicBool::new(false));
        let is_done = done.clone();
        let run = move || {
            let mut last = Instant::now();
            while !is_done.load(Ordering::Relaxed) {
                std::thread::sleep(Duration::from_millis(100));
                let passed = last.elapsed().as_secs_f64();
                last = Instant::now();
                for handle in brokers.iter().flat_map(|broker| broker.partitions()) {
                    if partitions.contains(&handle.status.partition) && handle.leads() {
                        handle.metrics.cpu.inc_by(passed / 2.0);
                    }
                }
            }
        };
        Works {
            done,
            thread: Some(std::thread::spawn(run)),
        }
    }
}

impl Drop for Works {
    fn drop(&mut self) {
        self.done.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_node_that_is_too_busy_gives_a_partition_to_another_one() {
    let mut nodes = Nodes::new(3, 6);
    nodes.rebalance_pace = Duration::from_secs(1);
    let rigs = nodes.all().await;
    rigs[0].deploy(&one_task()).await;
    for rig in &rigs {
        wait_until("each partition is led by its first replica", || {
            leaders(rig) == Some(vec![0, 1, 2, 0, 1, 2])
        })
        .await;
    }
    let works = Works::new(&rigs, &[1, 4]);
    for rig in &rigs {
        wait_until("the first node leads one of its two", || {
            leaders(rig).is_some_and(|leaders| {
                (leaders[0] == 0) != (leaders[3] == 0)
                    && (leaders[1], leaders[2], leaders[4], leaders[5]) == (1, 2, 1, 2)
            })
        })
        .await;
    }
    drop(works);
    let created = HashSet::from([create_one(&rigs[1]).await, create_one(&rigs[2]).await]);
    all_are_there(&rigs[0], created).await;
}
