//! A store of whole objects below a prefix.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use bytes::Bytes;
use futures_util::TryStreamExt;
use futures_util::stream::BoxStream;
use object_store::azure::MicrosoftAzure;
use object_store::local::LocalFileSystem;
use object_store::path::Path;
use object_store::{Error, ObjectMeta, ObjectStore, ObjectStoreExt, PutMode, PutOptions};

use crate::azure::{Azure, azure_builder, make_container};
use crate::errors::one_line;
use crate::gcs::{Gcs, gcs_builder};
use crate::s3::{S3, s3_builder};

/// Maximum number of names in one list. A backup of 20 GiB has about 5,000 objects.
pub const MAX_LISTED: usize = 1 << 20;

/// The location of objects.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Location {
    /// A directory, mounted by all nodes that use it.
    Directory(PathBuf),
    S3 {
        bucket: S3,
        /// Prefix of all names; may be empty.
        prefix: String,
        /// Time limit of a request including its retries.
        limit: Duration,
    },
    Gcs {
        bucket: Gcs,
        prefix: String,
        limit: Duration,
    },
    Azure {
        container: Azure,
        limit: Duration,
    },
}

impl std::fmt::Display for Location {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (scheme, bucket, prefix) = match self {
            Location::Directory(path) => return write!(f, "{}", path.display()),
            Location::S3 { bucket, prefix, .. } => ("s3", &bucket.bucket, prefix.as_str()),
            Location::Gcs { bucket, prefix, .. } => ("gs", &bucket.bucket, prefix.as_str()),
            Location::Azure { container, .. } => ("azure", &container.container, ""),
        };
        let slash = if prefix.is_empty() { "" } else { "/" };
        write!(f, "{scheme}://{bucket}{slash}{prefix}")
    }
}

#[derive(Debug, thiserror::Error)]
pub enum ObjectError {
    #[error("{store} has no object '{name}'")]
    NotFound { store: String, name: String },
    /// [`Objects::create`] found another object with this name.
    #[error("{store} has an object '{name}' already")]
    Exists { store: String, name: String },
    #[error("{store} cannot be used: {reason}")]
    Unavailable { store: String, reason: String },
}

/// An object without its content.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listed {
    pub name: String,
    pub bytes: u64,
    /// By the store's clock.
    pub modified: SystemTime,
}

/// Whether the service reports that the bucket or container does not exist.
fn is_no_bucket(error: &Error) -> bool {
    let text = error.to_string();
    text.contains("NoSuchBucket") || text.contains("ContainerNotFound")
}

#[derive(Clone, Debug)]
pub struct Objects {
    store: Arc<dyn ObjectStore>,
    prefix: Path,
    shown: String,
    /// The container, if it is to be created when missing.
    makes: Option<Arc<(MicrosoftAzure, Azure)>>,
}

impl Objects {
    /// Opens a store. Creates a missing directory, but sends no request to a bucket yet.
    ///
    /// # Errors
    /// The directory cannot be created, or settings of the bucket are missing.
    pub fn open(location: &Location) -> Result<Objects, ObjectError> {
        let shown = location.to_string();
        let unavailable = |reason: String| ObjectError::Unavailable {
            store: shown.clone(),
            reason,
        };
        let mut makes = None;
        let (store, prefix): (Arc<dyn ObjectStore>, Path) = match location {
            Location::Directory(path) => {
                std::fs::create_dir_all(path).map_err(|error| unavailable(error.to_string()))?;
                let store = LocalFileSystem::new_with_prefix(path)
                    .map_err(|error| unavailable(one_line(&error)))?
                    .with_fsync(true)
                    .with_automatic_cleanup(true);
                (Arc::new(store), Path::default())
            }
            Location::S3 {
                bucket,
                prefix,
                limit,
            } => {
                let store = s3_builder(bucket, *limit).build();
                let store = store.map_err(|error| unavailable(one_line(&error)))?;
                (Arc::new(store), Path::from(prefix.as_str()))
            }
            Location::Gcs {
                bucket,
                prefix,
                limit,
            } => {
                let store = gcs_builder(bucket, *limit).build();
                let store = store.map_err(|error| unavailable(one_line(&error)))?;
                (Arc::new(store), Path::from(prefix.as_str()))
            }
            Location::Azure { container, limit } => {
                let store = azure_builder(container, *limit).build();
                let store = store.map_err(|error| unavailable(one_line(&error)))?;
                if container.create {
                    makes = Some(Arc::new((store.clone(), container.clone())));
                }
                (Arc::new(store), Path::default())
            }
        };
        Ok(Objects {
            store,
            prefix,
            shown,
            makes,
        })
    }

    /// The location of the objects, for messages.
    pub fn shown(&self) -> &str {
        &self.shown
    }

    pub(crate) fn store(&self) -> &dyn ObjectStore {
        &*self.store
    }

    pub(crate) fn path(&self, name: &str) -> Path {
        let parts = name.split('/').filter(|part| !part.is_empty());
        parts.fold(self.prefix.clone(), |path, part| path.join(part))
    }

    /// Whether the container does not exist yet and will be created with its first object, so that it is empty.
    fn is_not_made_yet(&self, error: &Error) -> bool {
        self.makes.is_some() && is_no_bucket(error)
    }

