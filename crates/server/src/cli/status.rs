//! `skep status`.

use std::time::Duration;

use clap::Args;
use serde_json::Value;

use crate::args::ServerArgs;
use crate::errors::Coded;

#[derive(Args)]
pub struct StatusArgs {
    #[command(flatten)]
    server: ServerArgs,
    /// Address of the server's management port, for positions; without it they are left out.
    #[arg(
        long,
        env = "SKEP_MANAGEMENT_ADDRESS",
        default_value = "http://localhost:9600",
        value_name = "URL"
    )]
    management: String,
}

pub async fn run(args: StatusArgs) -> anyhow::Result<()> {
    let topology = args.server.client()?.topology().await?;
    // The management port tells of its own node only.
    let alone = topology.cluster_size == 1;
    let details = match alone {
        true => partitions(&args.management).await,
        false => Value::Null,
    };
    let mut text = format!(
        "Version {}, {} node(s), {} partition(s), {} copies of each\n\n",
        topology.gateway_version,
        topology.cluster_size,
        topology.partitions_count,
        topology.replication_factor
    );
    let mut rows = vec![
        [
            "NODE",
            "ADDRESS",
            "PARTITION",
            "ROLE",
            "HEALTH",
            "PHASE",
            "PROCESSED",
            "SNAPSHOT",
            "BANNED",
        ]
        .map(String::from),
    ];
    let mut sick = Vec::new();
    for broker in &topology.brokers {
        for partition in &broker.partitions {
            let id = partition.partition_id.to_string();
            let detail = |field: &str| match details.get(&id).map(|partition| &partition[field]) {
                Some(Value::String(text)) => text.clone(),
                Some(Value::Number(number)) => number.to_string(),
                _ => "-".to_string(),
            };
            if partition.health != "healthy" {
                sick.push(id.clone());
            }
            rows.push([
                broker.node_id.to_string(),
                format!("{}:{}", broker.host, broker.port),
                id.clone(),
                partition.role.clone(),
                partition.health.clone(),
                detail("streamProcessorPhase"),
                detail("processedPosition"),
                detail("processedPositionInSnapshot"),
                detail("bannedInstances"),
            ]);
        }
    }
    text.push_str(&super::table(&rows));
    super::print(&text)?;
    if sick.is_empty() {
        Ok(())
    } else {
        let text = format!(
            "not healthy: partition {}; see {}/actuator/health and the server's log",
            sick.join(", "),
            args.management
        );
        Err(Coded::new("NOT_HEALTHY", text).into())
    }
}

async fn partitions(management: &str) -> Value {
    let answer =
        super::fetch::get(management, "/actuator/partitions", Duration::from_secs(2)).await;
    let Ok((status, body)) = answer else {
        return Value::Null;
    };
    if status.is_success() {
        serde_json::from_slice(&body).unwrap_or_default()
    } else {
        Value::Null
    }
}
