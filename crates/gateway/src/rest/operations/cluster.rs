//! Answers of the gateway about the cluster and the API.

use skep_protocol::command::Need;
use skep_protocol::grants;
use skep_query::entities::USAGE;

use super::rows::operations;
use crate::rest::queries::usage;
use crate::rest::{encode, openapi};

operations! { "Cluster":
    GET "/v2/topology" () getTopology {
        does: Answer = |front| encode::topology(&front.broker.topology(), &front.config.api_version),
        needs: Need::Nothing,
        rpc: [Topology],
    }
    GET "/v2/status" () getStatus {
        does: Answer = |front| encode::cluster_status(&front.broker.topology()),
        needs: Need::Nothing,
    }
    GET "/cluster/v2/status" () getClusterStatus {
        does: Answer = |front| encode::whole_cluster_status(&front.broker.topology()),
        needs: Need::Nothing,
    }
    GET "/v2/license" () getLicense {
        does: Answer = |_| encode::license(),
        needs: Need::Nothing,
    }
    GET "/v2/system/usage-metrics" () getUsageMetrics {
        does: Query(USAGE) = |call| usage::decode(call.parts),
        needs: Need::Filters(grants![System: ReadUsageMetric]),
    }
    GET "/v2/openapi.json" () getOpenApi {
        does: Answer = |_| openapi::document(),
        needs: Need::Nothing,
    }
}
