//! Shared by the tests of the log.
#![allow(dead_code)] // each test file uses its part

use std::path::{Path, PathBuf};
use std::sync::Arc;

use bytes::Bytes;
use skep_storage::StorageError;
use skep_storage::disk::MemoryDisk;
use skep_storage::log::{Entry, Frame, Log, LogConfig, Recovered};

pub const DIRECTORY: &str = "/log";

/// Small segments, so that tests reach their boundaries.
pub fn small() -> LogConfig {
    LogConfig {
        segment_bytes: 4096,
        grow_bytes: 4096,
        spare_segments: 2,
        compress_from: 0,
        salt: Some(7),
    }
}

pub fn try_open(disk: &MemoryDisk, config: LogConfig) -> Result<(Log, Recovered), StorageError> {
    Log::open(Arc::new(disk.clone()), DIRECTORY, config)
}

pub fn open(disk: &MemoryDisk) -> (Log, Recovered) {
    try_open(disk, small()).unwrap()
}

pub fn payload(index: u64, term: u64, size: usize) -> Bytes {
    let seed = index.wrapping_mul(31).wrapping_add(term);
    // Half random, half constant: compressible, but not to nothing.
    (0..size)
        .map(|at| match at % 2 {
            0 => (seed.wrapping_mul(at as u64 + 1) >> 3) as u8,
            _ => seed as u8,
        })
        .collect()
}

pub fn entry(index: u64, term: u64, size: usize) -> Frame {
    Frame::Entry {
        index,
        term,
        tag: (index % 3) as u8,
        payload: payload(index, term, size),
    }
}

pub fn state(text: &str) -> Frame {
    Frame::State(Bytes::copy_from_slice(text.as_bytes()))
}

pub fn read_all(log: &Log) -> Vec<Entry> {
    let reader = log.reader();
    reader
        .read(reader.base().index + 1, u64::MAX, usize::MAX)
        .unwrap()
}

pub fn segment(number: u64) -> PathBuf {
    Path::new(DIRECTORY).join(format!("{number:020}.log"))
}

/// Number of random histories to try: more with `SKEP_CASES=…`.
pub fn cases(default: u32) -> u32 {
    let wanted = std::env::var("SKEP_CASES").ok();
    wanted.and_then(|text| text.parse().ok()).unwrap_or(default)
}
