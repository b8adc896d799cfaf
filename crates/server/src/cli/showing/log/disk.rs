//! A read-only disk. Opening a log normally cuts torn tails and rewrites the last frames; neither is done here: the tail is simply not
//! read.

use std::fs::File;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use skep_storage::disk::{Disk, DiskFile, read_at};

pub struct ReadOnlyDisk;

fn refused(what: &str) -> io::Error {
    io::Error::new(
        io::ErrorKind::ReadOnlyFilesystem,
        format!("{what} is not done here"),
    )
}

impl Disk for ReadOnlyDisk {
    fn create_dir(&self, path: &Path) -> io::Result<()> {
        std::fs::metadata(path).map(|_| ())
    }

    fn list(&self, path: &Path) -> io::Result<Vec<String>> {
        let mut names = Vec::new();
        for entry in std::fs::read_dir(path)? {
            names.extend(entry?.file_name().into_string().ok());
        }
        Ok(names)
    }

    fn open(&self, path: &Path, create: bool) -> io::Result<Box<dyn DiskFile>> {
        if create {
            return Err(io::Error::new(
                io::ErrorKind::NotFound,
                "there are no log files",
            ));
        }
        Ok(Box::new(ReadOnlyFile {
            file: File::open(path)?,
            path: path.to_path_buf(),
        }))
    }

    fn rename(&self, _: &Path, _: &Path) -> io::Result<()> {
        Err(refused("renaming"))
    }

    fn remove(&self, _: &Path) -> io::Result<()> {
        Err(refused("removing"))
    }

    fn sync_dir(&self, _: &Path) -> io::Result<()> {
        Ok(())
    }
}

struct ReadOnlyFile {
    file: File,
    path: PathBuf,
}

impl DiskFile for ReadOnlyFile {
    fn len(&self) -> io::Result<u64> {
        Ok(self.file.metadata()?.len())
    }

    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        let read = read_at(&self.file, buffer, offset)?;
        // A renamed file may be reused for another segment: then the data just read may be anything.
        let now = std::fs::metadata(&self.path)?;
        if now.ino() != self.file.metadata()?.ino() {
            return Err(io::Error::new(
                io::ErrorKind::NotFound,
                "the server has discarded this segment",
            ));
        }
        Ok(read)
    }

    fn write_at(&self, _: &[u8], _: u64) -> io::Result<()> {
        Ok(())
    }

    fn allocate(&self, _: u64, _: u64) -> io::Result<()> {
        Err(refused("growing"))
    }

    fn set_len(&self, _: u64) -> io::Result<()> {
        Ok(())
    }

    fn sync_data(&self) -> io::Result<()> {
        Ok(())
    }
}
