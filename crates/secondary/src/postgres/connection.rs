//! A database connection for use by a plain thread.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use skep_exporting::TargetError;
use tokio::runtime::Runtime;
use tokio_postgres::error::SqlState;
use tokio_postgres::{Client, Config};

use super::tls::Secure;
use crate::bounded::TooLarge;
use skep_exporting::Status;
use skep_exporting::Trust;

/// A failure, with a reason for operators.
#[derive(Clone, Debug)]
pub struct Failure {
    pub reason: String,
    pub kind: FailureKind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FailureKind {
    /// The connection is no longer usable.
    Closed,
    /// The time limit was exceeded.
    TooLong,
    /// The answer would be too large.
    TooLarge,
    /// The database refused.
    Refused,
    /// Somebody else has written the partition in the meantime.
    Overtaken,
    /// The tables hold data of another cluster or a later version.
    Foreign,
}

impl Failure {
    pub fn new(kind: FailureKind, reason: impl Into<String>) -> Failure {
        Failure {
            reason: reason.into(),
            kind,
        }
    }
}

impl Failure {
    /// Converts the failure to a target error that names this place.
    pub fn of(&self, place: &str) -> TargetError {
        let reason = format!("{place}: {}", self.reason);
        match self.kind {
            FailureKind::Closed | FailureKind::TooLong | FailureKind::Overtaken => {
                TargetError::Busy(reason)
            }
            FailureKind::TooLarge | FailureKind::Refused => TargetError::Refused(reason),
            FailureKind::Foreign => TargetError::Foreign(reason),
        }
    }
}

impl From<TooLarge> for Failure {
    fn from(_: TooLarge) -> Failure {
        Failure::new(FailureKind::TooLarge, "too large")
    }
}

impl From<tokio_postgres::Error> for Failure {
    fn from(error: tokio_postgres::Error) -> Failure {
        if let Some(answer) = error.as_db_error() {
            let kind = match *answer.code() {
                SqlState::QUERY_CANCELED => FailureKind::TooLong,
                SqlState::ADMIN_SHUTDOWN | SqlState::CRASH_SHUTDOWN => FailureKind::Closed,
                SqlState::CANNOT_CONNECT_NOW => FailureKind::Closed,
                _ => FailureKind::Refused,
            };
            let (message, code) = (answer.message(), answer.code().code());
            return Failure::new(kind, format!("{message} (SQLSTATE {code})"));
        }
        let mut reason = error.to_string();
        let mut cause = std::error::Error::source(&error);
        while let Some(next) = cause {
            let text = next.to_string();
            if !reason.contains(&text) {
                reason.push_str(": ");
                reason.push_str(&text);
            }
            cause = next.source();
        }
        Failure::new(FailureKind::Closed, reason)
    }
}

/// Interval at which a waiting thread checks whether the node is stopping, and the time the database still gets after that.
const LOOK: Duration = Duration::from_millis(200);
const LAST: Duration = Duration::from_secs(2);

/// A connection whose messages are only processed while a caller waits.
pub struct Connection {
    runtime: Runtime,
    pub client: Client,
    /// The exporter that owns the connection, if any. Its stop does not wait for a silent database.
    exporter: Option<Arc<Status>>,
}

impl Connection {
    pub fn open(
        config: &Config,
        trust: &Trust,
        exporter: Option<Arc<Status>>,
    ) -> Result<Connection, Failure> {
        let secure = Secure::new(trust);
        let secure =
            secure.map_err(|error| Failure::new(FailureKind::Closed, error.to_string()))?;
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(|error| Failure::new(FailureKind::Closed, error.to_string()))?;
        let limit = config.get_connect_timeout().copied().unwrap_or_default();
        // The library's timeout applies to the socket only. A server that accepts and then stays silent must not block the
        // thread.
        let limit = limit.saturating_mul(2);
        let connected = runtime.block_on(async {
            tokio::select! {
                connected = tokio::time::timeout(limit, config.connect(secure)) => match connected {
                    Ok(connected) => Ok(connected?),
                    Err(_) => Err(silent(limit)),
                },
                // No request is in progress that could be completed.
                () = stopping(exporter.as_deref()) => {
                    Err(Failure::new(FailureKind::Closed, "the node stops before the database has answered"))
                }
            }
        });
        let (client, connection) = connected?;
        // The task ends with the client. Failures are reported to the caller that waits for an answer.
        runtime.spawn(async move {
            let _ = connection.await;
        });
        Ok(Connection {
            runtime,
            client,
            exporter,
        })
    }

    /// Waits for a request to the client.
    pub fn wait<T, E: Into<Failure>>(
        &self,
        limit: Duration,
        asked: impl Future<Output = Result<T, E>>,
    ) -> Result<T, Failure> {
        self.runtime.block_on(async {
            tokio::select! {
                answered = tokio::time::timeout(limit, asked) => match answered {
                    Ok(answered) => answered.map_err(Into::into),
                    Err(_) => Err(silent(limit)),
                },
                () = stopped(self.exporter.as_deref()) => {
                    Err(Failure::new(FailureKind::Closed, "the node stops, and the database does not answer"))
                }
            }
        })
    }
}

/// Completes when the node stops.
async fn stopping(exporter: Option<&Status>) {
    while !exporter.is_some_and(Status::is_stopping) {
        tokio::time::sleep(LOOK).await;
    }
}

/// Completes a while after the node stops.
async fn stopped(exporter: Option<&Status>) {
    stopping(exporter).await;
    tokio::time::sleep(LAST).await;
}

fn silent(limit: Duration) -> Failure {
    let reason = format!("no answer within {} s", limit.as_secs());
    Failure::new(FailureKind::Closed, reason)
}
