//! Topology, health, reflection.

use skep_proto::gateway_protocol as pb;
use tonic::Code;
use tonic::transport::Channel;

use super::client;
use crate::fake::start;
use crate::login::{basic, protected};

#[tokio::test]
async fn topology_names_nodes_and_partitions() {
    let gateway = start().await;
    let topology = client(&gateway)
        .await
        .topology(pb::TopologyRequest {})
        .await
        .expect("answers")
        .into_inner();
    assert_eq!(
        (
            topology.cluster_size,
            topology.partitions_count,
            topology.cluster_id.as_str()
        ),
        (1, 1, "c-1")
    );
    // Clients check it.
    for version in [&topology.gateway_version, &topology.brokers[0].version] {
        assert!(version.starts_with("8.9."), "{version}");
    }
    assert_eq!(
        topology.brokers[0].partitions[0],
        pb::Partition {
            partition_id: 1,
            role: 0,
            health: 0
        }
    );
}

#[tokio::test]
async fn health_and_reflection_answer() {
    use tonic_health::pb::{HealthCheckRequest, health_client::HealthClient};
    use tonic_reflection::pb::v1::server_reflection_request::MessageRequest;
    use tonic_reflection::pb::v1::server_reflection_response::MessageResponse;
    use tonic_reflection::pb::v1::{
        ServerReflectionRequest, server_reflection_client::ServerReflectionClient,
    };
    let gateway = start().await;
    let channel = Channel::from_shared(format!("http://{}", gateway.grpc))
        .expect("an address")
        .connect()
        .await
        .expect("connects");
    for service in ["", "gateway_protocol.Gateway"] {
        let request = HealthCheckRequest {
            service: service.into(),
        };
        let health = HealthClient::new(channel.clone())
            .check(request)
            .await
            .expect("answers")
            .into_inner();
        assert_eq!(health.status, 1, "{service}");
    }
    let request = ServerReflectionRequest {
        host: String::new(),
        message_request: Some(MessageRequest::ListServices(String::new())),
    };
    let answer = ServerReflectionClient::new(channel)
        .server_reflection_info(tokio_stream::once(request))
        .await
        .expect("answers")
        .into_inner()
        .message()
        .await
        .expect("goes on")
        .expect("an answer");
    let Some(MessageResponse::ListServicesResponse(services)) = answer.message_response else {
        panic!()
    };
    assert!(
        services
            .service
            .iter()
            .any(|s| s.name == "gateway_protocol.Gateway"),
        "{services:?}"
    );
}

/// Probes have no login. What the API has is for those who may use it.
#[tokio::test]
async fn health_needs_no_login_and_reflection_does() {
    use tonic_health::pb::{HealthCheckRequest, health_client::HealthClient};
    use tonic_reflection::pb::v1::server_reflection_request::MessageRequest;
    use tonic_reflection::pb::v1::{
        ServerReflectionRequest, server_reflection_client::ServerReflectionClient,
    };
    let gateway = protected().await;
    let channel = Channel::from_shared(format!("http://{}", gateway.grpc))
        .expect("an address")
        .connect()
        .await
        .expect("connects");
    let check = HealthCheckRequest::default();
    let health = HealthClient::new(channel.clone()).check(check).await;
    assert_eq!(health.expect("answers").into_inner().status, 1);
    let mut reflection = ServerReflectionClient::new(channel);
    let services = |shown: Option<&str>| {
        let mut request = tonic::Request::new(tokio_stream::once(ServerReflectionRequest {
            host: String::new(),
            message_request: Some(MessageRequest::ListServices(String::new())),
        }));
        if let Some(shown) = shown {
            let shown = shown.parse().expect("a value");
            request.metadata_mut().insert("authorization", shown);
        }
        request
    };
    let refused = reflection.server_reflection_info(services(None)).await;
    assert_eq!(
        refused.expect_err("a refusal").code(),
        Code::Unauthenticated
    );
    let shown = basic("anna", "right");
    let answered = reflection.server_reflection_info(services(Some(&shown)));
    let mut answers = answered.await.expect("answers").into_inner();
    assert!(answers.message().await.expect("goes on").is_some());
}
