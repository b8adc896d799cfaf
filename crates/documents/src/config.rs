//! Configuration of the document stores.

use std::path::PathBuf;

/// The stores of a server.
#[derive(Clone, Debug)]
pub struct Config {
    pub stores: Vec<StoreConfig>,
    /// The store used unless a request names one; without it, the first one.
    pub default: Option<String>,
    /// Maximum number of concurrent operations on stores.
    pub at_a_time: usize,
    /// Whether there are other nodes, which do not see documents stored on this node.
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
    /// Maximum size of all documents together, in bytes.
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
    /// Created with the first document.
    pub directory: PathBuf,
    /// Bytes of the disk to keep free.
    pub reserve: u64,
    /// Whether all nodes of the cluster share the directory.
    pub shared: bool,
}

/// Configuration of an S3 bucket. Missing values come from the standard AWS environment (`AWS_REGION`, `AWS_ACCESS_KEY_ID`, a role of the
/// machine or of the pod …).
#[derive(Clone, Default)]
pub struct S3 {
    pub bucket: String,
    /// Prefix of the ids.
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
