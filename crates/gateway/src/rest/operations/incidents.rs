//! Operations of incidents.

use skep_protocol::command::{Command, Need, On};
use skep_protocol::{Key, grants};
use skep_query::entities::{INCIDENT, PROCESS_INSTANCE};

use super::rows::operations;
use crate::rest::decode::system;
use crate::rest::queries::{self, statistics};

operations! { "Incidents":
    POST "/v2/incidents/{incidentKey}/resolution" (incidentKey: Key) resolveIncident {
        does: Command(ResolveIncident) = |call| system::resolve_incident(incidentKey, call.text, call.front),
        rpc: [ResolveIncident],
    }
    POST "/v2/process-instances/{processInstanceKey}/incidents/search" (processInstanceKey: Key) searchProcessInstanceIncidents {
        does: Query(INCIDENT) = |call| queries::incidents_within(&PROCESS_INSTANCE, processInstanceKey, call.text, call.parts),
        needs: Need::AnyOf(grants![ProcessDefinition: ReadProcessInstance], On::Found),
    }
    POST "/v2/element-instances/{elementInstanceKey}/incidents/search" (elementInstanceKey: Key) searchElementInstanceIncidents {
        does: Query(INCIDENT) = |call| queries::incidents_of_element(elementInstanceKey, call.text, call.parts),
        needs: Need::AnyOf(grants![ProcessDefinition: ReadProcessInstance], On::Found),
    }
    POST "/v2/incidents/search" () searchIncidents {
        does: Page(INCIDENT),
        needs: Need::Filters(grants![ProcessDefinition: ReadProcessInstance]),
    }
    GET "/v2/incidents/{incidentKey}" (incidentKey: Key) getIncident {
        does: One(INCIDENT),
        needs: Need::AnyOf(grants![ProcessDefinition: ReadProcessInstance], On::Found),
    }
    POST "/v2/incidents/statistics/process-instances-by-definition" () getProcessInstanceStatisticsByDefinition {
        does: Query(INCIDENT) = |call| statistics::by_definition(call.text),
        needs: Need::AnyOf(grants![ProcessDefinition: ReadProcessInstance], On::Found),
    }
    POST "/v2/incidents/statistics/process-instances-by-error" () getProcessInstanceStatisticsByError {
        does: Query(INCIDENT) = |call| statistics::by_error(call.text),
        needs: Need::AnyOf(grants![ProcessDefinition: ReadProcessInstance], On::Found),
    }
}
