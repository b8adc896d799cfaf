//! The version binding of a reference to another definition, in words.

use skep_model::Binding;
use skep_protocol::Key;

/// What was looked for and is not there: goes on after `Expected WHAT '…'`.
pub(super) fn not_found(binding: &Binding, deployment: Key) -> String {
    match binding {
        Binding::Latest => "to be deployed, but not found".to_string(),
        Binding::Deployment => {
            format!("in the same deployment {deployment} as the calling process, but not found")
        }
        Binding::VersionTag(tag) => {
            format!("with version tag '{tag}' to be deployed, but not found")
        }
    }
}
