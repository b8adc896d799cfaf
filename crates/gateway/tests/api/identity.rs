//! Users, groups, roles, tenants, mapping rules and authorizations: commands, refusals and searches.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use skep_gateway::IdPattern;
use skep_gateway::door::guesses::Attempt;
use skep_gateway::door::passwords::Passwords;
use skep_gateway::door::secret::Secret;
use skep_identity::{Directory, Entry};
use skep_protocol::command::{Command, IdentityCommand, Membership, NewParent};
use skep_protocol::permission::{PermissionType, ResourceType};
use skep_protocol::value::{
    AuthorizationValue, EntityType, MappingRuleValue, Member, OwnerType, PasswordHash,
    ResourceMatcher, UserValue,
};
use skep_protocol::{Failure, Key, RejectionType};

use crate::fake::{KEY, Running, rejection, start, start_over, start_with};
use crate::http::{Answer, JSON, post, send};
use crate::searches::Stored;
use skep_testkit::rig::Rig;
use skep_testkit::stores::{Backend, Filled};

async fn put(gateway: &Running, path: &str, body: Value) -> Answer {
    send(gateway.rest, "PUT", path, Some(JSON), body.to_string()).await
}

/// The last command sent to the broker.
fn last(gateway: &Running) -> IdentityCommand {
    match gateway.broker.last().command {
        Command::Identity(command) => command,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn a_new_user_has_a_password_hash_that_no_answer_shows() {
    let gateway = start().await;
    let body = r#"{"username": "anna", "password": "h\u0075sh", "email": "anna@example.org"}"#;
    let answer = post(gateway.rest, "/v2/users", body).await;
    assert_eq!(answer.status, 201, "{}", answer.text);
    let user = json!({"username": "anna", "name": "", "email": "anna@example.org"});
    assert_eq!(answer.json(), user);
    let IdentityCommand::CreateUser(user) = last(&gateway) else {
        panic!("{:?}", last(&gateway));
    };
    assert_eq!(&*user.username, "anna");
    assert!(!user.password.reveal().contains("hush"));
    let passwords = Passwords::start().unwrap();
    let same = |text: &str| Secret::new(text.to_string());
    let (right, wrong) = (same("hush"), same("Hush"));
    let peer = std::net::Ipv4Addr::LOCALHOST.into();
    let attempt = || Attempt::new(&Arc::default(), "anna", peer);
    let verified = passwords.verify(right, &user.password, attempt()).await;
    assert_eq!(verified, Ok(true));
    let verified = passwords.verify(wrong, &user.password, attempt()).await;
    assert_eq!(verified, Ok(false));
}

#[tokio::test]
async fn omitted_fields_and_a_blank_password_leave_a_user_unchanged() {
    let gateway = start().await;
    for (body, name, email, is_hashed) in [
        (json!({}), None, None, false),
        (json!({"name": null, "password": ""}), None, None, false),
        (
            json!({"email": "", "password": "hush"}),
            None,
            Some(""),
            true,
        ),
        (
            json!({"name": "Anna", "password": " "}),
            Some("Anna"),
            None,
            false,
        ),
    ] {
        let answer = put(&gateway, "/v2/users/anna", body.clone()).await;
        assert_eq!(answer.status, 200, "{body}: {}", answer.text);
        let IdentityCommand::UpdateUser(update) = last(&gateway) else {
            panic!("{:?}", last(&gateway));
        };
        assert_eq!(
            (update.name.as_deref(), update.email.as_deref()),
            (name, email)
        );
        assert_eq!(update.password.is_empty(), !is_hashed, "{body}");
    }
}

/// Method, path and body of a refused request, and a part of the answer.
type Refused = (&'static str, &'static str, Value, &'static str);

fn of_users_and_groups() -> Vec<Refused> {
    vec![
        (
            "POST",
            "/v2/users",
            json!({}),
            "No username provided. No password provided.",
        ),
        (
            "POST",
            "/v2/users",
            json!({"username": "a b", "password": "x", "email": "anna"}),
            "The provided username 'a b' contains illegal characters. It must match the pattern '^[a-zA-Z0-9_~@.+-]+$'. \
             The provided email 'anna' is not valid.",
        ),
        (
            "POST",
            "/v2/users",
            json!({"username": "a".repeat(257), "password": "x"}),
            "The provided username exceeds the limit of 256 characters.",
        ),
        // No header could carry it, so its user would never come in.
        (
            "POST",
            "/v2/users",
            json!({"username": "a", "password": "x".repeat(2_001)}),
            "The provided password exceeds the limit of 2000 bytes.",
        ),
        (
            "PUT",
            "/v2/users/anna",
            json!({"password": "ж".repeat(1_001)}),
            "The provided password exceeds the limit of 2000 bytes.",
        ),
        (
            "POST",
            "/v2/groups",
            json!({"groupId": " "}),
            "No groupId provided. No name provided.",
        ),
        (
            "POST",
            "/v2/roles",
            json!({"name": "n"}),
            "No roleId provided.",
        ),
        (
            "POST",
            "/v2/tenants",
            json!({"tenantId": "<a>", "name": "n"}),
            "The provided tenantId '<a>' contains illegal",
        ),
        (
            "PUT",
            "/v2/groups/sales",
            json!({"name": " "}),
            "No name provided.",
        ),
    ]
}

fn of_rights_and_members() -> Vec<Refused> {
    vec![
        (
            "POST",
            "/v2/mapping-rules",
            json!({}),
            "No mappingRuleId provided. No claimName provided. No claimValue provided. No name provided.",
        ),
        (
            "PUT",
            "/v2/mapping-rules/r",
            json!({"claimName": "$..*..*..*..*", "claimValue": "v", "name": "n"}),
            "The provided claimName '$..*..*..*..*' has more than 3 recursive segments (..).",
        ),
        (
            "POST",
            "/v2/mapping-rules",
            json!({"mappingRuleId": "r", "claimName": "$[?@.a == $.b]", "claimValue": "v", "name": "n"}),
            "The provided claimName '$[?@.a == $.b]' refers to the root ($) within a filter.",
        ),
        (
            "POST",
            "/v2/authorizations",
            json!({}),
            "No ownerId provided. No ownerType provided. No resourceType provided. At least one of \
             [resourceId, resourcePropertyName] is required. No permissionTypes provided.",
        ),
        (
            "PUT",
            "/v2/authorizations/1",
            json!({
                "ownerId": "anna", "ownerType": "USER", "resourceType": "MESSAGE", "permissionTypes": ["CREATE"],
                "resourceId": "*", "resourcePropertyName": "assignee",
            }),
            "Only one of [resourceId, resourcePropertyName] is allowed.",
        ),
        (
            "PUT",
            "/v2/groups/a%20b/users/a%2Fb",
            Value::Null,
            "The provided groupId 'a b' contains illegal characters.",
        ),
        (
            "PUT",
            "/v2/groups/a%20b/users/a%2Fb",
            Value::Null,
            "The provided username 'a%2Fb' contains illegal characters.",
        ),
        (
            "DELETE",
            "/v2/tenants/acme/clients/a$",
            Value::Null,
            "The provided clientId 'a$' contains illegal characters.",
        ),
        // Not even the error reveals the value in place of the password.
        (
            "POST",
            "/v2/users",
            json!({"username": "anna", "password": 4711}),
            "'password' does not have the form that this operation expects",
        ),
    ]
}

#[tokio::test]
async fn invalid_requests_are_refused_before_they_reach_the_broker() {
    let gateway = start().await;
    let refused = [of_users_and_groups(), of_rights_and_members()];
    for (method, path, body, said) in refused.into_iter().flatten() {
        let body = match body {
            Value::Null => String::new(),
            body => body.to_string(),
        };
        let answer = send(gateway.rest, method, path, Some(JSON), body.clone()).await;
        let (status, title, detail) = answer.problem();
        let at = format!("{method} {path} {body}: {detail}");
        assert_eq!((status, &*title), (400, "INVALID_ARGUMENT"), "{at}");
        assert!(detail.contains(said) && !detail.contains("4711"), "{at}");
    }
    assert_eq!(gateway.broker.requests.lock().len(), 0);
}

#[tokio::test]
async fn the_id_pattern_is_configurable_and_does_not_limit_groups_of_the_provider() {
    let gateway = start_with(|config| {
        config.security.ids = IdPattern::new("[a-z ]{1,4}").unwrap();
        config.security.groups_api = false;
    })
    .await;
    let body = json!({"roleId": "a b", "name": "n"});
    let answer = post(gateway.rest, "/v2/roles", &body.to_string()).await;
    assert_eq!(answer.status, 201, "{}", answer.text);
    let group = put(&gateway, "/v2/roles/a%20b/groups/Sales-1", json!({}));
    let answer = group.await;
    assert_eq!(answer.status, 204, "{}", answer.text);
    let member = Member::new(EntityType::Group, "Sales-1");
    let IdentityCommand::AddToRole(added) = last(&gateway) else {
        panic!("{:?}", last(&gateway));
    };
    assert_eq!((&*added.parent, added.member), ("a b", member));
    for (method, path, body) in [
        ("PUT", "/v2/roles/abcde/users/anna", json!({})),
        ("PUT", "/v2/roles/a/users/Anna", json!({})),
        ("DELETE", "/v2/users/Anna", json!({})),
        (
            "POST",
            "/v2/mapping-rules",
            json!({"mappingRuleId": "r1", "claimName": "c", "claimValue": "v", "name": "n"}),
        ),
        (
            "POST",
            "/v2/authorizations",
            json!({
                "ownerId": "anna", "ownerType": "USER", "resourceType": "RESOURCE", "resourceId": "order",
                "permissionTypes": ["READ"],
            }),
        ),
    ] {
        let answer = send(gateway.rest, method, path, Some(JSON), body.to_string()).await;
        let (status, title, detail) = answer.problem();
        assert_eq!((status, &*title), (400, "INVALID_ARGUMENT"), "{detail}");
        let said = "contains illegal characters. It must match the pattern '[a-z ]{1,4}'.";
        assert!(detail.contains(said), "{path}: {detail}");
    }
}

#[tokio::test]
async fn a_word_that_is_none_of_those_that_can_be_is_a_bad_request() {
    let gateway = start().await;
    let good = json!({
        "ownerId": "anna", "ownerType": "USER", "resourceType": "MESSAGE", "resourceId": "*", "permissionTypes": ["CREATE"],
    });
    for (field, value, said) in [
        (
            "ownerType",
            json!("TENANT"),
            "[USER, CLIENT, ROLE, GROUP, MAPPING_RULE]",
        ),
        ("resourceType", json!("CAR"), "AUTHORIZATION, "),
        ("permissionTypes", json!(["CREATE", "DRIVE"]), "ACCESS, "),
    ] {
        let mut body = good.clone();
        body[field] = value;
        let answer = post(gateway.rest, "/v2/authorizations", &body.to_string()).await;
        let (status, title, detail) = answer.problem();
        assert_eq!((status, &*title), (400, "Bad Request"), "{detail}");
        let begin = format!("for enum field '{field}'");
        assert!(detail.contains("Unexpected value '"), "{detail}");
        assert!(detail.contains(&begin) && detail.contains(said), "{detail}");
    }
}

#[tokio::test]
async fn an_authorization_is_for_all_of_a_type_for_one_or_by_property() {
    let gateway = start().await;
    for (resource, matcher) in [
        (json!({"resourceId": "*"}), ResourceMatcher::Any),
        (
            json!({"resourceId": "order"}),
            ResourceMatcher::Id("order".into()),
        ),
        (
            json!({"resourcePropertyName": "assignee", "resourceId": null}),
            ResourceMatcher::Property("assignee".into()),
        ),
    ] {
        let mut body = json!({
            "ownerId": "clerk", "ownerType": "role", "resourceType": "USER_TASK",
            "permissionTypes": ["UPDATE", "read", "UPDATE", "CLAIM"],
        });
        body.as_object_mut()
            .unwrap()
            .extend(resource.as_object().unwrap().clone());
        let answer = post(gateway.rest, "/v2/authorizations", &body.to_string()).await;
        assert_eq!(answer.status, 201, "{}", answer.text);
        assert_eq!(answer.json(), json!({"authorizationKey": KEY.to_string()}));
        let expected = AuthorizationValue {
            authorization_key: Key::NONE,
            owner_type: OwnerType::Role,
            owner_id: "clerk".into(),
            resource_type: ResourceType::UserTask,
            matcher,
            permissions: vec![
                PermissionType::Claim,
                PermissionType::Read,
                PermissionType::Update,
            ],
        };
        match last(&gateway) {
            IdentityCommand::CreateAuthorization(value) => assert_eq!(value, expected),
            other => panic!("{other:?}"),
        }
        let answer = put(&gateway, "/v2/authorizations/77", body).await;
        assert_eq!((answer.status.as_u16(), &*answer.text), (204, ""));
        match last(&gateway) {
            IdentityCommand::UpdateAuthorization(value) => {
                assert_eq!(value.authorization_key, Key(77));
            }
            other => panic!("{other:?}"),
        }
    }
    // Tenants are named by their id, which may have a form that no other id has.
    let body = json!({
        "ownerId": "clerk", "ownerType": "ROLE", "resourceType": "TENANT", "resourceId": "<default>",
        "permissionTypes": ["READ"],
    });
    let answer = post(gateway.rest, "/v2/authorizations", &body.to_string()).await;
    assert_eq!(answer.status, 201, "{}", answer.text);
}

#[tokio::test]
async fn groups_roles_and_tenants_are_made_and_changed_by_their_ids() {
    let gateway = start().await;
    for (path, id) in [
        ("/v2/groups", "groupId"),
        ("/v2/roles", "roleId"),
        ("/v2/tenants", "tenantId"),
    ] {
        let body = json!({id: "a~b", "name": "Ännchen", "description": "d"});
        let answer = post(gateway.rest, path, &body.to_string()).await;
        assert_eq!(answer.status, 201, "{}", answer.text);
        assert_eq!(answer.json(), body);
        // An update without a description removes it.
        let answer = put(&gateway, &format!("{path}/a~b"), json!({"name": "n"})).await;
        assert_eq!(answer.status, 200, "{}", answer.text);
        assert_eq!(
            answer.json(),
            json!({id: "a~b", "name": "n", "description": ""})
        );
        let path = format!("{path}/a~b");
        let answer = send(gateway.rest, "DELETE", &path, None, "").await;
        assert_eq!((answer.status.as_u16(), &*answer.text), (204, ""));
    }
    match last(&gateway) {
        IdentityCommand::DeleteTenant { id } => assert_eq!(&*id, "a~b"),
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn paths_name_the_member_and_its_parent() {
    let gateway = start().await;
    for (path, parent, kind, id) in [
        (
            "/v2/tenants/%3Cdefault%3E/users/a%40b",
            "<default>",
            EntityType::User,
            "a@b",
        ),
        (
            "/v2/tenants/acme/roles/clerk",
            "acme",
            EntityType::Role,
            "clerk",
        ),
        (
            "/v2/roles/clerk/groups/sales",
            "clerk",
            EntityType::Group,
            "sales",
        ),
        (
            "/v2/roles/clerk/mapping-rules/r-1",
            "clerk",
            EntityType::MappingRule,
            "r-1",
        ),
        (
            "/v2/groups/sales/clients/robot",
            "sales",
            EntityType::Client,
            "robot",
        ),
    ] {
        for method in ["PUT", "DELETE"] {
            let answer = send(gateway.rest, method, path, None, "").await;
            assert_eq!(answer.status, 204, "{path}: {}", answer.text);
            let membership = match (method, last(&gateway)) {
                (
                    "PUT",
                    IdentityCommand::AddToTenant(membership)
                    | IdentityCommand::AddToRole(membership)
                    | IdentityCommand::AddToGroup(membership),
                )
                | (
                    "DELETE",
                    IdentityCommand::RemoveFromTenant(membership)
                    | IdentityCommand::RemoveFromRole(membership)
                    | IdentityCommand::RemoveFromGroup(membership),
                ) => membership,
                other => panic!("{other:?}"),
            };
            assert_eq!(&*membership.parent, parent);
            assert_eq!(membership.member, Member::new(kind, id));
        }
    }
}

#[tokio::test]
async fn the_first_administrator_is_made_or_it_is_forbidden() {
    let gateway = start().await;
    let body = r#"{"username": "demo", "password": "demo"}"#;
    let answer = post(gateway.rest, "/v2/setup/user", body).await;
    assert_eq!(answer.status, 201, "{}", answer.text);
    assert_eq!(
        answer.json(),
        json!({"username": "demo", "name": "", "email": ""})
    );
    assert!(matches!(
        last(&gateway),
        IdentityCommand::CreateInitialAdmin(_)
    ));
    for kind in [
        RejectionType::InvalidState,
        RejectionType::AlreadyExists,
        RejectionType::Forbidden,
    ] {
        gateway.broker.answer(Err(rejection(kind)));
        let answer = post(gateway.rest, "/v2/setup/user", body).await;
        let (status, title, detail) = answer.problem();
        assert_eq!((status, &*title), (403, "FORBIDDEN"), "{detail}");
    }
    // Errors of the request or of the cluster are reported as usual.
    let answer = post(gateway.rest, "/v2/setup/user", "{}").await;
    assert_eq!(answer.status, 400);
    gateway
        .broker
        .answer(Err(Failure::Unavailable("no leader".into())));
    let answer = post(gateway.rest, "/v2/setup/user", body).await;
    assert_eq!(answer.status, 503);
}

/// Everybody can send the request: it must not take the threads that compare passwords, or fill the log.
#[tokio::test]
async fn the_request_for_a_first_administrator_costs_nothing_where_there_is_one() {
    let gateway = start().await;
    let member = Entry::RoleMember {
        parent: "admin".into(),
        member: Member::new(EntityType::Client, "operator"),
    };
    let mut directory = Directory::default();
    directory.add(Key(1), &member);
    *gateway.broker.directory.lock() = directory.into();
    let body = r#"{"username": "demo", "password": "demo"}"#;
    let answer = post(gateway.rest, "/v2/setup/user", body).await;
    let (status, title, detail) = answer.problem();
    assert_eq!((status, &*title), (403, "FORBIDDEN"), "{detail}");
    assert!(detail.contains("has members already"), "{detail}");
    assert!(gateway.broker.requests.lock().is_empty());
    // The faults of the request come first, as everywhere.
    let answer = post(gateway.rest, "/v2/setup/user", "{}").await;
    assert_eq!(answer.status, 400);
}

/// The answers to authenticated users are tested in login.rs.
#[tokio::test]
async fn nobody_in_particular_learns_nothing_of_himself() {
    let gateway = start().await;
    let answer = send(gateway.rest, "GET", "/v2/authentication/me", None, "").await;
    assert_eq!((answer.status.as_u16(), &*answer.text), (401, ""));
}

fn new(id: &str) -> NewParent {
    NewParent {
        id: id.into(),
        name: format!("Name of {id}").into(),
        description: "".into(),
    }
}

fn commands() -> Vec<IdentityCommand> {
    use IdentityCommand::*;
    let membership = |parent: &str, kind, id: &str| Membership {
        parent: parent.into(),
        member: Member::new(kind, id),
    };
    let mut commands: Vec<IdentityCommand> = ["carl", "anna", "bert"]
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
        CreateGroup(new("sales")),
        CreateRole(new("clerk")),
        CreateRole(new("guard")),
        CreateTenant(new("acme")),
        CreateMappingRule(MappingRuleValue {
            mapping_rule_key: Key::NONE,
            mapping_rule_id: "r-1".into(),
            claim_name: "a".into(),
            claim_value: "b".into(),
            name: "R".into(),
        }),
        AddToGroup(membership("sales", EntityType::User, "carl")),
        AddToGroup(membership("sales", EntityType::User, "anna")),
        AddToGroup(membership("sales", EntityType::User, "bert")),
        AddToGroup(membership("sales", EntityType::Client, "robot")),
        AddToGroup(membership("sales", EntityType::MappingRule, "r-1")),
        AddToRole(membership("clerk", EntityType::Group, "sales")),
        AddToTenant(membership("acme", EntityType::Role, "guard")),
        AddToTenant(membership("acme", EntityType::Group, "sales")),
        DeleteUser {
            username: "bert".into(),
        },
    ]);
    commands
}

async fn gateway() -> Running {
    let mut rig = Rig::new();
    rig.record_batches();
    for command in commands() {
        rig.send(Command::Identity(command)).expect("it is done");
    }
    let store = Filled::new(Backend::Embedded, 1, Duration::from_millis(5));
    store.follow(&std::mem::take(&mut rig.batches));
    start_over(Arc::new(Stored(store)), |_| {}).await
}

/// Entity, body of the search, the compared member of items, and its expected values.
fn found() -> Vec<(&'static str, Value, &'static str, Value)> {
    vec![
        ("users", json!({}), "username", json!(["carl", "anna"])),
        (
            "users",
            json!({"filter": {"username": {"$like": "a*"}}}),
            "username",
            json!(["anna"]),
        ),
        (
            "groups",
            json!({"filter": {"groupId": "sales"}}),
            "groupId",
            json!(["sales"]),
        ),
        (
            "roles",
            json!({"sort": [{"field": "roleId", "order": "DESC"}]}),
            "roleId",
            json!(["guard", "clerk"]),
        ),
        (
            "tenants",
            json!({"sort": [{"field": "key"}]}),
            "tenantId",
            json!(["acme"]),
        ),
        (
            "mapping-rules",
            json!({"filter": {"claimName": "a"}}),
            "mappingRuleId",
            json!(["r-1"]),
        ),
        // Sorted by name by default.
        (
            "groups/sales/users",
            json!({}),
            "username",
            json!(["anna", "carl"]),
        ),
        (
            "groups/sales/clients",
            json!({}),
            "clientId",
            json!(["robot"]),
        ),
        (
            "groups/sales/mapping-rules",
            json!({}),
            "mappingRuleId",
            json!(["r-1"]),
        ),
        ("groups/sales/roles", json!({}), "roleId", json!(["clerk"])),
        (
            "groups/sales/roles",
            json!({"filter": {"name": "other"}}),
            "roleId",
            json!([]),
        ),
        ("roles/clerk/groups", json!({}), "groupId", json!(["sales"])),
        ("tenants/acme/roles", json!({}), "roleId", json!(["guard"])),
        (
            "tenants/acme/groups",
            json!({}),
            "groupId",
            json!(["sales"]),
        ),
        ("tenants/none/groups", json!({}), "groupId", json!([])),
    ]
}

#[tokio::test]
async fn searches_find_identities_and_their_members() {
    let gateway = gateway().await;
    for (path, body, id, expected) in found() {
        let answer = post(
            gateway.rest,
            &format!("/v2/{path}/search"),
            &body.to_string(),
        )
        .await;
        assert_eq!(answer.status, 200, "{path}: {}", answer.text);
        let answer = answer.json();
        let items = answer["items"].as_array().unwrap().iter();
        let ids: Value = items.map(|item| item[id].clone()).collect();
        assert_eq!(ids, expected, "{path} {body}");
        let total = answer["page"]["totalItems"].as_u64().unwrap();
        assert_eq!(total as usize, ids.as_array().unwrap().len(), "{path}");
    }
    // Page by page.
    let path = "/v2/groups/sales/users/search";
    let first = post(gateway.rest, path, r#"{"page": {"limit": 1}}"#)
        .await
        .json();
    assert_eq!(first["items"], json!([{"username": "anna"}]));
    let next = json!({"page": {"limit": 1, "after": first["page"]["endCursor"]}});
    let second = post(gateway.rest, path, &next.to_string()).await.json();
    assert_eq!(second["items"], json!([{"username": "carl"}]));
}

#[tokio::test]
async fn missing_and_deleted_identities_are_not_found() {
    let gateway = gateway().await;
    let get = async |path: &str| send(gateway.rest, "GET", path, None, "").await;
    let anna = get("/v2/users/anna").await;
    let user = json!({"username": "anna", "name": "", "email": ""});
    assert_eq!((anna.status.as_u16(), anna.json()), (200, user));
    for (path, said) in [
        ("users/bert", "User with id 'bert' not found"),
        ("users/a%20b", "User with id 'a b' not found"),
        ("groups/none", "Group with id 'none' not found"),
        ("roles/none", "Role with id 'none' not found"),
        ("tenants/%3Cnone%3E", "Tenant with id '<none>' not found"),
        (
            "mapping-rules/none",
            "Mapping Rule with id 'none' not found",
        ),
        (
            "authorizations/4711",
            "Authorization with key '4711' not found",
        ),
    ] {
        let (status, title, detail) = get(&format!("/v2/{path}")).await.problem();
        assert_eq!((status, &*title, &*detail), (404, "NOT_FOUND", said));
    }
}

#[tokio::test]
async fn authorizations_are_found_by_any_of_several_resources() {
    let gateway = gateway().await;
    let search = async |filter: Value| {
        let body = json!({"filter": filter}).to_string();
        post(gateway.rest, "/v2/authorizations/search", &body).await
    };
    // New users have the permission to read their own entry.
    for (filter, count) in [
        (json!({}), 2),
        (json!({"resourceIds": ["anna", "carl", "none"]}), 2),
        (
            json!({"resourceIds": ["anna"], "ownerId": "anna", "ownerType": "user"}),
            1,
        ),
        (json!({"resourceIds": []}), 0),
        (json!({"resourceIds": null}), 2),
        (json!({"resourcePropertyNames": ["assignee"]}), 0),
    ] {
        let answer = search(filter.clone()).await;
        assert_eq!(answer.status, 200, "{filter}: {}", answer.text);
        let found = answer.json()["items"].as_array().unwrap().len();
        assert_eq!(found, count, "{filter}");
    }
    for (filter, said) in [
        (json!({"resourceIds": "anna"}), "must be a list of strings"),
        (json!({"resourceIds": [1]}), "must be strings"),
        (json!({"resourceIds": vec!["a"; 1001]}), "at most 1000"),
        (json!({"resourceId": "anna"}), "not one that"),
    ] {
        let (status, _, detail) = search(filter.clone()).await.problem();
        assert_eq!(status, 400, "{filter}");
        assert!(detail.contains(said), "{filter}: {detail}");
    }
}
