//! The location of backups, for threads that may block.

use std::fmt;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::Arc;

use bytes::Bytes;
use skep_objects::{Listed, Location, ObjectError, Objects};
use tokio::runtime::{Builder, Runtime};

/// A store of objects. Cheap to clone. Its calls block, so asynchronous code must use `spawn_blocking`.
#[derive(Clone)]
pub struct Store {
    objects: Objects,
    /// If it is a directory.
    directory: Option<Arc<Path>>,
    runtime: Arc<Own>,
}

/// Asynchronous code may drop the runtime, and must not block on that.
struct Own(Option<Runtime>);

impl Drop for Own {
    fn drop(&mut self) {
        if let Some(runtime) = self.0.take() {
            runtime.shutdown_background();
        }
    }
}

impl fmt::Debug for Store {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Store").field(&self.objects.shown()).finish()
    }
}

impl Store {
    /// # Errors
    /// A directory cannot be created, or settings of a bucket are missing.
    pub fn open(location: &Location) -> Result<Store, ObjectError> {
        let unavailable = |error: std::io::Error| ObjectError::Unavailable {
            store: location.to_string(),
            reason: error.to_string(),
        };
        let runtime = Builder::new_multi_thread()
            .worker_threads(1)
            .thread_name("backup-io")
            .enable_all()
            .build()
            .map_err(unavailable)?;
        Ok(Store {
            objects: Objects::open(location)?,
            directory: match location {
                Location::Directory(directory) => Some(directory.as_path().into()),
                _ => None,
            },
            runtime: Arc::new(Own(Some(runtime))),
        })
    }

    /// The location, for messages.
    pub fn shown(&self) -> &str {
        self.objects.shown()
    }

    /// The file system that a directory is on, or would be created on. `None`: it is no directory.
    pub(crate) fn device(&self) -> Option<u64> {
        let mut existing = self.directory.as_ref()?.ancestors();
        let found = existing.find_map(|it| std::fs::metadata(it).ok())?;
        Some(found.dev())
    }

    /// Waits for a future, which may need a runtime.
    ///
    /// # Panics
    /// If called from asynchronous code.
    pub fn wait<T>(&self, work: impl Future<Output = T>) -> T {
        let runtime = self.runtime.0.as_ref();
        let runtime = runtime.unwrap_or_else(|| unreachable!("it is there until it is dropped"));
        runtime.block_on(work)
    }

    /// # Errors
    /// See [`Objects::create`].
    pub fn create(&self, name: &str, content: Bytes) -> Result<(), ObjectError> {
        self.wait(self.objects.create(name, content))
    }

    /// # Errors
    /// See [`Objects::put`].
    pub fn put(&self, name: &str, content: Bytes) -> Result<(), ObjectError> {
        self.wait(self.objects.put(name, content))
    }

    /// # Errors
    /// See [`Objects::get`].
    pub fn get(&self, name: &str) -> Result<Bytes, ObjectError> {
        self.wait(self.objects.get(name))
    }

    /// `None`: there is no such object.
    ///
    /// # Errors
    /// The store cannot be used.
    pub fn find(&self, name: &str) -> Result<Option<Bytes>, ObjectError> {
        match self.get(name) {
            Ok(content) => Ok(Some(content)),
            Err(ObjectError::NotFound { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// # Errors
    /// See [`Objects::list`].
    pub fn list(&self, directory: &str) -> Result<Vec<Listed>, ObjectError> {
        self.wait(self.objects.list(directory))
    }

    /// # Errors
    /// See [`Objects::list_after`].
    pub fn list_after(&self, directory: &str, object: &str) -> Result<Vec<Listed>, ObjectError> {
        self.wait(self.objects.list_after(directory, object))
    }

    /// # Errors
    /// See [`Objects::directories`].
    pub fn directories(&self, directory: &str) -> Result<Vec<String>, ObjectError> {
        self.wait(self.objects.directories(directory))
    }

    /// # Errors
    /// See [`Objects::delete`].
    pub fn delete(&self, name: &str) -> Result<(), ObjectError> {
        self.wait(self.objects.delete(name))
    }
}
