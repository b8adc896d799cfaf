//! Commands about what users of the web interface keep: views, drafts, models. The owner is the caller of the request.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::facts::{About, At, Audit, Class, Head, RecordName, Row, Whose, commands};
use super::need::Need;
use crate::intent::{KeptIntent, ValueType};
use crate::key::Key;
use crate::value::KeptKind;

commands! {
/// The first partition decides all of them. The order is that of the encoding between nodes.
pub enum KeptCommand {
    PutKept {
        kind: KeptKind,
        name: Arc<str>,
        title: Arc<str>,
        shared: bool,
        body: Arc<str>,
        /// The revision that is replaced; [`Key::NONE`] for a new object.
        revision: Key,
    } => {
        record: Kept { KeptIntent::Put } Key::NONE,
        about: About::Nothing,
        whose: Whose::Cluster,
        at: At::First,
        class: New,
        needs: Need::Nothing,
        audit: Audit::None,
        weight: name.len() + title.len() + body.len(),
    }
    DeleteKept { kind: KeptKind, name: Arc<str>, revision: Key } => {
        record: Kept { KeptIntent::Delete } Key::NONE,
        about: About::Nothing,
        whose: Whose::Cluster,
        at: At::First,
        class: Finishing,
        needs: Need::Nothing,
        audit: Audit::None,
        weight: name.len(),
    }
    /// Reads an object of the caller, or one that `owner` shares.
    GetKept { kind: KeptKind, name: Arc<str>, owner: Option<Arc<str>> } => {
        // A read: its header is rolled back, as no records follow it.
        record: Kept { KeptIntent::Put } Key::NONE,
        about: About::Nothing,
        whose: Whose::Cluster,
        at: At::First,
        class: Finishing,
        needs: Need::Nothing,
        audit: Audit::None,
        weight: name.len(),
    }
    /// Reads the names of the caller's objects of a kind, and of those that others share.
    ListKept { kind: KeptKind } => {
        // Likewise.
        record: Kept { KeptIntent::Put } Key::NONE,
        about: About::Nothing,
        whose: Whose::Cluster,
        at: At::First,
        class: Finishing,
        needs: Need::Nothing,
        audit: Audit::None,
        weight: 0,
    }
}
}
