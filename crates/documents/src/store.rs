//! What a store is asked for.

use std::time::Duration;

use bytes::Bytes;
use jiff::Timestamp;

use crate::{BoxFuture, Content, DocumentError, Metadata};

/// A document on its way in.
#[derive(Clone, Debug)]
pub struct Document {
    pub id: String,
    pub metadata: Metadata,
    pub content: Bytes,
}

/// A document that was found.
#[derive(Debug)]
pub struct Found {
    pub metadata: Metadata,
    pub content: Content,
}

/// An address at which the content can be had without asking this server.
#[derive(Clone, Debug)]
pub struct Link {
    pub url: String,
    pub expires_at: Timestamp,
}

/// Keeps documents. What has expired by `now` is not there.
pub trait Store: Send + Sync + std::fmt::Debug {
    /// Keeps a new document. It is durable when this is done, as far as the store is.
    fn create(
        &self,
        document: Document,
        now: Timestamp,
    ) -> BoxFuture<'_, Result<(), DocumentError>>;

    fn get<'a>(
        &'a self,
        id: &'a str,
        now: Timestamp,
    ) -> BoxFuture<'a, Result<Found, DocumentError>>;

    fn delete<'a>(
        &'a self,
        id: &'a str,
        now: Timestamp,
    ) -> BoxFuture<'a, Result<(), DocumentError>>;

    /// An address for the content that is valid for so long. `check` looks at what is known of the document first. Few stores can
    /// be reached without this server.
    fn link<'a>(
        &'a self,
        _id: &'a str,
        _time_to_live: Duration,
        _now: Timestamp,
        _check: &'a (dyn Fn(&Metadata) -> Result<(), DocumentError> + Send + Sync),
    ) -> BoxFuture<'a, Result<Link, DocumentError>> {
        Box::pin(async {
            Err(DocumentError::NotSupported(
                "This store has no links. Read the document from this API, or keep it in a store of S3.".to_string(),
            ))
        })
    }

    /// Gives back the room of some documents that have expired. Called now and then, and not by requests. A store may do so itself.
    fn sweep(&self, _now: Timestamp) -> BoxFuture<'_, Result<(), DocumentError>> {
        Box::pin(async { Ok(()) })
    }

    /// Other nodes of a cluster do not see its documents.
    fn is_of_this_node(&self) -> bool {
        false
    }
}
