//! Which stores there are.

use std::path::PathBuf;

/// The stores of a server.
#[derive(Clone, Debug)]
pub struct Config {
    pub stores: Vec<StoreConfig>,
    /// The store of those who name none; the first one where this is none.
    pub default: Option<String>,
    /// Operations on stores at a time.
    pub at_a_time: usize,
    /// There are other nodes, which do not see what a store of this node keeps.
    pub is_one_of_several: bool,
}

impl Default for Config {
    fn default() -> Self {
        Config {
            stores: Vec::new(),
            default: None,
            at_a_time: 32,
            is_one_of_several: false,
        }
    }
}

#[derive(Clone, Debug)]
pub struct StoreConfig {
    pub id: String,
    pub kind: Kind,
}

#[derive(Clone, Debug)]
pub enum Kind {
    Memory(Memory),
    Local(Local),
    S3(S3),
}

#[derive(Clone, Debug)]
pub struct Memory {
    /// Bytes of all documents together.
    pub max_bytes: usize,
}

impl Default for Memory {
    fn default() -> Self {
        Memory {
            max_bytes: 64 << 20,
        }
    }
}

#[derive(Clone, Debug)]
pub struct Local {
    /// Made when the first document comes.
    pub directory: PathBuf,
    /// Bytes of the disk that stay free.
    pub reserve: u64,
    /// All nodes of the cluster have it.
    pub shared: bool,
}

/// What is none here is taken from the environment as programs for AWS have it (`AWS_REGION`, `AWS_ACCESS_KEY_ID`, a role of the
/// machine or of the pod …).
#[derive(Clone, Default)]
pub struct S3 {
    pub bucket: String,
    /// In front of the ids.
    pub path: String,
    /// Address of a service other than Amazon's.
    pub endpoint: Option<String>,
    pub region: Option<String>,
    pub access_key: Option<String>,
    pub secret_key: Option<String>,
}

impl std::fmt::Debug for S3 {
    /// Without the keys.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("S3")
            .field("bucket", &self.bucket)
            .field("path", &self.path)
            .field("endpoint", &self.endpoint)
            .field("region", &self.region)
            .finish_non_exhaustive()
    }
}
