//! A disk in memory that fails like a real one, for tests and simulations.
#![expect(
    clippy::indexing_slicing,
    reason = "a disk for tests: where it panics, a test fails"
)]

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::Mutex;

use super::{Disk, DiskFile};

/// Unit of atomic writes at a power failure: a sector is written wholly or not at all.
const SECTOR: u64 = 512;

#[derive(Debug, Clone)]
enum Change {
    Write { offset: u64, bytes: Vec<u8> },
    Length(u64),
}

impl Change {
    fn apply(&self, content: &mut Vec<u8>) {
        match self {
            Self::Write { offset, bytes } => write_into(content, *offset, bytes),
            Self::Length(length) => content.resize(at(*length), 0),
        }
    }
}

fn at(offset: u64) -> usize {
    usize::try_from(offset).unwrap_or(usize::MAX)
}

fn write_into(content: &mut Vec<u8>, offset: u64, bytes: &[u8]) {
    let start = at(offset);
    let end = start + bytes.len();
    if content.len() < end {
        content.resize(end, 0);
    }
    content[start..end].copy_from_slice(bytes);
}

/// A file: what programs see, what the platter holds, and the changes between the two.
#[derive(Debug, Clone, Default)]
struct Inode {
    seen: Vec<u8>,
    durable: Vec<u8>,
    pending: Vec<Change>,
}

#[derive(Debug, Clone)]
enum NameChange {
    Create(PathBuf, usize),
    Rename(PathBuf, PathBuf),
    Remove(PathBuf),
}

#[derive(Debug, Default)]
struct State {
    /// Handles from earlier epochs are invalid: the machine was restarted.
    epoch: u64,
    inodes: Vec<Inode>,
    names: BTreeMap<PathBuf, usize>,
    durable_names: BTreeMap<PathBuf, usize>,
    pending_names: Vec<NameChange>,
    capacity: Option<u64>,
    failing_syncs: u32,
    sync_error: Option<io::ErrorKind>,
    failing_writes: u32,
    failing_dir_syncs: u32,
    /// Flushes neither succeed nor lose anything: they were in progress when the machine stopped.
    hanging_syncs: bool,
    writes: u64,
    syncs: u64,
    extensions: u64,
}

impl State {
    fn apply_name(names: &mut BTreeMap<PathBuf, usize>, change: &NameChange) {
        match change {
            NameChange::Create(path, inode) => {
                names.insert(path.clone(), *inode);
            }
            NameChange::Rename(from, to) => {
                if let Some(inode) = names.remove(from) {
                    names.insert(to.clone(), inode);
                }
            }
            NameChange::Remove(path) => {
                names.remove(path);
            }
        }
    }

    fn change_name(&mut self, change: NameChange) {
        Self::apply_name(&mut self.names, &change);
        self.pending_names.push(change);
    }

    fn used(&self) -> u64 {
        let files = self.names.values();
        files
            .filter_map(|inode| self.inodes.get(*inode))
            .map(|inode| inode.seen.len() as u64)
            .sum()
    }

    /// The number of bytes by which files may still grow.
    fn room(&self) -> u64 {
        self.capacity
            .map_or(u64::MAX, |capacity| capacity.saturating_sub(self.used()))
    }
}

/// A [`Disk`] in memory. Clones share the content.
///
/// Unflushed data may be lost by [`MemoryDisk::crash`], sector by sector. Space can run out, and writes and flushes can be made to fail.
/// After a failed flush, readers still see the data although it is gone after a crash, as on Linux.
#[derive(Debug, Clone, Default)]
pub struct MemoryDisk {
    state: Arc<Mutex<State>>,
}

impl MemoryDisk {
    /// An empty disk without faults.
    pub fn new() -> Self {
        Self::default()
    }

    /// Power fails and comes back. Any part of the unflushed data may have reached the platter: `below(n)` must return a number less than
    /// `n`, and decides. All open files become unusable.
    pub fn crash(&self, below: &mut dyn FnMut(u64) -> u64) {
        let mut state = self.state.lock();
        state.epoch += 1;
        for inode in &mut state.inodes {
            let mut content = std::mem::take(&mut inode.durable);
            // Of all changes, a random share reaches the platter; sometimes all, sometimes none.
            let luck = below(5);
            for change in std::mem::take(&mut inode.pending) {
                let mut kept = || below(4) < luck;
                match change {
                    Change::Length(_) => {
                        if kept() {
                            change.apply(&mut content);
                        }
                    }
                    Change::Write { offset, bytes } => {
                        let mut from = offset;
                        let end = offset + bytes.len() as u64;
                        while from < end {
                            let to = ((from / SECTOR + 1) * SECTOR).min(end);
                            if kept() {
                                let piece = &bytes[at(from - offset)..at(to - offset)];
                                write_into(&mut content, from, piece);
                            }
                            from = to;
                        }
                    }
                }
            }
            inode.seen.clone_from(&content);
            inode.durable = content;
        }
        let mut names = std::mem::take(&mut state.durable_names);
        let pending = std::mem::take(&mut state.pending_names);
        let kept = at(below(pending.len() as u64 + 1));
        for change in &pending[..kept] {
            State::apply_name(&mut names, change);
        }
        state.names.clone_from(&names);
        state.durable_names = names;
        state.failing_syncs = 0;
        state.failing_writes = 0;
        state.failing_dir_syncs = 0;
        state.hanging_syncs = false;
    }

