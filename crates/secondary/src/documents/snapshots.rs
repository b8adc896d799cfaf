//! Snapshots of the indices, in a repository that the operator has registered with the server. Nobody may write rows while one is taken.

use std::sync::Arc;

use http::{Method, StatusCode};
use serde_json::{Value as Json, json};
use skep_exporting::TargetError;

use super::server::{Failure, FailureKind, Server, strange};
use super::{Documents, TIME_LIMIT};

/// Maximum bytes of an answer: the server lists the indices of each snapshot.
const MAX_ANSWER: usize = 16 << 20;

/// A snapshot in the repository.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Snapshot {
    pub name: String,
    /// As the server calls it: `IN_PROGRESS`, `SUCCESS`, `PARTIAL`, `FAILED` or `INCOMPATIBLE`.
    pub state: String,
    /// Milliseconds since 1970.
    pub began_at: i64,
    /// What the server could not copy, and why.
    pub failures: Vec<String>,
}

impl Snapshot {
    fn of(found: &Json) -> Option<Snapshot> {
        let text = |name: &str| Some(found.get(name)?.as_str()?.to_string());
        let failures = found.get("failures").and_then(Json::as_array);
        Some(Snapshot {
            name: text("snapshot")?,
            state: text("state")?,
            began_at: found
                .get("start_time_in_millis")
                .and_then(Json::as_i64)
                .unwrap_or_default(),
            failures: failures
                .into_iter()
                .flatten()
                .map(Json::to_string)
                .collect(),
        })
    }
}

impl Documents {
    /// The repository of snapshots; `None`: none is configured.
    pub fn repository(&self) -> Option<&str> {
        let repository = self.settings.repository.as_str();
        (!repository.is_empty()).then_some(repository)
    }

    /// Begins a snapshot of the indices. How far their rows go is part of it. Blocks until the server has accepted it.
    ///
    /// # Errors
    /// The server cannot be reached or refuses, or a window of changes was written in part.
    pub fn begin_snapshot(self: &Arc<Self>, name: &str) -> Result<(), TargetError> {
        let rows = self.stored_rows()?;
        if let Some(partition) = rows.half {
            return Err(TargetError::Busy(format!(
                "{}: the rows of partition {partition} are written in part: its exporter failed, and must work again first",
                self.shown
            )));
        }
        // One of the indices has the positions. Servers take no more than 1 KiB of metadata.
        let body = json!({
            "indices": self.index("*"),
            "include_global_state": false,
            "metadata": { "cluster": rows.cluster },
        });
        let path = format!("{}?wait_for_completion=false", self.path(name));
        self.ask_server(|server| server.ask(Method::PUT, &path, &body).map(drop))
    }

    /// The snapshots whose names match the pattern (`*`), in any order. Blocks.
    ///
    /// # Errors
    /// The server cannot be reached or refuses, or there is no such repository.
    pub fn snapshots(self: &Arc<Self>, pattern: &str) -> Result<Vec<Snapshot>, TargetError> {
        let path = format!("{}?ignore_unavailable=true", self.path(pattern));
        self.ask_server(|server| {
            let answer = server.ask(Method::GET, &path, &Json::Null)?;
            let found = answer.get("snapshots").and_then(Json::as_array);
            let found = found.ok_or_else(|| strange(&path))?;
            Ok(found.iter().filter_map(Snapshot::of).collect())
        })
    }

    /// Deletes a snapshot, also one in progress. False: there is none. Blocks.
    ///
    /// # Errors
    /// The server cannot be reached or refuses.
    pub fn delete_snapshot(self: &Arc<Self>, name: &str) -> Result<bool, TargetError> {
        if self.snapshots(name)?.is_empty() {
            return Ok(false);
        }
        let path = self.path(name);
        self.ask_server(
            |server| match server.ask(Method::DELETE, &path, &Json::Null) {
                Err(failure) if failure.is(StatusCode::NOT_FOUND) => Ok(false),
                deleted => deleted.map(|_| true),
            },
        )
    }

    fn path(&self, name: &str) -> String {
        format!("/_snapshot/{}/{name}", self.settings.repository)
    }

    fn ask_server<T>(
        self: &Arc<Self>,
        ask: impl Fn(&Server) -> Result<T, Failure>,
    ) -> Result<T, TargetError> {
        let server = Server::new(self.clone(), None, TIME_LIMIT, MAX_ANSWER);
        let others = self.settings.urls.len().saturating_sub(1);
        for _ in 0..others {
            match ask(&server) {
                Err(failure) if failure.kind == FailureKind::Away => server.disconnect(),
                answered => return answered.map_err(|failure| failure.of(&self.shown)),
            }
        }
        ask(&server).map_err(|failure| failure.of(&self.shown))
    }
}
