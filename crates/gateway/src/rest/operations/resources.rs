//! Operations of resources.

use skep_protocol::command::{Need, On};
use skep_protocol::{Key, grants};
use skep_query::entities::RESOURCE;

use super::rows::operations;
use crate::rest::queries::{self, related};

operations! { "Resources":
    GET "/v2/resources/{resourceKey}" (resourceKey: Key) getResource {
        does: One(RESOURCE),
        needs: Need::AnyOf(grants![Resource: Read], On::Found),
    }
    GET "/v2/resources/{resourceKey}/content" (resourceKey: Key) getResourceContent {
        does: Query(RESOURCE) = |_| queries::resource_json(resourceKey),
        needs: Need::AnyOf(grants![Resource: Read], On::Found),
    }
    POST "/v2/resources/search" () searchResources {
        does: Query(RESOURCE) = |call| related::resources(call.text, call.parts),
        needs: Need::Filters(grants![Resource: Read]),
    }
    GET "/v2/resources/{resourceKey}/content/binary" (resourceKey: Key) getResourceContentBinary {
        does: Query(RESOURCE) = |_| queries::resource_bytes(resourceKey),
        needs: Need::AnyOf(grants![Resource: Read], On::Found),
    }
}
