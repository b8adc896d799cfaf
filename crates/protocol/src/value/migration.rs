//! PROCESS_INSTANCE_MIGRATION: moves a running instance to another definition.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::key::Key;

/// MIGRATED: the instance belongs to the target now.
///
/// A migration that does not fit into one turn is MIGRATING until then, one record for each turn, and ABANDONED when
/// something in the instance cannot be migrated: in that case nothing has changed. The record's key is that of the instance.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ProcessInstanceMigrationValue {
    pub process_instance_key: Key,
    pub root_process_instance_key: Key,
    /// The instance's definition before it is migrated.
    pub process_definition_key: Key,
    pub target_process_definition_key: Key,
    pub mapping_instructions: Vec<MappingInstruction>,
    /// On MIGRATING: how far it has come.
    pub progress: MigrationProgress,
}

/// Instances of the source element continue at the target element.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct MappingInstruction {
    pub source_element_id: Arc<str>,
    pub target_element_id: Arc<str>,
}

impl MappingInstruction {
    /// About how many bytes it takes in memory.
    pub fn weight(&self) -> usize {
        let texts = self.source_element_id.len() + self.target_element_id.len();
        size_of::<MappingInstruction>() + texts
    }
}

/// A place in the walk over everything that a migration affects: level by level, and within a level the oldest first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct MigrationProgress {
    pub phase: MigrationPhase,
    /// The current level: the process instance is level 0, its children are level 1.
    pub level: u32,
    /// The element instance at which the walk stands, on its own level; with [`Key::NONE`] the walk begins. During the walk
    /// over compensations: the last one.
    pub at: Key,
    pub depth: u32,
    /// Whether there was something on this level, so that there may be a next one.
    pub found: bool,
    /// Progress within the element instance at which the walk stands.
    pub done: u32,
}

/// First everything is checked, then everything is migrated: element instances with their data, then completed activities
/// that can be compensated.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum MigrationPhase {
    #[default]
    Checking,
    CheckingCompensations,
    Migrating,
    MigratingCompensations,
}
