//! Who asks.

use skep_protocol::command::Need;

use super::rows::operations;
use crate::rest::encode;

operations! { "Authentication":
    GET "/v2/authentication/me" () getAuthentication {
        does: TellCaller = |(front, claims)| encode::me(front.config.who.as_ref().and_then(|who| who.me(claims))),
        needs: Need::Nothing,
    }
}
