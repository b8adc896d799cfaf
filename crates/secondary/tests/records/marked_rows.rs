//! Rows that builds before 30 November 2026 marked as deleted instead of deleting them.

use std::time::{Duration, Instant};

use rusqlite::Connection;
use serde_json::Value as Json;
use skep_protocol::Key;
use skep_protocol::command::{Command, IdentityCommand, Membership, NewParent};
use skep_protocol::value::{EntityType, Member, PasswordHash, UserValue};
use skep_query::entities::{GROUP, MEMBER_USER, USER};
use skep_query::{Answer, Entity, Query, Search};
use skep_secondary::StoreLocation;
use skep_testkit::rig::Rig;
use skep_testkit::stores::{Backend, Filled, documents, follow, rdbms};

/// Generous: a loaded machine may be slow.
const PATIENCE: Duration = Duration::from_secs(300);

/// `None`: there is no server, which is reported. The prefix is that of its tables or indices.
fn location() -> Option<(StoreLocation, String)> {
    Some(match super::BACKEND {
        Backend::Embedded => (StoreLocation::Embedded, String::new()),
        Backend::Postgres => {
            let server = skep_testbed::shared_postgres()?;
            let prefix = server.prefix();
            (rdbms(server, &prefix), prefix)
        }
        Backend::OpenSearch | Backend::Elasticsearch => {
            let server = super::BACKEND.search_server()?;
            let prefix = server.prefix();
            (documents(server, &prefix), prefix)
        }
    })
}

/// Marks the rows with this value, as those builds did.
fn mark(store: &Filled, prefix: &str, entity: &Entity, column: &str, id: &str) {
    let table = entity.table;
    let sql = format!("UPDATE {prefix}{table} SET \"isDeleted\" = 1 WHERE \"{column}\" = '{id}'");
    match super::BACKEND {
        Backend::Embedded => {
            let file = store.directory().join("query.sqlite");
            let connection = Connection::open(file).unwrap();
            assert_eq!(connection.execute(&sql, []).unwrap(), 1);
        }
        Backend::Postgres => {
            let server = skep_testbed::shared_postgres().unwrap();
            server.sql(&sql).unwrap();
        }
        Backend::OpenSearch | Backend::Elasticsearch => {
            let server = super::BACKEND.search_server().unwrap();
            let ask = |method: &str, path: &str, body: &str| -> Json {
                let path = format!("/{prefix}-skep-{}/{path}", table.replace('_', "-"));
                serde_json::from_str(&server.ask(method, &path, body).unwrap()).unwrap()
            };
            ask("POST", "_refresh", "");
            let found = ask("GET", "_search?size=1000", "");
            let found = found["hits"]["hits"].as_array().unwrap();
            let found: Vec<&Json> = found
                .iter()
                .filter(|row| row["_source"][column] == id)
                .collect();
            assert_eq!(found.len(), 1, "{column} {id}");
            let path = format!("_update/{}?refresh=true", found[0]["_id"].as_str().unwrap());
            ask("POST", &path, r#"{"doc": {"isDeleted": 1}}"#);
        }
    }
}

fn done(rig: &mut Rig, command: IdentityCommand) {
    rig.send(Command::Identity(command)).unwrap();
}

fn user(rig: &mut Rig, username: &str) {
    let user = UserValue {
        user_key: Key::NONE,
        username: username.into(),
        name: "".into(),
        email: "".into(),
        password: PasswordHash::default(),
    };
    done(rig, IdentityCommand::CreateUser(user));
}

fn membership(id: &str) -> Membership {
    Membership {
        parent: "sales".into(),
        member: Member::new(EntityType::User, id),
    }
}

/// The values of a column, in order. The search filters nothing.
fn names(store: &Filled, entity: &'static Entity, column: &str) -> Vec<String> {
    let Answer::Page(found) = store.ask(Query::Search(Search::all(entity, vec![], 100))) else {
        panic!("no page");
    };
    let at = entity.index_of(column).unwrap();
    let names = found.rows.iter().filter_map(|row| row[at].as_text());
    let mut names: Vec<String> = names.map(String::from).collect();
    names.sort_unstable();
    names
}

#[test]
fn what_an_earlier_build_marked_is_deleted_after_the_start_and_nothing_else() {
    let Some((location, prefix)) = location() else {
        return;
    };
    let store = Filled::at(location, 1, Duration::from_millis(5));
    let mut rig = Rig::new();
    rig.record_batches();
    for name in ["anna", "bert", "carl"] {
        user(&mut rig, name);
    }
    for id in ["sales", "night"] {
        let group = NewParent {
            id: id.into(),
            name: id.into(),
            description: "".into(),
        };
        done(&mut rig, IdentityCommand::CreateGroup(group));
    }
    for id in ["anna", "bert", "carl"] {
        done(&mut rig, IdentityCommand::AddToGroup(membership(id)));
    }
    // The member leaves where an earlier build writes the rows.
    follow(&mut rig, &store);
    assert_eq!(
        names(&store, &MEMBER_USER, "username"),
        ["anna", "bert", "carl"]
    );
    done(
        &mut rig,
        IdentityCommand::RemoveFromGroup(membership("bert")),
    );
    rig.batches.clear();
    mark(&store, &prefix, &USER, "username", "carl");
    mark(&store, &prefix, &GROUP, "groupId", "night");
    mark(&store, &prefix, &MEMBER_USER, "username", "carl");
    mark(&store, &prefix, &MEMBER_USER, "username", "bert");
    // Later than the rows, as everything is that this build writes.
    user(&mut rig, "dora");
    follow(&mut rig, &store);
    assert!(names(&store, &USER, "username").contains(&"dora".to_string()));

    let store = store.crashed();
    // This one comes back before the deletion begins, and has the same row.
    done(&mut rig, IdentityCommand::AddToGroup(membership("bert")));
    follow(&mut rig, &store);
    let began = Instant::now();
    loop {
        let users = names(&store, &USER, "username");
        let groups = names(&store, &GROUP, "groupId");
        let members = names(&store, &MEMBER_USER, "username");
        if (users.len(), groups.len(), members.len()) == (3, 1, 2) {
            assert_eq!(users, ["anna", "bert", "dora"]);
            assert_eq!(groups, ["sales"]);
            assert_eq!(members, ["anna", "bert"]);
            break;
        }
        let all = (users, groups, members);
        assert!(began.elapsed() < PATIENCE, "{all:?}");
        std::thread::sleep(Duration::from_millis(50));
    }
    assert_eq!(store.fault(), None);
}
