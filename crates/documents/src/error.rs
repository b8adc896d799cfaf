//! Errors of document stores.

/// An error: its text says what happened, why, and what to do. Nothing was stored or deleted, unless the text says that this is unknown.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DocumentError {
    /// The request is invalid.
    #[error("{0}")]
    Invalid(String),
    #[error("{0}")]
    NotFound(String),
    /// The id is taken.
    #[error("{0}")]
    Exists(String),
    /// This store does not support the operation.
    #[error("{0}")]
    NotSupported(String),
    /// No room is left, or there are too many requests at a time.
    #[error("{0}")]
    Exhausted(String),
    /// The store cannot be reached.
    #[error("{0}")]
    Unavailable(String),
    /// The store is broken.
    #[error("{0}")]
    Broken(String),
}

impl DocumentError {
    pub fn no_document(id: &str) -> DocumentError {
        DocumentError::NotFound(format!("There is no document with id '{id}'."))
    }

    pub fn exists(id: &str) -> DocumentError {
        DocumentError::Exists(format!(
            "There is already a document with id '{id}'. Choose another id, or none to get one."
        ))
    }
}
