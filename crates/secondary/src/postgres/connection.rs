//! A connection that a plain thread uses.

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

/// What went wrong, in words for operators.
#[derive(Clone, Debug)]
pub struct Failure {
    pub reason: String,
    pub kind: FailureKind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FailureKind {
    /// The connection is of no use any more.
    Closed,
    /// It took longer than it may.
    TooLong,
    /// More than fits into an answer.
    TooLarge,
    /// The database refused.
    Refused,
    /// Somebody else has written the partition meanwhile.
    Overtaken,
    /// The tables hold data of another cluster, or of a later version.
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
    /// The failure of a target at this place.
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
        if let Some(told) = error.as_db_error() {
            let kind = match *told.code() {
                SqlState::QUERY_CANCELED => FailureKind::TooLong,
                SqlState::ADMIN_SHUTDOWN | SqlState::CRASH_SHUTDOWN => FailureKind::Closed,
                SqlState::CANNOT_CONNECT_NOW => FailureKind::Closed,
                _ => FailureKind::Refused,
            };
            let (message, code) = (told.message(), told.code().code());
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

/// How often somebody who waits looks whether the node stops, and how long the database still has then.
const LOOK: Duration = Duration::from_millis(200);
const LAST: Duration = Duration::from_secs(2);

/// The messages of the connection travel while something is waited for, and only then.
pub struct Connection {
    runtime: Runtime,
    pub client: Client,
    /// Of the exporter: who stops does not wait for a database that is silent.
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
        // The timeout of the library is that of the socket; a server that accepts and is silent must not hold us.
        let limit = limit.saturating_mul(2);
        let connected = runtime.block_on(async {
            tokio::select! {
                connected = tokio::time::timeout(limit, config.connect(secure)) => match connected {
                    Ok(connected) => Ok(connected?),
                    Err(_) => Err(silent(limit)),
                },
                // Nothing is under way that could be finished.
                () = stopping(exporter.as_deref()) => {
                    Err(Failure::new(FailureKind::Closed, "the node stops before the database has answered"))
                }
            }
        });
        let (client, connection) = connected?;
        // It ends with the client; what goes wrong is told to who waits for an answer.
        runtime.spawn(async move {
            let _ = connection.await;
        });
        Ok(Connection {
            runtime,
            client,
            exporter,
        })
    }

    /// Waits for what is asked of the client.
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

/// Ends when the node stops.
async fn stopping(exporter: Option<&Status>) {
    while !exporter.is_some_and(Status::is_stopping) {
        tokio::time::sleep(LOOK).await;
    }
}

/// Ends when the node has stopped for a while.
async fn stopped(exporter: Option<&Status>) {
    stopping(exporter).await;
    tokio::time::sleep(LAST).await;
}

fn silent(limit: Duration) -> Failure {
    let reason = format!("no answer within {} s", limit.as_secs());
    Failure::new(FailureKind::Closed, reason)
}
