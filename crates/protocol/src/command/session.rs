//! Commands of the gateways about sessions of browsers. No client sends them.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::facts::{self, *};
use super::need::Need;
use crate::intent::*;
use crate::key::Key;
use crate::value::SessionId;

/// How long the node that has claimed a session may take to ask the provider and to store what it says, in milliseconds. It is longer than
/// that can take: a refresh token that two nodes use is worth nothing afterwards.
pub const SESSION_CLAIM: i64 = 30_000;

facts::commands! {
/// What gateways ask of sessions. All of it is decided by the first partition. The order is that of the encoding between nodes.
pub enum SessionCommand {
    /// Where there are too many sessions, of the user or at all, the oldest ones end.
    BeginSession { id: SessionId, user: Arc<str>, sealed: Arc<str> } => {
        record: Session { SessionIntent::Begin } Key::NONE,
        about: About::Nothing,
        whose: Whose::Cluster,
        at: At::First,
        class: Finishing,
        needs: Need::Internal,
        audit: Audit::None,
        weight: user.len() + sealed.len(),
    }
    /// Answers the session, if it is not over. That it is used is noted now and then.
    UseSession { id: SessionId } => {
        record: Session { SessionIntent::Use } Key::NONE,
        about: About::Nothing,
        whose: Whose::Cluster,
        at: At::First,
        class: Finishing,
        needs: Need::Internal,
        audit: Audit::None,
        weight: 0,
    }
    /// Answers the session where the caller alone may replace what is sealed in this revision, for [`SESSION_CLAIM`].
    ClaimSession { id: SessionId, revision: u64 } => {
        record: Session { SessionIntent::Claim } Key::NONE,
        about: About::Nothing,
        whose: Whose::Cluster,
        at: At::First,
        class: Finishing,
        needs: Need::Internal,
        audit: Audit::None,
        weight: 0,
    }
    /// Replaces what is sealed, if this is still the revision.
    RenewSession { id: SessionId, revision: u64, sealed: Arc<str> } => {
        record: Session { SessionIntent::Renew } Key::NONE,
        about: About::Nothing,
        whose: Whose::Cluster,
        at: At::First,
        class: Finishing,
        needs: Need::Internal,
        audit: Audit::None,
        weight: sealed.len(),
    }
    /// Whatever its revision, or only if it is this one. One that there is not has ended.
    EndSession { id: SessionId, revision: Option<u64> } => {
        record: Session { SessionIntent::End } Key::NONE,
        about: About::Nothing,
        whose: Whose::Cluster,
        at: At::First,
        class: Finishing,
        needs: Need::Internal,
        audit: Audit::None,
        weight: 0,
    }
}
}
