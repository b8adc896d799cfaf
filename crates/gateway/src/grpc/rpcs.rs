//! The rpcs by name, for metrics.

pub const SERVICE: &str = "gateway_protocol.Gateway";

#[derive(Clone, Copy, Debug)]
pub struct Rpc {
    pub name: &'static str,
    pub streaming: bool,
}

impl Rpc {
    pub fn method_type(&self) -> &'static str {
        if self.streaming {
            "SERVER_STREAMING"
        } else {
            "UNARY"
        }
    }
}

const fn unary(name: &'static str) -> Rpc {
    Rpc {
        name,
        streaming: false,
    }
}

const fn streaming(name: &'static str) -> Rpc {
    Rpc {
        name,
        streaming: true,
    }
}

/// Positions in [`RPCS`] of those whose messages are counted while they are in progress.
pub const ACTIVATE_JOBS: usize = 0;
pub const STREAM_ACTIVATED_JOBS: usize = 1;

/// All rpcs of the service, the frequent ones first.
pub const RPCS: &[Rpc] = &[
    streaming("ActivateJobs"),
    streaming("StreamActivatedJobs"),
    unary("CompleteJob"),
    unary("CreateProcessInstance"),
    unary("CreateProcessInstanceWithResult"),
    unary("FailJob"),
    unary("ThrowError"),
    unary("PublishMessage"),
    unary("CancelProcessInstance"),
    unary("DeployProcess"),
    unary("DeployResource"),
    unary("DeleteResource"),
    unary("ResolveIncident"),
    unary("SetVariables"),
    unary("Topology"),
    unary("UpdateJobRetries"),
    unary("UpdateJobTimeout"),
    unary("EvaluateDecision"),
    unary("ModifyProcessInstance"),
    unary("MigrateProcessInstance"),
    unary("BroadcastSignal"),
    unary("EvaluateConditional"),
];

pub fn position(name: &str) -> Option<usize> {
    RPCS.iter().position(|rpc| rpc.name == name)
}
