//! `skep cluster prepare-upgrade`: pauses all nodes before an upgrade that replaces them at once. `skep cluster resume` ends the pause.

use std::time::{Duration, Instant};

use clap::Args;
use http::{Method, StatusCode};
use serde_json::{Value, json};

use super::refusal;
use crate::cli::{fetch, given, interrupted};
use crate::errors::{Coded, code_of};

/// Longer than a node waits for its snapshots.
const ANSWER: Duration = Duration::from_secs(90);
const PAUSE: Duration = Duration::from_secs(1);
/// Of each node, when a pause that has failed is taken back.
const UNDO: Duration = Duration::from_secs(10);

/// One after the other, each on all nodes: nothing is recorded after the first snapshot.
const PREPARE: [&str; 3] = ["pauseExporting", "pauseProcessing", "takeSnapshot"];
const RESUME: [&str; 2] = ["resumeProcessing", "resumeExporting"];

#[derive(Args)]
pub struct NodesArgs {
    /// Addresses of the management ports of all nodes, separated by commas.
    #[arg(
        long,
        env = "SKEP_MANAGEMENT_ADDRESS",
        default_value = "http://localhost:9600",
        value_name = "URLS",
        value_delimiter = ','
    )]
    management: Vec<String>,
    /// Wait for nodes that do not answer or cannot do it yet; without it, they are an error.
    #[arg(long)]
    wait: bool,
    /// Give up after this time, as in 90s or 10m. A number without a unit is in seconds.
    #[arg(long, default_value = "10m", value_name = "TIME", value_parser = given::patience)]
    timeout: Duration,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

#[derive(Args)]
pub struct ResumeArgs {
    #[command(flatten)]
    nodes: NodesArgs,
    /// First wait until every node runs the version of this program and accepts work.
    #[arg(long)]
    upgraded: bool,
}

pub async fn prepare(args: NodesArgs) -> anyhow::Result<()> {
    let deadline = Instant::now() + args.timeout;
    // Nothing is paused unless all nodes are there.
    for node in &args.management {
        let asked = (Method::GET, "/actuator/partitions");
        args.ask(node, asked, deadline).await?;
    }
    let prepared = async {
        for operation in PREPARE {
            args.act(operation, deadline).await?;
        }
        Ok(())
    };
    let prepared = tokio::select! {
        prepared = prepared => prepared,
        () = interrupted() => Err(anyhow::anyhow!("interrupted; the nodes go on")),
    };
    if let Err(error) = prepared {
        args.undo().await;
        return Err(error);
    }
    args.say(
        "PAUSED",
        "has paused and stored a snapshot. Replace all nodes, then run `skep cluster resume`",
    )
}

pub async fn resume(args: ResumeArgs) -> anyhow::Result<()> {
    let nodes = &args.nodes;
    let deadline = Instant::now() + nodes.timeout;
    if args.upgraded {
        for node in &nodes.management {
            nodes.upgraded(node, deadline).await?;
        }
    }
    for operation in RESUME {
        nodes.act(operation, deadline).await?;
    }
    nodes.say("RESUMED", "processes and exports")
}

impl NodesArgs {
    /// Carries out an operation on the partitions of all nodes.
    async fn act(&self, operation: &str, deadline: Instant) -> anyhow::Result<()> {
        let path = format!("/actuator/partitions/{operation}");
        for node in &self.management {
            self.ask(node, (Method::POST, path.as_str()), deadline)
                .await?;
        }
        Ok(())
    }

    /// The answer of a node, which is tried again if the flags say so.
    async fn ask(
        &self,
        node: &str,
        (method, path): (Method, &str),
        deadline: Instant,
    ) -> anyhow::Result<Value> {
        let mut said = String::new();
        loop {
            let method = method.clone();
            let (error, is_final) =
                match fetch::request(method, node, path, String::new(), ANSWER).await {
                    Ok((status, body)) if status.is_success() => {
                        return Ok(serde_json::from_slice(&body).unwrap_or_default());
                    }
                    Ok((status, body)) => (refusal(node, status, &body), status.is_client_error()),
                    Err(error) => {
                        let is_final = fetch::is_final(&error);
                        (error, is_final)
                    }
                };
            if is_final || !self.wait || Instant::now() >= deadline {
                return Err(error.context(format!("{node}{path}")));
            }
            waiting(&mut said, format!("{node}: {error:#}"));
            tokio::time::sleep(PAUSE).await;
        }
    }

