//! The object of a number.

use serde::{Deserialize, Serialize};

/// The format version that is written.
const FORMAT: u32 = 1;

/// The store's name for one version of an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tag(pub String);

/// The owner of a number. Every write differs from all others, so that no two have the same tag.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Record {
    pub(super) format: u32,
    /// How often the number has changed hands.
    pub version: u64,
    /// The id of the process.
    pub instance: String,
    /// The process, for people to read: `camunda.cluster.node-id-provider.s3.task-id`.
    pub task: String,
    pub renewals: u64,
    /// Milliseconds since 1970 by the clock of the process. For people to read; nothing is decided by it.
    pub renewed_at: i64,
    /// Whether the process has ended.
    pub released: bool,
    /// The directory with the number's data; `None`: there is no data.
    pub directory: Option<String>,
    /// Whether the process uses another directory and is to be added to the cluster as a new member.
    pub joining: bool,
}

#[derive(Debug, thiserror::Error)]
pub enum UnreadableRecord {
    #[error("it is not a lease: {0}")]
    NoLease(serde_json::Error),
    #[error("it has format {found}, and this version of Skep knows {FORMAT}: upgrade this node")]
    Newer { found: u32 },
}

impl Record {
    pub(super) fn first(instance: &str, task: &str) -> Record {
        Record {
            format: FORMAT,
            version: 0,
            instance: instance.to_string(),
            task: task.to_string(),
            renewals: 0,
            renewed_at: 0,
            released: false,
            directory: None,
            joining: false,
        }
    }

    pub fn encode(&self) -> Vec<u8> {
        // Numbers and texts can always be serialized.
        serde_json::to_vec_pretty(self).unwrap_or_default()
    }

    /// # Errors
    /// The bytes are not a record, or a later version wrote it.
    pub fn decode(bytes: &[u8]) -> Result<Record, UnreadableRecord> {
        #[derive(Deserialize)]
        struct Format {
            format: u32,
        }
        let Format { format } = serde_json::from_slice(bytes).map_err(UnreadableRecord::NoLease)?;
        if format > FORMAT {
            return Err(UnreadableRecord::Newer { found: format });
        }
        serde_json::from_slice(bytes).map_err(UnreadableRecord::NoLease)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lease_of_a_later_version_is_refused_by_its_format() {
        let record = Record::first("a", "task");
        assert_eq!(Record::decode(&record.encode()).unwrap(), record);
        let refused = Record::decode(br#"{"format": 2, "owner": []}"#).unwrap_err();
        assert!(refused.to_string().contains("format 2"), "{refused}");
        assert!(matches!(
            Record::decode(b"x"),
            Err(UnreadableRecord::NoLease(_))
        ));
    }
}
