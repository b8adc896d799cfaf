//! `skep cluster apply`: requests changes until the cluster has the wanted shape.

use std::time::{Duration, Instant};

use clap::Args;
use http::{Method, StatusCode};
use serde_json::Value;

use super::ManagementArgs;
use super::shape::{Shape, Wish};
use crate::cli::change::in_words;
use crate::cli::{Usage, fetch, given};
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
    /// Only print the steps of the change.
    #[arg(long, conflicts_with_all = ["shrink_only", "wait"])]
    dry_run: bool,
    /// Return when the change is complete; without it, when the cluster has started it.
    #[arg(long)]
    wait: bool,
    /// Give up after this time, as in 90s or 10m; a change that has started continues. A number without a unit is in seconds.
    #[arg(long, default_value = "10m", value_name = "TIME", value_parser = given::patience)]
    timeout: Duration,
    /// Print the cluster as JSON, as the management port returns it, or with `--dry-run` the plan.
    #[arg(long)]
    json: bool,
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
    if args.dry_run {
        return print_plan(&args, wish).await;
    }
    let deadline = Instant::now() + args.timeout;
    let mut said = String::new();
    loop {
        let why = match step(&args, wish).await? {
            Step::Done(_) if args.json => return print_cluster(&args.server.management).await,
            Step::Done(text) => return crate::cli::print(&format!("{text}\n")),
            Step::Wait(why) => why,
        };
        if why != said {
            complain!("waiting: {why}");
            said.clone_from(&why);
        }
        if Instant::now() >= deadline {
            let text = format!(
                "after {} s the cluster is not as requested: {why}",
                args.timeout.as_secs_f64()
            );
            return Err(Coded::new("NO_ANSWER", text).into());
        }
        tokio::time::sleep(PAUSE).await;
    }
}

async fn print_cluster(management: &str) -> anyhow::Result<()> {
    let (status, body) = fetch::get(management, PATH, ANSWER).await?;
    if !status.is_success() {
        return Err(refusal(management, status, &body));
    }
    let cluster: Value = serde_json::from_slice(&body)?;
    crate::cli::print(&format!("{cluster:#}\n"))
}

async fn print_plan(args: &ApplyArgs, wish: Wish) -> anyhow::Result<()> {
    let management = &args.server.management;
    let (path, body) = (format!("{PATH}?dryRun=true"), wish.body().to_string());
    let (status, body) = fetch::request(Method::PATCH, management, &path, body, ANSWER).await?;
    if !status.is_success() {
        return Err(refusal(management, status, &body));
    }
    let planned: Value = serde_json::from_slice(&body)?;
    if args.json {
        return crate::cli::print(&format!("{planned:#}\n"));
    }
    let steps = planned.get("plannedChanges").and_then(Value::as_array);
    let steps: Vec<String> = steps.into_iter().flatten().map(in_words).collect();
    if steps.is_empty() {
        return crate::cli::print("The cluster is as requested.\n");
    }
    crate::cli::print(&format!("{}\n", steps.join("\n")))
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
        Err(error) => return unreached(error),
    };
    let cluster: Value = serde_json::from_slice(&body).unwrap_or_default();
    let Some(shape) = Shape::read(&cluster).filter(|_| status.is_success()) else {
        return Refused::read(management, status, &body).next_step();
    };
    let pending = cluster.pointer("/pendingChange/pending");
    if let Some(left) = pending.and_then(Value::as_array) {
        let next = left.first().unwrap_or(&Value::Null);
        let text = format!(
            "a change is in progress, {} step(s) left, now {}",
            left.len(),
            in_words(next)
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
        Err(error) => return unreached(error),
    };
    if status.is_success() {
        return Ok(if args.wait {
            Step::Wait("the cluster has started the change".to_string())
        } else {
            Step::Done("The cluster has started the change.".to_string())
        });
    }
    Refused::read(management, status, &body).next_step()
}

/// A node that does not answer may be about to start.
fn unreached(error: anyhow::Error) -> anyhow::Result<Step> {
    if fetch::is_final(&error) {
        return Err(error);
    }
    Ok(Step::Wait(format!("{error:#}")))
}

/// An answer that is not a success.
struct Refused {
    status: StatusCode,
    why: String,
    /// The node has no others, but may be about to restart as one of several.
    is_alone: bool,
}

