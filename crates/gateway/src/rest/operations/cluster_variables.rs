//! Operations of cluster variables.

use skep_protocol::command::{Command, Need, On};
use skep_protocol::grants;
use skep_query::entities::CLUSTER_VARIABLE;

use super::path::{Name, Text};
use super::rows::operations;
use crate::rest::decode::cluster_variables;
use crate::rest::queries::related;

operations! { "Cluster variables":
    POST "/v2/cluster-variables/global" () createGlobalClusterVariable {
        does: Command(CreateClusterVariable) = |call| cluster_variables::create(None, call.text, call.front),
    }
    PUT "/v2/cluster-variables/global/{name}" (name: Name) updateGlobalClusterVariable {
        does: Command(UpdateClusterVariable) = |call| cluster_variables::update(name, None, call.text, call.front),
    }
    DELETE "/v2/cluster-variables/global/{name}" (name: Name) deleteGlobalClusterVariable {
        does: Command(DeleteClusterVariable) = |call| cluster_variables::delete(name, None, call.text, call.front),
    }
    POST "/v2/cluster-variables/tenants/{tenantId}" (tenantId: Text) createTenantClusterVariable {
        does: Command(CreateClusterVariable) = |call| cluster_variables::create(Some(tenantId), call.text, call.front),
    }
    PUT "/v2/cluster-variables/tenants/{tenantId}/{name}" (tenantId: Text, name: Name) updateTenantClusterVariable {
        does: Command(UpdateClusterVariable) = |call| cluster_variables::update(name, Some(tenantId), call.text, call.front),
    }
    DELETE "/v2/cluster-variables/tenants/{tenantId}/{name}" (tenantId: Text, name: Name) deleteTenantClusterVariable {
        does: Command(DeleteClusterVariable) = |call| cluster_variables::delete(name, Some(tenantId), call.text, call.front),
    }
    GET "/v2/cluster-variables/global/{name}" (name: Name) getGlobalClusterVariable {
        does: Query(CLUSTER_VARIABLE) = |_| related::cluster_variable(&name, None),
        needs: Need::AnyOf(grants![ClusterVariable: Read], On::Found),
    }
    POST "/v2/cluster-variables/search" () searchClusterVariables {
        does: Query(CLUSTER_VARIABLE) = |call| related::cluster_variables(call.text, call.parts),
        needs: Need::Filters(grants![ClusterVariable: Read]),
    }
    GET "/v2/cluster-variables/tenants/{tenantId}/{name}" (tenantId: Text, name: Name) getTenantClusterVariable {
        does: Query(CLUSTER_VARIABLE) = |_| related::cluster_variable(&name, Some(tenantId)),
        needs: Need::AnyOf(grants![ClusterVariable: Read], On::Found),
    }
}
