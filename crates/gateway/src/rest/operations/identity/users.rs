//! Operations of users.

use skep_protocol::command::{IdentityCommand, Need, On};
use skep_protocol::grants;
use skep_query::entities::USER;

use crate::rest::decode::identity::users;
use crate::rest::operations::path::Id;
use crate::rest::operations::rows::operations;
use crate::rest::queries::identity;

operations! { "Users":
    POST "/v2/users" () createUser {
        does: IdentityCommand(CreateUser) = |call| users::create(call.text, call.front),
    }
    PUT "/v2/users/{username}" (username: Id) updateUser {
        does: IdentityCommand(UpdateUser) = |call| users::update(username, call.text, call.front),
    }
    DELETE "/v2/users/{username}" (username: Id) deleteUser {
        does: IdentityCommand(DeleteUser) = |call| users::delete(username, call.text, call.front),
    }
    POST "/v2/users/search" () searchUsers {
        does: Query(USER) = |call| identity::all(&USER, call.text, call.parts),
        needs: Need::Filters(grants![User: Read]),
    }
    GET "/v2/users/{username}" (username: Id) getUser {
        does: Query(USER) = |_| identity::user(&username),
        needs: Need::AnyOf(grants![User: Read], On::Found),
    }
}
