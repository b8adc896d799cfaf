//! Facts about a process instance before its first event: its variables and creation options precede that event in the log,
//! within the same command. Nothing of this remains between commands, so it is not state of its own.

use skep_protocol::Key;

use super::Extra;
use crate::state::variables::ScopeVariables;

/// See the [module](self).
#[derive(Default)]
pub(super) struct Unborn {
    pub key: Option<Key>,
    pub variables: ScopeVariables,
    pub extra: Option<Box<Extra>>,
}

impl Unborn {
    /// The facts about the instance with this key.
    pub(super) fn of(&mut self, key: Key) -> &mut Unborn {
        if self.key != Some(key) {
            *self = Unborn {
                key: Some(key),
                ..Unborn::default()
            };
        }
        self
    }
}
