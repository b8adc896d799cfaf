//! Versions reported to clients, some of which choose their requests by them.

use crate::fake::{start, start_with};
use crate::http::send;

#[tokio::test]
async fn the_topology_has_the_api_version_and_the_version_of_skep() {
    let gateway = start().await;
    let topology = send(gateway.rest, "GET", "/v2/topology", None, "")
        .await
        .json();
    for (one, name) in [
        (&topology, "gatewayVersion"),
        (&topology["brokers"][0], "version"),
    ] {
        let version = one[name].as_str().expect("a version");
        assert!(version.starts_with("8.9."), "{version}");
        assert_eq!(one["skepVersion"], "0.1.0");
    }
    let gateway = start_with(|config| config.api_version = "8.8.3".into()).await;
    let topology = send(gateway.rest, "GET", "/v2/topology", None, "")
        .await
        .json();
    assert_eq!(topology["gatewayVersion"], "8.8.3");
    assert_eq!(topology["brokers"][0]["version"], "8.8.3");
}
