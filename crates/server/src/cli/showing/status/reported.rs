//! What the management port reports about the nodes, or why it does not.

use std::time::Duration;

use http::StatusCode;
use serde_json::Value;

use super::backups;
use crate::cli::fetch;
use crate::errors::code_of;

const NODES: (&str, Duration) = ("/actuator/nodes", Duration::from_secs(5));
const LEASES: (&str, Duration) = ("/actuator/leases", Duration::from_secs(5));
const CLUSTER: (&str, Duration) = ("/actuator/cluster", Duration::from_secs(2));

#[derive(Default)]
pub struct Reported {
    /// The partitions of each node; null if unknown.
    pub nodes: Value,
    /// The pending change of the cluster; null if there is none.
    pub change: Value,
    /// The leases of node numbers; null if unknown.
    pub leases: Value,
    /// The state of backups; null if they have no store.
    pub backups: Value,
    /// The reason why the port reports nothing about the nodes.
    pub failure: Option<String>,
    /// Problems of what it reports besides.
    pub problems: Vec<String>,
}

impl Reported {
    pub async fn of(management: &str) -> Reported {
        let mut reported = Reported::default();
        match ask(management, NODES).await {
            Ok(nodes) => reported.nodes = nodes,
            Err(reason) => {
                reported.problems.push(format!(
                    "management port {management}: {reason}; free disk, lag and exporters are unknown"
                ));
                reported.failure = Some(reason.to_string());
                return reported;
            }
        }
        match ask(management, CLUSTER).await {
            Ok(cluster) => {
                reported.change = cluster.get("pendingChange").cloned().unwrap_or_default();
            }
            Err(reason) => reported.problems.push(format!(
                "management port {management}: {reason}; whether the cluster is changing is unknown"
            )),
        }
        match leases(management).await {
            Ok(leases) => reported.leases = leases,
            Err(reason) => reported.problems.push(format!(
                "management port {management}: {reason}; the leases of numbers are unknown"
            )),
        }
        match backups::state(management).await {
            Ok(state) => reported.backups = state,
            Err(reason) => reported.problems.push(format!(
                "management port {management}: {reason}; the state of backups is unknown"
            )),
        }
        reported
    }
}

async fn ask(management: &str, (path, timeout): (&str, Duration)) -> Result<Value, Reason> {
    let (status, body) = fetch::get(management, path, timeout).await?;
    if !status.is_success() {
        return Err(Reason::refusal(status, &body));
    }
    parse(path, &body)
}

/// Null if the server is of a version that does not tell.
async fn leases(management: &str) -> Result<Value, Reason> {
    let (path, timeout) = LEASES;
    let (status, body) = fetch::get(management, path, timeout).await?;
    match status {
        StatusCode::NOT_FOUND => Ok(Value::Null),
        status if status.is_success() => parse(path, &body),
        status => Err(Reason::refusal(status, &body)),
    }
}

fn parse(path: &str, body: &[u8]) -> Result<Value, Reason> {
    let not_json = |_| Reason(format!("the response to {path} is not JSON"));
    serde_json::from_slice(body).map_err(not_json)
}

/// Why something is unknown, without the address, which the problem names.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct Reason(pub String);

impl From<anyhow::Error> for Reason {
    fn from(error: anyhow::Error) -> Reason {
        match code_of(&error) {
            "NO_ANSWER" => Reason("no response in time".to_string()),
            _ => Reason(error.root_cause().to_string()),
        }
    }
}

impl Reason {
    pub fn refusal(status: StatusCode, body: &[u8]) -> Reason {
        let answer: Value = serde_json::from_slice(body).unwrap_or_default();
        let message = answer.get("message").and_then(Value::as_str);
        Reason(match message {
            Some(message) => format!("{status}: {message}"),
            None => format!("it answers {status}"),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A management port that gives each connection the same answer.
    async fn answering(answer: &'static str) -> String {
        use tokio::io::{AsyncReadExt, AsyncWriteExt};
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap());
        tokio::spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                let _ = stream.read(&mut [0; 1024]).await;
                let _ = stream.write_all(answer.as_bytes()).await;
            }
        });
        address
    }

    #[tokio::test]
    async fn a_management_port_that_reports_nothing_is_a_problem_with_its_reason() {
        let unused = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let refusing = format!("http://{}", unused.local_addr().unwrap());
        drop(unused);
        let forbidding = answering(
            "HTTP/1.1 403 Forbidden\r\nconnection: close\r\ncontent-length: 16\r\n\r\n{\"message\":\"no\"}",
        )
        .await;
        for (address, reason) in [
            (&refusing, "refused"),
            (&forbidding, "403 Forbidden: no"),
            (&refusing.replace("http", "ftp"), "expected http://"),
        ] {
            let reported = Reported::of(address).await;
            let failure = reported.failure.unwrap();
            assert!(failure.contains(reason), "{failure}");
            let [problem] = &reported.problems[..] else {
                panic!("{:?}", reported.problems);
            };
            let expected = format!("management port {address}: {failure}; free disk, lag");
            assert!(problem.starts_with(&expected), "{problem}");
        }
    }
}
