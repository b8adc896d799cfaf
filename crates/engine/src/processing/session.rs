//! SESSION BEGIN, USE, CLAIM, RENEW and END.
//!
//! A request that finds nothing to do writes nothing: the owner of a cookie cannot fill the log with it.

use std::sync::Arc;

use skep_protocol::command::{SESSION_CLAIM, SessionCommand};
use skep_protocol::intent::SessionIntent;
use skep_protocol::value::{SessionId, SessionValue};
use skep_protocol::{Key, RejectionType, Response};

use super::{Context, Outcome, reject};

/// Maximum number of sessions at a time. One more ends the one that is unused longest: whoever has worked since the morning stays.
const MAX_SESSIONS: usize = 10_000;
/// Maximum number of sessions of one user.
const MAX_OF_USER: usize = 64;
/// Milliseconds between two records of a session's use.
const NOTED: i64 = 5 * 60 * 1000;

pub(crate) fn process(cx: &mut Context<'_>, command: &SessionCommand) -> Outcome {
    match command {
        SessionCommand::BeginSession { id, user, sealed } => begin(cx, *id, user, sealed),
        SessionCommand::UseSession { id } => Ok(use_it(cx, id)),
        SessionCommand::ClaimSession { id, revision } => Ok(claim(cx, id, *revision)),
        SessionCommand::RenewSession {
            id,
            revision,
            sealed,
        } => renew(cx, id, *revision, sealed),
        SessionCommand::EndSession { id, revision } => {
            let found = find(cx, id);
            if let Some((key, value)) = found
                && revision.is_none_or(|revision| revision == value.revision)
            {
                end(cx, key);
            }
            Ok(Some(Response::Empty))
        }
    }
}

fn begin(cx: &mut Context<'_>, id: SessionId, user: &Arc<str>, sealed: &Arc<str>) -> Outcome {
    if cx.state.sessions.key_of(&id).is_some() {
        return Err(reject(
            RejectionType::AlreadyExists,
            "BEGIN",
            "Expected to begin a session, but there is one with this id already",
        ));
    }
    let sessions = &cx.state.sessions;
    let of_user = sessions.of_user(user);
    let too_many = (of_user.len() + 1).saturating_sub(MAX_OF_USER);
    let mut gone: Vec<Key> = of_user.take(too_many).collect();
    let all = sessions.all();
    let too_many = (all.len() + 1).saturating_sub(MAX_SESSIONS + gone.len());
    let unused = all.filter(|key| !gone.contains(key)).take(too_many);
    let unused: Vec<Key> = unused.collect();
    gone.extend(unused);
    for key in gone {
        end(cx, key);
    }
    debug_assert_eq!(cx.state.partition, 1, "the first partition has sessions");
    debug_assert!(
        cx.state.sessions.all().len() < MAX_SESSIONS,
        "there is room for one more"
    );
    let key = cx.new_key();
    let value = SessionValue {
        id,
        user: user.clone(),
        sealed: sealed.clone(),
        began: cx.now,
        used: cx.now,
        revision: 0,
        claimed_until: 0,
    };
    cx.event(key, SessionIntent::Began, &value);
    Ok(Some(Response::Empty))
}

fn use_it(cx: &mut Context<'_>, id: &SessionId) -> Option<Response> {
    let found = find(cx, id);
    if let Some((key, value)) = &found
        && cx.now.saturating_sub(value.used) >= NOTED
    {
        let used = SessionValue {
            used: cx.now,
            sealed: "".into(),
            ..value.clone()
        };
        cx.event(*key, SessionIntent::Used, &used);
    }
    let value = found.map(|(_, value)| Box::new(value));
    Some(Response::Session(value))
}

fn claim(cx: &mut Context<'_>, id: &SessionId, revision: u64) -> Option<Response> {
    let Some((key, value)) = find(cx, id) else {
        return Some(Response::Session(None));
    };
    // If the next leader's clock is a few seconds behind, a claim lasts that much longer. A clock set back by hours ends
    // it.
    let left = value.claimed_until.saturating_sub(cx.now);
    let is_claimed = (1..=2 * SESSION_CLAIM).contains(&left);
    if value.revision != revision || is_claimed {
        return Some(Response::SessionClaimed);
    }
    let claimed = SessionValue {
        claimed_until: cx.now.saturating_add(SESSION_CLAIM),
        sealed: "".into(),
        ..value.clone()
    };
    cx.event(key, SessionIntent::Claimed, &claimed);
    Some(Response::Session(Some(Box::new(value))))
}

fn renew(cx: &mut Context<'_>, id: &SessionId, revision: u64, sealed: &Arc<str>) -> Outcome {
    let Some((key, value)) = find(cx, id).filter(|(_, value)| value.revision == revision) else {
        return Err(reject(
            RejectionType::InvalidState,
            "RENEW",
            "Expected to renew a session, but it has ended or was renewed already",
        ));
    };
    let renewed = SessionValue {
        sealed: sealed.clone(),
        revision: revision + 1,
        claimed_until: 0,
        ..value
    };
    cx.event(key, SessionIntent::Renewed, &renewed);
    Ok(Some(Response::Empty))
}

/// Finds a session that is not over.
fn find(cx: &mut Context<'_>, id: &SessionId) -> Option<(Key, SessionValue)> {
    let key = cx.state.sessions.key_of(id)?;
    let session = cx.state.sessions.get(key)?;
    (cx.now < session.ends()).then(|| (key, session.0.clone()))
}

pub(crate) fn end(cx: &mut Context<'_>, key: Key) {
    if let Some(session) = cx.state.sessions.get(key) {
        let ended = SessionValue {
            sealed: "".into(),
            ..session.0.clone()
        };
        cx.event(key, SessionIntent::Ended, &ended);
    }
}
