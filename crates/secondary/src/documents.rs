//! Secondary storage in OpenSearch or Elasticsearch, shared by all partitions: one index per entity, one document per row.
//!
//! There are no transactions. [`writer`] describes how repeated writes are made harmless.

mod active_elements;
mod document;
mod filter;
mod groups;
mod history;
mod pages;
mod reader;
mod related;
mod schema;
mod server;
mod snapshots;
mod stored_rows;
mod walk;
mod writer;

use skep_exporting::TargetError;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use skep_query::{Entity, entities};

use self::server::Server;
pub use self::snapshots::Snapshot;
pub use self::writer::Writer;
use crate::store::readers::{Readers, SharedReaders};
use crate::target::Source;
use skep_exporting::Trust;
use skep_exporting::search_client::{Host, HostError};

/// Time limit for deleting indices, and maximum bytes of the answer.
const TIME_LIMIT: Duration = Duration::from_secs(60);
const MAX_ANSWER: usize = 1 << 20;

/// Reasons why the settings of a search server are invalid.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum DocumentsError {
    #[error("{key}.url: {source}")]
    Url { key: String, source: HostError },
    #[error("{key}.url is not set")]
    NoUrl { key: String },
    #[error(
        "{key}.index-prefix: '{prefix}' cannot be the prefix of index names: it may have at most 60 lower-case letters, digits, '-' and \
         '_', and must begin with a letter or digit"
    )]
    Prefix { key: String, prefix: String },
}

/// Settings of a search server.
#[derive(Clone, Debug)]
pub struct DocumentsSettings {
    /// Prefix of its setting names, for messages.
    pub key: &'static str,
    /// URLs of its nodes. If one does not answer, the next is tried.
    pub urls: Vec<String>,
    pub username: String,
    pub password: String,
    /// TLS trust, for https.
    pub trust: Trust,
    /// Prefix of the index names.
    pub index_prefix: String,
    pub number_of_shards: u32,
    pub number_of_replicas: u32,
    /// Maximum number of keys into which a condition on another entity is expanded. Beyond it, rows are scanned.
    pub joined_keys: usize,
    /// Repository for snapshots, as the server knows it. Empty: none.
    pub repository: String,
}

/// A search server, and the threads that answer queries from it.
#[derive(Debug)]
pub struct Documents {
    settings: DocumentsSettings,
    /// Its address, for messages.
    pub shown: String,
    /// Per entity: how often rows were written, and up to which of these writes searches see them.
    written: Vec<AtomicU64>,
    refreshed: Vec<AtomicU64>,
    readers: SharedReaders,
}

impl DocumentsSettings {
    /// The reference's default settings. `key` is the prefix of the setting names.
    pub fn new(key: &'static str) -> DocumentsSettings {
        DocumentsSettings {
            key,
            urls: vec!["http://localhost:9200".to_string()],
            username: String::new(),
            password: String::new(),
            trust: Trust::default(),
            index_prefix: String::new(),
            number_of_shards: 1,
            number_of_replicas: 0,
            joined_keys: 50_000,
            repository: String::new(),
        }
    }
}

impl Documents {
    /// Checks settings without connecting.
    ///
    /// # Errors
    /// An address is invalid, or no index name can have the prefix.
    pub fn new(settings: DocumentsSettings) -> Result<Documents, DocumentsError> {
        let key = settings.key.to_string();
        if settings.urls.is_empty() {
            return Err(DocumentsError::NoUrl { key });
        }
        for url in &settings.urls {
            Host::parse(url).map_err(|source| DocumentsError::Url {
                key: key.clone(),
                source,
            })?;
        }
        let prefix = settings.index_prefix.clone();
        let is_name =
            |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-' || c == '_';
        let begins = prefix
            .chars()
            .next()
            .is_none_or(|c| c.is_ascii_alphanumeric());
        if prefix.len() > 60 || !begins || !prefix.chars().all(is_name) {
            return Err(DocumentsError::Prefix { key, prefix });
        }
        let counts = |from| entities::ALL.map(|_| AtomicU64::new(from)).into();
        Ok(Documents {
            shown: settings.urls.join(", "),
            settings,
            // An earlier process may have written rows that are not refreshed yet.
            written: counts(1),
            refreshed: counts(0),
            readers: SharedReaders::default(),
        })
    }

