//! Escapes in paths are decoded.

use skep_protocol::{Command, Key};

use crate::fake::start;
use crate::http::{JSON, open};

#[tokio::test]
async fn escaped_characters_are_themselves() {
    let gateway = start().await;
    let completed = open(
        gateway.rest,
        "POST",
        "/v2/jobs/%31%32/completion",
        Some(JSON),
        "{}",
    )
    .await;
    assert_eq!(completed.status(), 204);
    let Command::CompleteJob { job_key, .. } = gateway.broker.last().command else {
        panic!()
    };
    assert_eq!(job_key, Key(12));
    for (path, status) in [
        ("/v2/topolog%79", 200),
        ("/v2%2Ftopology", 404),
        ("/v2/topology%", 404),
        ("/v2/topology%ff", 404),
    ] {
        let answer = open(gateway.rest, "GET", path, None, "").await;
        assert_eq!(answer.status(), status, "{path}");
    }
}
