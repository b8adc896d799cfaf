//! Documents in memory, lost when the server stops.

use bytes::Bytes;
use jiff::Timestamp;
use parking_lot::Mutex;
use std::collections::HashMap;

use crate::config::Memory;
use crate::store::{Document, Store, StoredDocument};
use crate::{BoxFuture, Content, DocumentError, Metadata};

/// Approximate bytes that a document takes besides its content.
const OVERHEAD: usize = 512;

#[derive(Debug)]
pub struct MemoryStore {
    max_bytes: usize,
    kept: Mutex<Kept>,
}

#[derive(Debug, Default)]
struct Kept {
    documents: HashMap<String, (Metadata, Bytes)>,
    bytes: usize,
}

fn bytes_of(metadata: &Metadata, content: &Bytes) -> usize {
    content.len() + metadata.custom_properties.get().len() + OVERHEAD
}

impl Kept {
    fn remove(&mut self, id: &str) -> Option<(Metadata, Bytes)> {
        let removed = self.documents.remove(id)?;
        self.bytes -= bytes_of(&removed.0, &removed.1);
        Some(removed)
    }

    /// Removes the document if it has expired.
    fn look(&mut self, id: &str, now: Timestamp) -> Option<&(Metadata, Bytes)> {
        if self.documents.get(id)?.0.is_expired(now) {
            self.remove(id);
        }
        self.documents.get(id)
    }

    fn sweep(&mut self, now: Timestamp) {
        let documents = &mut self.documents;
        documents.retain(|_, (metadata, _)| !metadata.is_expired(now));
        self.bytes = documents
            .values()
            .map(|(m, content)| bytes_of(m, content))
            .sum();
    }
}

impl MemoryStore {
    pub fn new(config: &Memory) -> MemoryStore {
        MemoryStore {
            max_bytes: config.max_bytes,
            kept: Mutex::default(),
        }
    }

    fn keep(&self, document: Document, now: Timestamp) -> Result<(), DocumentError> {
        let mut kept = self.kept.lock();
        if kept.look(&document.id, now).is_some() {
            return Err(DocumentError::exists(&document.id));
        }
        let wanted = bytes_of(&document.metadata, &document.content);
        if kept.bytes + wanted > self.max_bytes {
            kept.sweep(now);
        }
        if kept.bytes + wanted > self.max_bytes {
            return Err(DocumentError::Exhausted(format!(
                "The documents in memory take {} bytes, and with this one it would be more than the {} that they may take. Delete \
                 some, or configure a store on disk or in S3.",
                kept.bytes, self.max_bytes
            )));
        }
        kept.bytes += wanted;
        // Copied, so that the rest of the request body is not kept in memory.
        let content = Bytes::copy_from_slice(&document.content);
        kept.documents
            .insert(document.id, (document.metadata, content));
        Ok(())
    }
}

impl Store for MemoryStore {
    fn create(
        &self,
        document: Document,
        now: Timestamp,
    ) -> BoxFuture<'_, Result<(), DocumentError>> {
        Box::pin(async move { self.keep(document, now) })
    }

    fn get<'a>(
        &'a self,
        id: &'a str,
        now: Timestamp,
    ) -> BoxFuture<'a, Result<StoredDocument, DocumentError>> {
        Box::pin(async move {
            let mut kept = self.kept.lock();
            let found = kept.look(id, now);
            let (metadata, content) = found.ok_or_else(|| DocumentError::no_document(id))?;
            Ok(StoredDocument {
                metadata: metadata.clone(),
                content: Content::whole(content.clone()),
            })
        })
    }

    fn delete<'a>(
        &'a self,
        id: &'a str,
        now: Timestamp,
    ) -> BoxFuture<'a, Result<(), DocumentError>> {
        Box::pin(async move {
            let mut kept = self.kept.lock();
            let is_there = kept.look(id, now).is_some();
            kept.remove(id);
            is_there
                .then_some(())
                .ok_or_else(|| DocumentError::no_document(id))
        })
    }

    fn sweep(&self, now: Timestamp) -> BoxFuture<'_, Result<(), DocumentError>> {
        Box::pin(async move {
            self.kept.lock().sweep(now);
            Ok(())
        })
    }

    fn is_of_this_node(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Given;

    fn document(id: &str, size: usize, expires_at: Option<Timestamp>) -> Document {
        let content = Bytes::from(vec![7; size]);
        let given = Given {
            expires_at,
            ..Given::default()
        };
        Document {
            id: id.to_string(),
            metadata: Metadata::new(id, given, &content, Timestamp::UNIX_EPOCH).unwrap(),
            content,
        }
    }

    #[tokio::test]
    async fn storage_is_bounded_and_expired_documents_do_not_count() {
        let store = MemoryStore::new(&Memory { max_bytes: 4000 });
        let at = |seconds| Timestamp::from_second(seconds).unwrap();
        let expiring = document("a", 2000, Some(at(10)));
        store.create(expiring, at(1)).await.unwrap();
        let refused = store.create(document("b", 2000, None), at(2)).await;
        assert!(matches!(refused, Err(DocumentError::Exhausted(_))));
        store
            .create(document("b", 2000, None), at(11))
            .await
            .unwrap();
        store.delete("b", at(12)).await.unwrap();
        assert_eq!(store.kept.lock().bytes, 0);
    }
}
