//! Sessions of browsers: their owners, lifetimes and renewals.

use skep_engine::{EngineConfig, IdentityConfig, NoStreams};
use skep_protocol::command::{Command, Request, SESSION_CLAIM, SessionCommand};
use skep_protocol::origin::Claims;
use skep_protocol::value::{SessionId, SessionValue};
use skep_protocol::{Rejection, RejectionType, Response};
use skep_testkit::rig::*;

const HOUR: i64 = 60 * MINUTE;

fn rig() -> Rig {
    let mut rig = Rig::with_partitions(2);
    rig.claims = Claims::Internal;
    rig
}

fn id(number: u64) -> SessionId {
    let mut id = [0; 32];
    id[..8].copy_from_slice(&number.to_be_bytes());
    id
}

fn ask(rig: &mut Rig, command: SessionCommand) -> Result<Response, Rejection> {
    rig.send(Command::Session(command))
}

fn beginning(number: u64, user: &str) -> SessionCommand {
    SessionCommand::BeginSession {
        id: id(number),
        user: user.into(),
        sealed: "sealed".into(),
    }
}

fn begin(rig: &mut Rig, number: u64, user: &str) {
    assert_eq!(ask(rig, beginning(number, user)), Ok(Response::Empty));
}

/// Begins many of them in one batch: the states of leader and follower are compared only once.
fn begin_all(rig: &mut Rig, all: impl Iterator<Item = (u64, String)>) {
    let now = rig.now;
    for (number, user) in all {
        let request = Request::internal(Command::Session(beginning(number, &user)));
        let engine = rig.engine(1);
        engine.process(now, None, &request, &mut NoStreams);
    }
    rig.settle(1);
}

fn used(rig: &mut Rig, number: u64) -> Option<SessionValue> {
    match ask(rig, SessionCommand::UseSession { id: id(number) }) {
        Ok(Response::Session(session)) => session.map(|session| *session),
        other => panic!("{other:?}"),
    }
}

fn claim(rig: &mut Rig, number: u64, revision: u64) -> Response {
    let id = id(number);
    ask(rig, SessionCommand::ClaimSession { id, revision }).unwrap()
}

fn renew(rig: &mut Rig, number: u64, revision: u64, sealed: &str) -> Result<Response, Rejection> {
    let renew = SessionCommand::RenewSession {
        id: id(number),
        revision,
        sealed: sealed.into(),
    };
    ask(rig, renew)
}

fn end(rig: &mut Rig, number: u64, revision: Option<u64>) {
    let id = id(number);
    let ended = ask(rig, SessionCommand::EndSession { id, revision });
    assert_eq!(ended, Ok(Response::Empty));
}

fn left(rig: &mut Rig) -> usize {
    rig.engine(1).state.sessions.all().len()
}

#[test]
fn a_session_is_found_by_its_id_until_it_is_ended_and_by_the_next_leader_too() {
    let mut rig = rig();
    begin(&mut rig, 1, "anna");
    rig.change_leader(1);
    let session = used(&mut rig, 1).unwrap();
    assert_eq!((&*session.user, &*session.sealed), ("anna", "sealed"));
    assert_eq!(used(&mut rig, 2), None);
    let twice = SessionCommand::BeginSession {
        id: id(1),
        user: "other".into(),
        sealed: "".into(),
    };
    let refused = ask(&mut rig, twice).unwrap_err();
    assert_eq!(refused.kind, RejectionType::AlreadyExists);
    end(&mut rig, 1, None);
    assert_eq!(used(&mut rig, 1), None);
    end(&mut rig, 1, None);
    // Sessions are not distributed to other partitions.
    assert_eq!(rig.engine(2).state.sessions.all().len(), 0);
    let others = rig.seen.iter().filter(|seen| seen.partition == 2);
    assert_eq!(others.count(), 0);
}

#[test]
fn only_the_server_can_use_sessions() {
    let mut rig = Rig::with_configs(1, |id| EngineConfig {
        identity: IdentityConfig {
            authorizations: true,
            ..IdentityConfig::default()
        },
        ..config(id, 1)
    });
    rig.claims = Claims::Internal;
    begin(&mut rig, 1, "anna");
    rig.claims = Claims::User(Default::default());
    let refused = ask(&mut rig, SessionCommand::UseSession { id: id(1) }).unwrap_err();
    assert_eq!(refused.kind, RejectionType::Forbidden);
}

#[test]
fn a_session_ends_when_it_was_not_used_for_long_and_after_half_a_day_in_any_case() {
    let mut rig = rig();
    begin(&mut rig, 1, "anna");
    rig.advance(30 * MINUTE - 1);
    assert!(used(&mut rig, 1).is_some());
    // The row is deleted on expiry, without any request.
    rig.advance(30 * MINUTE - 1);
    assert_eq!(left(&mut rig), 1);
    rig.advance(1);
    assert_eq!(left(&mut rig), 0);
    assert_eq!(used(&mut rig, 1), None);

    begin(&mut rig, 2, "anna");
    for _ in 0..47 {
        rig.advance(HOUR / 4);
        assert!(used(&mut rig, 2).is_some());
    }
    rig.advance(HOUR / 4);
    assert_eq!((used(&mut rig, 2), left(&mut rig)), (None, 0));
}

#[test]
fn an_expired_session_is_not_found_even_before_its_row_is_gone() {
    let mut rig = rig();
    begin(&mut rig, 1, "anna");
    rig.now += 30 * MINUTE;
    assert_eq!(used(&mut rig, 1), None);
    assert_eq!(claim(&mut rig, 1, 0), Response::Session(None));
    assert!(renew(&mut rig, 1, 0, "x").is_err());
    assert_eq!(left(&mut rig), 1);
}

