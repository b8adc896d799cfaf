//! Operations of forms.

use skep_protocol::command::{Need, On};
use skep_protocol::{Key, grants};
use skep_query::entities::FORM;

use super::rows::operations;
use crate::rest::queries::{self};

operations! { "Forms":
    GET "/v2/forms/{formKey}" (formKey: Key) getFormByKey {
        does: One(FORM),
        needs: Need::AnyOf(grants![Resource: Read], On::Found),
    }
}
