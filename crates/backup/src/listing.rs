//! Which files of a document store a backup has: objects may be those of earlier backups, and have files that were deleted since.
//!
//! ```text
//! row: hash of the path u128 | stamp u64 | bytes of the file u64 | first object u32 | last object u32      (little-endian, ascending hashes)
//! ```

use std::ops::RangeInclusive;

use bytes::{Buf, Bytes};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::PIECE;
use crate::manifest::StoredObject;

/// Maximum number of files that are listed. Of a store with more, each backup writes all documents again.
pub const MAX_FILES: usize = 1 << 20;
/// Bytes of a row.
const ROW: usize = 40;

/// The listing of a document store, as the manifest has it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Listed {
    /// The objects with the rows.
    pub objects: Vec<StoredObject>,
    /// By object with documents: bytes of its content.
    pub content_bytes: Vec<u64>,
}

/// Where a file is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Row {
    hash: u128,
    /// Changes with the file.
    pub stamp: u64,
    pub bytes: u64,
    /// The objects with its content, by their places in the manifest.
    pub first: u32,
    pub last: u32,
}

impl Row {
    /// `objects`: those with its content.
    pub fn new(path: &str, stamp: u64, bytes: u64, objects: RangeInclusive<u32>) -> Row {
        debug_assert!(!objects.is_empty(), "every file is in some object");
        Row {
            hash: hash(path),
            stamp,
            bytes,
            first: *objects.start(),
            last: *objects.end(),
        }
    }

    /// The objects with its content.
    pub fn objects(&self) -> impl Iterator<Item = usize> + use<> {
        (self.first..=self.last).map(|object| object as usize)
    }
}

/// Whoever chooses names of documents cannot choose two with one hash.
fn hash(path: &str) -> u128 {
    let digest = Sha256::digest(path);
    let (first, _) = digest.split_first_chunk::<16>().unwrap_or((&[0; 16], &[]));
    u128::from_le_bytes(*first)
}

/// Why the content of an object is no part of a listing.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoListing {
    #[error("it ends within a row")]
    EndsInRow,
    #[error("its rows are in no order")]
    Unordered,
    #[error("a row names the objects {first} to {last} of {objects}")]
    NoObjects {
        first: u32,
        last: u32,
        objects: usize,
    },
    #[error("it has more than {} rows", MAX_FILES)]
    TooLong,
}

/// The rows of a listing, at most [`MAX_FILES`].
#[derive(Debug, Default)]
pub struct Listing(Vec<Row>);

impl Listing {
    /// A directory may name a file twice that changes while it is read: the one read later counts.
    pub fn of(mut rows: Vec<Row>) -> Listing {
        rows.reverse();
        rows.sort_by_key(|row| row.hash);
        rows.dedup_by_key(|row| row.hash);
        Listing(rows)
    }

    pub fn rows(&self) -> &[Row] {
        &self.0
    }

    pub fn find(&self, path: &str) -> Option<&Row> {
        let hash = hash(path);
        let found = self.0.binary_search_by_key(&hash, |row| row.hash).ok()?;
        self.0.get(found)
    }

    /// Whether a part of this file in the object is of the backup.
    pub fn has(&self, path: &str, object: usize) -> bool {
        let row = self.find(path);
        row.is_some_and(|row| row.objects().any(|it| it == object))
    }

    /// The contents of the objects with the rows.
    pub fn contents(&self) -> impl Iterator<Item = Vec<u8>> {
        self.0.chunks(PIECE / ROW).map(|rows| {
            let mut content = Vec::with_capacity(rows.len() * ROW);
            for row in rows {
                content.extend_from_slice(&row.hash.to_le_bytes());
                content.extend_from_slice(&row.stamp.to_le_bytes());
                content.extend_from_slice(&row.bytes.to_le_bytes());
                content.extend_from_slice(&row.first.to_le_bytes());
                content.extend_from_slice(&row.last.to_le_bytes());
            }
            content
        })
    }

    /// Adds the content of the next object with rows. `objects`: how many have documents.
    ///
    /// # Errors
    /// It is no part of a listing.
    pub fn add(&mut self, mut content: Bytes, objects: usize) -> Result<(), NoListing> {
        if !content.len().is_multiple_of(ROW) {
            return Err(NoListing::EndsInRow);
        }
        while content.has_remaining() {
            let row = Row {
                hash: content.get_u128_le(),
                stamp: content.get_u64_le(),
                bytes: content.get_u64_le(),
                first: content.get_u32_le(),
                last: content.get_u32_le(),
            };
            if self.0.last().is_some_and(|last| last.hash >= row.hash) {
                return Err(NoListing::Unordered);
            }
            if row.first > row.last || row.last as usize >= objects {
                return Err(NoListing::NoObjects {
                    first: row.first,
                    last: row.last,
                    objects,
                });
            }
            if self.0.len() == MAX_FILES {
                return Err(NoListing::TooLong);
            }
            self.0.push(row);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::{Listing, NoListing, ROW, Row};

    fn listing() -> Listing {
        let rows = ["ab/ab12", "cd/cd34", "ef/ef56"].into_iter().zip(0..);
        let rows = rows.map(|(path, object)| Row::new(path, 7, 100, object..=object + 1));
        Listing::of(rows.collect())
    }

    #[test]
    fn a_listing_finds_files_and_says_which_objects_they_are_in() {
        let listing = listing();
        assert_eq!(listing.find("cd/cd34").unwrap().objects().count(), 2);
        assert!(listing.find("cd/cd35").is_none());
        let has = [0, 1, 2, 3].map(|object| listing.has("cd/cd34", object));
        assert_eq!(has, [false, true, true, false]);
    }

    #[test]
    fn a_file_that_was_read_twice_is_in_the_listing_once() {
        let rows = [(7, 100), (8, 120)];
        let rows = rows.map(|(stamp, bytes)| Row::new("ab/ab12", stamp, bytes, 0..=0));
        let listing = Listing::of(rows.to_vec());
        assert_eq!(listing.rows(), &rows[1..]);
    }

    #[test]
    fn a_listing_is_read_as_it_was_written_and_damage_is_an_error() {
        let written: Vec<Vec<u8>> = listing().contents().collect();
        let [content] = &written[..] else {
            panic!("three rows are no two objects")
        };
        let read = |content: Vec<u8>, objects| {
            let mut read = Listing::default();
            read.add(content.into(), objects).map(|()| read.0)
        };
        assert_eq!(read(content.clone(), 4).unwrap(), listing().rows());
        let missing = read(content.clone(), 3).unwrap_err();
        assert!(matches!(missing, NoListing::NoObjects { objects: 3, .. }));
        let cut = read(content[1..].to_vec(), 4);
        assert_eq!(cut, Err(NoListing::EndsInRow));
        let (first, rest) = content.split_at(ROW);
        let turned = read([rest, first].concat(), 4);
        assert_eq!(turned, Err(NoListing::Unordered));
    }
}
