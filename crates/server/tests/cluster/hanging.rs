//! A thread of a node hangs while its process goes on: the node is heard, and its connections are open.

use std::process::{Child, Command, Stdio};

use skep_testkit::sandbox;

use super::faults::{Clients, others, others_continue_without, takes_work};
use super::*;

/// Longer than replicas without work take to hibernate.
const REST: Duration = Duration::from_secs(4);

/// Holds a thread of a node at its next wait, until it is dropped.
struct HeldThread(Child);

impl HeldThread {
    fn of(server: &Server, name: &str) -> HeldThread {
        let tasks = std::fs::read_dir(format!("/proc/{}/task", server.id())).unwrap();
        let mut tasks = tasks.map(|task| task.unwrap().path());
        let is_it = |task: &PathBuf| {
            let comm = std::fs::read_to_string(task.join("comm"));
            comm.is_ok_and(|comm| comm.trim_end() == name)
        };
        let task = tasks.find(is_it).expect("a thread of this name");
        let thread = task.file_name().unwrap().to_str().unwrap();
        // Only this thread is traced: without `-f`, `strace` leaves the others alone.
        let tracer = Command::new("strace")
            .args(["-qq", "-o", "/dev/null", "-e", "trace=futex"])
            .args(["-e", "inject=futex:delay_enter=3600000000", "-p", thread])
            .stdin(Stdio::null())
            .spawn()
            .unwrap();
        let held = HeldThread(tracer);
        let began = Instant::now();
        let traced = || {
            let status = std::fs::read_to_string(task.join("status")).unwrap();
            !status.contains("TracerPid:\t0\n")
        };
        while !traced() {
            assert!(began.elapsed() < Duration::from_secs(60), "it is not held");
            std::thread::sleep(Duration::from_millis(10));
        }
        held
    }
}

impl Drop for HeldThread {
    fn drop(&mut self) {
        let _ = self.0.kill();
        support::end(&mut self.0);
    }
}

/// Tries with a program that is nobody's child here.
fn require_attaching() {
    let attaches = "strace -qq -o /dev/null -p $(sleep 1 >/dev/null & echo $!)";
    sandbox::require("sh", &["-c", attaches]);
}

#[test]
fn a_leader_whose_thread_hangs_while_its_group_hibernates_is_replaced() {
    sandbox::run(
        "hanging::a_leader_whose_thread_hangs_while_its_group_hibernates_is_replaced",
        |_| async {
            require_attaching();
            let nodes = Nodes::new(1);
            let servers = nodes.all().await;
            ledger::deploy_one_task(&servers[1].client()).await;
            let ledger = Shared::default();
            let victim = leader(&servers[1]).await;
            takes_work(&servers[victim], &ledger).await;
            tokio::time::sleep(REST).await;
            let held = HeldThread::of(&servers[victim], "partition-1");
            let clients = Clients::start(others(&servers, victim), &ledger);
            others_continue_without(&servers, victim, &ledger).await;
            eventually("the node to say so", async || {
                servers[victim].log().contains("PARTITION_HANGS")
            })
            .await;
            drop(held);
            takes_work(&servers[victim], &ledger).await;
            println!("without an answer for {:?}", clients.end().await);
            for server in &servers {
                ledger::expect_everything_acknowledged(server, &ledger).await;
            }
        },
    );
}
