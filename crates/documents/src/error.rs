//! Why a store does not do what it was asked for.

/// What happened, why, and what to do. Nothing was stored or deleted, unless the text says that it is not known.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DocumentError {
    /// What was asked for cannot be.
    #[error("{0}")]
    Invalid(String),
    #[error("{0}")]
    NotFound(String),
    /// The id is taken.
    #[error("{0}")]
    Exists(String),
    /// Not by this store.
    #[error("{0}")]
    NotSupported(String),
    /// There is no room, or too much is asked at a time.
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
