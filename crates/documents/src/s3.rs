//! Documents in a bucket: each is an object whose key is a prefix and the id. Skep keeps a document's metadata in one field of the object's
//! metadata; for links, type and file name are also in the standard headers.
//!
//! Objects without that field, stored by other programs, can be read. Expired documents are not found here, but stay in the bucket until a
//! lifecycle rule removes them.

use std::sync::Arc;
use std::time::Duration;

use futures_util::TryStreamExt;
use jiff::Timestamp;
use object_store::aws::AmazonS3;
use object_store::path::Path;
use object_store::signer::{Method, Signer};
use object_store::{
    Attribute, Attributes, GetOptions, ObjectMeta, ObjectStore, ObjectStoreExt, PutMode, PutOptions,
};
use skep_objects::one_line;

use crate::config::S3;
use crate::metadata::{ANY_TYPE, attachment, no_properties};
use crate::store::{Document, Link, Store, StoredDocument};
use crate::{BoxFuture, Content, DocumentError, Metadata};

/// Our metadata field; S3 prefixes it with `x-amz-meta-`.
const FIELD: &str = "skep-document";
/// Maximum total size of user-defined fields that S3 accepts, including their names, in bytes.
const MAX_FIELDS: usize = 2048;

#[derive(Debug)]
pub struct S3Store {
    bucket: String,
    path: Path,
    store: Arc<AmazonS3>,
}

/// Converts JSON to visible ASCII characters, as headers require: only the notation changes.
fn header_text(json: &str) -> String {
    let mut out = String::with_capacity(json.len());
    let (mut quoted, mut escaped) = (false, false);
    for c in json.chars() {
        match c {
            ' ' | '\t' | '\n' | '\r' if !quoted => continue,
            '"' if !escaped => quoted = !quoted,
            _ => {}
        }
        escaped = quoted && c == '\\' && !escaped;
        if c.is_ascii() && c != '\x7f' {
            out.push(c);
            continue;
        }
        let mut units = [0; 2];
        for unit in c.encode_utf16(&mut units) {
            out.push_str(&format!("\\u{unit:04x}"));
        }
    }
    out
}

impl S3Store {
    /// Creates the store without contacting the service yet.
    ///
    /// # Errors
    /// The settings are invalid.
    pub fn new(config: &S3) -> Result<S3Store, String> {
        let bucket = skep_objects::S3 {
            bucket: config.bucket.clone(),
            endpoint: config.endpoint.clone(),
            region: config.region.clone(),
            access_key: config.access_key.clone(),
            secret_key: config.secret_key.clone(),
        };
        let builder = skep_objects::s3_builder(&bucket, skep_objects::RETRY_FOR);
        Ok(S3Store {
            bucket: config.bucket.clone(),
            path: Path::from(config.path.as_str()),
            store: Arc::new(builder.build().map_err(|error| error.to_string())?),
        })
    }

    fn key(&self, id: &str) -> Path {
        self.path.clone().join(id)
    }

    fn failed(&self, id: &str, error: object_store::Error) -> DocumentError {
        use object_store::Error;
        match error {
            Error::NotFound { source, .. } if source.to_string().contains("NoSuchBucket") => {
                DocumentError::Unavailable(format!(
                    "The document store has no bucket '{}'. An operator must create it, or configure another one.",
                    self.bucket
                ))
            }
            Error::NotFound { .. } => DocumentError::no_document(id),
            Error::AlreadyExists { .. } | Error::Precondition { .. } => DocumentError::exists(id),
            Error::PermissionDenied { .. } | Error::Unauthenticated { .. } => {
                DocumentError::Unavailable(format!(
                    "The document store refuses this server: {}. An operator must check its keys and its permissions for bucket '{}'.",
                    one_line(&error),
                    self.bucket
                ))
            }
            error => DocumentError::Unavailable(format!(
                "The document store (bucket '{}') cannot be used: {}. Send the request again later.",
                self.bucket,
                one_line(&error)
            )),
        }
    }

    async fn put(&self, document: Document) -> Result<(), DocumentError> {
        let known = header_text(&document.metadata.to_json());
        if FIELD.len() + known.len() > MAX_FIELDS {
            return Err(DocumentError::Invalid(format!(
                "The metadata of the document takes {} bytes; a store in S3 keeps at most {}. Give less in 'customProperties', or put it \
                 into the document.",
                known.len(),
                MAX_FIELDS - FIELD.len()
            )));
        }
        let mut attributes = Attributes::new();
        attributes.insert(Attribute::Metadata(FIELD.into()), known.into());
        attributes.insert(
            Attribute::ContentType,
            document.metadata.content_type.clone().into(),
        );
        let name = attachment(&document.metadata.file_name);
        attributes.insert(Attribute::ContentDisposition, name.into());
        let options = PutOptions {
            mode: PutMode::Create,
            attributes,
            ..PutOptions::default()
        };
        let key = self.key(&document.id);
        let put = self.store.put_opts(&key, document.content.into(), options);
        put.await
            .map_err(|error| self.failed(&document.id, error))?;
        Ok(())
    }