    /// Waits until the node has the version of this program and accepts work.
    async fn upgraded(&self, node: &str, deadline: Instant) -> anyhow::Result<()> {
        let mut said = String::new();
        loop {
            let why = match state(node).await {
                Ok(None) => return Ok(()),
                Ok(Some(why)) => why,
                // Another try would be refused as well.
                Err(error) if is_forbidden(&error) || fetch::is_final(&error) => {
                    return Err(error);
                }
                Err(error) => format!("{error:#}"),
            };
            if Instant::now() >= deadline {
                let seconds = self.timeout.as_secs_f64();
                let text = format!("after {seconds} s {node} is not upgraded: {why}");
                return Err(Coded::new("NO_ANSWER", text).into());
            }
            waiting(&mut said, format!("{node}: {why}"));
            tokio::time::sleep(PAUSE).await;
        }
    }

    /// Resumes what has been paused by a preparation that has failed.
    async fn undo(&self) {
        complain!("the preparation has failed: all nodes resume");
        for operation in RESUME {
            for node in &self.management {
                let path = format!("/actuator/partitions/{operation}");
                let failed = match fetch::post(node, &path, String::new(), UNDO).await {
                    Ok((status, _)) if status.is_success() => continue,
                    Ok((status, body)) => refusal(node, status, &body),
                    Err(error) => error,
                };
                complain!("{node}{path}: {failed:#}; run `skep cluster resume` when it is back");
            }
        }
    }

    fn say(&self, state: &str, text: &str) -> anyhow::Result<()> {
        let nodes = &self.management;
        if self.json {
            let done = json!({ "state": state, "nodes": nodes });
            return crate::cli::print(&format!("{done:#}\n"));
        }
        let lines = nodes.iter().map(|node| format!("{node} {text}.\n"));
        crate::cli::print(&lines.collect::<String>())
    }
}

/// Why a node is not upgraded yet; `None` if it is.
async fn state(node: &str) -> anyhow::Result<Option<String>> {
    let (status, body) = fetch::look(node, "/actuator/info", UNDO).await?;
    if !status.is_success() {
        return Err(refusal(node, status, &body));
    }
    let info: Value = serde_json::from_slice(&body).unwrap_or_default();
    let (version, own) = (
        info.pointer("/build/version").and_then(Value::as_str),
        env!("CARGO_PKG_VERSION"),
    );
    if version != Some(own) {
        let version = version.unwrap_or("an unknown version");
        return Ok(Some(format!("it runs {version}, not {own}")));
    }
    let (status, body) = fetch::look(node, "/ready", UNDO).await?;
    match status {
        StatusCode::OK => Ok(None),
        StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => Err(refusal(node, status, &body)),
        _ => Ok(Some("it does not accept work yet".to_string())),
    }
}

fn is_forbidden(error: &anyhow::Error) -> bool {
    matches!(code_of(error), "UNAUTHENTICATED" | "PERMISSION_DENIED")
}

