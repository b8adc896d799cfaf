//! Acknowledged means durable: the real binary is killed (`kill -9`) again and again under load, and the effects of every acknowledged
//! command must still exist.
//!
//! `SKEP_CRASH_ROUNDS=200 cargo test --workspace --test crash` kills more often than the default.

mod support;

use std::time::Duration;

use support::Server;
use support::ledger::{self, Load, Shared};

fn rounds() -> u64 {
    let set = std::env::var("SKEP_CRASH_ROUNDS").ok();
    set.and_then(|n| n.parse().ok()).unwrap_or(24)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_acknowledged_command_survives_kill_9() {
    let data = tempfile::tempdir().unwrap();
    let ledger = Shared::default();
    for round in 0..rounds() {
        // Two partitions, and checkpoints in some of the rounds, so that recovery starts from either.
        let mut server = Server::start(data.path(), &["--partitions", "2"]).await;
        if round == 0 {
            ledger::deploy_one_task(&server.client()).await;
        }
        let variables = r#"{"orderId":"A-17","amount":42.5}"#;
        let load = Load::start(&server, &ledger, 6, variables);
        // Different times within start-up, steady work and group commits.
        tokio::time::sleep(Duration::from_millis(20 + (round * 37) % 180)).await;
        if round % 5 == 4 {
            server.management("POST", "/actuator/partitions/takeSnapshot");
        }
        server.kill();
        load.end().await;
    }

    let server = Server::start(data.path(), &["--partitions", "2"]).await;
    ledger::expect_everything_acknowledged(&server, &ledger).await;
    assert!(
        ledger.created() > 100,
        "only {} instances were created",
        ledger.created()
    );
    println!(
        "{} kills, {} acknowledged instances, {} acknowledged completions, nothing lost",
        rounds(),
        ledger.created(),
        ledger.completed()
    );
}
