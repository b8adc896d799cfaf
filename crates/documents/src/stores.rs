//! The stores of a server: selects the store of a request, and applies the common limits.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use jiff::Timestamp;
use tokio::sync::{Semaphore, SemaphorePermit};

use crate::config::{Config, Kind, StoreConfig};
use crate::local::LocalStore;
use crate::memory::MemoryStore;
use crate::metadata::check_id;
use crate::{
    Document, DocumentError, Given, Link, MAX_DOWNLOADS, Metadata, OPERATION_LIMIT, Store,
    StoredDocument,
};

/// Returns the current time.
pub type Clock = Arc<dyn Fn() -> Timestamp + Send + Sync>;

/// Maximum validity of a link; no S3 service accepts more.
const LONGEST_LINK: Duration = Duration::from_secs(7 * 24 * 3600);

#[derive(Clone)]
struct Named {
    id: Arc<str>,
    store: Arc<dyn Store>,
}

/// See the [crate](crate).
pub struct Stores {
    stores: Vec<Named>,
    default: Named,
    clock: Clock,
    is_one_of_several: bool,
    turns: Semaphore,
    downloads: Arc<Semaphore>,
}

/// A document that has been stored.
#[derive(Clone, Debug)]
pub struct Created {
    pub store: Arc<str>,
    pub id: String,
    pub metadata: Metadata,
}

fn open(config: &StoreConfig) -> Result<Named, String> {
    let store: Arc<dyn Store> = match &config.kind {
        Kind::Memory(memory) => Arc::new(MemoryStore::new(memory)),
        Kind::Local(local) => Arc::new(LocalStore::new(local.clone())),
        #[cfg(feature = "s3")]
        Kind::S3(s3) => Arc::new(
            crate::s3::S3Store::new(s3)
                .map_err(|reason| format!("the document store '{}': {reason}", config.id))?,
        ),
        #[cfg(not(feature = "s3"))]
        Kind::S3(_) => {
            return Err(format!(
                "the document store '{}': S3 is not part of this build",
                config.id
            ));
        }
    };
    Ok(Named {
        id: config.id.as_str().into(),
        store,
    })
}

impl Stores {
    /// Opens the stores, which need not be reachable yet: each request tries again.
    ///
    /// # Errors
    /// The configuration is invalid.
    pub fn open(config: &Config, clock: Clock) -> Result<Stores, String> {
        let stores = config.stores.iter().map(open);
        let stores = stores.collect::<Result<Vec<_>, _>>()?;
        Stores::with(stores, config, clock)
    }

    /// A single store.
    ///
    /// # Errors
    /// Never: the store is the default.
    pub fn only(id: &str, store: Arc<dyn Store>, clock: Clock) -> Result<Stores, String> {
        let id = id.into();
        Stores::with(vec![Named { id, store }], &Config::default(), clock)
    }

    fn with(stores: Vec<Named>, config: &Config, clock: Clock) -> Result<Stores, String> {
        let default = match &config.default {
            None => stores.first(),
            Some(id) => stores.iter().find(|named| *named.id == **id),
        };
        let default = default.cloned().ok_or_else(|| {
            let wanted = config.default.as_deref().unwrap_or("none");
            format!("the default document store '{wanted}' does not exist")
        })?;
        Ok(Stores {
            stores,
            default,
            clock,
            is_one_of_several: config.is_one_of_several,
            turns: Semaphore::new(config.at_a_time.max(1)),
            downloads: Arc::new(Semaphore::new(MAX_DOWNLOADS)),
        })
    }

    fn named(&self, id: Option<&str>) -> Result<&Named, DocumentError> {
        let Some(id) = id.filter(|id| !id.is_empty()) else {
            return Ok(&self.default);
        };
        let found = self.stores.iter().find(|named| *named.id == *id);
        found.ok_or_else(|| {
            let ids: Vec<&str> = self.stores.iter().map(|named| &*named.id).collect();
            DocumentError::Invalid(format!(
                "There is no document store '{id}'. There are: {}.",
                ids.join(", ")
            ))
        })
    }

    /// Limits concurrency and time: a slow store serves few callers at a time, and none forever.
    async fn timed<T>(
        &self,
        work: impl Future<Output = Result<T, DocumentError>>,
    ) -> Result<T, DocumentError> {
        let _turn = self.turn().await?;
        match tokio::time::timeout(OPERATION_LIMIT, work).await {
            Ok(done) => done,
            Err(_) => Err(DocumentError::Unavailable(format!(
                "The document store did not answer within {} s; the request may or may not have been carried out. Look for the document \
                 before sending it again.",
                OPERATION_LIMIT.as_secs()
            ))),
        }
    }

