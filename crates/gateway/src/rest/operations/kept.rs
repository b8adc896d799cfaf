//! Operations of what users of the web interface keep.

use skep_protocol::command::KeptCommand;
use skep_protocol::value::KeptKind;

use super::path::Title;
use super::rows::operations;
use crate::rest::decode::kept;

operations! { "Kept":
    GET "/skep/v1/kept/{kind}" (kind: KeptKind) listKept {
        does: KeptCommand(ListKept) = |call| kept::list(kind, call),
    }
    GET "/skep/v1/kept/{kind}/{name}" (kind: KeptKind, name: Title) getKept {
        does: KeptCommand(GetKept) = |call| kept::get(kind, name, call),
    }
    PUT "/skep/v1/kept/{kind}/{name}" (kind: KeptKind, name: Title) putKept {
        does: KeptCommand(PutKept) = |call| kept::put(kind, name, call),
    }
    DELETE "/skep/v1/kept/{kind}/{name}" (kind: KeptKind, name: Title) deleteKept {
        does: KeptCommand(DeleteKept) = |call| kept::delete(kind, name, call),
    }
}