/// Says once why it waits.
fn waiting(said: &mut String, why: String) {
    if *said != why {
        complain!("waiting: {why}");
        *said = why;
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    use super::*;

    /// What nodes were asked, in order: the number of the node and the last part of the path.
    type Asked = Arc<Mutex<Vec<String>>>;

    /// A management port that refuses an operation with this status.
    async fn node(number: u32, asked: &Asked, refuses: &'static str, status: u16) -> String {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap());
        let asked = Arc::clone(asked);
        tokio::spawn(async move {
            loop {
                let (mut stream, _) = listener.accept().await.unwrap();
                let mut request = vec![0; 4096];
                let length = stream.read(&mut request).await.unwrap();
                let head = String::from_utf8_lossy(&request[..length]).into_owned();
                let path = head.split_whitespace().nth(1).unwrap().to_string();
                let operation = path.rsplit('/').next().unwrap();
                asked.lock().unwrap().push(format!("{number} {operation}"));
                let status = if operation == refuses { status } else { 200 };
                let body = json!({"build": {"version": env!("CARGO_PKG_VERSION")}}).to_string();
                let length = body.len();
                let answer = format!(
                    "HTTP/1.1 {status} X\r\nconnection: close\r\ncontent-length: {length}\r\n\r\n{body}"
                );
                stream.write_all(answer.as_bytes()).await.unwrap();
            }
        });
        address
    }

    fn args(management: Vec<String>, wait: bool) -> NodesArgs {
        NodesArgs {
            management,
            wait,
            timeout: Duration::from_secs(1),
            json: true,
        }
    }

    fn list(asked: &Asked) -> Vec<String> {
        asked.lock().unwrap().clone()
    }

    #[tokio::test]
    async fn every_node_is_paused_before_the_first_stores_its_snapshot() {
        let asked = Asked::default();
        let nodes = [node(0, &asked, "", 0).await, node(1, &asked, "", 0).await];
        prepare(args(nodes.to_vec(), false)).await.unwrap();
        let expected = [
            "0 partitions",
            "1 partitions",
            "0 pauseExporting",
            "1 pauseExporting",
            "0 pauseProcessing",
            "1 pauseProcessing",
            "0 takeSnapshot",
            "1 takeSnapshot",
        ];
        assert_eq!(list(&asked), expected);
    }

    #[tokio::test]
    async fn a_node_that_is_away_leaves_the_others_as_they_are() {
        let asked = Asked::default();
        let nobody = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let away = format!("http://{}", nobody.local_addr().unwrap());
        drop(nobody);
        let nodes = vec![node(0, &asked, "", 0).await, away];
        let refused = prepare(args(nodes, false)).await.unwrap_err();
        assert_eq!(code_of(&refused), "NO_SERVER");
        assert_eq!(list(&asked), ["0 partitions"]);
    }

    #[tokio::test]
    async fn a_preparation_that_fails_is_taken_back() {
        let asked = Asked::default();
        let nodes = vec![
            node(0, &asked, "", 0).await,
            node(1, &asked, "takeSnapshot", 500).await,
        ];
        let refused = prepare(args(nodes, false)).await.unwrap_err();
        assert_eq!(code_of(&refused), "FAILED");
        let undone = [
            "0 resumeProcessing",
            "1 resumeProcessing",
            "0 resumeExporting",
            "1 resumeExporting",
        ];
        assert!(list(&asked).ends_with(&undone.map(String::from)));
    }

    #[tokio::test]
    async fn nodes_resume_once_they_are_upgraded_and_accept_work() {
        let asked = Asked::default();
        let ready = vec![node(0, &asked, "", 0).await];
        let nodes = args(ready, false);
        let upgraded = true;
        resume(ResumeArgs { nodes, upgraded }).await.unwrap();
        let expected = [
            "0 info",
            "0 ready",
            "0 resumeProcessing",
            "0 resumeExporting",
        ];
        assert_eq!(list(&asked), expected);

        let starting = vec![node(1, &asked, "ready", 503).await];
        let nodes = args(starting, false);
        let late = resume(ResumeArgs { nodes, upgraded }).await.unwrap_err();
        assert_eq!(code_of(&late), "NO_ANSWER");
        assert!(!list(&asked).iter().any(|it| it.starts_with("1 resume")));
    }

    #[tokio::test]
    async fn what_is_forbidden_is_not_tried_again() {
        let asked = Asked::default();
        let nodes = vec![node(0, &asked, "partitions", 403).await];
        let refused = prepare(args(nodes, true)).await.unwrap_err();
        assert_eq!(code_of(&refused), "PERMISSION_DENIED");
        assert_eq!(list(&asked).len(), 1);
        for (operation, status, code) in [
            ("info", 401, "UNAUTHENTICATED"),
            ("info", 403, "PERMISSION_DENIED"),
            ("ready", 403, "PERMISSION_DENIED"),
        ] {
            let asked = Asked::default();
            let nodes = args(vec![node(0, &asked, operation, status).await], true);
            let upgraded = true;
            let refused = resume(ResumeArgs { nodes, upgraded }).await.unwrap_err();
            assert_eq!(code_of(&refused), code, "{operation} {status}");
            let times = list(&asked)
                .into_iter()
                .filter(|it| it.ends_with(operation));
            assert_eq!(times.count(), 1, "{operation} {status}");
        }
    }
}
