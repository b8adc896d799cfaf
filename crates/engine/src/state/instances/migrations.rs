//! Migrations that take several turns. Until a migration is complete, nothing else happens in its instance, its callers and
//! the instances that it called, so no command sees a half-migrated instance.

use std::sync::Arc;

use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};
use skep_protocol::Key;
use skep_protocol::value::{
    MappingInstruction, MigrationPhase, MigrationProgress, ProcessInstanceMigrationValue,
};

use crate::state::State;
use crate::state::table::{Row, StoreError, Table, Tables};
use crate::state::undo::Indexed;

/// A migration in progress, by process instance.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Migration {
    pub root_process_instance_key: Key,
    pub source: Key,
    pub target: Key,
    pub mapping_instructions: Vec<MappingInstruction>,
    pub progress: MigrationProgress,
}

impl Migration {
    fn of(value: &ProcessInstanceMigrationValue) -> Migration {
        Migration {
            root_process_instance_key: value.root_process_instance_key,
            source: value.process_definition_key,
            target: value.target_process_definition_key,
            mapping_instructions: value.mapping_instructions.clone(),
            progress: value.progress,
        }
    }

    /// Whether elements of the instance may already be those of the target.
    pub fn has_begun(&self) -> bool {
        match self.progress.phase {
            MigrationPhase::Checking | MigrationPhase::CheckingCompensations => false,
            MigrationPhase::Migrating | MigrationPhase::MigratingCompensations => true,
        }
    }
}

impl Row for Migration {
    const TABLE: u8 = 55;

    fn weight(&self) -> usize {
        let instructions = self.mapping_instructions.iter();
        size_of::<Self>() + instructions.map(MappingInstruction::weight).sum::<usize>()
    }
}

pub struct Migrations {
    pub table: Table<Migration>,
    /// Number of migrations in progress below each root instance.
    roots: FxHashMap<Key, usize>,
    /// Number of migrations to each definition.
    targets: FxHashMap<Key, usize>,
}

impl Migrations {
    pub fn open(tables: &Arc<Tables>) -> Result<Migrations, StoreError> {
        let (mut roots, mut targets) = (FxHashMap::default(), FxHashMap::default());
        let table = Table::open_with(tables, |_, row: Migration| {
            *roots.entry(row.root_process_instance_key).or_default() += 1;
            *targets.entry(row.target).or_default() += 1;
        })?;
        Ok(Migrations {
            table,
            roots,
            targets,
        })
    }

    pub fn is_empty(&self) -> bool {
        self.roots.is_empty()
    }

    pub fn get(&mut self, process_instance: Key) -> Option<&Migration> {
        self.table.get(process_instance)
    }

    /// Whether an instance below this root instance is being migrated.
    pub fn go_on_below(&self, root: Key) -> bool {
        self.roots.contains_key(&root)
    }

    /// Whether an instance is being migrated to this definition.
    pub fn lead_to(&self, definition: Key) -> bool {
        self.targets.contains_key(&definition)
    }

    pub(in crate::appliers) fn set(&mut self, key: Key, value: &ProcessInstanceMigrationValue) {
        // The first event of a migration adds it.
        if let Some(row) = self.table.get_mut(key) {
            row.progress = value.progress;
            return;
        }
        let row = Migration::of(value);
        self.add_to_index(key, &row);
        self.table.insert(key, row);
    }

    pub(in crate::appliers) fn remove(&mut self, key: Key) -> Option<Migration> {
        if self.is_empty() {
            return None;
        }
        let row = self.table.remove(key)?;
        self.take_from_index(key, &row);
        Some(row)
    }
}

impl Indexed<Migration> for Migrations {
    fn rows(&mut self) -> &mut Table<Migration> {
        &mut self.table
    }

    fn add_to_index(&mut self, _key: Key, row: &Migration) {
        let root = self.roots.entry(row.root_process_instance_key);
        *root.or_default() += 1;
        *self.targets.entry(row.target).or_default() += 1;
    }

    fn take_from_index(&mut self, _key: Key, row: &Migration) {
        one_less(&mut self.roots, row.root_process_instance_key);
        one_less(&mut self.targets, row.target);
    }
}

fn one_less(counts: &mut FxHashMap<Key, usize>, key: Key) {
    if let Some(count) = counts.get_mut(&key) {
        *count -= 1;
        if *count == 0 {
            counts.remove(&key);
        }
    }
}

impl State {
    /// Drops the migration of an instance that ends, or for which no more work is done, however far it has progressed.
    pub(in crate::appliers) fn give_up_migration(&mut self, process_instance: Key) {
        if let Some(row) = self.migrations.remove(process_instance)
            && row.has_begun()
        {
            self.elements.count_as_of(row.source, row.target);
        }
    }
}
