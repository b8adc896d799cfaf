//! Secondary storage in a PostgreSQL database shared by all partitions of all nodes.

mod active_elements;
mod active_instances;
mod connection;
mod counts;
mod history;
mod reader;
mod schema;
mod stored_rows;
mod tls;
mod url;
mod value;
mod writer;

use skep_exporting::TargetError;
use std::sync::Arc;
use std::time::Duration;

use tokio_postgres::Config;

use self::connection::Connection;
pub use self::url::UrlError;
pub use self::writer::Writer;
use crate::store::readers::{Readers, SharedReaders};
use crate::target::Source;
use skep_exporting::Trust;

/// Time limit of one query.
const TIME_LIMIT: Duration = Duration::from_secs(10);

/// Reasons why the settings of a database are invalid.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum RdbmsError {
    #[error("camunda.data.secondary-storage.rdbms.url: {0}")]
    Url(#[from] UrlError),
    #[error(
        "camunda.data.secondary-storage.rdbms.prefix: '{0}' cannot be the prefix of table names: it may have at most 20 letters, digits \
         and '_'"
    )]
    Prefix(String),
}

/// Settings of a database.
#[derive(Clone, Debug, Default)]
pub struct RdbmsSettings {
    /// A JDBC or PostgreSQL URL.
    pub url: String,
    pub username: Option<String>,
    pub password: Option<String>,
    /// Prefix of the table names.
    pub prefix: String,
    /// Whether tables are created and missing columns added.
    pub auto_ddl: bool,
    /// See [`crate::Config::tenants`].
    pub tenants: bool,
}

/// A database, and the threads that answer queries from it.
#[derive(Debug)]
pub struct Rdbms {
    for_writing: Config,
    for_reading: Config,
    trust: Trust,
    /// Its address, for messages.
    pub shown: String,
    prefix: String,
    auto_ddl: bool,
    tenants: bool,
    readers: SharedReaders,
}

impl Rdbms {
    /// Reads settings without connecting.
    pub fn new(settings: &RdbmsSettings) -> Result<Rdbms, RdbmsError> {
        let (username, password) = (settings.username.as_deref(), settings.password.as_deref());
        let (config, trust) = url::parse(&settings.url, username, password)?;
        let prefix = settings.prefix.clone();
        let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
        if prefix.len() > 20 || !prefix.chars().all(is_name) {
            return Err(RdbmsError::Prefix(prefix));
        }
        let with = |own: &str| {
            let mut config = config.clone();
            let given = config.get_options().unwrap_or_default().to_string();
            // JIT compilation does not pay off for short statements.
            config.options(format!("{given} -cjit=off {own}").trim());
            config
        };
        let limit = TIME_LIMIT.as_millis();
        Ok(Rdbms {
            for_writing: with(""),
            for_reading: with(&format!(
                "-cstatement_timeout={limit} -cdefault_transaction_read_only=on"
            )),
            trust,
            shown: url::shown(&config),
            prefix,
            auto_ddl: settings.auto_ddl,
            tenants: settings.tenants,
            readers: SharedReaders::default(),
        })
    }

    /// Deletes all rows of the cluster and the positions of its partitions. The tables stay.
    pub(crate) fn purge(&self, cluster: &str, number: u64) -> Result<(), TargetError> {
        let opened = Connection::open(&self.for_writing, &self.trust, None);
        let purged = opened.and_then(|mut it| schema::purge(&mut it, self, cluster, number));
        purged.map_err(|failure| failure.of(&self.shown))
    }

    /// Threads that answer queries for all partitions.
    pub fn readers(self: &Arc<Self>, count: usize) -> Arc<Readers> {
        let source = || Box::new(reader::Reader::new(self.clone())) as Box<dyn Source>;
        self.readers.get(count, source)
    }
}
