//! Why a target does not take what it is given, sorted by who can do something about it.

/// The text is for operators. The kind decides how soon it is tried again.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TargetError {
    /// The target is away, too slow or has too much to do. That passes.
    #[error("{0}")]
    Busy(String),
    /// The target says no, or the settings lead nowhere: settings, rights or a record have to change.
    #[error("{0}")]
    Refused(String),
    /// Stored data is unreadable, in the target or in our own log.
    #[error("{0}")]
    Corrupt(String),
    /// The target holds data of another cluster, or of a later version of Skep.
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

    /// Another try may succeed although nobody did anything. A refusal may too: a server that lacks room refuses until it has some.
    pub fn may_pass(&self) -> bool {
        match self {
            TargetError::Busy(_) | TargetError::Refused(_) => true,
            TargetError::Corrupt(_) | TargetError::Foreign(_) => false,
        }
    }

    /// The same with the place in front.
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
