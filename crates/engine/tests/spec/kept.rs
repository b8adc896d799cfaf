//! What users of the web interface keep: whose it is, which revision a change replaces, and how much there may be.

use std::sync::Arc;

use skep_protocol::command::{Command, IdentityCommand, KeptCommand, Request};
use skep_protocol::origin::{Claims, Principal};
use skep_protocol::value::{KeptKind, KeptValue, PasswordHash, UserValue};
use skep_protocol::{Key, Rejection, RejectionType, Response};
use skep_testkit::rig::*;

const VIEWS: KeptKind = KeptKind::Views;

fn user(name: &str) -> Claims {
    Claims::User(principal(name))
}

fn principal(name: &str) -> Arc<Principal> {
    Arc::new(Principal {
        id: name.into(),
        ..Principal::default()
    })
}

fn rig() -> Rig {
    let mut rig = Rig::with_partitions(2);
    rig.claims = user("anna");
    rig
}

fn ask(rig: &mut Rig, command: KeptCommand) -> Result<Response, Rejection> {
    rig.send(Command::Kept(command))
}

fn putting(name: &str, body: &str, shared: bool, revision: Key) -> KeptCommand {
    KeptCommand::PutKept {
        kind: VIEWS,
        name: name.into(),
        title: "Mine".into(),
        shared,
        body: body.into(),
        revision,
    }
}

fn put(rig: &mut Rig, name: &str, body: &str, revision: Key) -> Result<Key, Rejection> {
    match ask(rig, putting(name, body, false, revision))? {
        Response::Kept(revision, value) => {
            assert_eq!((&*value.id.name, &*value.body), (name, ""));
            Ok(revision)
        }
        other => panic!("{other:?}"),
    }
}

fn share(rig: &mut Rig, name: &str) -> Result<Response, Rejection> {
    ask(rig, putting(name, "{}", true, Key::NONE))
}

fn read(rig: &mut Rig, name: &str, owner: Option<&str>) -> Result<(Key, KeptValue), Rejection> {
    let get = KeptCommand::GetKept {
        kind: VIEWS,
        name: name.into(),
        owner: owner.map(Into::into),
    };
    match ask(rig, get)? {
        Response::Kept(revision, value) => Ok((revision, *value)),
        other => panic!("{other:?}"),
    }
}

fn delete(rig: &mut Rig, name: &str, revision: Key) -> Result<Response, Rejection> {
    let name = name.into();
    let kind = VIEWS;
    ask(
        rig,
        KeptCommand::DeleteKept {
            kind,
            name,
            revision,
        },
    )
}

/// Owners and names.
fn listed(rig: &mut Rig, kind: KeptKind) -> Vec<(String, String)> {
    match ask(rig, KeptCommand::ListKept { kind }) {
        Ok(Response::KeptListed(all)) => {
            assert!(all.iter().all(|(_, value)| value.body.is_empty()));
            let names = all.iter().map(|(_, KeptValue { id, .. })| id);
            names
                .map(|id| (id.owner.name().to_string(), id.name.to_string()))
                .collect()
        }
        other => panic!("{other:?}"),
    }
}

fn count(rig: &mut Rig) -> usize {
    rig.engine(1).state.kept.count()
}