#[test]
fn use_is_noted_every_five_minutes_and_writes_nothing_in_between() {
    let mut rig = rig();
    begin(&mut rig, 1, "anna");
    let before = rig.seen.len();
    for _ in 0..4 {
        rig.advance(MINUTE);
        used(&mut rig, 1);
        used(&mut rig, 7);
    }
    assert_eq!(rig.seen.len(), before);
    rig.advance(MINUTE);
    used(&mut rig, 1);
    used(&mut rig, 1);
    let noted = rig.intents("SESSION");
    assert_eq!(noted, ["BEGAN", "USED"]);
    let session = used(&mut rig, 1).unwrap();
    assert_eq!((session.used, &*session.sealed), (rig.now, "sealed"));
}

#[test]
fn the_session_of_a_user_that_is_unused_longest_gives_way_to_the_65th() {
    let mut rig = rig();
    begin(&mut rig, 1, "bert");
    for number in 2..=66 {
        begin(&mut rig, number, "anna");
    }
    assert_eq!(used(&mut rig, 2), None);
    for number in [1, 3, 66] {
        assert!(used(&mut rig, number).is_some(), "{number}");
    }
    assert_eq!(left(&mut rig), 65);
    // Number 3 is the oldest, and is in use; by the next leader it is still known.
    rig.advance(5 * MINUTE);
    assert!(used(&mut rig, 3).is_some());
    rig.change_leader(1);
    begin(&mut rig, 67, "anna");
    assert_eq!(used(&mut rig, 4), None);
    for number in [1, 3, 5, 67] {
        assert!(used(&mut rig, number).is_some(), "{number}");
    }
    assert_eq!(left(&mut rig), 65);
}

#[test]
fn the_session_of_all_that_is_unused_longest_gives_way_to_the_10001st() {
    let mut rig = rig();
    let all = (0..10_000).map(|number| (number, format!("user-{number}")));
    begin_all(&mut rig, all);
    assert_eq!(left(&mut rig), 10_000);
    begin(&mut rig, 10_000, "user-9999");
    assert_eq!(left(&mut rig), 10_000);
    assert_eq!(used(&mut rig, 0), None);
    assert!(used(&mut rig, 1).is_some());
    // Only one session is ended when the user's own limit is reached as well.
    let own = (10_001..10_063).map(|number| (number, "user-9999".to_string()));
    begin_all(&mut rig, own);
    let oldest_other = used(&mut rig, 63);
    assert!(oldest_other.is_some());
    begin(&mut rig, 10_063, "user-9999");
    assert_eq!(used(&mut rig, 9_999), None);
    assert_eq!(used(&mut rig, 63), oldest_other);
    assert_eq!(left(&mut rig), 10_000);
    // Who has worked for long stays; who began later and went away does not.
    rig.now += 5 * MINUTE;
    assert!(used(&mut rig, 63).is_some());
    begin(&mut rig, 20_000, "user-20000");
    assert_eq!(used(&mut rig, 64), None);
    assert!(used(&mut rig, 63).is_some());
    assert_eq!(left(&mut rig), 10_000);
}

#[test]
fn one_node_at_a_time_renews_a_session_and_only_the_revision_it_read() {
    let mut rig = rig();
    begin(&mut rig, 1, "anna");
    let Response::Session(Some(claimed)) = claim(&mut rig, 1, 0) else {
        panic!("nobody had claimed it");
    };
    assert_eq!(&*claimed.sealed, "sealed");
    assert_eq!(claim(&mut rig, 1, 0), Response::SessionClaimed);
    assert_eq!(renew(&mut rig, 1, 0, "new"), Ok(Response::Empty));
    let session = used(&mut rig, 1).unwrap();
    assert_eq!((&*session.sealed, session.revision), ("new", 1));
    // A caller with the old revision is too late for any change.
    assert_eq!(claim(&mut rig, 1, 0), Response::SessionClaimed);
    let late = renew(&mut rig, 1, 0, "late").unwrap_err();
    assert_eq!(late.kind, RejectionType::InvalidState);
    end(&mut rig, 1, Some(0));
    let session = used(&mut rig, 1).unwrap();
    assert_eq!((&*session.sealed, session.revision), ("new", 1));
    end(&mut rig, 1, Some(1));
    assert_eq!(used(&mut rig, 1), None);
}

#[test]
fn a_claim_whose_node_has_died_ends_by_time_also_if_the_clock_is_set_back() {
    let mut rig = rig();
    begin(&mut rig, 1, "anna");
    claim(&mut rig, 1, 0);
    rig.change_leader(1);
    rig.now += SESSION_CLAIM - 1;
    assert_eq!(claim(&mut rig, 1, 0), Response::SessionClaimed);
    rig.now += 1;
    assert!(matches!(claim(&mut rig, 1, 0), Response::Session(Some(_))));
    assert_eq!(claim(&mut rig, 1, 0), Response::SessionClaimed);
    rig.now -= 10_000;
    assert_eq!(claim(&mut rig, 1, 0), Response::SessionClaimed);
    rig.now -= HOUR;
    assert!(matches!(claim(&mut rig, 1, 0), Response::Session(Some(_))));
}

#[test]
fn no_record_shows_the_sealed_content_or_the_id() {
    let mut rig = rig();
    begin(&mut rig, 1, "anna");
    claim(&mut rig, 1, 0);
    renew(&mut rig, 1, 0, "new").unwrap();
    end(&mut rig, 1, None);
    assert_eq!(
        rig.intents("SESSION"),
        ["BEGAN", "CLAIMED", "RENEWED", "ENDED"]
    );
    for seen in &rig.seen {
        let value = seen.json["value"].to_string();
        assert!(!value.contains("sealed") && !value.contains("new") && !value.contains("id"));
    }
}
