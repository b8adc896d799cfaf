//! KEPT PUT and DELETE, and the reads of what users of the web interface keep.
//!
//! Every change names the revision that it replaces: of two users or browsers that change an object at a time, one is refused.

use std::sync::Arc;

use skep_protocol::command::KeptCommand;
use skep_protocol::intent::KeptIntent;
use skep_protocol::origin::Claims;
use skep_protocol::value::{KeptId, KeptKind, KeptOwner, KeptValue};
use skep_protocol::{Key, Rejection, RejectionType, Response};

use super::{Context, Outcome, reject};
use crate::state::KeptObjects;

/// Maximum number of objects of one owner.
const MAX_OF_OWNER: usize = 200;
/// Maximum bytes of the objects of one owner.
const MAX_BYTES_OF_OWNER: usize = 8 << 20;
/// Maximum number of objects of all owners.
const MAX_OBJECTS: usize = 10_000;
/// Maximum bytes of the objects of all owners.
const MAX_BYTES: usize = 64 << 20;
/// Maximum number of objects that owners share: all of them are in one answer.
const MAX_SHARED: usize = 500;

const PUT: &str = "PUT";
const DELETE: &str = "DELETE";

pub(crate) fn process(cx: &mut Context<'_>, command: &KeptCommand) -> Outcome {
    let owner = owner(cx)?;
    match command {
        KeptCommand::PutKept {
            kind,
            name,
            title,
            shared,
            body,
            revision,
        } => {
            let value = KeptValue {
                id: id(owner, *kind, name),
                title: title.clone(),
                shared: *shared,
                changed: cx.now,
                body: body.clone(),
            };
            put(cx, value, *revision)
        }
        KeptCommand::DeleteKept {
            kind,
            name,
            revision,
        } => delete(cx, &id(owner, *kind, name), *revision),
        KeptCommand::GetKept {
            kind,
            name,
            owner: other,
        } => read(cx, owner, other.as_ref(), (*kind, name)),
        KeptCommand::ListKept { kind } => Ok(Some(list(cx, &owner, *kind))),
    }
}

/// The caller.
fn owner(cx: &Context<'_>) -> Result<KeptOwner, Rejection> {
    match &cx.origin.claims {
        Claims::User(user) => Ok(KeptOwner::User(user.id.clone())),
        Claims::Client(client) => Ok(KeptOwner::Client(client.id.clone())),
        Claims::Anonymous | Claims::Internal => Err(reject(
            RejectionType::Unauthorized,
            PUT,
            "Expected a caller who is logged in, but nobody is: what is kept belongs to its user",
        )),
    }
}

fn id(owner: KeptOwner, kind: KeptKind, name: &Arc<str>) -> KeptId {
    KeptId {
        owner,
        kind,
        name: name.clone(),
    }
}

fn put(cx: &mut Context<'_>, value: KeptValue, revision: Key) -> Outcome {
    debug_assert_eq!(cx.state.partition, 1, "the first partition has them");
    let id = &value.id;
    let found = cx.state.kept.entry(id);
    let what = described(id);
    let intent = match (found, revision.some()) {
        (None, None) => KeptIntent::Created,
        (Some(entry), Some(_)) if entry.revision == revision => KeptIntent::Replaced,
        (None, Some(_)) => return Err(not_found(PUT, "replace", &what)),
        (Some(entry), _) => return Err(conflict(PUT, "put", &what, entry.revision)),
    };
    if let Some(why) = exceeded(&cx.state.kept, &value) {
        return Err(reject(
            RejectionType::InvalidState,
            PUT,
            format!("Expected to put {what}, but {why}"),
        ));
    }
    let key = cx.new_key();
    cx.event(key, intent, &value);
    Ok(Some(kept(key, value, "".into())))
}

/// The limit that the object would exceed, and what to do.
fn exceeded(kept: &KeptObjects, value: &KeptValue) -> Option<String> {
    let before = kept.entry(&value.id);
    let replaced = before.map_or(0, |entry| entry.weight);
    let more = usize::from(before.is_none());
    let of_owner = kept.of_owner(&value.id.owner);
    let (count, bytes) = of_owner.fold((0, 0), |(count, bytes), (_, entry)| {
        (count + 1, bytes + entry.weight)
    });
    let whole = |bytes: usize| bytes.saturating_sub(replaced) + value.weight();
    if count + more > MAX_OF_OWNER {
        return Some(format!(
            "its owner keeps {MAX_OF_OWNER} objects already, which is the maximum. Delete some first"
        ));
    }
    if whole(bytes) > MAX_BYTES_OF_OWNER {
        return Some(format!(
            "all objects of its owner would take {} bytes, and {MAX_BYTES_OF_OWNER} are allowed. Delete some first",
            whole(bytes)
        ));
    }
    if kept.count() + more > MAX_OBJECTS {
        return Some(format!(
            "the cluster keeps {MAX_OBJECTS} objects already, which is the maximum. Users have to delete some first"
        ));
    }
    if whole(kept.weight()) > MAX_BYTES {
        return Some(format!(
            "all objects of the cluster would take {} bytes, and {MAX_BYTES} are allowed. Users have to delete some first",
            whole(kept.weight())
        ));
    }
    let shares_another = value.shared && !kept.is_shared(&value.id);
    (shares_another && kept.shared().len() >= MAX_SHARED).then(|| {
        format!(
            "{MAX_SHARED} objects are shared already, which is the maximum. Keep it without sharing it"
        )
    })
}

