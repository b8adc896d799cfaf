//! Failures of requests. The gateways turn a failure into a problem body or a gRPC status.

use std::borrow::Cow;

use serde::{Deserialize, Deserializer, Serialize};

use crate::findings::{self, Invalid, Limit};
use crate::intent;

/// Why a command was refused by the engine. Ids are those of the record model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[repr(u8)]
pub enum RejectionType {
    InvalidArgument = 0,
    NotFound = 1,
    AlreadyExists = 2,
    InvalidState = 3,
    ProcessingError = 4,
    ExceededBatchRecordSize = 5,
    Unauthorized = 6,
    Forbidden = 7,
}

impl RejectionType {
    pub fn as_str(self) -> &'static str {
        match self {
            RejectionType::InvalidArgument => "INVALID_ARGUMENT",
            RejectionType::NotFound => "NOT_FOUND",
            RejectionType::AlreadyExists => "ALREADY_EXISTS",
            RejectionType::InvalidState => "INVALID_STATE",
            RejectionType::ProcessingError => "PROCESSING_ERROR",
            RejectionType::ExceededBatchRecordSize => "EXCEEDED_BATCH_RECORD_SIZE",
            RejectionType::Unauthorized => "UNAUTHORIZED",
            RejectionType::Forbidden => "FORBIDDEN",
        }
    }
}

/// A command that the engine refused; nothing has changed.
#[derive(Clone, Debug, PartialEq, Serialize, thiserror::Error)]
#[error("Command '{intent}' rejected with code '{}': {reason}", kind.as_str())]
pub struct Rejection {
    pub kind: RejectionType,
    /// Name of the refused intent, for instance `COMPLETE`.
    pub intent: &'static str,
    pub reason: Cow<'static, str>,
    /// Findings in the resources of a deployment, which the reason also has as text. Empty for all other rejections.
    pub findings: Vec<Invalid>,
}

/// Bytes of a deployment's rejection reason.
pub const MAX_REJECTION_BYTES: usize = 12_288;

const NOT_DEPLOYED: &str =
    "Expected to deploy new resources, but encountered the following errors:";

impl Rejection {
    pub fn new(
        kind: RejectionType,
        intent: &'static str,
        reason: impl Into<Cow<'static, str>>,
    ) -> Rejection {
        Rejection {
            kind,
            intent,
            reason: reason.into(),
            findings: Vec::new(),
        }
    }

    /// A deployment that is refused because of findings in its resources. The reason has at most [`MAX_REJECTION_BYTES`].
    pub fn of_deployment(intent: &'static str, findings: Vec<Invalid>) -> Rejection {
        let limit = Limit {
            most: MAX_REJECTION_BYTES,
            cost: |_| 1,
            end: 64,
            shorten: |text, room| {
                let end = text.floor_char_boundary(room);
                format!("{}…", text.get(..end).unwrap_or_default())
            },
        };
        Rejection {
            kind: RejectionType::InvalidArgument,
            intent,
            reason: findings::text(NOT_DEPLOYED, &findings, limit).into(),
            findings,
        }
    }

    /// The text of the refusal with those findings that there is room for.
    pub fn with_findings(&self, limit: Limit) -> String {
        let (intent, kind) = (self.intent, self.kind.as_str());
        let beginning = format!("Command '{intent}' rejected with code '{kind}': {NOT_DEPLOYED}");
        findings::text(&beginning, &self.findings, limit)
    }
}

/// A rejection as another node has sent it.
#[derive(Deserialize)]
struct Received {
    kind: RejectionType,
    intent: String,
    reason: String,
    findings: Vec<Invalid>,
}

impl<'de> Deserialize<'de> for Rejection {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let received = Received::deserialize(deserializer)?;
        Ok(Rejection {
            kind: received.kind,
            intent: intent::known(&received.intent),
            reason: received.reason.into(),
            findings: received.findings,
        })
    }
}

/// A request that got no positive answer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, thiserror::Error)]
pub enum Failure {
    #[error(transparent)]
    Rejected(#[from] Rejection),
    /// The request itself cannot be understood.
    #[error("{0}")]
    InvalidArgument(String),
    /// No such thing, found out before any partition was asked.
    #[error("{0}")]
    NotFound(String),
    /// Back-pressure: the request was not accepted; sending it again later is safe. The text names partition and cause.
    #[error("{0}")]
    ResourceExhausted(String),
    /// No leader, partition unknown or stopped; not accepted, sending it again is safe.
    #[error("{0}")]
    Unavailable(String),
    /// No answer in time; the request may or may not have been carried out.
    #[error("{0}")]
    DeadlineExceeded(String),
    /// The node lost its role or stopped after accepting the request; it may or may not be carried out.
    #[error("{0}")]
    Aborted(String),
    #[error("{0}")]
    Internal(String),
}
