//! The store of the searchable history.

use std::sync::Arc;

use skep_secondary::{Documents, DocumentsSettings, Rdbms, StoreLocation};

use super::{SecondaryStorage, Settings};

impl Settings {
    /// `None`: there is no store.
    pub(super) fn secondary_config(&self) -> Option<skep_secondary::Config> {
        let tenants = self.security.tenant_checks;
        let secondary = skep_secondary::Config {
            tenants,
            ..self.secondary.clone()
        };
        match self.secondary_storage {
            SecondaryStorage::Embedded => Some(secondary),
            // Invalid settings have prevented the start.
            SecondaryStorage::Rdbms => {
                let settings = skep_secondary::RdbmsSettings {
                    tenants,
                    ..self.rdbms.clone()
                };
                Rdbms::new(&settings)
                    .ok()
                    .map(|database| skep_secondary::Config {
                        location: StoreLocation::Rdbms(Arc::new(database)),
                        readers: self.shared_readers(),
                        ..secondary
                    })
            }
            SecondaryStorage::Elasticsearch | SecondaryStorage::Opensearch => {
                Documents::new(self.search_server())
                    .ok()
                    .map(|server| skep_secondary::Config {
                        location: StoreLocation::Documents(Arc::new(server)),
                        readers: self.shared_readers(),
                        ..secondary
                    })
            }
            SecondaryStorage::None => None,
        }
    }

    /// Number of threads that answer searches if all partitions share them.
    fn shared_readers(&self) -> usize {
        (self.secondary.readers * self.broker.partitions as usize).min(32)
    }

    /// The search server that is secondary storage.
    pub(super) fn search_server(&self) -> DocumentsSettings {
        let settings = match self.secondary_storage {
            SecondaryStorage::Elasticsearch => self
                .elasticsearch
                .settings("camunda.data.secondary-storage.elasticsearch"),
            _ => self
                .opensearch
                .settings("camunda.data.secondary-storage.opensearch"),
        };
        DocumentsSettings {
            repository: self.backup.repository.clone(),
            ..settings
        }
    }
}
