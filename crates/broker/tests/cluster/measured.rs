//! Measurements that nodes take of each other.

use super::*;

/// The sum over the series with this name.
fn measured(rig: &Rig, name: &str) -> f64 {
    rig.broker.refresh_metrics();
    let mut registry = Registry::default();
    rig.broker.metrics().register(&mut registry);
    let mut text = String::new();
    prometheus_client::encoding::text::encode(&mut text, &registry).unwrap();
    let of_name = text.lines().filter(|line| {
        let rest = line.strip_prefix(name);
        rest.is_some_and(|rest| rest.starts_with(['{', ' ']))
    });
    let values = of_name.filter_map(|line| line.rsplit(' ').next()?.parse::<f64>().ok());
    values.sum()
}

#[tokio::test(flavor = "multi_thread")]
async fn replicas_and_requests_between_nodes_are_measured() {
    let nodes = Nodes::new(3, 1);
    let rigs = nodes.all().await;
    rigs[0].deploy(&one_task()).await;
    for n in 0..9 {
        create_one(&rigs[n % 3]).await;
    }
    let leader = leader(&rigs[0].broker.topology(), 1).unwrap();
    let (leading, following) = (&rigs[leader], &rigs[(leader + 1) % 3]);
    for name in [
        "atomix_append_entries_rate_total",
        "atomix_append_entries_latency_seconds_count",
        "atomix_raft_messages_send_total",
    ] {
        wait_until(name, || measured(leading, name) > 0.0).await;
    }
    for name in [
        "atomix_raft_messages_received_total",
        "atomix_heartbeat_time_in_s_seconds_count",
        "zeebe_messaging_request_count_total",
        "zeebe_messaging_request_size_kb_count",
        "zeebe_messaging_request_response_latency_seconds_count",
        "zeebe_messaging_response_count_total",
    ] {
        wait_until(name, || measured(following, name) > 0.0).await;
    }
    for (rig, name) in [
        (leading, "atomix_non_replicated_entries"),
        (following, "zeebe_messaging_inflight_requests"),
        (following, "atomix_snapshot_replication_count"),
    ] {
        wait_until(name, || measured(rig, name) == 0.0).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_says_how_long_its_command_waited_whichever_node_carried_it_out() {
    let nodes = Nodes::new(3, 1);
    let rigs = nodes.all().await;
    rigs[0].deploy(&one_task()).await;
    for rig in &rigs {
        // A leader that is replaced meanwhile answers that it does not lead.
        let began = Instant::now();
        let waited = loop {
            let command = Request::internal(create("one-task", "{}", None));
            let answer = rig.broker.execute(command).await;
            if answer.result.is_ok() {
                break answer.timings.inbox_wait;
            }
            assert!(began.elapsed() < DEADLINE, "{:?}", answer.result);
        };
        assert!(waited > 0, "{:?}", rig.broker.config().node_id);
    }
}
