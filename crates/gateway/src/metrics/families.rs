//! The metrics of the gateways, one line each.

use std::sync::Arc;

use skep_metrics::{Computed, Counter, DEFAULT_BOUNDS, Family, Gauge, Histogram, Unlabelled};
use skep_metrics::{labels, metrics};

use super::Protocol;

labels! {
    pub(super) struct HttpLabels {
        pub(super) method: &'static str,
        pub(super) uri: &'static str,
        pub(super) status: u16,
        pub(super) outcome: &'static str,
        pub(super) exception: &'static str,
        pub(super) error: &'static str,
    }
    pub(super) struct GrpcLabels {
        pub(super) service: &'static str,
        pub(super) method: &'static str,
        pub(super) methodType: &'static str,
        pub(super) statusCode: &'static str,
    }
    pub(super) struct RpcLabels {
        pub(super) service: &'static str,
        pub(super) method: &'static str,
        pub(super) methodType: &'static str,
    }
    pub(super) struct RequestLabels {
        pub(super) partition: u32,
        pub(super) requestType: String,
    }
    pub(super) struct FailureLabels {
        pub(super) partition: u32,
        pub(super) requestType: String,
        pub(super) error: &'static str,
    }
    pub(super) struct ProtocolLabels {
        pub(super) protocol: Protocol,
    }
    pub(super) struct StageLabels {
        pub(super) protocol: Protocol,
        pub(super) stage: &'static str,
    }
    pub(super) struct PollLabels {
        pub(super) r#type: Arc<str>,
        pub(super) protocol: Protocol,
    }
    pub(super) struct PushLabels {
        pub(super) status: &'static str,
    }
    pub(super) struct RefusedLabels {
        pub(super) protocol: Protocol,
        pub(super) reason: &'static str,
    }
    pub(super) struct ProviderLabels {
        pub(super) provider: String,
    }
    pub(super) struct ResultLabels {
        pub(super) result: &'static str,
    }
    pub(super) struct RoleLabels {
        pub(super) partition: u32,
        pub(super) broker: i32,
    }
}

metrics! {
    /// Metrics of both front ends.
    pub struct GatewayFamilies {
        pub(super) http: Family<HttpLabels, Histogram> = "http_server_requests_seconds", "REST requests";
        pub(super) grpc: Family<GrpcLabels, Histogram> = "grpc_server_processing_duration_seconds", "gRPC calls";
        pub(super) grpc_received: Family<RpcLabels, Counter> = "grpc_server_requests_received_messages", "gRPC messages received";
        pub(super) grpc_sent: Family<RpcLabels, Counter> = "grpc_server_responses_sent_messages", "gRPC messages sent";

        pub(super) latency: Family<RequestLabels, Histogram> = "zeebe_gateway_request_latency_seconds", "Time from sending a request to the broker until its response", DEFAULT_BOUNDS;
        pub(super) requests: Family<RequestLabels, Counter> = "zeebe_gateway_total_requests", "Requests sent to the broker";
        pub(super) failed: Family<FailureLabels, Counter> = "zeebe_gateway_failed_requests", "Requests to the broker without a response of the engine";
        pub(super) stages: Family<StageLabels, Histogram> = "skep_request_stage_seconds", "Time that requests spend in each stage; the sum over the stages is the latency";
        pub(super) slots: Family<ProtocolLabels, Gauge> = "skep_gateway_new_work_slots", "Limit of commands with new work admitted at a time; reduced while commands wait longer than 10 ms for their turn, or 1 ms for it and for the log while jobs pile up";

        pub(super) queued: Computed<PollLabels> = "zeebe_long_polling_queued_current", "Job activations waiting for a job";
        pub(super) stream_clients: Gauge = "zeebe_gateway_job_stream_clients", "Open job streams of clients";
        pub(super) streams: Gauge = "zeebe_gateway_job_stream_streams", "Open job streams";
        pub(super) pushes: Family<PushLabels, Counter> = "zeebe_gateway_job_stream_push", "Jobs handed to client connections";
        pub(super) shared: Family<ResultLabels, Counter> = "skep_shared_searches", "Searches with shared answers, by the source of the answer";
        pub(super) servers: Computed<Unlabelled> = "zeebe_gateway_job_stream_servers", "Known nodes";
        pub(super) roles: Computed<RoleLabels> = "zeebe_gateway_topology_partition_roles", "Role of each node for each partition: 3 leader, 0 follower";
    }
}

metrics! {
    /// Metrics of authentication.
    pub struct LoginFamilies {
        pub(super) refused: Family<RefusedLabels, Counter> = "skep_authentication_failures", "Requests that failed authentication, by reason";
        pub(super) looked_up: Family<ResultLabels, Counter> = "skep_authentication_lookups", "Authorization headers looked up, by whether they were checked before";
        pub(super) refreshed: Family<ResultLabels, Counter> = "skep_session_refreshes", "Refreshes of browser sessions at identity providers, by result";
        pub(super) keys_given: Computed<ProviderLabels> = "skep_identity_provider_up", "1 if the last request to the identity provider returned its keys, else 0";
        pub(super) keys_age: Computed<ProviderLabels> = "skep_identity_provider_keys_age_seconds", "Time since the keys of an identity provider were fetched";
        pub(super) directory_age: Computed<Unlabelled> = "skep_permissions_age_seconds", "Time since the users and permissions of this node were surely current";
    }
}
