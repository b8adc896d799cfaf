//! VARIABLE_DOCUMENT events. Events of the variables themselves change the variables; these events store an update while
//! the listeners of a user task decide on it.

use skep_protocol::Key;
use skep_protocol::intent::VariableDocumentIntent as Intent;
use skep_protocol::value::VariableDocumentValue;

use crate::appliers::{Apply, user_task};
use crate::state::State;
use crate::state::user_tasks::DocumentUpdate;

impl Apply<VariableDocumentValue> for State {
    fn apply(&mut self, key: Key, intent: Intent, value: &VariableDocumentValue, _timestamp: i64) {
        let update = match intent {
            Intent::Updating => Some(DocumentUpdate {
                key,
                local: value.local,
            }),
            Intent::Updated | Intent::UpdateDenied => None,
            Intent::Update => return,
        };
        let element = self.elements.get(value.scope_key);
        let task = element.and_then(|element| element.user_task());
        if let Some(task) = task {
            user_task::change(self, task, |task| task.document = update);
        }
    }
}
