//! The bytes of a snapshot: all rows of a view in order, in chunks.
//!
//! ```text
//! chunk: crc u32 | length u32 | content
//! content (all chunks together): "SKEPKV" version u16 | meta | row* | end
//! meta: 0 u8, or 1 u8 | length u32 | bytes
//! row:  1 u8 | table u8 | key length u32 | value length u32 | key | value
//! end:  0 u8 | number of rows u64
//! ```

use bytes::{Bytes, BytesMut};

use super::{KvView, Row, Table, TableRows};
use crate::StorageError;

const MAGIC: &[u8; 6] = b"SKEPKV";
const VERSION: u16 = 1;
const CHUNK_HEADER: usize = 8;

fn push_len(out: &mut Vec<u8>, length: usize) -> Result<(), StorageError> {
    let length = u32::try_from(length)
        .map_err(|_| StorageError::Snapshot(format!("a row of {length} bytes is too long")))?;
    out.extend_from_slice(&length.to_le_bytes());
    Ok(())
}

/// Cuts the content of a view into checksummed chunks of about a given size (a row is never split, so a chunk may be as
/// large as the largest row).
pub struct StreamWriter<'a> {
    rows: Option<TableRows<'a>>,
    buffer: Vec<u8>,
    count: u64,
    chunk_bytes: usize,
}

impl<'a> StreamWriter<'a> {
    /// Begins the stream. Chunks of 256 KiB are a good size for a network.
    pub fn new(view: &'a dyn KvView, chunk_bytes: usize) -> Result<Self, StorageError> {
        let mut buffer = Vec::with_capacity(chunk_bytes);
        buffer.resize(CHUNK_HEADER, 0);
        buffer.extend_from_slice(MAGIC);
        buffer.extend_from_slice(&VERSION.to_le_bytes());
        match view.meta() {
            Some(meta) => {
                buffer.push(1);
                push_len(&mut buffer, meta.len())?;
                buffer.extend_from_slice(meta);
            }
            None => buffer.push(0),
        }
        Ok(Self {
            rows: Some(view.rows()),
            buffer,
            count: 0,
            chunk_bytes,
        })
    }

    /// The next chunk; `None` after the last one.
    pub fn next_chunk(&mut self) -> Result<Option<Bytes>, StorageError> {
        let Some(rows) = &mut self.rows else {
            return Ok(None);
        };
        while self.buffer.len() < self.chunk_bytes {
            let Some(row) = rows.next() else {
                self.rows = None;
                self.buffer.push(0);
                self.buffer.extend_from_slice(&self.count.to_le_bytes());
                break;
            };
            let (table, (key, value)) = row?;
            self.buffer.push(1);
            self.buffer.push(table);
            push_len(&mut self.buffer, key.len())?;
            push_len(&mut self.buffer, value.len())?;
            self.buffer.extend_from_slice(&key);
            self.buffer.extend_from_slice(&value);
            self.count += 1;
        }
        let mut fresh = Vec::with_capacity(self.chunk_bytes);
        fresh.resize(CHUNK_HEADER, 0);
        let mut chunk = std::mem::replace(&mut self.buffer, fresh);
        let content = chunk.get(CHUNK_HEADER..).unwrap_or_default();
        let crc = crc32fast::hash(content);
        let length = u32::try_from(content.len())
            .map_err(|_| StorageError::Snapshot("a chunk is too long".into()))?;
        let header = chunk.get_mut(..CHUNK_HEADER);
        if let Some((sum, size)) = header.and_then(|header| header.split_at_mut_checked(4)) {
            sum.copy_from_slice(&crc.to_le_bytes());
            size.copy_from_slice(&length.to_le_bytes());
        }
        Ok(Some(chunk.into()))
    }
}

/// Turns chunks back into rows. Give it an iterator over the chunks as they were cut, then read the meta value and the
/// rows; both verify what they read. A stream that ends early is an error.
pub struct StreamReader<I> {
    chunks: I,
    buffer: Bytes,
    meta: Option<Vec<u8>>,
    count: u64,
    ended: bool,
}

