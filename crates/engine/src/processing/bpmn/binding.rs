//! Messages about the version binding of a reference to another definition.

use skep_model::Binding;
use skep_protocol::Key;

/// The text about a missing definition. It continues `Expected WHAT '…'`.
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
