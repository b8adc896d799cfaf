//! Callers read the authorizations that make up their own permissions.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use skep_identity::Entry;
use skep_protocol::Key;
use skep_protocol::command::{Command, IdentityCommand, Membership, NewParent};
use skep_protocol::permission::{PermissionType, ResourceType};
use skep_protocol::value::{
    AuthorizationValue, EntityType, Member, OwnerType, ParentValue, PasswordHash, ResourceMatcher,
    UserValue,
};
use skep_testkit::rig::Rig;
use skep_testkit::stores::{Backend, Filled};

use crate::fake::{Running, start_over};
use crate::http::post;
use crate::login::{JSON, ask, basic, directory, protect};
use crate::searches::{BACKENDS, Stored};

const PATH: &str = "/v2/authentication/me/authorizations/search";

fn authorization(owner_type: OwnerType, owner: &str, on: &str) -> AuthorizationValue {
    AuthorizationValue {
        authorization_key: Key::NONE,
        owner_type,
        owner_id: owner.into(),
        resource_type: ResourceType::ProcessDefinition,
        matcher: ResourceMatcher::Id(on.into()),
        permissions: vec![PermissionType::ReadProcessInstance],
    }
}

fn granted() -> [AuthorizationValue; 4] {
    [
        authorization(OwnerType::User, "bert", "of-bert"),
        authorization(OwnerType::Role, "clerk", "of-clerks"),
        authorization(OwnerType::Group, "sales", "of-sales"),
        // A group of others that has the name of a user.
        authorization(OwnerType::Group, "anna", "of-others"),
    ]
}

/// Anna is a clerk and in the group sales. Like every user, she may read herself.
fn rig() -> Rig {
    use IdentityCommand::*;
    let mut rig = Rig::new();
    rig.record_batches();
    let new = |id: &str| NewParent {
        id: id.into(),
        name: id.into(),
        description: "".into(),
    };
    let mut commands: Vec<IdentityCommand> = ["anna", "bert"]
        .map(|name| {
            CreateUser(UserValue {
                user_key: Key::NONE,
                username: name.into(),
                name: "".into(),
                email: "".into(),
                password: PasswordHash::new("$argon2id$"),
            })
        })
        .into();
    commands.extend([
        CreateRole(new("clerk")),
        CreateGroup(new("sales")),
        CreateGroup(new("anna")),
        AddToGroup(Membership {
            parent: "sales".into(),
            member: Member::new(EntityType::User, "anna"),
        }),
    ]);
    commands.extend(granted().map(CreateAuthorization));
    for command in commands {
        rig.send(Command::Identity(command)).expect("it is done");
    }
    rig
}

/// What the gateway knows of the same.
async fn known() -> Arc<skep_identity::Directory> {
    let mut known = directory().await;
    let sales = ParentValue {
        key: Key::new(1, 30),
        id: "sales".into(),
        name: "Sales".into(),
        description: "".into(),
        member: None,
    };
    known.add(Key::new(1, 30), &Entry::Group(sales));
    let member = Entry::GroupMember {
        parent: "sales".into(),
        member: Member::new(EntityType::User, "anna"),
    };
    known.add(Key(2), &member);
    for (number, name) in (40..).zip(["anna", "bert"]) {
        let own = authorization(OwnerType::User, name, name);
        known.add(Key::new(1, number), &Entry::Authorization(own));
    }
    for (number, granted) in (50..).zip(granted()) {
        known.add(Key::new(1, number), &Entry::Authorization(granted));
    }
    Arc::new(known)
}

async fn over(batches: &[(u32, Vec<u8>)], backend: Backend, checked: bool) -> Running {
    let store = Filled::at(backend.config().location, 1, Duration::from_millis(5));
    store.follow(batches);
    let gateway = start_over(Arc::new(Stored(store)), |config| {
        protect(config);
        config.security.authorizations = checked;
    })
    .await;
    *gateway.broker.directory.lock() = known().await;
    gateway
}

async fn own(gateway: &Running, name: &str, more: &[(&'static str, &str)], body: Value) -> Value {
    let shown = basic(name, "right");
    let headers = [&[("authorization", &*shown), JSON], more].concat();
    let answer = ask(gateway, ("POST", PATH), &headers, &body.to_string()).await;
    assert_eq!(answer.status, 200, "{}", answer.text);
    serde_json::from_str(&answer.text).unwrap()
}

fn resources(answer: &Value) -> Vec<&str> {
    let items = answer["items"].as_array().unwrap().iter();
    let mut ids: Vec<&str> = items.map(|it| it["resourceId"].as_str().unwrap()).collect();
    ids.sort_unstable();
    ids
}

#[tokio::test]
async fn they_are_those_of_the_caller_and_of_the_groups_and_roles_of_the_caller() {
    let batches = std::mem::take(&mut rig().batches);
    for backend in BACKENDS {
        let gateway = over(&batches, backend, true).await;
        let all = own(&gateway, "anna", &[], json!({})).await;
        assert_eq!(
            resources(&all),
            ["anna", "of-clerks", "of-sales"],
            "{backend:?}"
        );
        assert_eq!(all["page"]["totalItems"], 3, "{backend:?}");
        assert_eq!(all["authorizationsEnabled"], true);
        let of_bert = own(&gateway, "bert", &[], json!({})).await;
        assert_eq!(resources(&of_bert), ["bert", "of-bert"], "{backend:?}");
        // A filter finds no more than that.
        for (filter, found) in [
            (json!({"ownerType": "ROLE"}), vec!["of-clerks"]),
            (json!({"ownerId": "bert"}), vec![]),
            (
                json!({"resourceIds": ["of-sales", "of-bert"]}),
                vec!["of-sales"],
            ),
        ] {
            let answer = own(&gateway, "anna", &[], json!({"filter": filter})).await;
            assert_eq!(resources(&answer), found, "{backend:?} {filter}");
        }
    }
}

#[tokio::test]
async fn callers_who_see_everything_do_not_share_the_answers_about_themselves() {
    let batches = std::mem::take(&mut rig().batches);
    let gateway = over(&batches, Backend::Embedded, false).await;
    let shared = [("skep-consistency", "shared")];
    let of_anna = own(&gateway, "anna", &shared, json!({})).await;
    let of_bert = own(&gateway, "bert", &shared, json!({})).await;
    assert_eq!(resources(&of_anna), ["anna", "of-clerks", "of-sales"]);
    assert_eq!(resources(&of_bert), ["bert", "of-bert"]);
    assert_eq!(of_bert["authorizationsEnabled"], false);
}

#[tokio::test]
async fn nobody_in_particular_has_none() {
    let store = Filled::new(Backend::Embedded, 1, Duration::from_millis(5));
    let gateway = start_over(Arc::new(Stored(store)), |_| {}).await;
    let answer = post(gateway.rest, PATH, "{}").await;
    assert_eq!((answer.status.as_u16(), &*answer.text), (401, ""));
}
