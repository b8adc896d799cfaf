//! Instructions of operators to the exporters of a partition.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::value::{ExporterPosition, ExportingPhase};

/// A change of the exporting of one partition.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum ExportingChange {
    /// For all exporters.
    Phase(ExportingPhase),
    /// An exporter that is enabled already stays as it is.
    Enable {
        id: Arc<str>,
        /// Starts at the position of this exporter; otherwise at the end of the log.
        initialize_from: Option<Arc<str>>,
        /// The end of the log, filled in by the partition.
        end: ExporterPosition,
    },
    Disable {
        id: Arc<str>,
    },
    /// Forgets the exporter.
    Delete {
        id: Arc<str>,
    },
}

impl ExportingChange {
    /// Bytes of its texts.
    pub(super) fn weight(&self) -> usize {
        match self {
            ExportingChange::Phase(_) => 0,
            ExportingChange::Enable {
                id,
                initialize_from,
                ..
            } => id.len() + initialize_from.as_ref().map_or(0, |id| id.len()),
            ExportingChange::Disable { id } | ExportingChange::Delete { id } => id.len(),
        }
    }
}
