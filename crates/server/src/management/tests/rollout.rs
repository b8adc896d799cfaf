//! A node that its orchestrator replaces is ready once it has caught up.

use super::*;
use crate::management::rollout::PACE;

#[tokio::test]
async fn a_server_with_a_revision_is_ready_once_its_copies_have_caught_up() {
    let mut server = Server::starting(false).await;
    server.revision = Some("7d4");
    let begun = Instant::now();
    server.start(2).await;
    // Copies are compared with what their leaders had one look before.
    assert!(begun.elapsed() >= PACE);
    let file = server.directory.path().join("data/revision");
    while std::fs::read_to_string(&file).ok().as_deref() != Some("7d4") {
        assert!(begun.elapsed() < Duration::from_secs(60));
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}
