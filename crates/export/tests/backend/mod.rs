//! The back ends of secondary storage: what is asked of one is asked of all, and the answers are equal.
#![allow(dead_code)] // Every test program uses its part.

use std::sync::Arc;

use skep_export::{Config, Documents, DocumentsSettings, Place, Rdbms, RdbmsSettings};
use skep_testbed::{OpenSearch, Postgres};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Backend {
    Embedded,
    Postgres,
    OpenSearch,
}

impl Backend {
    /// Settings of a store of this kind that nobody else uses. Where the server cannot be started, which was said, it is the
    /// embedded one.
    pub fn config(self) -> Config {
        Config {
            place: self.place(),
            // What a test waits for may be slow on a busy machine.
            max_wait: std::time::Duration::from_secs(180),
            ..Config::default()
        }
    }

    /// How many random processes are tried: what makes rows of records is the same for all.
    pub fn seeds(self) -> u64 {
        match self {
            Backend::Embedded => 24,
            Backend::Postgres | Backend::OpenSearch => 5,
        }
    }

    fn place(self) -> Place {
        match self {
            Backend::Embedded => Place::Embedded,
            Backend::Postgres => skep_testbed::shared_postgres()
                .map_or(Place::Embedded, |server| rdbms(server, &server.prefix())),
            Backend::OpenSearch => skep_testbed::shared_opensearch()
                .map_or(Place::Embedded, |server| {
                    documents(server, &server.prefix())
                }),
        }
    }
}

/// A database of a server, by its prefix.
pub fn rdbms(server: &Postgres, prefix: &str) -> Place {
    let settings = RdbmsSettings {
        url: server.url(),
        username: Some("skep".to_string()),
        password: Some("secret".to_string()),
        prefix: prefix.to_string(),
        auto_ddl: true,
    };
    Place::Rdbms(Arc::new(Rdbms::new(&settings).expect("settings")))
}

/// Indices of a server, by their prefix.
pub fn documents(server: &OpenSearch, prefix: &str) -> Place {
    let mut settings = DocumentsSettings::new("camunda.data.secondary-storage.opensearch");
    settings.urls = vec![server.url()];
    settings.index_prefix = prefix.to_string();
    Place::Documents(Arc::new(Documents::new(settings).expect("settings")))
}
