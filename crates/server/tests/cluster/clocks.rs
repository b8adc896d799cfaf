//! Clocks of nodes are set back by hours while a command between partitions is lost.

use super::*;

/// Six hours, in milliseconds.
const AHEAD: &str = r#"{"offsetMilli":21600000}"#;

/// A deployment is sent to a leader that never reads it. It is repeated after ten seconds, whatever the clocks show.
#[tokio::test(flavor = "multi_thread", worker_threads = 6)]
async fn a_command_that_is_lost_is_repeated_though_clocks_went_back_by_hours() {
    let mut nodes = Nodes::new(2);
    let controlled = ["--set", "camunda.system.clock-controlled=true"];
    nodes.more = controlled.map(String::from).to_vec();
    let mut servers = nodes.all().await;
    for server in &servers {
        let moved = server.manage("POST", "/actuator/clock/add", AHEAD);
        assert!(matches!(moved, Some((200, _))), "{moved:?}");
    }
    let mut leaders = [0; 2];
    eventually("two leaders", async || {
        let Ok(topology) = servers[0].client().topology().await else {
            return false;
        };
        let led = |partition| leader_of(&topology, partition);
        match (led(1), led(2)) {
            (Some(first), Some(second)) if first != second => {
                leaders = [first, second];
                true
            }
            _ => false,
        }
    })
    .await;
    let [first, second] = leaders;
    servers[second].stop();
    let client = servers[first].client();
    let deploying = tokio::spawn(async move { ledger::deploy_one_task(&client).await });
    // Partition 1 has sent it on long before the others elect another leader of partition 2.
    tokio::time::sleep(Duration::from_millis(500)).await;
    for node in (0..SIZE).filter(|node| *node != second) {
        let moved = servers[node].management("DELETE", "/actuator/clock");
        assert!(matches!(moved, Some((200, _))), "{moved:?}");
    }
    servers[second].kill();
    let client = servers[first].client();
    let request = CreateInstance::latest("one-task");
    eventually("both partitions to have the process", async || {
        for _ in 0..8 {
            if client.create_instance(&request).await.is_err() {
                return false;
            }
        }
        true
    })
    .await;
    deploying.abort();
    servers[second] = nodes.start(second).await.unwrap();
}
