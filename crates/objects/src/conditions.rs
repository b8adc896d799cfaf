//! Conditional writes, which only succeed if nobody else has written in the meantime.

use bytes::Bytes;
use object_store::{Error, ObjectStoreExt, PutMode, PutOptions, UpdateVersion};

use crate::store::{ObjectError, Objects};

/// The condition for writing an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Condition {
    /// There is no object with this name.
    Absent,
    /// Its content has this tag.
    Tag(String),
}

/// An object was not written, as far as is known.
#[derive(Debug, thiserror::Error)]
pub enum NotWritten {
    /// The store says that the condition is not met. It also says so if it has executed the request twice, or another one at
    /// the same time; a read is needed to find out.
    #[error("the condition is not met")]
    Refused,
    /// The object may have been written, or may be written later.
    #[error(transparent)]
    Unknown(#[from] ObjectError),
}

impl Objects {
    /// An object and the tag of its content; `None`: there is no such object.
    ///
    /// # Errors
    /// The store cannot be used, or does not provide tags.
    pub async fn get_with_tag(&self, name: &str) -> Result<Option<(Bytes, String)>, ObjectError> {
        let found = match self.store().get(&self.path(name)).await {
            Ok(found) => found,
            Err(error) => {
                return match self.failed(name, &error) {
                    ObjectError::NotFound { .. } => Ok(None),
                    error => Err(error),
                };
            }
        };
        let tag = found.meta.e_tag.clone();
        let tag = tag.ok_or_else(|| self.without_tags())?;
        let content = found.bytes().await;
        let content = content.map_err(|error| self.failed(name, &error))?;
        Ok(Some((content, tag)))
    }

    /// Writes an object if the condition is met, and returns its new tag. Nothing is retried if the store was opened without
    /// retries.
    ///
    /// # Errors
    /// The condition is not met, or the store cannot be used.
    pub async fn put_if(
        &self,
        name: &str,
        content: Bytes,
        condition: &Condition,
    ) -> Result<String, NotWritten> {
        let mode = match condition {
            Condition::Absent => PutMode::Create,
            Condition::Tag(tag) => PutMode::Update(UpdateVersion {
                e_tag: Some(tag.clone()),
                version: None,
            }),
        };
        let options = PutOptions {
            mode,
            ..PutOptions::default()
        };
        let path = self.path(name);
        let put = self.store().put_opts(&path, content.into(), options);
        match put.await {
            Ok(written) => Ok(written.e_tag.ok_or_else(|| self.without_tags())?),
            // Services differ in how they report that the object of the condition is missing.
            Err(Error::AlreadyExists { .. } | Error::Precondition { .. }) => {
                Err(NotWritten::Refused)
            }
            Err(error) => match self.failed(name, &error) {
                ObjectError::NotFound { .. } => Err(NotWritten::Refused),
                error => Err(error.into()),
            },
        }
    }

    fn without_tags(&self) -> ObjectError {
        ObjectError::Unavailable {
            store: self.shown().to_string(),
            reason: "it gives no ETags".to_string(),
        }
    }
}
