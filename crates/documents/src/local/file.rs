//! The file of a document: a magic number, the length of the head, the head as JSON, the content.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::metadata::{MAX_METADATA, Metadata};
use crate::store::Document;

const MARK: &[u8; 8] = b"SKEPDOC1";
/// Maximum size of a document's head: its metadata and its id.
const MAX_HEAD: usize = MAX_METADATA + 4096;

#[derive(Serialize)]
struct NewHead<'a> {
    id: &'a str,
    metadata: &'a Metadata,
}

#[derive(Deserialize)]
pub struct Head {
    pub metadata: Metadata,
}

fn bad(path: &Path, what: &str) -> io::Error {
    let text = format!("{} is not the file of a document: {what}", path.display());
    io::Error::new(io::ErrorKind::InvalidData, text)
}

/// Only a file that ends too early is damaged: a failure of the disk may pass.
fn too_short(path: &Path, error: io::Error) -> io::Error {
    match error.kind() {
        io::ErrorKind::UnexpectedEof => bad(path, "it is too short"),
        _ => error,
    }
}

/// Writes a file durably.
pub fn write_new(path: &Path, document: &Document) -> io::Result<()> {
    let head = serde_json::to_vec(&NewHead {
        id: &document.id,
        metadata: &document.metadata,
    })?;
    let length = u32::try_from(head.len()).map_err(io::Error::other)?;
    let mut file = OpenOptions::new().write(true).create_new(true).open(path)?;
    file.write_all(MARK)?;
    file.write_all(&length.to_be_bytes())?;
    file.write_all(&head)?;
    file.write_all(&document.content)?;
    file.sync_all()
}

impl Head {
    /// Opens a file, positioned at its content. `None`: it does not exist.
    pub fn open(path: &Path) -> io::Result<Option<(Head, File)>> {
        let mut file = match File::open(path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
        };
        let mut start = [0; 12];
        file.read_exact(&mut start)
            .map_err(|error| too_short(path, error))?;
        let [mark @ .., a, b, c, d] = start;
        let length = u32::from_be_bytes([a, b, c, d]) as usize;
        if mark != *MARK || length > MAX_HEAD {
            return Err(bad(path, "it does not begin like a document file"));
        }
        let mut head = vec![0; length];
        file.read_exact(&mut head)
            .map_err(|error| too_short(path, error))?;
        let head: Head = serde_json::from_slice(&head)
            .map_err(|e| bad(path, &format!("its head cannot be read: {e}")))?;
        let content = (start.len() + length) as u64;
        let whole = file.seek(SeekFrom::End(0))?;
        if whole != content + head.metadata.size {
            return Err(bad(path, "its content does not have the size in its head"));
        }
        file.seek(SeekFrom::Start(content))?;
        Ok(Some((head, file)))
    }
}
