//! Operations about the caller.

use skep_protocol::command::Need;

use crate::door::who;
use crate::rest::encode;
use crate::rest::operations::rows::operations;

operations! { "Authentication":
    GET "/v2/authentication/me" () getAuthentication {
        does: AnswerCaller = |(front, claims)| encode::me(who::me(&front.broker.directory(), claims, front.config.security.authorizations)),
        needs: Need::Nothing,
    }
}
