//! Operations about the caller.

use skep_protocol::command::Need;

use super::rows::operations;
use crate::door::who;
use crate::rest::encode;

operations! { "Authentication":
    GET "/v2/authentication/me" () getAuthentication {
        does: TellCaller = |(front, claims)| encode::me(who::me(&front.broker.directory(), claims, front.config.security.authorizations)),
        needs: Need::Nothing,
    }
}