    async fn look(
        &self,
        id: &str,
        head: bool,
        now: Timestamp,
    ) -> Result<(Metadata, object_store::GetResult), DocumentError> {
        let options = GetOptions {
            head,
            ..GetOptions::default()
        };
        let found = self.store.get_opts(&self.key(id), options).await;
        let found = found.map_err(|error| self.failed(id, error))?;
        let metadata = known(id, &found.meta, &found.attributes)?;
        if metadata.is_expired(now) {
            return Err(DocumentError::no_document(id));
        }
        Ok((metadata, found))
    }
}

/// Reads the metadata of an object.
fn known(
    id: &str,
    object: &ObjectMeta,
    attributes: &Attributes,
) -> Result<Metadata, DocumentError> {
    if let Some(field) = attributes.get(&Attribute::Metadata(FIELD.into())) {
        let metadata: Metadata = serde_json::from_str(field).map_err(|error| {
            DocumentError::Broken(format!(
                "The metadata of document '{id}' in the store cannot be read: {error}."
            ))
        })?;
        if metadata.size != object.size {
            return Err(DocumentError::Broken(format!(
                "The document '{id}' has {} bytes, but should have {}: it was changed in the store.",
                object.size, metadata.size
            )));
        }
        return Ok(metadata);
    }
    let content_type = attributes.get(&Attribute::ContentType);
    Ok(Metadata {
        content_type: content_type
            .map_or(ANY_TYPE, |value| value.as_ref())
            .to_string(),
        file_name: id.to_string(),
        expires_at: None,
        size: object.size,
        process_definition_id: None,
        process_instance_key: None,
        custom_properties: no_properties(),
        content_hash: None,
    })
}

impl Store for S3Store {
    fn create(
        &self,
        document: Document,
        now: Timestamp,
    ) -> BoxFuture<'_, Result<(), DocumentError>> {
        Box::pin(async move {
            let id = document.id.clone();
            match self.put(document.clone()).await {
                Err(DocumentError::Exists(_)) => {}
                put => return put,
            }
            // The key may be taken by an expired document.
            let key = self.key(&id);
            match self.look(&id, true, now).await {
                Ok(_) => return Err(DocumentError::exists(&id)),
                Err(DocumentError::NotFound(_)) => {}
                Err(error) => return Err(error),
            }
            let deleted = self.store.delete(&key).await;
            deleted.or_else(|error| match self.failed(&id, error) {
                DocumentError::NotFound(_) => Ok(()),
                error => Err(error),
            })?;
            self.put(document).await
        })
    }

    fn get<'a>(
        &'a self,
        id: &'a str,
        now: Timestamp,
    ) -> BoxFuture<'a, Result<StoredDocument, DocumentError>> {
        Box::pin(async move {
            let (metadata, found) = self.look(id, false, now).await?;
            let pieces = found.into_stream().map_err(std::io::Error::other);
            let content = Content::stream(pieces, metadata.size);
            Ok(StoredDocument { metadata, content })
        })
    }

    fn delete<'a>(
        &'a self,
        id: &'a str,
        now: Timestamp,
    ) -> BoxFuture<'a, Result<(), DocumentError>> {
        Box::pin(async move {
            // Deleting something that does not exist succeeds.
            self.look(id, true, now).await?;
            let deleted = self.store.delete(&self.key(id)).await;
            deleted.map_err(|error| self.failed(id, error))
        })
    }

    fn link<'a>(
        &'a self,
        id: &'a str,
        time_to_live: Duration,
        now: Timestamp,
        check: &'a (dyn Fn(&Metadata) -> Result<(), DocumentError> + Send + Sync),
    ) -> BoxFuture<'a, Result<Link, DocumentError>> {
        Box::pin(async move {
            let (metadata, _) = self.look(id, true, now).await?;
            check(&metadata)?;
            // In whole seconds, as S3 requires.
            let seconds = time_to_live.as_millis().div_ceil(1000);
            let valid = Duration::from_secs(u64::try_from(seconds).unwrap_or(1));
            let key = self.key(id);
            let url = self.store.signed_url(Method::GET, &key, valid);
            let url = url.await.map_err(|error| self.failed(id, error))?;
            Ok(Link {
                url: url.to_string(),
                expires_at: now.saturating_add(valid).unwrap_or(Timestamp::MAX),
            })
        })
    }
}

#[cfg(test)]
mod tests;
