//! EXPORTING: the positions of a partition's exporters, and the instructions of operators. Skep's own.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

/// The complete state: there are few exporters, and it changes seldom.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ExportingValue {
    pub phase: ExportingPhase,
    pub exporters: Vec<ExporterValue>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum ExportingPhase {
    #[default]
    Exporting,
    /// Nothing is exported.
    Paused,
    /// Records are exported, but the log is kept.
    SoftPaused,
}

/// State of one exporter.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ExporterValue {
    pub id: Arc<str>,
    pub is_enabled: bool,
    pub position: ExporterPosition,
    /// The exporter's own data, given back to it when it continues from there.
    pub metadata: Vec<u8>,
}

/// An exporter's position.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ExporterPosition {
    /// Index of an entry of the log.
    pub entry: u64,
    /// Position of its last record, or of the last one before it.
    pub record: u64,
    /// Its time, epoch milliseconds.
    pub timestamp: i64,
}

impl ExportingValue {
    pub fn exporter(&self, id: &str) -> Option<&ExporterValue> {
        self.exporters.iter().find(|exporter| &*exporter.id == id)
    }

    /// Bytes, about.
    pub fn weight(&self) -> usize {
        let weight = |exporter: &ExporterValue| {
            size_of::<ExporterValue>() + exporter.id.len() + exporter.metadata.len()
        };
        size_of::<Self>() + self.exporters.iter().map(weight).sum::<usize>()
    }
}
