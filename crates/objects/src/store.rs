//! A store of whole objects below one prefix.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use bytes::Bytes;
use futures_util::TryStreamExt;
use object_store::local::LocalFileSystem;
use object_store::path::Path;
use object_store::{Error, ObjectStore, ObjectStoreExt, PutMode, PutOptions};

use crate::s3::{S3, one_line, s3_builder};

/// Names in one list. A backup of 20 GiB has about 5,000 objects.
pub const MAX_LISTED: usize = 1 << 20;

/// Where objects are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Location {
    /// A directory, which all nodes that use it have mounted.
    Directory(PathBuf),
    Bucket {
        bucket: S3,
        /// In front of all names; may be empty.
        prefix: String,
        /// One request with its retries.
        limit: Duration,
    },
}

impl std::fmt::Display for Location {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Location::Directory(path) => write!(f, "{}", path.display()),
            Location::Bucket { bucket, prefix, .. } => {
                write!(f, "s3://{}", bucket.bucket)?;
                if prefix.is_empty() {
                    Ok(())
                } else {
                    write!(f, "/{prefix}")
                }
            }
        }
    }
}

#[derive(Debug, thiserror::Error)]
pub enum ObjectError {
    #[error("{store} has no object '{name}'")]
    NotFound { store: String, name: String },
    /// [`Objects::create`] found another object of the name.
    #[error("{store} has an object '{name}' already")]
    Exists { store: String, name: String },
    #[error("{store} cannot be used: {reason}")]
    Unavailable { store: String, reason: String },
}

/// An object, without its content.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listed {
    pub name: String,
    pub bytes: u64,
    /// By the clock of the store.
    pub modified: SystemTime,
}

#[derive(Clone, Debug)]
pub struct Objects {
    store: Arc<dyn ObjectStore>,
    prefix: Path,
    shown: String,
}

impl Objects {
    /// A directory is made if it is missing; nothing is asked of a bucket yet.
    ///
    /// # Errors
    /// The directory cannot be made, or settings of the bucket are missing.
    pub fn open(location: &Location) -> Result<Objects, ObjectError> {
        let shown = location.to_string();
        let unavailable = |reason: String| ObjectError::Unavailable {
            store: shown.clone(),
            reason,
        };
        let (store, prefix): (Arc<dyn ObjectStore>, Path) = match location {
            Location::Directory(path) => {
                std::fs::create_dir_all(path).map_err(|error| unavailable(error.to_string()))?;
                let store = LocalFileSystem::new_with_prefix(path)
                    .map_err(|error| unavailable(one_line(&error)))?
                    .with_fsync(true)
                    .with_automatic_cleanup(true);
                (Arc::new(store), Path::default())
            }
            Location::Bucket {
                bucket,
                prefix,
                limit,
            } => {
                let store = s3_builder(bucket, *limit).build();
                let store = store.map_err(|error| unavailable(one_line(&error)))?;
                (Arc::new(store), Path::from(prefix.as_str()))
            }
        };
        Ok(Objects {
            store,
            prefix,
            shown,
        })
    }

    /// Where the objects are, for people.
    pub fn shown(&self) -> &str {
        &self.shown
    }

    fn path(&self, name: &str) -> Path {
        let parts = name.split('/').filter(|part| !part.is_empty());
        parts.fold(self.prefix.clone(), |path, part| path.join(part))
    }

    fn failed(&self, name: &str, error: &Error) -> ObjectError {
        let (store, name) = (self.shown.clone(), name.to_string());
        match error {
            Error::NotFound { source, .. } if source.to_string().contains("NoSuchBucket") => {
                ObjectError::Unavailable {
                    store,
                    reason: "there is no such bucket".to_string(),
                }
            }
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

    /// Writes an object that is not there yet.
    ///
    /// # Errors
    /// [`ObjectError::Exists`], or the store cannot be used.
    pub async fn create(&self, name: &str, content: Bytes) -> Result<(), ObjectError> {
        self.write(name, content, PutMode::Create).await
    }

    /// Writes an object, over one of the same name.
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
        let put = self.store.put_opts(&path, content.into(), options).await;
        put.map_err(|error| self.failed(name, &error))?;
        Ok(())
    }

    /// # Errors
    /// [`ObjectError::NotFound`], or the store cannot be used.
    pub async fn get(&self, name: &str) -> Result<Bytes, ObjectError> {
        let failed = |error| self.failed(name, &error);
        let found = self.store.get(&self.path(name)).await.map_err(failed)?;
        found.bytes().await.map_err(failed)
    }

    /// Objects whose names begin with this directory, in the order of their names.
    ///
    /// # Errors
    /// The store cannot be used, or there are more than [`MAX_LISTED`].
    pub async fn list(&self, directory: &str) -> Result<Vec<Listed>, ObjectError> {
        let failed = |error| self.failed(directory, &error);
        let path = self.path(directory);
        let mut found = self.store.list(Some(&path));
        let mut listed = Vec::new();
        while let Some(object) = found.try_next().await.map_err(failed)? {
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

    /// Names of the directories in this directory.
    ///
    /// # Errors
    /// The store cannot be used.
    pub async fn directories(&self, directory: &str) -> Result<Vec<String>, ObjectError> {
        let path = self.path(directory);
        let found = self.store.list_with_delimiter(Some(&path)).await;
        let found = found.map_err(|error| self.failed(directory, &error))?;
        let names = found.common_prefixes.iter();
        Ok(names
            .filter_map(|path| Some(path.parts().next_back()?.as_ref().to_string()))
            .collect())
    }

    /// Deletes an object. One that is not there is no error.
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
