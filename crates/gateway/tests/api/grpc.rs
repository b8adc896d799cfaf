//! The rpcs of the gateway service.

mod errors;
pub mod instances;
pub mod jobs;
mod system;

use pb::gateway_client::GatewayClient;
use skep_proto::gateway_protocol as pb;
use tonic::transport::Channel;
use tonic::{Code, Status};

use crate::fake::Running;

pub async fn client(gateway: &Running) -> GatewayClient<Channel> {
    GatewayClient::connect(format!("http://{}", gateway.grpc))
        .await
        .expect("connects")
}

#[track_caller]
pub fn refused<T: std::fmt::Debug>(result: Result<T, Status>, code: Code, said: &str) {
    let status = result.expect_err("refused");
    assert_eq!(status.code(), code, "{status:?}");
    assert!(status.message().contains(said), "{status:?}");
}