    /// The process dies, but the machine keeps running: everything written stays. All open files become unusable.
    pub fn kill(&self) {
        let mut state = self.state.lock();
        state.epoch += 1;
        state.failing_syncs = 0;
        state.failing_writes = 0;
        state.failing_dir_syncs = 0;
        state.hanging_syncs = false;
    }

    /// Limits the total bytes of all files. `None` removes the limit.
    pub fn set_capacity(&self, capacity: Option<u64>) {
        self.state.lock().capacity = capacity;
    }

    /// Total bytes of all files.
    pub fn used(&self) -> u64 {
        self.state.lock().used()
    }

    /// The next flushes of files fail with an IO error, and the data that they should have flushed is not durable.
    pub fn fail_syncs(&self, count: u32) {
        self.fail_syncs_with(count, io::ErrorKind::Other);
    }

    /// As [`MemoryDisk::fail_syncs`], with an error of this kind.
    pub fn fail_syncs_with(&self, count: u32, kind: io::ErrorKind) {
        let mut state = self.state.lock();
        (state.failing_syncs, state.sync_error) = (count, Some(kind));
    }

    /// The next flushes of directories fail with an error of this kind, and it is open whether renamed files keep their new names.
    pub fn fail_dir_syncs_with(&self, count: u32, kind: io::ErrorKind) {
        let mut state = self.state.lock();
        (state.failing_dir_syncs, state.sync_error) = (count, Some(kind));
    }

    /// From now on flushes of files never complete (they return an error, but their data stays pending), until [`MemoryDisk::crash`] or
    /// [`MemoryDisk::kill`]: so the power can fail in the middle of one.
    pub fn hang_syncs(&self) {
        self.state.lock().hanging_syncs = true;
    }

    /// The next writes to files fail with an IO error after half of their bytes.
    pub fn fail_writes(&self, count: u32) {
        self.state.lock().failing_writes = count;
    }

    /// The content of a file as programs see it.
    pub fn content(&self, path: &Path) -> Option<Vec<u8>> {
        let state = self.state.lock();
        let inode = state.inodes.get(*state.names.get(path)?)?;
        Some(inode.seen.clone())
    }

    /// Replaces the content of a file, durably (to damage it).
    pub fn set_content(&self, path: &Path, content: Vec<u8>) {
        let mut state = self.state.lock();
        let inode = match state.names.get(path).copied() {
            Some(inode) => inode,
            None => {
                state.inodes.push(Inode::default());
                let inode = state.inodes.len() - 1;
                state.names.insert(path.to_path_buf(), inode);
                state.durable_names.insert(path.to_path_buf(), inode);
                inode
            }
        };
        if let Some(inode) = state.inodes.get_mut(inode) {
            inode.pending.clear();
            inode.seen.clone_from(&content);
            inode.durable = content;
        }
    }

    /// All files.
    pub fn paths(&self) -> Vec<PathBuf> {
        self.state.lock().names.keys().cloned().collect()
    }

    /// Number of writes and flushes of files since the disk was created.
    pub fn operations(&self) -> (u64, u64) {
        let state = self.state.lock();
        (state.writes, state.syncs)
    }

    /// How often a file became longer since the disk was created.
    pub fn extensions(&self) -> u64 {
        self.state.lock().extensions
    }
}

impl Disk for MemoryDisk {
    fn create_dir(&self, _path: &Path) -> io::Result<()> {
        Ok(())
    }

    fn list(&self, path: &Path) -> io::Result<Vec<String>> {
        let state = self.state.lock();
        let inside = state
            .names
            .keys()
            .filter(|name| name.parent() == Some(path));
        Ok(inside
            .filter_map(|name| Some(name.file_name()?.to_str()?.to_owned()))
            .collect())
    }

