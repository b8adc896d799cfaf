//! Failures of targets, sorted by who can fix them.

/// A failure of a target. The text is for operators. The kind determines how soon the operation is retried.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TargetError {
    /// The target is unreachable, too slow or overloaded. This is temporary.
    #[error("{0}")]
    Busy(String),
    /// The target refuses, or the settings are wrong: settings, permissions or a record have to change.
    #[error("{0}")]
    Refused(String),
    /// Stored data is unreadable, in the target or in the local log.
    #[error("{0}")]
    Corrupt(String),
    /// The target holds data of another cluster or of a later version of Skep.
    #[error("{0}")]
    Foreign(String),
}

impl TargetError {
    pub fn kind(&self) -> &'static str {
        match self {
            TargetError::Busy(_) => "BUSY",
            TargetError::Refused(_) => "REFUSED",
            TargetError::Corrupt(_) => "CORRUPT",
            TargetError::Foreign(_) => "FOREIGN",
        }
    }

    /// Whether a retry may succeed without intervention. This includes refusals: a server that lacks space refuses until it has
    /// some.
    pub fn may_pass(&self) -> bool {
        match self {
            TargetError::Busy(_) | TargetError::Refused(_) => true,
            TargetError::Corrupt(_) | TargetError::Foreign(_) => false,
        }
    }

    /// The same error, prefixed with a place.
    #[must_use]
    pub fn at(self, place: impl std::fmt::Display) -> TargetError {
        let with = |reason: String| format!("{place}: {reason}");
        match self {
            TargetError::Busy(reason) => TargetError::Busy(with(reason)),
            TargetError::Refused(reason) => TargetError::Refused(with(reason)),
            TargetError::Corrupt(reason) => TargetError::Corrupt(with(reason)),
            TargetError::Foreign(reason) => TargetError::Foreign(with(reason)),
        }
    }
}