fn damaged(reason: &str) -> StorageError {
    StorageError::Snapshot(reason.into())
}

impl<I: Iterator<Item = Result<Bytes, StorageError>>> StreamReader<I> {
    /// Reads up to the meta value.
    pub fn new(chunks: I) -> Result<Self, StorageError> {
        let mut reader = Self {
            chunks,
            buffer: Bytes::new(),
            meta: None,
            count: 0,
            ended: false,
        };
        if *reader.content(MAGIC.len())? != *MAGIC {
            return Err(damaged("it does not begin like a snapshot"));
        }
        let version = reader.content(2)?;
        let version = version
            .first_chunk()
            .map_or(0, |it| u16::from_le_bytes(*it));
        if version != VERSION {
            return Err(StorageError::Snapshot(format!(
                "version {version} of the format is not known; use the version of skep that wrote it"
            )));
        }
        if reader.byte()? == 1 {
            let length = reader.length()?;
            reader.meta = Some(reader.content(length)?.to_vec());
        }
        Ok(reader)
    }

    /// The meta value of the view that was written.
    pub fn meta(&self) -> Option<&[u8]> {
        self.meta.as_deref()
    }

    /// The next bytes, without their chunks. Most lie within one.
    fn content(&mut self, count: usize) -> Result<Bytes, StorageError> {
        if self.buffer.len() >= count {
            return Ok(self.buffer.split_to(count));
        }
        let mut all = BytesMut::from(std::mem::take(&mut self.buffer));
        while all.len() < count {
            let chunk = self.chunk()?;
            all.extend_from_slice(&chunk);
        }
        self.buffer = all.freeze();
        Ok(self.buffer.split_to(count))
    }

    /// The content of the next chunk.
    fn chunk(&mut self) -> Result<Bytes, StorageError> {
        let mut chunk = self
            .chunks
            .next()
            .ok_or_else(|| damaged("it ends too early"))??;
        if chunk.len() < CHUNK_HEADER {
            return Err(damaged("a chunk is too short"));
        }
        let header = chunk.split_to(CHUNK_HEADER);
        let mut expected = crc32fast::hash(&chunk).to_le_bytes().to_vec();
        let length = u32::try_from(chunk.len()).unwrap_or(u32::MAX);
        expected.extend_from_slice(&length.to_le_bytes());
        if header != expected {
            return Err(damaged("the checksum of a chunk does not match"));
        }
        Ok(chunk)
    }

    fn byte(&mut self) -> Result<u8, StorageError> {
        Ok(self.content(1)?.first().copied().unwrap_or_default())
    }

    fn length(&mut self) -> Result<usize, StorageError> {
        let bytes = self.content(4)?;
        let bytes: [u8; 4] = bytes
            .as_ref()
            .try_into()
            .map_err(|_| damaged("a length is missing"))?;
        Ok(u32::from_le_bytes(bytes) as usize)
    }

    fn row(&mut self) -> Result<Option<(Table, Row)>, StorageError> {
        if self.byte()? == 0 {
            let count = self.content(8)?;
            if count.as_ref() != self.count.to_le_bytes() {
                return Err(damaged("the number of rows does not match"));
            }
            return Ok(None);
        }
        let table = self.byte()?;
        let (key, value) = (self.length()?, self.length()?);
        self.count += 1;
        let (key, value) = (self.content(key)?, self.content(value)?);
        Ok(Some((table, (key.to_vec(), value.to_vec()))))
    }
}

impl<I: Iterator<Item = Result<Bytes, StorageError>>> Iterator for StreamReader<I> {
    type Item = Result<(Table, Row), StorageError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.ended {
            return None;
        }
        let row = self.row().transpose();
        self.ended = !matches!(row, Some(Ok(_)));
        row
    }
}