impl Refused {
    fn read(management: &str, status: StatusCode, body: &[u8]) -> Refused {
        let answer: Value = serde_json::from_slice(body).unwrap_or_default();
        let message = answer.get("message").and_then(Value::as_str);
        let message = message.unwrap_or("no reason given");
        Refused {
            status,
            why: format!("{management} answered {status}: {message}"),
            is_alone: answer.get("isAlone") == Some(&Value::Bool(true)),
        }
    }

    /// An impossible or forbidden change stays so.
    fn is_final(&self) -> bool {
        match self.status {
            StatusCode::CONFLICT | StatusCode::REQUEST_TIMEOUT | StatusCode::TOO_MANY_REQUESTS => {
                false
            }
            StatusCode::NOT_IMPLEMENTED => !self.is_alone,
            status => status.is_client_error(),
        }
    }

    fn next_step(self) -> anyhow::Result<Step> {
        if self.is_final() {
            return Err(self.error());
        }
        Ok(Step::Wait(self.why))
    }

    fn error(self) -> anyhow::Error {
        let code = match self.status {
            StatusCode::UNAUTHORIZED => "UNAUTHENTICATED",
            StatusCode::FORBIDDEN => "PERMISSION_DENIED",
            StatusCode::NOT_IMPLEMENTED => "UNIMPLEMENTED",
            status if status.is_server_error() => "FAILED",
            _ => "FAILED_PRECONDITION",
        };
        Coded::new(code, self.why).into()
    }
}

/// The error of a request that the management port refused.
pub fn refusal(management: &str, status: StatusCode, body: &[u8]) -> anyhow::Error {
    Refused::read(management, status, body).error()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::errors::code_of;

    #[test]
    fn only_temporary_refusals_are_retried() {
        let alone = r#"{"message": "this node is alone", "isAlone": true}"#;
        for (status, body, expected) in [
            (
                400,
                r#"{"message": "more copies than nodes"}"#,
                Some("FAILED_PRECONDITION"),
            ),
            (401, "", Some("UNAUTHENTICATED")),
            (
                403,
                r#"{"message": "no permission"}"#,
                Some("PERMISSION_DENIED"),
            ),
            (408, "", None),
            (409, r#"{"message": "another change goes on"}"#, None),
            (502, r#"{"message": "nobody leads"}"#, None),
            (503, "the server is starting", None),
            (501, alone, None),
            (
                501,
                r#"{"message": "this node is alone"}"#,
                Some("UNIMPLEMENTED"),
            ),
        ] {
            let status = StatusCode::from_u16(status).unwrap();
            let step = Refused::read("http://node", status, body.as_bytes()).next_step();
            let code = step.as_ref().err().map(code_of);
            assert_eq!(code, expected, "{status} {body}");
            if let Ok(Step::Done(text)) = step {
                panic!("{text}");
            }
        }
    }

    /// A port that answers one request so.
    async fn answering(status: &'static str, body: &'static str) -> String {
        use tokio::io::{AsyncReadExt, AsyncWriteExt};
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap());
        tokio::spawn(async move {
            let (mut stream, _) = listener.accept().await.unwrap();
            let _ = stream.read(&mut [0; 1024]).await;
            let length = body.len();
            let answer = format!(
                "HTTP/1.1 {status}\r\nconnection: close\r\ncontent-length: {length}\r\n\r\n{body}"
            );
            stream.write_all(answer.as_bytes()).await.unwrap();
        });
        address
    }

    #[tokio::test]
    async fn what_will_not_change_is_not_waited_for() {
        let rest = r#"{"title": "NOT_FOUND", "detail": "no such path"}"#;
        for (management, expected) in [
            (answering("403 Forbidden", "{}").await, "PERMISSION_DENIED"),
            (answering("404 Not Found", rest).await, "NOT_UNDERSTOOD"),
            ("ftp://localhost:1".to_string(), "USAGE"),
        ] {
            let args = ApplyArgs {
                server: ManagementArgs { management },
                size: 1,
                replication_factor: None,
                partitions: None,
                shrink_only: false,
                dry_run: false,
                wait: false,
                timeout: Duration::from_secs(600),
                json: false,
            };
            let refused = run(args).await.unwrap_err();
            assert_eq!(code_of(&refused), expected, "{refused:#}");
        }
    }
}
