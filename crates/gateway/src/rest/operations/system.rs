//! Operations of system.

pub mod management;

use skep_protocol::command::{Need, On};
use skep_protocol::grants;

use super::rows::operations;
use crate::rest::encode;

operations! { "System":
    GET "/v2/system/configuration" () getSystemConfiguration {
        does: Answer = |front| encode::system_configuration(&front.config),
        needs: Need::Nothing,
    }
    GET "/skep/v1/pulse" () getPulse {
        does: Pulse,
        needs: Need::Nothing,
    }
    GET "/skep/v1/job-types" () getJobTypes {
        does: AskNodes(JobTypes),
        needs: Need::AnyOf(grants![System: ReadJobMetric], On::Any),
    }
    GET "/skep/v1/management/nodes" () getNodeStates {
        does: AskNodes(States),
        needs: Need::AnyOf(grants![System: Read], On::Any),
    }
    GET "/skep/v1/monitor" () getMonitor {
        does: AskNodes(Monitor),
        needs: Need::AnyOf(grants![System: Read], On::Any),
    }
}