    fn open(&self, path: &Path, create: bool) -> io::Result<Box<dyn DiskFile>> {
        let mut state = self.state.lock();
        let inode = match state.names.get(path).copied() {
            Some(inode) => inode,
            None if create => {
                state.inodes.push(Inode::default());
                let inode = state.inodes.len() - 1;
                state.change_name(NameChange::Create(path.to_path_buf(), inode));
                inode
            }
            None => return Err(io::ErrorKind::NotFound.into()),
        };
        Ok(Box::new(MemoryFile {
            state: Arc::clone(&self.state),
            epoch: state.epoch,
            inode,
        }))
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        let mut state = self.state.lock();
        if !state.names.contains_key(from) {
            return Err(io::ErrorKind::NotFound.into());
        }
        state.change_name(NameChange::Rename(from.to_path_buf(), to.to_path_buf()));
        Ok(())
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        let mut state = self.state.lock();
        if !state.names.contains_key(path) {
            return Err(io::ErrorKind::NotFound.into());
        }
        state.change_name(NameChange::Remove(path.to_path_buf()));
        Ok(())
    }

    fn sync_dir(&self, _path: &Path) -> io::Result<()> {
        let mut state = self.state.lock();
        if state.failing_dir_syncs > 0 {
            state.failing_dir_syncs -= 1;
            return Err(state.sync_error.unwrap_or(io::ErrorKind::Other).into());
        }
        state.durable_names = state.names.clone();
        state.pending_names.clear();
        Ok(())
    }
}

struct MemoryFile {
    state: Arc<Mutex<State>>,
    epoch: u64,
    inode: usize,
}

impl MemoryFile {
    fn with<T>(&self, act: impl FnOnce(&mut State, usize) -> io::Result<T>) -> io::Result<T> {
        let mut state = self.state.lock();
        if state.epoch != self.epoch || state.inodes.get(self.inode).is_none() {
            return Err(io::Error::other("the machine was restarted"));
        }
        act(&mut state, self.inode)
    }
}

impl DiskFile for MemoryFile {
    fn len(&self) -> io::Result<u64> {
        self.with(|state, inode| Ok(state.inodes[inode].seen.len() as u64))
    }

    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        self.with(|state, inode| {
            let content = &state.inodes[inode].seen;
            let rest = content.get(at(offset)..).unwrap_or_default();
            let count = rest.len().min(buffer.len());
            buffer[..count].copy_from_slice(&rest[..count]);
            Ok(count)
        })
    }

    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        self.with(|state, inode| {
            state.writes += 1;
            let length = state.inodes[inode].seen.len() as u64;
            let end = offset + bytes.len() as u64;
            let room = state.room();
            let mut outcome = Ok(());
            let mut written = bytes;
            if state.failing_writes > 0 {
                state.failing_writes -= 1;
                written = &bytes[..bytes.len() / 2];
                outcome = Err(io::Error::other("injected write error"));
            } else if end.saturating_sub(length) > room {
                written = &bytes[..at((length + room).saturating_sub(offset)).min(bytes.len())];
                outcome = Err(io::ErrorKind::StorageFull.into());
            }
            state.extensions += u64::from(offset + written.len() as u64 > length);
            let change = Change::Write {
                offset,
                bytes: written.to_vec(),
            };
            let inode = &mut state.inodes[inode];
            change.apply(&mut inode.seen);
            inode.pending.push(change);
            outcome
        })
    }

    fn allocate(&self, offset: u64, length: u64) -> io::Result<()> {
        self.with(|state, inode| {
            let end = offset + length;
            let present = state.inodes[inode].seen.len() as u64;
            if end.saturating_sub(present) > state.room() {
                return Err(io::ErrorKind::StorageFull.into());
            }
            if end > present {
                state.extensions += 1;
                let change = Change::Length(end);
                let inode = &mut state.inodes[inode];
                change.apply(&mut inode.seen);
                inode.pending.push(change);
            }
            Ok(())
        })
    }

    fn set_len(&self, length: u64) -> io::Result<()> {
        self.with(|state, inode| {
            let change = Change::Length(length);
            let inode = &mut state.inodes[inode];
            change.apply(&mut inode.seen);
            inode.pending.push(change);
            Ok(())
        })
    }

    fn sync_data(&self) -> io::Result<()> {
        self.with(|state, inode| {
            state.syncs += 1;
            if state.hanging_syncs {
                return Err(io::Error::other("the machine stopped during the flush"));
            }
            let fail = state.failing_syncs > 0;
            let inode = &mut state.inodes[inode];
            if fail {
                // The kernel reports the error once and then treats the pages as clean.
                inode.pending.clear();
                state.failing_syncs -= 1;
                let kind = state.sync_error.unwrap_or(io::ErrorKind::Other);
                return Err(io::Error::new(kind, "injected flush error"));
            }
            for change in std::mem::take(&mut inode.pending) {
                change.apply(&mut inode.durable);
            }
            Ok(())
        })
    }
}
