//! Commands of the gateways about sessions of browsers. No client sends them.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::facts::{About, At, Audit, Class, Head, RecordName, Row, Whose, commands};
use super::need::Need;
use crate::intent::{SessionIntent, ValueType};
use crate::key::Key;
use crate::value::SessionId;

/// How long the node that has claimed a session may take to ask the provider and to store the answer, in milliseconds. It is
/// longer than that can take: a refresh token that two nodes have used is worthless afterwards.
pub const SESSION_CLAIM: i64 = 30_000;

commands! {
/// Commands of gateways for sessions. The first partition decides all of them. The order is that of the encoding between nodes.
pub enum SessionCommand {
    /// If there are too many sessions, of the user or in total, those that are unused longest end.
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
    /// Answers with the session, if it has not ended. Its use is noted from time to time.
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
    /// Answers with the session and reserves for the caller, for [`SESSION_CLAIM`], the right to replace the sealed data of
    /// this revision.
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
    /// Replaces the sealed data, if this is still the revision.
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
    /// Whatever its revision, or only if it is this one. A session that does not exist has ended.
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
