//! `skep cluster apply`: requests changes until the cluster has the wanted shape.

use std::time::{Duration, Instant};

use clap::Args;
use http::{Method, StatusCode};
use serde_json::Value;

use super::ManagementArgs;
use super::shape::{Shape, Wish};
use crate::cli::{Usage, fetch};
use crate::errors::Coded;

const PATH: &str = "/actuator/cluster";
const ANSWER: Duration = Duration::from_secs(20);
const PAUSE: Duration = Duration::from_secs(1);

#[derive(Args)]
pub struct ApplyArgs {
    #[command(flatten)]
    server: ManagementArgs,
    /// Target number of nodes; they are numbered from 0.
    #[arg(long, value_name = "NODES", value_parser = clap::value_parser!(u64).range(1..=7))]
    size: u64,
    /// Target number of copies of each partition [default: unchanged].
    #[arg(long, value_name = "COPIES", value_parser = clap::value_parser!(u64).range(1..=7))]
    replication_factor: Option<u64>,
    /// Target number of partitions; if there are more, the others are drained [default: unchanged].
    #[arg(long, value_name = "PARTITIONS", value_parser = clap::value_parser!(u64).range(1..=1024))]
    partitions: Option<u64>,
    /// Only remove nodes: run it before pods are removed.
    #[arg(long)]
    shrink_only: bool,
    /// Return when the change is complete; without it, when the cluster has started it.
    #[arg(long)]
    wait: bool,
    /// Give up after this many seconds; a change that has started continues.
    #[arg(long, default_value_t = 600, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(1..=86_400))]
    timeout: u64,
}

pub async fn run(args: ApplyArgs) -> anyhow::Result<()> {
    let wish = Wish {
        size: args.size,
        copies: args.replication_factor,
        // Removing nodes must not wait for new partitions.
        partitions: args.partitions.filter(|_| !args.shrink_only),
    };
    if wish.copies.is_some_and(|copies| copies > wish.size) {
        let text = "--replication-factor is greater than --size: copies of a partition are on different nodes";
        return Err(Usage(text.to_string()).into());
    }
    let deadline = Instant::now() + Duration::from_secs(args.timeout);
    let mut said = String::new();
    loop {
        let why = match step(&args, wish).await? {
            Step::Done(text) => return crate::cli::print(&format!("{text}\n")),
            Step::Wait(why) => why,
        };
        if why != said {
            eprintln!("waiting: {why}");
            said.clone_from(&why);
        }
        if Instant::now() >= deadline {
            let text = format!(
                "after {} s the cluster is not as requested: {why}",
                args.timeout
            );
            return Err(Coded::new("NO_ANSWER", text).into());
        }
        tokio::time::sleep(PAUSE).await;
    }
}

enum Step {
    Done(String),
    /// The reason why it cannot continue yet.
    Wait(String),
}

/// Checks the cluster, and requests the change if that is the next step.
async fn step(args: &ApplyArgs, wish: Wish) -> anyhow::Result<Step> {
    let management = &args.server.management;
    let (status, body) = match fetch::look(management, PATH, ANSWER).await {
        Ok(answer) => answer,
        Err(error) => return Ok(Step::Wait(format!("{error:#}"))),
    };
    let cluster: Value = serde_json::from_slice(&body).unwrap_or_default();
    let Some(shape) = Shape::read(&cluster).filter(|_| status.is_success()) else {
        return Ok(Step::Wait(refused(management, status, &body)));
    };
    let pending = cluster.pointer("/pendingChange/pending");
    if let Some(left) = pending.and_then(Value::as_array) {
        let next = left.first().unwrap_or(&Value::Null);
        let text = format!(
            "a change is in progress, {} operations are left, now {next}",
            left.len()
        );
        return Ok(Step::Wait(text));
    }
    if args.shrink_only && !shape.loses_nodes(wish) {
        let text = format!("No node needs to be removed: {}.", shape.text());
        return Ok(Step::Done(text));
    }
    if shape.is(wish) {
        return Ok(Step::Done(format!("As requested: {}.", shape.text())));
    }
    let body = wish.body().to_string();
    let (status, body) = match fetch::request(Method::PATCH, management, PATH, body, ANSWER).await {
        Ok(answer) => answer,
        // The next check shows whether the change was accepted.
        Err(error) => return Ok(Step::Wait(format!("{error:#}"))),
    };
    if status.is_success() {
        return Ok(if args.wait {
            Step::Wait("the cluster has started the change".to_string())
        } else {
            Step::Done("The cluster has started the change.".to_string())
        });
    }
    let why = refused(management, status, &body);
    if is_final(status, &why) {
        return Err(Coded::new("FAILED_PRECONDITION", why).into());
    }
    Ok(Step::Wait(why))
}

/// An impossible change stays impossible. But a node that is alone may be about to restart as one of several.
fn is_final(status: StatusCode, why: &str) -> bool {
    let is_alone = status == StatusCode::NOT_IMPLEMENTED && why.contains("this node is alone");
    status.is_client_error() && status != StatusCode::CONFLICT
        || status == StatusCode::NOT_IMPLEMENTED && !is_alone
}

fn refused(management: &str, status: StatusCode, body: &[u8]) -> String {
    let answer: Value = serde_json::from_slice(body).unwrap_or_default();
    let message = answer.get("message").and_then(Value::as_str);
    let message = message.unwrap_or("no reason given");
    format!("{management} answered {status}: {message}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_temporary_refusals_are_retried() {
        for (status, why, expected) in [
            (StatusCode::BAD_REQUEST, "more copies than nodes", true),
            (StatusCode::CONFLICT, "another change goes on", false),
            (StatusCode::BAD_GATEWAY, "nobody leads", false),
            (
                StatusCode::SERVICE_UNAVAILABLE,
                "the server is starting",
                false,
            ),
            (
                StatusCode::NOT_IMPLEMENTED,
                "this node is alone, and",
                false,
            ),
            (StatusCode::NOT_IMPLEMENTED, "not offered", true),
        ] {
            assert_eq!(is_final(status, why), expected, "{status} {why}");
        }
    }
}
