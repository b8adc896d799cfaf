//! Files of documents in a backup: how the content of objects represents them.
//!
//! ```text
//! piece: length of the path u16 | path | place in the file u64 | length u32 | bytes                               (little-endian)
//! ```
//!
//! A file is one piece or several, in order: the one at place 0 begins it. Paths are relative to the directory of the store.

use bytes::{Buf, Bytes};
use serde::{Deserialize, Serialize};

use crate::listing::Listed;
use crate::manifest::StoredObject;
use crate::upload::written_by;

/// Maximum bytes of a path: two directories and a name with 64 digits need a third of it.
const MAX_PATH: usize = 250;

/// A document store that keeps its documents in a directory.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DocumentsManifest {
    /// The id of the store in the settings.
    pub store: String,
    /// `None`: each node has documents of its own, and none of them are in the backup.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub objects: Option<Vec<StoredObject>>,
    /// Which files of the objects are in the backup. `None`: all of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub listed: Option<Listed>,
    /// What was left out, because it could not be read. Objects may have the beginning of such a file.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unreadable: Vec<Unreadable>,
}

/// A file or a directory of documents that could not be read when the backup was taken.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unreadable {
    /// Relative to the directory of the store.
    pub path: String,
    pub reason: String,
}

impl DocumentsManifest {
    /// Whether some objects are those of earlier backups: they may have files that were deleted before this backup.
    pub fn shares(&self, backup: u64) -> bool {
        let own = format!("{}/", written_by(backup, &self.store));
        let mut objects = self.objects.iter().flatten();
        self.listed.is_some() && objects.any(|object| !object.name.starts_with(&own))
    }

    /// Whether the beginning of this file, which objects may have, is to be left out.
    pub fn lacks(&self, path: &str) -> bool {
        self.unreadable.iter().any(|it| it.path == path)
    }

    /// What of the store is missing in the backup, although it has its documents.
    pub fn missing(&self) -> Option<String> {
        let first = self.unreadable.first()?;
        let (count, store) = (self.unreadable.len(), &self.store);
        Some(format!(
            "{count} files or directories of the document store '{store}' could not be read when the backup was taken, and are not in it; the \
             first is {}: {}",
            first.path, first.reason
        ))
    }
}

/// A part of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FilePiece {
    pub path: String,
    pub place: u64,
    pub bytes: Bytes,
}

/// Why the content of an object is no sequence of parts of files.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoFiles {
    #[error("it ends within a path")]
    EndsInPath,
    #[error("a path is not text")]
    NoText,
    #[error("'{0}' is no file of a document store")]
    Elsewhere(String),
    #[error("it ends within '{0}'")]
    EndsInFile(String),
}

/// Whether a path stays below the directory, on every system. Names of stores consist of digits, letters and dashes.
pub fn is_path(path: &str) -> bool {
    let is_name = |name: &str| {
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-';
        !name.is_empty() && name.bytes().all(is_plain)
    };
    path.len() <= MAX_PATH && path.split('/').all(is_name)
}

/// Adds a part of a file to the content of an object.
pub fn encode_piece(path: &str, place: u64, bytes: &[u8], out: &mut Vec<u8>) {
    debug_assert!(is_path(path), "only files of a document store are encoded");
    let length = |bytes: &[u8]| u32::try_from(bytes.len()).unwrap_or(u32::MAX);
    out.extend_from_slice(&(length(path.as_bytes()) as u16).to_le_bytes());
    out.extend_from_slice(path.as_bytes());
    out.extend_from_slice(&place.to_le_bytes());
    debug_assert_eq!(length(bytes) as usize, bytes.len(), "pieces are small");
    out.extend_from_slice(&length(bytes).to_le_bytes());
    out.extend_from_slice(bytes);
}

/// The parts of files in the content of an object.
///
/// # Errors
/// The content ends within a part, or a path leads elsewhere.
pub fn decode_pieces(mut content: Bytes) -> Result<Vec<FilePiece>, NoFiles> {
    let mut pieces = Vec::new();
    while !content.is_empty() {
        let path = text(&mut content)?;
        if !is_path(&path) {
            return Err(NoFiles::Elsewhere(path));
        }
        if content.len() < 12 {
            return Err(NoFiles::EndsInFile(path));
        }
        let (place, length) = (content.get_u64_le(), content.get_u32_le() as usize);
        if content.len() < length {
            return Err(NoFiles::EndsInFile(path));
        }
        pieces.push(FilePiece {
            path,
            place,
            bytes: content.split_to(length),
        });
    }
    Ok(pieces)
}

fn text(content: &mut Bytes) -> Result<String, NoFiles> {
    if content.len() < 2 {
        return Err(NoFiles::EndsInPath);
    }
    let length = usize::from(content.get_u16_le());
    if content.len() < length {
        return Err(NoFiles::EndsInPath);
    }
    let path = content.split_to(length);
    String::from_utf8(path.into()).map_err(|_| NoFiles::NoText)
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use super::{FilePiece, NoFiles, decode_pieces, encode_piece, is_path};

    fn piece(path: &str, place: u64, bytes: &'static [u8]) -> FilePiece {
        FilePiece {
            path: path.to_string(),
            place,
            bytes: Bytes::from_static(bytes),
        }
    }

    #[test]
    fn pieces_decode_to_the_same_and_a_cut_within_one_is_an_error() {
        let pieces = [
            piece("ab/ab12", 0, b"head and content"),
            piece("ab/ab12", 16, b"more"),
            piece("expiring/2026-11-22T18/ab12", 0, b""),
        ];
        let (mut content, mut ends) = (Vec::new(), vec![0]);
        for piece in &pieces {
            encode_piece(&piece.path, piece.place, &piece.bytes, &mut content);
            ends.push(content.len());
        }
        let content = Bytes::from(content);
        assert_eq!(decode_pieces(content.clone()).unwrap(), pieces);
        for cut in 0..content.len() {
            let decoded = decode_pieces(content.slice(..cut));
            assert_eq!(decoded.is_ok(), ends.contains(&cut), "{cut}");
        }
    }

    #[test]
    fn a_path_that_leads_elsewhere_is_refused() {
        for path in ["", "/ab", "ab/", "../ab", "ab/../cd", "a\\b", "C:", "a.b"] {
            assert!(!is_path(path), "{path}");
            let mut content = vec![path.len() as u8, 0];
            content.extend_from_slice(path.as_bytes());
            content.extend_from_slice(&[0; 12]);
            let error = decode_pieces(content.into()).unwrap_err();
            assert_eq!(error, NoFiles::Elsewhere(path.to_string()));
        }
    }
}
