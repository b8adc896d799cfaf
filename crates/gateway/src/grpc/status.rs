//! Failures as gRPC statuses.

use skep_protocol::{Failure, Rejection, RejectionType};
use tonic::{Code, Status};

use crate::failure_text;

pub fn status(failure: Failure) -> Status {
    let code = match &failure {
        Failure::Rejected(Rejection { kind, .. }) => rejected(*kind),
        Failure::InvalidArgument(_) => Code::InvalidArgument,
        Failure::NotFound(_) => Code::NotFound,
        Failure::ResourceExhausted(_) => Code::ResourceExhausted,
        Failure::Unavailable(_) => Code::Unavailable,
        Failure::DeadlineExceeded(_) => Code::DeadlineExceeded,
        Failure::Aborted(_) => Code::Aborted,
        Failure::Internal(_) => Code::Internal,
    };
    Status::new(code, failure_text::in_header(&failure))
}

/// A text that fits into the trailer that carries it.
pub fn header_text(text: &str) -> String {
    failure_text::bounded(text, failure_text::encoded).into_owned()
}

fn rejected(kind: RejectionType) -> Code {
    match kind {
        RejectionType::InvalidArgument => Code::InvalidArgument,
        RejectionType::NotFound => Code::NotFound,
        RejectionType::AlreadyExists => Code::AlreadyExists,
        RejectionType::InvalidState => Code::FailedPrecondition,
        RejectionType::Unauthorized | RejectionType::Forbidden => Code::PermissionDenied,
        RejectionType::ProcessingError => Code::Internal,
        RejectionType::ExceededBatchRecordSize => Code::Unknown,
    }
}
