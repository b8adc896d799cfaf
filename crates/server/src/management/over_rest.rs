//! The endpoints of this port for callers of REST (`/skep/v1/management/…`), whom the gateway has let in.

use std::fmt;
use std::time::Duration;

use bytes::Bytes;
use http::request::Parts;
use http::{Method, Response, StatusCode};
use http_body_util::BodyExt as _;
use skep_gateway::Operators;
use skep_query::BoxFuture;
use tokio::sync::Semaphore;

use super::reply::{self, Answer, Handled, Incoming, bad_request, message, no_content};
use super::{Management, backups, cluster, exporters};

/// Requests at a time; further ones wait.
const AT_ONCE: usize = 16;
/// Those for backups: a store may be slow, and must not keep the others waiting.
const OF_BACKUPS: usize = 4;
const PATIENCE: Duration = Duration::from_secs(10);
/// Longest list of backups.
const MAX_BACKUPS: usize = 200;

/// The requests under way.
#[derive(Debug)]
pub struct Room {
    backups: Semaphore,
    others: Semaphore,
}

impl Default for Room {
    fn default() -> Room {
        Room {
            backups: Semaphore::new(OF_BACKUPS),
            others: Semaphore::new(AT_ONCE),
        }
    }
}

impl fmt::Debug for Management {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Management").finish_non_exhaustive()
    }
}

impl Operators for Management {
    fn answer<'a>(
        &'a self,
        path: Vec<String>,
        request: &'a Parts,
        body: Bytes,
    ) -> BoxFuture<'a, Response<Bytes>> {
        Box::pin(async move {
            let segments: Vec<&str> = path.iter().map(String::as_str).collect();
            let answer = self.over_rest(&segments, request, body).await;
            let (parts, body) = answer.unwrap_or_else(|answer| answer).into_parts();
            let body = body.collect().await.map(|body| body.to_bytes());
            Response::from_parts(parts, body.unwrap_or_default())
        })
    }
}

impl Management {
    async fn over_rest(&self, segments: &[&str], request: &Parts, body: Bytes) -> Handled {
        let room = match segments {
            ["backups", ..] => &self.room.backups,
            _ => &self.room.others,
        };
        let place = tokio::time::timeout(PATIENCE, room.acquire()).await;
        let Ok(Ok(_place)) = place else {
            return Err(full());
        };
        match segments {
            // It is for disasters, in which this port may not be there either.
            ["cluster"] if reply::query(request.uri.query(), "force").is_some() => Err(
                bad_request("force is offered by the management port only (docs/scaling.md)"),
            ),
            ["exporting", operation @ ("pause" | "resume")] => {
                let soft = reply::query(request.uri.query(), "soft") == Some("true");
                let phase = exporters::phase(operation, soft);
                exporters::set_phase_of_all(&self.running()?.broker, phase).await?;
                Ok(no_content())
            }
            ["backups"] if request.method != Method::POST => {
                backups::newest(&self.running()?.broker, MAX_BACKUPS).await
            }
            ["rebalance"] => {
                cluster::rebalance(&self.running()?.broker, &request.method)?;
                Ok(no_content())
            }
            _ => {
                self.endpoint(segments, request, Incoming::Whole(body))
                    .await
            }
        }
    }
}

fn full() -> Answer {
    message(
        StatusCode::SERVICE_UNAVAILABLE,
        "too many requests of operators are under way; try again later",
    )
}