    /// Deletes the indices of the cluster. They are recreated by the first write.
    pub(crate) fn purge(self: &Arc<Self>, cluster: &str, number: u64) -> Result<(), TargetError> {
        let server = Server::new(self.clone(), None, TIME_LIMIT, MAX_ANSWER);
        let purged = schema::purge(&server, cluster, number);
        purged.map_err(|failure| failure.of(&self.shown))?;
        self.wrote_all();
        Ok(())
    }

    /// Threads that answer queries for all partitions.
    pub fn readers(self: &Arc<Self>, count: usize) -> Arc<Readers> {
        let source = || Box::new(reader::Reader::new(self.clone())) as Box<dyn Source>;
        self.readers.get(count, source)
    }

    fn login(&self) -> Option<(String, String)> {
        let DocumentsSettings {
            username, password, ..
        } = &self.settings;
        (!username.is_empty()).then(|| (username.clone(), password.clone()))
    }

    /// The name of the index of an entity, or of another kind of stored data.
    fn index(&self, name: &str) -> String {
        let prefix = &self.settings.index_prefix;
        let between = if prefix.is_empty() { "" } else { "-" };
        format!("{prefix}{between}skep-{}", name.replace('_', "-"))
    }

    /// Records that rows of the entity with this number were written.
    fn wrote(&self, entity: usize) {
        if let Some(written) = self.written.get(entity) {
            written.fetch_add(1, Ordering::Release);
        }
    }

    /// Records that another node may have written rows of any entity.
    fn wrote_all(&self) {
        (0..entities::ALL.len()).for_each(|at| self.wrote(at));
    }

    /// Those of these entities with rows that searches do not see yet, each with the write count that a refresh makes visible.
    fn unseen(&self, entities: &[&'static Entity]) -> Vec<(usize, u64)> {
        let numbers = entities.iter().map(|entity| entities::number(entity));
        let counts = numbers.filter_map(|at| {
            let written = self.written.get(at)?.load(Ordering::Acquire);
            let refreshed = self.refreshed.get(at)?.load(Ordering::Acquire);
            (refreshed < written).then_some((at, written))
        });
        counts.collect()
    }

    fn saw(&self, seen: &[(usize, u64)]) {
        for (at, written) in seen {
            if let Some(refreshed) = self.refreshed.get(*at) {
                refreshed.fetch_max(*written, Ordering::Release);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_are_checked() {
        let with = |change: fn(&mut DocumentsSettings)| {
            let mut settings = DocumentsSettings::new("opensearch");
            change(&mut settings);
            Documents::new(settings)
                .map(|made| made.index("process_instance"))
                .map_err(|error| error.to_string())
        };
        assert_eq!(with(|_| {}).unwrap(), "skep-process-instance");
        let prefixed = with(|settings| settings.index_prefix = "team_1".to_string());
        assert_eq!(prefixed.unwrap(), "team_1-skep-process-instance");
        for prefix in ["Team", "-a", "a b", "a*"] {
            let mut settings = DocumentsSettings::new("opensearch");
            settings.index_prefix = prefix.to_string();
            let error = Documents::new(settings).unwrap_err().to_string();
            assert!(
                error.contains("opensearch.index-prefix"),
                "{prefix}: {error}"
            );
        }
        let error = with(|settings| settings.urls = vec!["nowhere".to_string()]).unwrap_err();
        assert!(error.contains("expected the address"), "{error}");
        let error = with(|settings| settings.urls.clear()).unwrap_err();
        assert!(error.contains("is not set"), "{error}");
    }
}
