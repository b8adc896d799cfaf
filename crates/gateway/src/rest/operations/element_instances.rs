//! Operations of element instances.

use skep_protocol::command::{Need, On};
use skep_protocol::{Key, grants};
use skep_query::entities::ELEMENT_INSTANCE;

use super::rows::operations;
use crate::rest::queries::wait_states::WAIT_STATE;
use crate::rest::queries::{self, What};

operations! { "Element instances":
    POST "/v2/element-instances/search" () searchElementInstances {
        does: Page(ELEMENT_INSTANCE),
        needs: Need::Filters(grants![ProcessDefinition: ReadProcessInstance]),
    }
    GET "/v2/element-instances/{elementInstanceKey}" (elementInstanceKey: Key) getElementInstance {
        does: One(ELEMENT_INSTANCE),
        needs: Need::AnyOf(grants![ProcessDefinition: ReadProcessInstance], On::Found),
    }
    POST "/v2/element-instances/wait-states/search" () searchElementInstanceWaitStates {
        does: Query(WAIT_STATE) = |call| queries::wait_states(call.text, call.parts),
        needs: Need::Filters(grants![ProcessDefinition: ReadProcessInstance]),
    }
    GET "/skep/v1/element-instances/overdue" () getOverdueElements {
        does: Query(ELEMENT_INSTANCE) = |_| Ok(What::Overdue),
        needs: Need::Filters(grants![ProcessDefinition: ReadProcessInstance]),
    }
}