    async fn turn(&self) -> Result<SemaphorePermit<'_>, DocumentError> {
        match tokio::time::timeout(OPERATION_LIMIT, self.turns.acquire()).await {
            Ok(Ok(turn)) => Ok(turn),
            _ => Err(DocumentError::Exhausted(format!(
                "The document stores are busy with their maximum number of requests, and none was finished within {} s. Nothing was \
                 done. Send the request again later.",
                OPERATION_LIMIT.as_secs()
            ))),
        }
    }

    /// Stores a new document, with a generated id unless one is given.
    ///
    /// # Errors
    /// [`DocumentError`]
    pub async fn create(
        &self,
        store: Option<&str>,
        id: Option<&str>,
        given: Given,
        content: Bytes,
    ) -> Result<Created, DocumentError> {
        let named = self.named(store)?;
        let id = id
            .filter(|id| !id.is_empty())
            .map_or_else(|| uuid::Uuid::new_v4().to_string(), str::to_string);
        let now = (self.clock)();
        let metadata = Metadata::new(&id, given, &content, now)?;
        let document = Document {
            id: id.clone(),
            metadata: metadata.clone(),
            content,
        };
        self.timed(named.store.create(document, now)).await?;
        Ok(Created {
            store: Arc::clone(&named.id),
            id,
            metadata,
        })
    }

    /// # Errors
    /// [`DocumentError`]; [`DocumentError::Invalid`] if the hash of the content is not `hash`.
    pub async fn get(
        &self,
        store: Option<&str>,
        id: &str,
        hash: Option<&str>,
    ) -> Result<StoredDocument, DocumentError> {
        let named = self.named(store)?;
        check_id(id)?;
        let permit = Arc::clone(&self.downloads).try_acquire_owned();
        let permit = permit.map_err(|_| {
            DocumentError::Exhausted(format!(
                "{MAX_DOWNLOADS} documents are being downloaded, which is the maximum. Send the request again later."
            ))
        })?;
        let found = self.timed(named.store.get(id, (self.clock)())).await;
        let mut found = found.map_err(|error| self.explained(named, error))?;
        check_hash(id, &found.metadata, hash)?;
        found.content.hold(permit);
        Ok(found)
    }

    /// # Errors
    /// [`DocumentError`]
    pub async fn delete(&self, store: Option<&str>, id: &str) -> Result<(), DocumentError> {
        let named = self.named(store)?;
        check_id(id)?;
        let deleted = self.timed(named.store.delete(id, (self.clock)())).await;
        deleted.map_err(|error| self.explained(named, error))
    }

    /// # Errors
    /// [`DocumentError`]
    pub async fn link(
        &self,
        store: Option<&str>,
        id: &str,
        hash: Option<&str>,
        time_to_live: Duration,
    ) -> Result<Link, DocumentError> {
        let named = self.named(store)?;
        check_id(id)?;
        if time_to_live.is_zero() || time_to_live > LONGEST_LINK {
            return Err(DocumentError::Invalid(format!(
                "The field 'timeToLive' is {} ms; a link is valid for at least 1 ms and at most {} ms (7 days).",
                time_to_live.as_millis(),
                LONGEST_LINK.as_millis()
            )));
        }
        let check = |metadata: &Metadata| check_hash(id, metadata, hash);
        let link = named.store.link(id, time_to_live, (self.clock)(), &check);
        let linked = self.timed(link).await;
        linked.map_err(|error| self.explained(named, error))
    }

    /// Adds a hint: in a cluster, a document that is not found here may be on another node.
    fn explained(&self, named: &Named, error: DocumentError) -> DocumentError {
        match error {
            DocumentError::NotFound(text)
                if self.is_one_of_several && named.store.is_of_this_node() =>
            {
                DocumentError::NotFound(format!(
                    "{text} The store '{}' keeps the documents of this node only: send the request to the node that stored it, or let \
                     all nodes share one store (S3, or a directory that they share).",
                    named.id
                ))
            }
            error => error,
        }
    }

    /// Frees the space of expired documents; called now and then.
    ///
    /// # Errors
    /// The failure as a text, for the log.
    pub async fn sweep(&self) -> Result<(), String> {
        for named in &self.stores {
            let swept = named.store.sweep((self.clock)()).await;
            swept.map_err(|error| format!("store '{}': {error}", named.id))?;
        }
        Ok(())
    }
}

fn check_hash(id: &str, metadata: &Metadata, given: Option<&str>) -> Result<(), DocumentError> {
    let Some(known) = metadata.content_hash.as_deref() else {
        return Ok(());
    };
    match given.filter(|hash| !hash.is_empty()) {
        Some(given) if given.eq_ignore_ascii_case(known) => Ok(()),
        Some(given) => Err(DocumentError::Invalid(format!(
            "The content of document '{id}' does not have the hash '{given}'. Use the 'contentHash' of its reference."
        ))),
        None => Err(DocumentError::Invalid(format!(
            "No hash was given for document '{id}'. Give the 'contentHash' of its reference as the query parameter 'contentHash'."
        ))),
    }
}

impl std::fmt::Debug for Stores {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let ids: Vec<&str> = self.stores.iter().map(|named| &*named.id).collect();
        f.debug_struct("Stores")
            .field("ids", &ids)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
