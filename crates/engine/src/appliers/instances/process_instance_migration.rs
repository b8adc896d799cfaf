//! PROCESS_INSTANCE_MIGRATION events.

use skep_protocol::Key;
use skep_protocol::intent::ProcessInstanceMigrationIntent as Intent;
use skep_protocol::value::ProcessInstanceMigrationValue;

use crate::appliers::Apply;
use crate::state::State;

impl Apply<ProcessInstanceMigrationValue> for State {
    fn apply(&mut self, key: Key, intent: Intent, value: &ProcessInstanceMigrationValue, _: i64) {
        match intent {
            Intent::Migrating => self.migrations.set(key, value),
            Intent::Migrated => {
                self.migrations.remove(key);
                let (source, target) = definitions(value);
                self.elements.count_as_of(source, target);
                migrate_terminate_after(self, key, value);
            }
            Intent::Abandoned => {
                self.migrations.remove(key);
            }
            Intent::Migrate => {}
        }
    }
}

fn definitions(value: &ProcessInstanceMigrationValue) -> (Key, Key) {
    let target = value.target_process_definition_key;
    (value.process_definition_key, target)
}

/// Migrates the list of elements after whose end the instance is terminated. Elements that are not mapped are dropped.
fn migrate_terminate_after(state: &mut State, key: Key, value: &ProcessInstanceMigrationValue) {
    let row = state.elements.get(key);
    let extra = row.and_then(|row| row.extra.as_ref());
    let Some(before) = extra
        .map(|extra| extra.terminate_after.clone())
        .filter(|elements| !elements.is_empty())
    else {
        return;
    };
    let (source, target) = definitions(value);
    let (Some(source), Some(target)) = (state.processes.get(source), state.processes.get(target))
    else {
        return;
    };
    let instructions = value.mapping_instructions.iter();
    let mapped = instructions.filter_map(|instruction| {
        let from = source.graph.find(&instruction.source_element_id)?;
        let to = target.graph.find(&instruction.target_element_id)?;
        before.contains(&from.0).then_some(to.0)
    });
    let after = mapped.collect();
    state.elements.extra_of_process(key).terminate_after = after;
}
