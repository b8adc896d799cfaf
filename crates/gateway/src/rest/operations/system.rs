//! Operations of system.

use skep_protocol::command::Need;

use super::rows::operations;
use crate::rest::encode;

operations! { "System":
    GET "/v2/system/configuration" () getSystemConfiguration {
        does: Tell = |front| encode::system_configuration(&front.config),
        needs: Need::Nothing,
    }
    GET "/skep/v1/pulse" () getPulse {
        does: Pulse,
        needs: Need::Nothing,
    }
}
