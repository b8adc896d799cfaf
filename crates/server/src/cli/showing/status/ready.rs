//! `skep status --ready`: one node's own readiness, for containers without a shell.

use std::time::Duration;

use crate::cli::fetch;
use crate::errors::Coded;

/// Shorter than the timeout that container engines give a health command.
const TIMEOUT: Duration = Duration::from_secs(4);

/// # Errors
/// The node does not answer, or takes no work: it is starting or stopping, or its partitions have no leader.
pub async fn run(management: &str) -> anyhow::Result<()> {
    // Not below the base path of the management endpoints, which is configurable.
    let (status, _) = fetch::look(management, "/ready", TIMEOUT).await?;
    if !status.is_success() {
        let text = format!(
            "{management} accepts no work now ({status}): it is starting or stopping, or a partition has no leader"
        );
        return Err(Coded::new("NOT_HEALTHY", text).into());
    }
    crate::cli::print("ready\n")
}
