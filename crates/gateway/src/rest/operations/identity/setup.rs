//! Creation of the first administrator.

use skep_protocol::command::IdentityCommand;

use crate::rest::decode::identity::users;
use crate::rest::operations::rows::operations;

operations! { "Setup":
    POST "/v2/setup/user" () createAdminUser {
        does: IdentityCommand(CreateInitialAdmin) = |call| users::create_initial_admin(call.text, call.front),
    }
}