#[test]
fn a_change_replaces_the_revision_that_it_names_and_no_other() {
    let mut rig = rig();
    let first = put(&mut rig, "a", "{}", Key::NONE).unwrap();
    let twice = put(&mut rig, "a", "{}", Key::NONE).unwrap_err();
    assert_eq!(twice.kind, RejectionType::AlreadyExists);
    assert!(twice.reason.contains(&first.to_string()), "{twice:?}");
    let second = put(&mut rig, "a", r#"{"x":1}"#, first).unwrap();
    let late = put(&mut rig, "a", r#"{"x":2}"#, first).unwrap_err();
    assert_eq!(late.kind, RejectionType::AlreadyExists);
    let late = delete(&mut rig, "a", first).unwrap_err();
    assert_eq!(late.kind, RejectionType::AlreadyExists);
    let (revision, value) = read(&mut rig, "a", None).unwrap();
    assert_eq!((revision, &*value.body), (second, r#"{"x":1}"#));
    assert_eq!((&*value.title, value.changed), ("Mine", rig.now));
    delete(&mut rig, "a", second).unwrap();
    // A new object never has the revision of the one before.
    let again = put(&mut rig, "a", "{}", Key::NONE).unwrap();
    assert!(again > second);
    assert_eq!(
        rig.intents("KEPT"),
        ["CREATED", "REPLACED", "DELETED", "CREATED"]
    );
}

#[test]
fn missing_objects_cannot_be_replaced_deleted_or_read() {
    let mut rig = rig();
    let revision = put(&mut rig, "a", "{}", Key::NONE).unwrap();
    for refused in [
        put(&mut rig, "b", "{}", revision).unwrap_err(),
        delete(&mut rig, "b", revision).unwrap_err(),
        read(&mut rig, "b", None).unwrap_err(),
        read(&mut rig, "b", Some("bert")).unwrap_err(),
    ] {
        assert_eq!(refused.kind, RejectionType::NotFound);
    }
    assert_eq!(rig.intents("KEPT"), ["CREATED"]);
}

#[test]
fn others_can_read_only_shared_objects() {
    let mut rig = rig();
    put(&mut rig, "private", "{}", Key::NONE).unwrap();
    share(&mut rig, "shared").unwrap();
    let shared = read(&mut rig, "shared", None).unwrap();
    // A client of the same name is somebody else.
    for other in [user("bert"), Claims::Client(principal("anna"))] {
        rig.claims = other;
        assert_eq!(read(&mut rig, "shared", Some("anna")), Ok(shared.clone()));
        for (name, owner) in [("private", Some("anna")), ("shared", None)] {
            let refused = read(&mut rig, name, owner).unwrap_err();
            assert_eq!(refused.kind, RejectionType::NotFound);
        }
        assert_eq!(
            delete(&mut rig, "shared", shared.0).unwrap_err().kind,
            RejectionType::NotFound
        );
        let expected = [("anna".to_string(), "shared".to_string())];
        assert_eq!(listed(&mut rig, VIEWS), expected);
        assert_eq!(listed(&mut rig, KeptKind::Models), []);
    }
    rig.claims = user("anna");
    let own: Vec<String> = listed(&mut rig, VIEWS).into_iter().map(|it| it.1).collect();
    assert_eq!(own, ["private", "shared"]);
    // It is not shared any more.
    ask(&mut rig, putting("shared", "{}", false, shared.0)).unwrap();
    rig.claims = user("bert");
    assert_eq!(listed(&mut rig, VIEWS), []);
    assert!(read(&mut rig, "shared", Some("anna")).is_err());
}

#[test]
fn callers_that_are_not_logged_in_cannot_keep_objects() {
    let mut rig = rig();
    for nobody in [Claims::Anonymous, Claims::Internal] {
        rig.claims = nobody;
        let refused = put(&mut rig, "a", "{}", Key::NONE).unwrap_err();
        assert_eq!(refused.kind, RejectionType::Unauthorized);
    }
    assert_eq!(count(&mut rig), 0);
}

#[test]
fn reads_write_nothing() {
    let mut rig = rig();
    put(&mut rig, "a", "{}", Key::NONE).unwrap();
    let before = rig.seen.len();
    read(&mut rig, "a", None).unwrap();
    listed(&mut rig, VIEWS);
    assert_eq!(rig.seen.len(), before);
}

fn refused_for(rig: &mut Rig, command: KeptCommand, why: &str) {
    let refused = ask(rig, command).unwrap_err();
    assert_eq!(refused.kind, RejectionType::InvalidState);
    assert!(refused.reason.contains(why), "{refused:?}");
}

#[test]
fn an_owner_keeps_200_objects_and_8_mib() {
    let mut rig = rig();
    for number in 0..200 {
        put(&mut rig, &number.to_string(), "{}", Key::NONE).unwrap();
    }
    let another = putting("another", "{}", false, Key::NONE);
    refused_for(&mut rig, another, "200 objects already");
    // An existing object may be replaced.
    let (revision, _) = read(&mut rig, "7", None).unwrap();
    put(&mut rig, "7", "{}", revision).unwrap();
    rig.claims = user("bert");
    put(&mut rig, "another", "{}", Key::NONE).unwrap();

    rig.claims = user("carl");
    let large = "x".repeat(256 << 10);
    for number in 0..31 {
        put(&mut rig, &number.to_string(), &large, Key::NONE).unwrap();
    }
    let too_much = putting("another", &large, false, Key::NONE);
    refused_for(&mut rig, too_much, "8388608 are allowed");
    let (revision, _) = read(&mut rig, "7", None).unwrap();
    put(&mut rig, "7", &large, revision).unwrap();
}

/// Likewise many in one batch: the states of leader and follower are compared once.
fn put_all(rig: &mut Rig, all: impl Iterator<Item = (String, KeptCommand)>) {
    let now = rig.now;
    for (owner, command) in all {
        let request = Request {
            claims: user(&owner),
            ..Request::internal(Command::Kept(command))
        };
        rig.engine(1)
            .process(now, None, &request, &mut skep_engine::NoStreams);
    }
    rig.settle(1);
}

#[test]
fn five_hundred_objects_are_shared() {
    let mut rig = rig();
    let all = (0..500).map(|number| {
        let command = putting(&number.to_string(), "{}", true, Key::NONE);
        (format!("user-{}", number / 200), command)
    });
    put_all(&mut rig, all);
    refused_for(
        &mut rig,
        putting("another", "{}", true, Key::NONE),
        "500 objects are shared already",
    );
    put(&mut rig, "another", "{}", Key::NONE).unwrap();
    assert_eq!(listed(&mut rig, VIEWS).len(), 501);
}

#[test]
fn the_cluster_keeps_64_mib() {
    let mut rig = rig();
    let large = "x".repeat(256 << 10);
    let all = (0..256).map(|number| {
        let command = putting(&number.to_string(), &large, false, Key::NONE);
        (format!("user-{}", number / 31), command)
    });
    put_all(&mut rig, all);
    let kept = count(&mut rig);
    assert_eq!(kept, 255, "with the names, one is too many");
    let too_much = putting("another", &large, false, Key::NONE);
    refused_for(&mut rig, too_much, "67108864 are allowed");
}

#[test]
fn the_objects_of_a_user_are_deleted_with_the_user() {
    let mut rig = rig();
    rig.claims = Claims::Internal;
    let anna = UserValue {
        user_key: Key::NONE,
        username: "anna".into(),
        name: "Anna".into(),
        email: "".into(),
        password: PasswordHash::default(),
    };
    rig.send(Command::Identity(IdentityCommand::CreateUser(anna)))
        .unwrap();
    for claims in [
        user("anna"),
        user("bert"),
        Claims::Client(principal("anna")),
    ] {
        rig.claims = claims;
        share(&mut rig, "a").unwrap();
        put(&mut rig, "b", "{}", Key::NONE).unwrap();
    }
    rig.claims = Claims::Internal;
    let username = "anna".into();
    rig.send(Command::Identity(IdentityCommand::DeleteUser { username }))
        .unwrap();
    assert_eq!(count(&mut rig), 4);
    rig.claims = user("anna");
    let names = listed(&mut rig, VIEWS);
    assert_eq!(names.len(), 2, "of bert and the client: {names:?}");
    assert!(read(&mut rig, "b", None).is_err());
}

#[test]
fn a_new_leader_has_kept_objects_and_no_record_shows_a_body() {
    let mut rig = rig();
    let first = put(&mut rig, "a", r#"{"secret":1}"#, Key::NONE).unwrap();
    let second = put(&mut rig, "a", r#"{"secret":2}"#, first).unwrap();
    rig.change_leader(1);
    let (revision, value) = read(&mut rig, "a", None).unwrap();
    assert_eq!((revision, &*value.body), (second, r#"{"secret":2}"#));
    let third = put(&mut rig, "a", "{}", second).unwrap();
    assert!(third > second);
    for seen in &rig.seen {
        assert!(!seen.json["value"].to_string().contains("secret"));
    }
}
