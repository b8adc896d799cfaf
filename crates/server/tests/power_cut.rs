//! Power cuts under the real server: it is stopped and its file system shut down at any time (unflushed writes are lost), and all
//! acknowledged work must be on the disk.
//!
//! `SKEP_POWER_CUTS=50 cargo test --workspace --test power_cut` cuts more often than the default.

mod support;

use std::time::Duration;

use skep_testkit::sandbox::{self, FileSystem};
use support::Start;
use support::ledger::{self, Load, Shared};

fn rounds() -> u64 {
    let set = std::env::var("SKEP_POWER_CUTS").ok();
    set.and_then(|n| n.parse().ok()).unwrap_or(8)
}

#[test]
fn every_acknowledged_command_survives_power_cuts() {
    let name = "every_acknowledged_command_survives_power_cuts";
    sandbox::run(name, async |directory| {
        let disk = FileSystem::ext4(&directory, 256);
        let data = disk.root.join("data");
        let arguments = [
            "--partitions",
            "2",
            "--set",
            "skep.data.snapshot-log-size=1MB",
            "--set",
            "camunda.data.primary-storage.log-stream.log-segment-size=1MB",
            "--set",
            "camunda.data.primary-storage.disk.monitoring-enabled=false",
        ];
        let ledger = Shared::default();
        // Values that fill whole pages by themselves, so that a torn write may lose a page in their middle.
        let variables = format!(r#"{{"document":"{}"}}"#, "0123456789abcdef".repeat(1024));
        for round in 0..rounds() {
            let switch = disk.switch();
            let log = directory.join("log");
            let mut server = Start::new(&data, &arguments).log_to(log).ready().await;
            if round == 0 {
                ledger::deploy_one_task(&server.client()).await;
            }
            let load = Load::start(&server, &ledger, 6, &variables);
            // Different times within start-up, steady work, new log files and checkpoints.
            tokio::time::sleep(Duration::from_millis(60 + (round * 97) % 400)).await;
            if round % 2 == 1 {
                server.begin_checkpoint();
                tokio::time::sleep(Duration::from_millis(round % 7)).await;
            }
            // The processor loses power together with the disk: all answers were sent before.
            server.stop();
            switch.off();
            server.kill();
            load.end().await;
            disk.power_on();
        }
        let start = Start::new(&data, &arguments);
        let server = start.log_to(directory.join("log")).ready().await;
        ledger::expect_everything_acknowledged(&server, &ledger).await;
        assert!(
            ledger.created() > 50,
            "only {} instances were created",
            ledger.created()
        );
        println!(
            "{} power cuts, {} acknowledged instances, {} acknowledged completions, nothing lost",
            rounds(),
            ledger.created(),
            ledger.completed()
        );
    });
}
