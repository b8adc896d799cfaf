//! The back ends of secondary storage: each gets the same queries and must give the same answers.

use std::sync::Arc;

use skep_secondary::{Config, Documents, DocumentsSettings, Rdbms, RdbmsSettings, StoreLocation};
use skep_testbed::{Postgres, Product, SearchServer};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Backend {
    Embedded,
    Postgres,
    OpenSearch,
    Elasticsearch,
}

impl Backend {
    /// Settings of an unshared store of this kind. If its server cannot be started, which is reported, the embedded store is used.
    pub fn config(self) -> Config {
        Config {
            location: self.location(),
            // Operations that a test waits for may be slow on a busy machine.
            max_wait: std::time::Duration::from_secs(180),
            ..Config::default()
        }
    }

    /// Number of random processes to try: the code that turns records into rows is the same for all.
    pub fn seeds(self) -> u64 {
        match self {
            Backend::Embedded => 24,
            Backend::Postgres | Backend::OpenSearch => 5,
            Backend::Elasticsearch => 3,
        }
    }

    /// Number of them to search at random: the code that builds queries is the same for both search servers.
    pub fn searched(self) -> u64 {
        match self {
            Backend::Embedded | Backend::Postgres | Backend::OpenSearch => 6,
            Backend::Elasticsearch => 1,
        }
    }

    fn location(self) -> StoreLocation {
        match self {
            Backend::Embedded => StoreLocation::Embedded,
            Backend::Postgres => skep_testbed::shared_postgres()
                .map_or(StoreLocation::Embedded, |server| {
                    rdbms(server, &server.prefix())
                }),
            Backend::OpenSearch | Backend::Elasticsearch => self
                .search_server()
                .map_or(StoreLocation::Embedded, |server| {
                    documents(server, &server.prefix())
                }),
        }
    }

    /// The product of a back end that is a search server.
    pub fn product(self) -> Product {
        match self {
            Backend::OpenSearch => Product::OpenSearch,
            Backend::Elasticsearch => Product::Elasticsearch,
            Backend::Embedded | Backend::Postgres => panic!("{self:?} is no search server"),
        }
    }

    /// The search server shared by tests. `None`: there is none here, which has been reported.
    pub fn search_server(self) -> Option<&'static SearchServer> {
        skep_testbed::shared_search_server(self.product())
    }
}

/// A database of a server, by its prefix.
pub fn rdbms(server: &Postgres, prefix: &str) -> StoreLocation {
    let settings = RdbmsSettings {
        url: server.url(),
        username: Some("skep".to_string()),
        password: Some("secret".to_string()),
        prefix: prefix.to_string(),
        auto_ddl: true,
        tenants: false,
    };
    StoreLocation::Rdbms(Arc::new(Rdbms::new(&settings).expect("settings")))
}

/// Indices of a server, by their prefix.
pub fn documents(server: &SearchServer, prefix: &str) -> StoreLocation {
    let settings = document_settings(server.product(), server.url(), prefix);
    StoreLocation::Documents(Arc::new(Documents::new(settings).expect("settings")))
}

/// Settings as the configuration for this product creates them.
pub fn document_settings(product: Product, url: String, prefix: &str) -> DocumentsSettings {
    let mut settings = DocumentsSettings::new(match product {
        Product::OpenSearch => "camunda.data.secondary-storage.opensearch",
        Product::Elasticsearch => "camunda.data.secondary-storage.elasticsearch",
    });
    settings.urls = vec![url];
    settings.index_prefix = prefix.to_string();
    settings
}