    pub(crate) fn failed(&self, name: &str, error: &Error) -> ObjectError {
        let (store, name) = (self.shown.clone(), name.to_string());
        if is_no_bucket(error) && self.makes.is_none() {
            return ObjectError::Unavailable {
                store,
                reason: "there is no such bucket".to_string(),
            };
        }
        match error {
            Error::NotFound { .. } => ObjectError::NotFound { store, name },
            Error::AlreadyExists { .. } | Error::Precondition { .. } => {
                ObjectError::Exists { store, name }
            }
            error => ObjectError::Unavailable {
                store,
                reason: one_line(error),
            },
        }
    }

    /// Writes an object that must not exist yet.
    ///
    /// # Errors
    /// [`ObjectError::Exists`], or the store cannot be used.
    pub async fn create(&self, name: &str, content: Bytes) -> Result<(), ObjectError> {
        self.write(name, content, PutMode::Create).await
    }

    /// Writes an object, replacing one with the same name.
    ///
    /// # Errors
    /// The store cannot be used.
    pub async fn put(&self, name: &str, content: Bytes) -> Result<(), ObjectError> {
        self.write(name, content, PutMode::Overwrite).await
    }

    async fn write(&self, name: &str, content: Bytes, mode: PutMode) -> Result<(), ObjectError> {
        let options = PutOptions {
            mode,
            ..PutOptions::default()
        };
        let path = self.path(name);
        let put = || (self.store).put_opts(&path, content.clone().into(), options.clone());
        let mut written = put().await;
        if let Err(error) = &written
            && let Some(making) = self.makes.as_deref().filter(|_| is_no_bucket(error))
        {
            let (store, container) = making;
            let made = make_container(store, container).await;
            made.map_err(|reason| ObjectError::Unavailable {
                store: self.shown.clone(),
                reason: format!("the container cannot be created: {reason}"),
            })?;
            written = put().await;
        }
        written.map_err(|error| self.failed(name, &error))?;
        Ok(())
    }

    /// # Errors
    /// [`ObjectError::NotFound`], or the store cannot be used.
    pub async fn get(&self, name: &str) -> Result<Bytes, ObjectError> {
        let failed = |error| self.failed(name, &error);
        let found = self.store.get(&self.path(name)).await.map_err(failed)?;
        found.bytes().await.map_err(failed)
    }

    /// Objects in this directory, sorted by name.
    ///
    /// # Errors
    /// The store cannot be used, or there are more than [`MAX_LISTED`].
    pub async fn list(&self, directory: &str) -> Result<Vec<Listed>, ObjectError> {
        let path = self.path(directory);
        self.listed(directory, self.store.list(Some(&path))).await
    }

    /// Objects in this directory whose names are greater than that of `object`, which need not exist.
    ///
    /// # Errors
    /// The store cannot be used, or there are more than [`MAX_LISTED`].
    pub async fn list_after(
        &self,
        directory: &str,
        object: &str,
    ) -> Result<Vec<Listed>, ObjectError> {
        let (path, after) = (self.path(directory), self.path(object));
        let found = self.store.list_with_offset(Some(&path), &after);
        self.listed(directory, found).await
    }

    async fn listed(
        &self,
        directory: &str,
        mut found: BoxStream<'static, Result<ObjectMeta, Error>>,
    ) -> Result<Vec<Listed>, ObjectError> {
        let failed = |error| self.failed(directory, &error);
        let mut listed = Vec::new();
        loop {
            let object = match found.try_next().await {
                Ok(Some(object)) => object,
                Ok(None) => break,
                Err(error) if self.is_not_made_yet(&error) => break,
                Err(error) => return Err(failed(error)),
            };
            if listed.len() >= MAX_LISTED {
                return Err(ObjectError::Unavailable {
                    store: self.shown.clone(),
                    reason: format!("'{directory}' has more than {MAX_LISTED} objects"),
                });
            }
            let Some(name) = object.location.prefix_match(&self.prefix) else {
                continue;
            };
            let parts: Vec<String> = name.map(|part| part.as_ref().to_string()).collect();
            listed.push(Listed {
                name: parts.join("/"),
                bytes: object.size,
                modified: object.last_modified.into(),
            });
        }
        listed.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(listed)
    }

    /// Names of the subdirectories of this directory.
    ///
    /// # Errors
    /// The store cannot be used.
    pub async fn directories(&self, directory: &str) -> Result<Vec<String>, ObjectError> {
        let path = self.path(directory);
        let found = match self.store.list_with_delimiter(Some(&path)).await {
            Ok(found) => found,
            Err(error) if self.is_not_made_yet(&error) => return Ok(Vec::new()),
            Err(error) => return Err(self.failed(directory, &error)),
        };
        let names = found.common_prefixes.iter();
        Ok(names
            .filter_map(|path| Some(path.parts().next_back()?.as_ref().to_string()))
            .collect())
    }

    /// Deletes an object. It is no error if the object does not exist.
    ///
    /// # Errors
    /// The store cannot be used.
    pub async fn delete(&self, name: &str) -> Result<(), ObjectError> {
        match self.store.delete(&self.path(name)).await {
            Ok(()) | Err(Error::NotFound { .. }) => Ok(()),
            Err(error) => Err(self.failed(name, &error)),
        }
    }
}
