//! The directories of numbers below the data directory, each with a lock and an id.
//!
//! The lock ensures that nobody else uses the data, and the id that this is the directory named by the lease. It is a kernel lock and ends
//! with the process. On network file systems it may end earlier, so those are refused.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};
use std::fs::{File, TryLockError};
use std::io::{Error, ErrorKind, Result, Write};
use std::path::{Path, PathBuf};

use skep_storage::disk::create_dir_durably;

/// Held by the process that uses the directory.
const LOCK: &str = "lease.lock";
const ID: &str = "lease.id";
/// Present once the node belongs to a cluster.
const DATA: &str = "cluster";
/// Maximum length read; ids are shorter.
const MAX_ID: usize = 64;

/// File systems whose locks can be lost while their holder still runs, by their magic numbers in statfs.
const OF_NETWORKS: [(u64, &str); 9] = [
    (0x6969, "NFS"),
    (0x517b, "SMB"),
    (0xff53_4d42, "CIFS"),
    (0xfe53_4d42, "SMB 2"),
    (0x00c3_6400, "Ceph"),
    (0x6573_5546, "FUSE"),
    (0x0102_1997, "9P"),
    (0x0bd0_0bd0, "Lustre"),
    (0x4750_4653, "GPFS"),
];

#[derive(Debug, thiserror::Error)]
pub enum NotUsable {
    #[error("the data directory {directory} cannot be used: {source}")]
    Io { directory: String, source: Error },
    #[error(
        "the data directory {directory} is on a network file system ({kind}). There a lock can be lost while the process that holds it \
         keeps running, and two processes would act as one node: use a disk of this machine, or camunda.cluster.node-id-provider.type \
         FIXED"
    )]
    OfNetwork {
        directory: String,
        kind: &'static str,
    },
    #[error(
        "the data directory {directory} has the data of a node with a fixed number. To use it with leases, move everything in it into \
         {directory}/node-N, where N is the number that the node had"
    )]
    OfFixedNode { directory: String },
}

/// The ids of directories, by number.
type Ids = BTreeMap<u32, String>;

pub struct Directories {
    root: PathBuf,
    locks: BTreeMap<u32, File>,
}

impl Directories {
    /// Creates the data directory if it is missing.
    ///
    /// # Errors
    /// The directory cannot be used for leases.
    pub fn open(root: &Path) -> std::result::Result<Directories, NotUsable> {
        let directory = || root.display().to_string();
        let io = |source| NotUsable::Io {
            directory: directory(),
            source,
        };
        create_dir_durably(root).map_err(io)?;
        let system = rustix::fs::statfs(root).map_err(|error| io(error.into()))?;
        // The type differs between machines; the numbers have 32 bits.
        #[allow(clippy::cast_sign_loss, clippy::unnecessary_cast)]
        let number = system.f_type as u64 & 0xffff_ffff;
        if let Some((_, kind)) = OF_NETWORKS.iter().find(|(of, _)| *of == number) {
            return Err(NotUsable::OfNetwork {
                directory: directory(),
                kind,
            });
        }
        if root.join(DATA).exists() {
            return Err(NotUsable::OfFixedNode {
                directory: directory(),
            });
        }
        Ok(Directories {
            root: root.to_path_buf(),
            locks: BTreeMap::new(),
        })
    }

    pub fn of(&self, node: u32) -> PathBuf {
        self.root.join(format!("node-{node}"))
    }

    /// The numbers below `size` with a directory here, each with its id.
    pub fn here(&self, size: u32) -> Result<Ids> {
        let mut here = BTreeMap::new();
        for node in 0..size {
            if let Some(id) = read_id(&self.of(node))? {
                here.insert(node, id);
            }
        }
        Ok(here)
    }

    /// The numbers below `size` whose directories here contain data.
    pub fn with_data(&self, size: u32) -> BTreeSet<u32> {
        let has_data = |node: &u32| self.of(*node).join(DATA).exists();
        (0..size).filter(has_data).collect()
    }

    /// Locks the directory without waiting and returns its id. `None`: another process has it, or it does not exist and is not to be
    /// created.
    pub fn lock(&mut self, node: u32, create: bool) -> Result<Option<String>> {
        let directory = self.of(node);
        if create {
            create_dir_durably(&directory)?;
        }
        if let Entry::Vacant(place) = self.locks.entry(node) {
            let mut options = File::options();
            let options = options.create(true).truncate(false).write(true);
            let file = match options.open(directory.join(LOCK)) {
                Err(error) if error.kind() == ErrorKind::NotFound && !create => return Ok(None),
                opened => opened?,
            };
            match file.try_lock() {
                Ok(()) => place.insert(file),
                Err(TryLockError::WouldBlock) => return Ok(None),
                Err(TryLockError::Error(error)) => return Err(error),
            };
        }
        match read_id(&directory)? {
            None if create => {
                let id = uuid::Uuid::new_v4().to_string();
                write_id(&directory, &id)?;
                Ok(Some(id))
            }
            id => Ok(id),
        }
    }

    pub fn unlock(&mut self, node: u32) {
        self.locks.remove(&node);
    }
}

fn read_id(directory: &Path) -> Result<Option<String>> {
    let path = directory.join(ID);
    let text = match std::fs::read_to_string(&path) {
        Ok(text) => text,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    let id = text.trim();
    if id.is_empty() || id.len() > MAX_ID {
        let text = format!("{} has no id of a directory", path.display());
        return Err(Error::new(ErrorKind::InvalidData, text));
    }
    Ok(Some(id.to_string()))
}

fn write_id(directory: &Path, id: &str) -> Result<()> {
    let temporary = directory.join("lease.id.new");
    let mut file = File::create(&temporary)?;
    file.write_all(format!("{id}\n").as_bytes())?;
    file.sync_all()?;
    std::fs::rename(&temporary, directory.join(ID))?;
    File::open(directory)?.sync_all()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_has_one_owner_and_keeps_its_id() {
        let root = tempfile::tempdir().unwrap();
        let open = || Directories::open(root.path()).unwrap();
        let (mut one, mut other) = (open(), open());
        assert_eq!(one.lock(1, false).unwrap(), None, "it is not there");
        let id = one.lock(1, true).unwrap().unwrap();
        assert_eq!(one.lock(1, true).unwrap().as_ref(), Some(&id));
        assert_eq!(other.lock(1, true).unwrap(), None);
        assert_eq!(other.here(3).unwrap(), BTreeMap::from([(1, id.clone())]));
        one.unlock(1);
        assert_eq!(other.lock(1, false).unwrap(), Some(id));
        assert!(other.with_data(3).is_empty());
        std::fs::write(root.path().join("node-1/cluster"), "x").unwrap();
        assert_eq!(other.with_data(3), BTreeSet::from([1]));
    }

    #[test]
    fn data_of_a_node_with_a_fixed_number_is_not_passed_over() {
        let root = tempfile::tempdir().unwrap();
        std::fs::write(root.path().join("cluster"), "x").unwrap();
        let refused = Directories::open(root.path()).err().unwrap();
        assert!(refused.to_string().contains("/node-N"), "{refused}");
    }
}
