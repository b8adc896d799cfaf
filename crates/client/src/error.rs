//! How a call can fail, the same for both transports.

use std::{fmt, time::Duration};

/// Why a call failed.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// No connection; the request was not sent.
    #[error(
        "cannot connect to {address}: {reason}; check that the server runs and the address is right"
    )]
    Connect {
        /// Where the client tried to connect.
        address: String,
        /// Message of the operating system or the protocol.
        reason: String,
    },
    /// The server answered, but with a certificate that is not trusted.
    #[error("{address}: {reason}")]
    Untrusted {
        /// Where the client connected.
        address: String,
        /// The fault of the certificate, and the remedy.
        reason: String,
    },
    /// The connection broke after the request was sent.
    #[error(
        "the connection broke before the answer arrived ({reason}); the request may have been carried out"
    )]
    Broken {
        /// Message of the operating system or the protocol.
        reason: String,
    },
    /// The client's own limit for an answer passed.
    #[error("no answer within {0:?}; the request may have been carried out")]
    Timeout(Duration),
    /// The server answered that it does not carry out the request.
    #[error("{0}")]
    Refused(Problem),
    /// The answer does not follow the protocol.
    #[error(
        "the answer of the server cannot be read: {0}; check that the address is a compatible gateway"
    )]
    Protocol(String),
    /// The call cannot be made with this configuration or transport.
    #[error("{0}")]
    Invalid(String),
}

/// A refusal: a problem document (REST) or a status (gRPC).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// The kind of refusal.
    pub code: Code,
    /// The server's words.
    pub detail: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.code, self.detail)
    }
}

/// Kinds of refusals, named as gRPC names them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Code {
    /// The request is malformed.
    InvalidArgument,
    /// Missing or bad credentials.
    Unauthenticated,
    /// The caller may not do this.
    PermissionDenied,
    /// No such entity (a completed job, for instance).
    NotFound,
    /// The entity exists already.
    AlreadyExists,
    /// The entity is not in a state that allows this (`INVALID_STATE` in REST).
    FailedPrecondition,
    /// Back-pressure: the server is at a limit; try again later.
    ResourceExhausted,
    /// No partition leader at the moment; try again later.
    Unavailable,
    /// The server gave up waiting.
    DeadlineExceeded,
    /// The answer of the broker was lost.
    Aborted,
    /// The server does not have the operation.
    Unimplemented,
    /// The server failed.
    Internal,
    /// Anything else.
    Unknown,
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::InvalidArgument => "INVALID_ARGUMENT",
            Self::Unauthenticated => "UNAUTHENTICATED",
            Self::PermissionDenied => "PERMISSION_DENIED",
            Self::NotFound => "NOT_FOUND",
            Self::AlreadyExists => "ALREADY_EXISTS",
            Self::FailedPrecondition => "FAILED_PRECONDITION",
            Self::ResourceExhausted => "RESOURCE_EXHAUSTED",
            Self::Unavailable => "UNAVAILABLE",
            Self::DeadlineExceeded => "DEADLINE_EXCEEDED",
            Self::Aborted => "ABORTED",
            Self::Unimplemented => "UNIMPLEMENTED",
            Self::Internal => "INTERNAL",
            Self::Unknown => "UNKNOWN",
        })
    }
}

impl Error {
    /// The server's refusal code, if it answered with one.
    pub fn code(&self) -> Option<Code> {
        match self {
            Self::Refused(problem) => Some(problem.code),
            _ => None,
        }
    }

    /// True when the request was certainly not carried out and may be sent again after a pause.
    pub fn is_retryable(&self) -> bool {
        match self {
            Self::Connect { .. } => true,
            Self::Refused(problem) => {
                matches!(problem.code, Code::ResourceExhausted | Code::Unavailable)
            }
            _ => false,
        }
    }

    /// True when the request may or may not have been carried out.
    pub fn is_ambiguous(&self) -> bool {
        match self {
            Self::Broken { .. } | Self::Timeout(_) => true,
            Self::Refused(problem) => {
                matches!(problem.code, Code::DeadlineExceeded | Code::Aborted)
            }
            _ => false,
        }
    }

    pub(crate) fn broken(reason: impl fmt::Display) -> Self {
        Self::Broken {
            reason: reason.to_string(),
        }
    }
}
