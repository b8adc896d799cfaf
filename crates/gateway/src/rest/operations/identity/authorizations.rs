//! Operations of authorizations.

use skep_protocol::command::{IdentityCommand, Need, On};
use skep_protocol::{Key, grants};
use skep_query::entities::AUTHORIZATION;

use crate::rest::decode::identity::authorizations;
use crate::rest::operations::rows::operations;
use crate::rest::queries::identity;

operations! { "Authorizations":
    POST "/v2/authorizations" () createAuthorization {
        does: IdentityCommand(CreateAuthorization) = |call| authorizations::create(call.text, call.front),
    }
    PUT "/v2/authorizations/{authorizationKey}" (authorizationKey: Key) updateAuthorization {
        does: IdentityCommand(UpdateAuthorization) = |call| authorizations::update(authorizationKey, call.text, call.front),
    }
    DELETE "/v2/authorizations/{authorizationKey}" (authorizationKey: Key) deleteAuthorization {
        does: IdentityCommand(DeleteAuthorization) = |call| authorizations::delete(authorizationKey, call.text, call.front),
    }
    POST "/v2/authorizations/search" () searchAuthorizations {
        does: Query(AUTHORIZATION) = |call| identity::authorizations(call.text, call.parts),
        needs: Need::Filters(grants![Authorization: Read]),
    }
    POST "/v2/authentication/me/authorizations/search" () searchOwnAuthorizations {
        does: Query(AUTHORIZATION) = |call| identity::own_authorizations(call.text, call.parts),
        needs: Need::Nothing,
    }
    GET "/v2/authorizations/{authorizationKey}" (authorizationKey: Key) getAuthorization {
        does: Query(AUTHORIZATION) = |_| identity::authorization(authorizationKey),
        needs: Need::AnyOf(grants![Authorization: Read], On::Found),
    }
}
