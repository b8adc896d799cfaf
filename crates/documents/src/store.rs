//! The interface of a store.

use std::time::Duration;

use bytes::Bytes;
use jiff::Timestamp;

use crate::{BoxFuture, Content, DocumentError, Metadata};

/// A document to store.
#[derive(Clone, Debug)]
pub struct Document {
    pub id: String,
    pub metadata: Metadata,
    pub content: Bytes,
}

/// A document that was found.
#[derive(Debug)]
pub struct StoredDocument {
    pub metadata: Metadata,
    pub content: Content,
}

/// A URL that serves the content without this server.
#[derive(Clone, Debug)]
pub struct Link {
    pub url: String,
    pub expires_at: Timestamp,
}

/// Stores documents. Documents that have expired by `now` do not exist.
pub trait Store: Send + Sync + std::fmt::Debug {
    /// Stores a new document. It is durable on return, as far as the store is.
    fn create(
        &self,
        document: Document,
        now: Timestamp,
    ) -> BoxFuture<'_, Result<(), DocumentError>>;

    fn get<'a>(
        &'a self,
        id: &'a str,
        now: Timestamp,
    ) -> BoxFuture<'a, Result<StoredDocument, DocumentError>>;

    fn delete<'a>(
        &'a self,
        id: &'a str,
        now: Timestamp,
    ) -> BoxFuture<'a, Result<(), DocumentError>>;

    /// A URL for the content that is valid for the given time. `check` inspects the document's metadata first. Few stores can be reached
    /// without this server.
    fn link<'a>(
        &'a self,
        _id: &'a str,
        _time_to_live: Duration,
        _now: Timestamp,
        _check: &'a (dyn Fn(&Metadata) -> Result<(), DocumentError> + Send + Sync),
    ) -> BoxFuture<'a, Result<Link, DocumentError>> {
        Box::pin(async {
            Err(DocumentError::NotSupported(
                "This store has no links. Read the document from this API, or keep it in a store in S3.".to_string(),
            ))
        })
    }

    /// Frees the space of some expired documents. Called now and then, and not by requests. A store may also do so itself.
    fn sweep(&self, _now: Timestamp) -> BoxFuture<'_, Result<(), DocumentError>> {
        Box::pin(async { Ok(()) })
    }

    /// Whether its documents are invisible to other nodes of a cluster.
    fn is_of_this_node(&self) -> bool {
        false
    }
}
