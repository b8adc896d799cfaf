//! A slot with many messages moves to a new partition while clients publish: each of their requests is answered, wherever the slot is.
//!
//! Prints how long they waited. `SKEP_ROWS=100000 cargo test -p skep-broker --test cluster slots -- --nocapture` measures a large slot.

use skep_cluster::Request as Change;
use skep_protocol::Routing;
use tokio::task::{JoinHandle, JoinSet};

use super::changes::change;
use super::purge::open_alone;
use super::*;

const PARTITIONS: u32 = 3;
/// Clients that fill the slot.
const CLIENTS: usize = 64;

/// A key that moves away from the only partition.
fn moving_key() -> String {
    let moved = Routing::scaled(1, PARTITIONS, PARTITIONS).spread_over(&[PARTITIONS]);
    let mut keys = (0..).map(|number| format!("order-{number}"));
    let moves = |key: &String| moved.of_correlation(key) != Routing::FIRST;
    keys.find(moves).unwrap()
}

/// Publishes a message. Returns the partition that has it.
async fn published(rig: &Rig, key: &str) -> Option<u32> {
    match insist(rig, publish("paid", key, "{}")).await {
        Ok(Response::MessagePublished { message_key }) => message_key.partition(),
        other => panic!("{other:?}"),
    }
}

fn also(rig: &Rig) -> Rig {
    Rig {
        broker: rig.broker.clone(),
        clock: rig.clock.clone(),
        directory: rig.directory.clone(),
    }
}

async fn fill(rig: &Rig, key: &str, rows: usize) {
    let mut clients = JoinSet::new();
    for _ in 0..CLIENTS {
        let (rig, key) = (also(rig), key.to_string());
        clients.spawn(async move {
            for _ in 0..rows / CLIENTS {
                assert_eq!(published(&rig, &key).await, Some(Routing::FIRST));
            }
        });
    }
    clients.join_all().await;
}

/// Publishes one message after the other. Returns the times until the answers, ascending.
fn keep_publishing(
    rig: &Rig,
    done: &Arc<AtomicBool>,
    key: impl Fn(usize) -> String + Send + 'static,
) -> JoinHandle<Vec<Duration>> {
    let (rig, done) = (also(rig), done.clone());
    tokio::spawn(async move {
        let mut waits = Vec::new();
        while !done.load(Ordering::Relaxed) {
            let began = Instant::now();
            published(&rig, &key(waits.len())).await;
            waits.push(began.elapsed());
        }
        waits.sort_unstable();
        waits
    })
}

fn report(of: &str, waits: &[Duration]) {
    let at = |share: f64| waits.get((waits.len() as f64 * share) as usize);
    println!(
        "{of}: {} requests, median {:?}, p99 {:?}, longest {:?}",
        waits.len(),
        at(0.5),
        at(0.99),
        waits.last()
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn clients_are_answered_while_a_slot_with_many_messages_moves() {
    let rows = std::env::var("SKEP_ROWS").map_or(2_500, |rows| rows.parse().unwrap());
    let nodes = Nodes::new(1, 1);
    let rig = open_alone(&nodes).await;
    let key = moving_key();
    fill(&rig, &key, rows).await;
    let done = Arc::new(AtomicBool::new(false));
    let of_slot = key.clone();
    let same = keep_publishing(&rig, &done, move |_| of_slot.clone());
    let others = keep_publishing(&rig, &done, |number| format!("other-{number}"));
    let began = Instant::now();
    let count = Change::Scale {
        add: Vec::new(),
        remove: Vec::new(),
        count: None,
        partitions: Some(PARTITIONS),
        replication_factor: None,
    };
    change(&[&rig], count).await;
    println!(
        "{rows} messages: {PARTITIONS} partitions after {:?}",
        began.elapsed()
    );
    done.store(true, Ordering::Relaxed);
    report("the large slot", &same.await.unwrap());
    report("others", &others.await.unwrap());
    let partition = published(&rig, &key).await;
    assert_eq!(partition, Some(rig.broker.routing().of_correlation(&key)));
    assert_ne!(partition, Some(Routing::FIRST));
    stop(rig).await;
}
