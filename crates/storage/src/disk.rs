//! The narrow view of a file system through which the log reads and writes.
//!
//! Production uses [`RealDisk`]. [`MemoryDisk`] is a disk in memory with the failures of real ones: it loses or tears unflushed data, runs
//! out of space and fails to flush.

mod memory;

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

pub use memory::MemoryDisk;

/// A file system, as far as a log needs one.
pub trait Disk: Send + Sync + 'static {
    /// Creates the directory and its parents if they are missing, durably.
    fn create_dir(&self, path: &Path) -> io::Result<()>;
    /// The names of the files in a directory, in no particular order.
    fn list(&self, path: &Path) -> io::Result<Vec<String>>;
    /// Opens a file for reading and writing; with `create` an absent file is created.
    fn open(&self, path: &Path, create: bool) -> io::Result<Box<dyn DiskFile>>;
    /// Renames a file within one directory, replacing the target.
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()>;
    /// Removes a file.
    fn remove(&self, path: &Path) -> io::Result<()>;
    /// Makes creations, renames and removals in the directory durable.
    fn sync_dir(&self, path: &Path) -> io::Result<()>;
}

/// One open file. All methods take offsets, so that a reader and the writer share the handle.
pub trait DiskFile: Send + Sync {
    /// The length in bytes.
    fn len(&self) -> io::Result<u64>;
    /// True if the file has no bytes.
    fn is_empty(&self) -> io::Result<bool> {
        Ok(self.len()? == 0)
    }
    /// Reads up to `buffer.len()` bytes; fewer only at the end of the file.
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize>;
    /// Writes all bytes, or fails having written any part of them.
    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<()>;
    /// Reserves space for the range and extends the file over it (reads as zeros).
    fn allocate(&self, offset: u64, length: u64) -> io::Result<()>;
    /// Cuts or extends the file.
    fn set_len(&self, length: u64) -> io::Result<()>;
    /// Makes the content durable (fdatasync).
    fn sync_data(&self) -> io::Result<()>;
}

/// Creates a directory and its missing parents, so that they survive power loss: a flushed file is of no use when the directory that names
/// it is gone.
pub fn create_dir_durably(path: &Path) -> io::Result<()> {
    if path.is_dir() {
        return Ok(());
    }
    let parent = match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => {
            create_dir_durably(parent)?;
            parent
        }
        _ => Path::new("."),
    };
    match std::fs::create_dir(path) {
        Ok(()) => {}
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
        Err(error) => return Err(error),
    }
    File::open(parent)?.sync_all()
}

/// The operating system's file system.
#[derive(Debug, Clone, Copy, Default)]
pub struct RealDisk;

impl Disk for RealDisk {
    fn create_dir(&self, path: &Path) -> io::Result<()> {
        create_dir_durably(path)
    }

    fn list(&self, path: &Path) -> io::Result<Vec<String>> {
        let mut names = Vec::new();
        for entry in std::fs::read_dir(path)? {
            if let Ok(name) = entry?.file_name().into_string() {
                names.push(name);
            }
        }
        Ok(names)
    }

    fn open(&self, path: &Path, create: bool) -> io::Result<Box<dyn DiskFile>> {
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(create)
            .truncate(false)
            .open(path)?;
        Ok(Box::new(RealFile(file)))
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        std::fs::rename(from, to)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        std::fs::remove_file(path)
    }

    fn sync_dir(&self, path: &Path) -> io::Result<()> {
        File::open(path)?.sync_all()
    }
}

/// Reads until the buffer is full or the file ends; returns the number of bytes.
pub fn read_at(file: &File, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
    let mut done = 0;
    while let Some(rest) = buffer.get_mut(done..).filter(|rest| !rest.is_empty()) {
        match file.read_at(rest, offset + done as u64) {
            Ok(0) => break,
            Ok(count) => done += count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(done)
}

struct RealFile(File);

impl DiskFile for RealFile {
    fn len(&self) -> io::Result<u64> {
        Ok(self.0.metadata()?.len())
    }

    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        read_at(&self.0, buffer, offset)
    }

    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        self.0.write_all_at(bytes, offset)
    }

    fn allocate(&self, offset: u64, length: u64) -> io::Result<()> {
        use rustix::fs::FallocateFlags;
        match rustix::fs::fallocate(&self.0, FallocateFlags::empty(), offset, length) {
            Ok(()) => Ok(()),
            // Some file systems cannot reserve space; extending the length is then all that can be done.
            Err(error) if error == rustix::io::Errno::OPNOTSUPP => {
                let end = offset.saturating_add(length);
                if self.len()? < end {
                    self.0.set_len(end)?;
                }
                Ok(())
            }
            Err(error) => Err(error.into()),
        }
    }

    fn set_len(&self, length: u64) -> io::Result<()> {
        self.0.set_len(length)
    }

    fn sync_data(&self) -> io::Result<()> {
        self.0.sync_data()
    }
}
