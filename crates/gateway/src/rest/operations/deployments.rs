//! Operations of deployments.

use skep_protocol::Key;
use skep_protocol::command::Command;

use super::rows::operations;
use crate::rest::decode::{deployments, system};

operations! { "Deployments":
    POST "/v2/deployments" () createDeployment {
        does: Command(Deploy) takes Files = |call| deployments::deploy(call),
        rpc: [DeployProcess, DeployResource],
    }
    POST "/skep/v1/deployments/check" () checkDeployment {
        does: Command(CheckDeployment) takes Files = |call| deployments::check(call),
    }
    POST "/v2/resources/{resourceKey}/deletion" (resourceKey: Key) deleteResource {
        does: Command(DeleteResource) = |call| system::delete_resource(resourceKey, call.text, call.front),
        rpc: [DeleteResource],
    }
}
