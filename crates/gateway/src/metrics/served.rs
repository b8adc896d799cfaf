//! Served requests: `http_server_requests_seconds` and `grpc_server_*`.

use std::sync::OnceLock;

use crate::grpc::rpcs::{RPCS, SERVICE};
use crate::rest::operations::OPERATIONS;
use skep_metrics::{Counter, Family, Histogram};

use super::families::{GatewayFamilies, GrpcLabels, HttpLabels, RpcLabels};

/// Statuses whose handles are kept; another one is looked up when it occurs.
const STATUSES: [u16; 16] = [
    200, 204, 400, 401, 403, 404, 405, 408, 409, 413, 415, 500, 501, 502, 503, 504,
];

/// REST requests by route and status.
#[derive(Debug)]
pub struct HttpRequests {
    family: Family<HttpLabels, Histogram>,
    /// By route, then by position in `STATUSES`. The last row is for requests that match no route.
    handles: Box<[[OnceLock<Histogram>; STATUSES.len()]]>,
}

/// The row of requests that match no route: one for all paths.
pub const NO_ROUTE: usize = OPERATIONS.len();

impl HttpRequests {
    pub(super) fn new(families: &GatewayFamilies) -> HttpRequests {
        HttpRequests {
            family: families.http.clone(),
            handles: (0..=OPERATIONS.len()).map(|_| Default::default()).collect(),
        }
    }

    /// A request of the route at this position of the table of operations was answered.
    pub fn observe(&self, route: usize, status: u16, ns: u64) {
        let kept = STATUSES.iter().position(|s| *s == status);
        match kept.and_then(|status| self.handles.get(route)?.get(status)) {
            Some(handle) => handle.get_or_init(|| self.timer(route, status)).observe(ns),
            None => self.timer(route, status).observe(ns),
        }
    }

    fn timer(&self, route: usize, status: u16) -> Histogram {
        let (method, uri) = match OPERATIONS.get(route) {
            Some(route) => (route.method, route.path),
            None => ("UNKNOWN", "UNKNOWN"),
        };
        self.family.of(HttpLabels {
            method,
            uri,
            status,
            outcome: match status {
                100..200 => "INFORMATIONAL",
                200..300 => "SUCCESS",
                300..400 => "REDIRECTION",
                400..500 => "CLIENT_ERROR",
                _ => "SERVER_ERROR",
            },
            exception: "none",
            error: "none",
        })
    }
}

/// The index for codes that are not listed.
const UNKNOWN: usize = 2;

/// gRPC status codes 0 to 16.
const CODES: [&str; 17] = [
    "OK",
    "CANCELLED",
    "UNKNOWN",
    "INVALID_ARGUMENT",
    "DEADLINE_EXCEEDED",
    "NOT_FOUND",
    "ALREADY_EXISTS",
    "PERMISSION_DENIED",
    "RESOURCE_EXHAUSTED",
    "FAILED_PRECONDITION",
    "ABORTED",
    "OUT_OF_RANGE",
    "UNIMPLEMENTED",
    "INTERNAL",
    "UNAVAILABLE",
    "DATA_LOSS",
    "UNAUTHENTICATED",
];

/// gRPC calls by rpc and status code.
#[derive(Debug)]
pub struct GrpcCalls {
    durations: Family<GrpcLabels, Histogram>,
    handles: Box<[RpcHandles]>,
}

#[derive(Debug)]
struct RpcHandles {
    received: Counter,
    sent: Counter,
    durations: [OnceLock<Histogram>; CODES.len()],
}

impl GrpcCalls {
    pub(super) fn new(families: &GatewayFamilies) -> GrpcCalls {
        let handles = RPCS.iter().map(|rpc| {
            let labels = RpcLabels {
                service: SERVICE,
                method: rpc.name,
                methodType: rpc.method_type(),
            };
            RpcHandles {
                received: families.grpc_received.of(labels.clone()),
                sent: families.grpc_sent.of(labels),
                durations: Default::default(),
            }
        });
        GrpcCalls {
            durations: families.grpc.clone(),
            handles: handles.collect(),
        }
    }

    /// A call of the rpc at this position of the rpc table ended with `code` after sending `sent` messages.
    pub fn observe(&self, rpc: usize, code: i32, ns: u64, sent: u64) {
        let (Some(handles), Some(info)) = (self.handles.get(rpc), RPCS.get(rpc)) else {
            return;
        };
        handles.received.inc();
        handles.sent.inc_by(sent);
        let code = usize::try_from(code).unwrap_or(UNKNOWN);
        let code = if code < CODES.len() { code } else { UNKNOWN };
        let (Some(name), Some(duration)) = (CODES.get(code), handles.durations.get(code)) else {
            return;
        };
        let timer = || {
            self.durations.of(GrpcLabels {
                service: SERVICE,
                method: info.name,
                methodType: info.method_type(),
                statusCode: name,
            })
        };
        duration.get_or_init(timer).observe(ns);
    }

    /// Counts messages on a stream that is still open.
    pub fn sent(&self, rpc: usize, messages: u64) {
        if let Some(handles) = self.handles.get(rpc) {
            handles.sent.inc_by(messages);
        }
    }
}
