//! Calls and failures are equivalent over all transports.

use std::{sync::Arc, time::Duration};

use crate::fake::{self, Fault, Script, WIRES};
use skep_client::{Client, Code, CreateInstance, Deployed, Error, Resource, RetryPolicy};

#[tokio::test]
async fn topology_deployment_and_creation_read_alike_on_every_wire() {
    for wire in WIRES {
        let script = Arc::new(Script::default());
        let client = fake::client(&script, wire).await;
        let topology = client.topology().await.unwrap();
        assert_eq!(topology.brokers[0].partitions[0].role, "leader", "{wire:?}");
        let content = b"<definitions/>".as_slice().into();
        let resource = Resource {
            name: "p.bpmn".into(),
            content,
        };
        let deployment = client.deploy(&[resource], None).await.unwrap();
        assert_eq!(deployment.key, 11);
        let process = Deployed::Process {
            id: "p".into(),
            version: 2,
            key: 12,
            resource_name: "p.bpmn".into(),
        };
        assert_eq!(deployment.items, [process]);
        let request = CreateInstance::latest("p").variables(r#"{"n": 1.50}"#);
        let instance = client.create_instance(&request).await.unwrap();
        assert_eq!(instance.process_instance_key, 2_251_799_813_685_249);
        let bodies = script.bodies.lock().unwrap();
        assert!(bodies[0].contains("<definitions/>"), "{}", bodies[0]);
        assert!(
            bodies[1].contains(r#"{"n": 1.50}"#),
            "variables pass as they are: {}",
            bodies[1]
        );
    }
}

#[tokio::test]
async fn refusals_have_the_same_code_on_every_wire() {
    for wire in WIRES {
        let script = Arc::new(Script::default());
        script.fail_next([Fault::Exhausted, Fault::Unavailable, Fault::NotFound]);
        let client = fake::client(&script, wire).await;
        for (code, retryable) in [
            (Code::ResourceExhausted, true),
            (Code::Unavailable, true),
            (Code::NotFound, false),
        ] {
            let error = client.complete_job(1, None).await.unwrap_err();
            assert_eq!(error.code(), Some(code), "{wire:?}");
            assert_eq!(error.is_retryable(), retryable, "{wire:?}");
            assert!(error.to_string().contains("told to"), "{error}");
        }
        client.complete_job(1, None).await.unwrap();
    }
}

#[tokio::test]
async fn a_retry_policy_gets_through_back_pressure() {
    for wire in WIRES {
        let script = Arc::new(Script::default());
        script.fail_next([Fault::Exhausted; 3]);
        let client = fake::client(&script, wire).await;
        let policy = RetryPolicy {
            initial: Duration::from_millis(1),
            ..RetryPolicy::default()
        };
        let request = CreateInstance::latest("p");
        policy
            .run(|| client.create_instance(&request))
            .await
            .unwrap();
        assert_eq!(script.bodies.lock().unwrap().len(), 1, "{wire:?}");
    }
}

#[tokio::test]
async fn an_answer_that_never_comes_is_a_timeout_of_unknown_outcome() {
    for wire in WIRES {
        let script = Arc::new(Script::default());
        script.fail_next([Fault::Silence]);
        let mut config = fake::config(&script, wire).await;
        config.request_timeout = Duration::from_millis(50);
        let client = Client::new(wire.0, config).unwrap();
        let error = client.complete_job(1, None).await.unwrap_err();
        assert!(matches!(error, Error::Timeout(_)), "{wire:?}: {error}");
        assert!(error.is_ambiguous() && !error.is_retryable());
    }
}

#[tokio::test]
async fn a_server_that_is_not_there_is_a_connect_error() {
    // port 1 is reserved and nothing listens on it
    for client in [
        Client::rest(skep_client::ClientConfig::new("127.0.0.1:1")),
        Client::grpc(skep_client::ClientConfig::new("127.0.0.1:1")),
    ] {
        let error = client.unwrap().topology().await.unwrap_err();
        assert!(matches!(error, Error::Connect { .. }), "{error}");
        assert!(error.is_retryable());
    }
}

#[tokio::test]
async fn many_requests_at_once_share_the_connections() {
    for wire in WIRES {
        let script = Arc::new(Script::default());
        let client = fake::client(&script, wire).await;
        let calls = (1..=500).map(|key| {
            let client = client.clone();
            async move { client.complete_job(key, None).await }
        });
        for result in futures_util::future::join_all(calls).await {
            result.unwrap();
        }
        let mut completed = script.completed.lock().unwrap().clone();
        completed.sort_unstable();
        assert!(completed.into_iter().eq(1..=500), "{wire:?}");
    }
}