fn delete(cx: &mut Context<'_>, id: &KeptId, revision: Key) -> Outcome {
    let what = described(id);
    let found = cx.state.kept.entry(id);
    let entry = found.ok_or_else(|| not_found(DELETE, "delete", &what))?;
    if entry.revision != revision {
        return Err(conflict(DELETE, "delete", &what, entry.revision));
    }
    deleted(cx, id.clone(), revision);
    Ok(Some(Response::Empty))
}

/// Deletes everything that a user who is deleted has kept.
pub(super) fn delete_all_of(cx: &mut Context<'_>, username: &str) {
    let owner = KeptOwner::User(username.into());
    let of_owner = cx.state.kept.of_owner(&owner);
    let all: Vec<(KeptId, Key)> = of_owner
        .map(|(id, entry)| (id.clone(), entry.revision))
        .collect();
    debug_assert!(all.len() <= MAX_OF_OWNER, "an owner has few");
    for (id, revision) in all {
        deleted(cx, id, revision);
    }
}

fn deleted(cx: &mut Context<'_>, id: KeptId, revision: Key) {
    let value = KeptValue {
        id,
        ..KeptValue::default()
    };
    cx.event(revision, KeptIntent::Deleted, &value);
}

/// An object of the caller, or one that the other owner shares: a user, or else a client of that name.
fn read(
    cx: &mut Context<'_>,
    caller: KeptOwner,
    other: Option<&Arc<str>>,
    (kind, name): (KeptKind, &Arc<str>),
) -> Outcome {
    let owners = match other {
        None => vec![caller.clone()],
        Some(other) => vec![
            KeptOwner::User(other.clone()),
            KeptOwner::Client(other.clone()),
        ],
    };
    let mut ids = owners.into_iter().map(|owner| id(owner, kind, name));
    let found = ids.find_map(|id| {
        let entry = cx.state.kept.entry(&id)?;
        (id.owner == caller || cx.state.kept.is_shared(&id)).then_some(entry.revision)
    });
    let row = found.and_then(|revision| Some((revision, cx.state.kept.get(revision)?.0.clone())));
    let Some((revision, value)) = row else {
        let of_other = other.map(|other| format!(" that '{other}' shares"));
        let what = format!(
            "a {} with the name '{name}'{}",
            kind.noun(),
            of_other.unwrap_or_default()
        );
        return Err(not_found("GET", "read", &what));
    };
    let body = value.body.clone();
    Ok(Some(kept(revision, value, body)))
}

fn list(cx: &Context<'_>, caller: &KeptOwner, kind: KeptKind) -> Response {
    let objects = &cx.state.kept;
    let own = objects.of_owner(caller).map(|(id, _)| id);
    let of_others = objects.shared().filter(|id| id.owner != *caller);
    let ids = own.chain(of_others).filter(|id| id.kind == kind);
    let listed = ids.filter_map(|id| {
        let entry = objects.entry(id)?;
        let value = KeptValue {
            id: id.clone(),
            title: entry.title.clone(),
            shared: objects.is_shared(id),
            changed: entry.changed,
            body: "".into(),
        };
        Some((entry.revision, value))
    });
    Response::KeptListed(listed.collect())
}

fn kept(revision: Key, value: KeptValue, body: Arc<str>) -> Response {
    Response::Kept(revision, Box::new(KeptValue { body, ..value }))
}

fn described(id: &KeptId) -> String {
    format!("a {} with the name '{}'", id.kind.noun(), id.name)
}

fn not_found(intent: &'static str, verb: &str, what: &str) -> Rejection {
    reject(
        RejectionType::NotFound,
        intent,
        format!("Expected to {verb} {what}, but none was found"),
    )
}

/// The gateway answers it with 412.
fn conflict(intent: &'static str, verb: &str, what: &str, revision: Key) -> Rejection {
    reject(
        RejectionType::AlreadyExists,
        intent,
        format!(
            "Expected to {verb} {what}, but it was changed meanwhile: its revision is {revision}. Read it again"
        ),
    )
}
