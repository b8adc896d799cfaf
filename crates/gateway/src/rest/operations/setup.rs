//! Creation of the first administrator.

use skep_protocol::command::IdentityCommand;

use super::rows::operations;
use crate::rest::decode::identity::users;

operations! { "Setup":
    POST "/v2/setup/user" () createAdminUser {
        does: IdentityCommand(CreateInitialAdmin) = |call| users::create_initial_admin(call.text, call.front),
    }
}
