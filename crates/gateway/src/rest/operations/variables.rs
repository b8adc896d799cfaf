//! Operations of variables.

use skep_protocol::command::{Need, On};
use skep_protocol::{Key, grants};
use skep_query::entities::VARIABLE;

use super::rows::operations;
use crate::rest::queries::{self};

operations! { "Variables":
    POST "/v2/variables/search" () searchVariables {
        does: Page(VARIABLE),
        needs: Need::Filters(grants![ProcessDefinition: ReadProcessInstance]),
    }
    GET "/v2/variables/{variableKey}" (variableKey: Key) getVariable {
        does: One(VARIABLE),
        needs: Need::AnyOf(grants![ProcessDefinition: ReadProcessInstance], On::Found),
    }
}
