//! Users, groups, roles, tenants, mapping rules and authorizations, and memberships.

use std::time::Duration;

use serde_json::{Value as Json, json};
use skep_protocol::Key;
use skep_protocol::command::{
    Command, IdentityCommand, Membership, NewParent, UpdateParent, UpdateUser,
};
use skep_protocol::permission::{PermissionType, ResourceType};
use skep_protocol::value::{
    AuthorizationValue, EntityType, MappingRuleValue, Member, OwnerType, PasswordHash,
    ResourceMatcher, UserValue,
};
use skep_query::entities::{
    AUTHORIZATION, GROUP, MAPPING_RULE, MEMBER, MEMBER_USER, ROLE, TENANT, USER,
};
use skep_query::{Answer, Condition, Entity, Op, Query, Related, Search, Sort, Value};

use skep_testkit::rig::Rig;
use skep_testkit::stores::{Filled, follow, rig};

const HASH: &str = "$argon2id$v=19$m=19456,t=2,p=1$c2FsdHNhbHQ$aGFzaGhhc2g";

fn done(rig: &mut Rig, command: IdentityCommand) {
    let shown = format!("{command:?}");
    let answer = rig.send(Command::Identity(command));
    answer.unwrap_or_else(|rejection| panic!("{shown}: {rejection}"));
}

fn user(rig: &mut Rig, username: &str) {
    let user = UserValue {
        user_key: Key::NONE,
        username: username.into(),
        name: format!("Name of {username}").into(),
        email: "".into(),
        password: PasswordHash::new(HASH),
    };
    done(rig, IdentityCommand::CreateUser(user));
}

fn new(id: &str) -> NewParent {
    NewParent {
        id: id.into(),
        name: format!("Name of {id}").into(),
        description: "what it is for".into(),
    }
}

fn membership(parent: &str, entity_type: EntityType, id: &str) -> Membership {
    Membership {
        parent: parent.into(),
        member: Member::new(entity_type, id),
    }
}

fn rule(rig: &mut Rig, id: &str) {
    let rule = MappingRuleValue {
        mapping_rule_key: Key::NONE,
        mapping_rule_id: id.into(),
        claim_name: "department".into(),
        claim_value: id.into(),
        name: format!("Name of {id}").into(),
    };
    done(rig, IdentityCommand::CreateMappingRule(rule));
}

fn authorize(rig: &mut Rig, owner: &str, matcher: ResourceMatcher) {
    let authorization = AuthorizationValue {
        authorization_key: Key::NONE,
        owner_type: OwnerType::User,
        owner_id: owner.into(),
        resource_type: match matcher {
            ResourceMatcher::Property(_) => ResourceType::UserTask,
            _ => ResourceType::ProcessDefinition,
        },
        permissions: match matcher {
            ResourceMatcher::Property(_) => vec![PermissionType::Complete, PermissionType::Read],
            _ => vec![
                PermissionType::CreateProcessInstance,
                PermissionType::ReadProcessInstance,
            ],
        },
        matcher,
    };
    done(rig, IdentityCommand::CreateAuthorization(authorization));
}

/// Creates entities of all kinds, some of which are changed and deleted.
fn everything(rig: &mut Rig) {
    for name in ["anna", "bert", "carl"] {
        user(rig, name);
    }
    let update = UpdateUser {
        username: "bert".into(),
        name: None,
        email: Some("bert@example.org".into()),
        password: PasswordHash::default(),
    };
    done(rig, IdentityCommand::UpdateUser(update));
    for id in ["sales", "night"] {
        done(rig, IdentityCommand::CreateGroup(new(id)));
    }
    for id in ["clerk", "guard"] {
        done(rig, IdentityCommand::CreateRole(new(id)));
    }
    done(rig, IdentityCommand::CreateTenant(new("acme")));
    for id in ["r-1", "r-2"] {
        rule(rig, id);
    }
    use EntityType::{Client, Group, MappingRule, Role, User};
    for (parent, kind, id) in [
        ("sales", User, "anna"),
        ("sales", User, "bert"),
        ("sales", User, "carl"),
        ("sales", Client, "robot"),
        ("sales", MappingRule, "r-1"),
        ("night", User, "anna"),
    ] {
        done(
            rig,
            IdentityCommand::AddToGroup(membership(parent, kind, id)),
        );
    }
    done(
        rig,
        IdentityCommand::AddToRole(membership("clerk", Group, "sales")),
    );
    done(
        rig,
        IdentityCommand::AddToRole(membership("guard", User, "anna")),
    );
    done(
        rig,
        IdentityCommand::AddToTenant(membership("acme", Role, "clerk")),
    );
    done(
        rig,
        IdentityCommand::AddToTenant(membership("acme", Group, "sales")),
    );
    authorize(rig, "anna", ResourceMatcher::Any);
    authorize(rig, "anna", ResourceMatcher::Id("order".into()));
    authorize(rig, "bert", ResourceMatcher::Property("assignee".into()));
    done(
        rig,
        IdentityCommand::RemoveFromGroup(membership("sales", User, "bert")),
    );
    let username = "carl".into();
    done(rig, IdentityCommand::DeleteUser { username });
    let update = UpdateParent {
        id: "sales".into(),
        name: "Sales".into(),
        description: Some("".into()),
    };
    done(rig, IdentityCommand::UpdateGroup(update));
    done(rig, IdentityCommand::DeleteGroup { id: "night".into() });
}

/// Searches like the gateway: without deleted rows.
fn there(store: &Filled, mut search: Search) -> Vec<Vec<Value>> {
    let entity = search.entity;
    search
        .filter
        .push(is(entity, "isDeleted", Op::Eq(Value::from(false))));
    match store.ask(Query::Search(search)) {
        Answer::Page(found) => {
            assert_eq!(found.total, found.rows.len() as u64);
            found.rows
        }
        other => panic!("{other:?}"),
    }
}

fn is(entity: &Entity, field: &str, op: Op) -> Condition {
    let field = entity.index_of(field).expect("a field");
    Condition::Field { field, op }
}

fn equals(entity: &Entity, field: &str, text: &str) -> Condition {
    is(entity, field, Op::Eq(Value::text(text)))
}

/// The texts of one column, without deleted rows.
fn column(store: &Filled, search: Search, field: &str) -> Vec<String> {
    let at = search.entity.index_of(field).expect("a field");
    let rows = there(store, search);
    let texts = rows.iter().map(|row| row[at].as_text().expect("a text"));
    texts.map(str::to_string).collect()
}

fn ids(store: &Filled, entity: &'static Entity, id: &str) -> Vec<String> {
    column(store, Search::all(entity, vec![], 100), id)
}

#[test]
fn identities_and_their_rights_are_found_but_no_passwords() {
    let (mut rig, store) = rig(super::BACKEND);
    everything(&mut rig);
    follow(&mut rig, &store);
    assert_eq!(ids(&store, &USER, "username"), ["anna", "bert"]);
    assert_eq!(ids(&store, &GROUP, "groupId"), ["sales"]);
    assert_eq!(ids(&store, &ROLE, "roleId"), ["clerk", "guard"]);
    assert_eq!(ids(&store, &TENANT, "tenantId"), ["acme"]);
    assert_eq!(ids(&store, &MAPPING_RULE, "mappingRuleId"), ["r-1", "r-2"]);
    assert_eq!(
        store.one(&USER, r#"{"email": {"$like": "bert@*"}}"#),
        json!({"username": "bert", "name": "Name of bert", "email": "bert@example.org"})
    );
    assert_eq!(
        store.one(&GROUP, r#"{"groupId": "sales"}"#),
        json!({"groupId": "sales", "name": "Sales", "description": ""})
    );
    let claims = r#"{"claimName": "department", "claimValue": "r-2"}"#;
    assert_eq!(
        store.one(&MAPPING_RULE, claims),
        json!({"mappingRuleId": "r-2", "claimName": "department", "claimValue": "r-2", "name": "Name of r-2"})
    );
    for entity in skep_query::entities::ALL {
        for row in store.find(entity, "{}") {
            assert!(!row.to_string().contains("argon2"), "{row}");
        }
    }
    store.check_pages();
}

#[test]
fn mapping_rules_are_found_as_they_were_updated_and_not_once_they_are_deleted() {
    let (mut rig, store) = rig(super::BACKEND);
    for id in ["r-1", "r-2"] {
        rule(&mut rig, id);
    }
    let update = MappingRuleValue {
        mapping_rule_key: Key::NONE,
        mapping_rule_id: "r-2".into(),
        claim_name: "city".into(),
        claim_value: "Ulm".into(),
        name: "Those of Ulm".into(),
    };
    done(&mut rig, IdentityCommand::UpdateMappingRule(update));
    follow(&mut rig, &store);
    assert_eq!(
        store.find(&MAPPING_RULE, "{}"),
        [
            json!({"mappingRuleId": "r-1", "claimName": "department", "claimValue": "r-1", "name": "Name of r-1"}),
            json!({"mappingRuleId": "r-2", "claimName": "city", "claimValue": "Ulm", "name": "Those of Ulm"})
        ]
    );
    done(
        &mut rig,
        IdentityCommand::DeleteMappingRule { id: "r-2".into() },
    );
    follow(&mut rig, &store);
    assert_eq!(ids(&store, &MAPPING_RULE, "mappingRuleId"), ["r-1"]);
    store.check_pages();
}

#[test]
fn roles_and_tenants_are_found_as_they_were_updated_and_not_once_they_are_deleted() {
    let (mut rig, store) = rig(super::BACKEND);
    let update = |id: &str| UpdateParent {
        id: id.into(),
        name: "Renamed".into(),
        description: Some("".into()),
    };
    for command in [
        IdentityCommand::CreateRole(new("clerk")),
        IdentityCommand::CreateTenant(new("acme")),
        IdentityCommand::UpdateRole(update("clerk")),
        IdentityCommand::UpdateTenant(update("acme")),
    ] {
        done(&mut rig, command);
    }
    follow(&mut rig, &store);
    for (entity, id, own) in [(&ROLE, "roleId", "clerk"), (&TENANT, "tenantId", "acme")] {
        let expected = json!({id: own, "name": "Renamed", "description": ""});
        assert_eq!(store.find(entity, "{}"), [expected]);
    }
    done(&mut rig, IdentityCommand::DeleteRole { id: "clerk".into() });
    done(
        &mut rig,
        IdentityCommand::DeleteTenant { id: "acme".into() },
    );
    follow(&mut rig, &store);
    assert_eq!(ids(&store, &ROLE, "roleId"), [""; 0]);
    assert_eq!(ids(&store, &TENANT, "tenantId"), [""; 0]);
}

#[test]
fn authorizations_are_found_as_they_were_updated_and_not_once_they_are_deleted() {
    let (mut rig, store) = rig(super::BACKEND);
    user(&mut rig, "anna");
    authorize(&mut rig, "anna", ResourceMatcher::Id("order".into()));
    follow(&mut rig, &store);
    let of_processes = r#"{"resourceType": "PROCESS_DEFINITION"}"#;
    let created = store.one(&AUTHORIZATION, of_processes);
    let key = created["authorizationKey"].as_str().unwrap();
    let key = Key(key.parse().unwrap());
    let update = AuthorizationValue {
        authorization_key: key,
        owner_type: OwnerType::User,
        owner_id: "anna".into(),
        resource_type: ResourceType::ProcessDefinition,
        matcher: ResourceMatcher::Id("invoice".into()),
        permissions: vec![PermissionType::ReadProcessInstance],
    };
    done(&mut rig, IdentityCommand::UpdateAuthorization(update));
    follow(&mut rig, &store);
    let updated = store.one(&AUTHORIZATION, of_processes);
    assert_eq!(updated["authorizationKey"], created["authorizationKey"]);
    assert_eq!(updated["resourceId"], "invoice");
    assert_eq!(updated["permissionTypes"], json!(["READ_PROCESS_INSTANCE"]));
    let delete = IdentityCommand::DeleteAuthorization {
        authorization_key: key,
    };
    done(&mut rig, delete);
    follow(&mut rig, &store);
    let of_anna = ids(&store, &AUTHORIZATION, "resourceId");
    assert_eq!(of_anna, ["anna"], "her own entry");
}

#[test]
fn authorizations_are_found_by_whose_they_are_and_on_what() {
    let (mut rig, store) = rig(super::BACKEND);
    everything(&mut rig);
    follow(&mut rig, &store);
    let found = |filter: &str| -> Vec<(Json, Json)> {
        let rows = store.find(&AUTHORIZATION, filter);
        let shown = |row: Json| {
            assert!(row["authorizationKey"].is_string(), "{row}");
            (
                row["resourceId"].clone(),
                row["resourcePropertyName"].clone(),
            )
        };
        rows.into_iter().map(shown).collect()
    };
    let (any, order) = ((json!("*"), Json::Null), (json!("order"), Json::Null));
    let property = (Json::Null, json!("assignee"));
    let of_anna = r#"{"ownerId": "anna", "resourceType": "PROCESS_DEFINITION"}"#;
    assert_eq!(found(of_anna), [any, order]);
    assert_eq!(found(r#"{"resourceType": "user_task"}"#), [property]);
    assert_eq!(found(r#"{"ownerType": "GROUP"}"#), []);
    let mut search = Search::all(&AUTHORIZATION, vec![], 10);
    let listed = Op::In(vec![Value::text("*"), Value::text("none")]);
    search.filter.push(is(&AUTHORIZATION, "resourceId", listed));
    assert_eq!(column(&store, search, "resourceId"), ["*"]);
    let of_bert = r#"{"ownerId": "bert", "resourceType": "USER_TASK"}"#;
    let of_bert = store.one(&AUTHORIZATION, of_bert);
    assert_eq!(of_bert["permissionTypes"], json!(["COMPLETE", "READ"]));
    assert_eq!(of_bert["ownerType"], "USER");
}

/// The members of an entity, by the column of their kind.
fn members(store: &Filled, parent: (&str, &str)) -> Vec<String> {
    let entity = &MEMBER_USER;
    let mut search = Search::all(entity, vec![], 100);
    search.filter = vec![
        equals(entity, "parentType", parent.0),
        equals(entity, "parentId", parent.1),
        is(entity, "username", Op::Exists(true)),
    ];
    search.sort = vec![Sort {
        field: entity.index_of("username").expect("a field"),
        descending: true,
    }];
    column(store, search, "username")
}

/// The entities found by their membership.
fn belonging(
    store: &Filled,
    (entity, own): (&'static Entity, &'static str),
    link: &'static str,
    of: &[(&str, &str)],
) -> Vec<String> {
    let mut conditions: Vec<Condition> = of
        .iter()
        .map(|(field, text)| equals(&MEMBER, field, text))
        .collect();
    conditions.push(is(&MEMBER, "isDeleted", Op::Eq(Value::from(false))));
    let related = Related {
        entity: &MEMBER,
        own,
        link,
        conditions,
    };
    let mut search = Search::all(entity, vec![], 100);
    search.filter.push(Condition::Related(Box::new(related)));
    column(store, search, own)
}

#[test]
fn members_are_found_until_they_leave() {
    let (mut rig, store) = rig(super::BACKEND);
    everything(&mut rig);
    follow(&mut rig, &store);
    // Bert was removed, Carl was deleted, and so was the group of the night.
    assert_eq!(members(&store, ("GROUP", "sales")), ["anna"]);
    assert_eq!(members(&store, ("GROUP", "night")), [""; 0]);
    assert_eq!(members(&store, ("ROLE", "guard")), ["anna"]);
    assert_eq!(members(&store, ("ROLE", "sales")), [""; 0]);
    let clients = [("parentType", "GROUP"), ("clientId", "robot")];
    assert_eq!(
        belonging(&store, (&GROUP, "groupId"), "parentId", &clients),
        ["sales"]
    );
    let rules = [("parentType", "GROUP"), ("parentId", "sales")];
    assert_eq!(
        belonging(
            &store,
            (&MAPPING_RULE, "mappingRuleId"),
            "mappingRuleId",
            &rules
        ),
        ["r-1"]
    );
    let of_tenant = [("parentType", "TENANT"), ("parentId", "acme")];
    assert_eq!(
        belonging(&store, (&ROLE, "roleId"), "roleId", &of_tenant),
        ["clerk"]
    );
    let of_group = [("parentType", "ROLE"), ("groupId", "sales")];
    assert_eq!(
        belonging(&store, (&ROLE, "roleId"), "parentId", &of_group),
        ["clerk"]
    );
    let again = membership("sales", EntityType::User, "bert");
    done(&mut rig, IdentityCommand::AddToGroup(again));
    follow(&mut rig, &store);
    assert_eq!(members(&store, ("GROUP", "sales")), ["bert", "anna"]);
}

/// Users come and go for years: a store that kept the rows of those who went would grow without limit.
#[test]
fn what_is_deleted_leaves_no_row_in_the_store() {
    let (mut rig, store) = rig(super::BACKEND);
    let numbers = |store: &Filled| {
        let entities = [&USER, &GROUP, &ROLE, &TENANT, &MAPPING_RULE];
        let entities = entities.into_iter().chain([&AUTHORIZATION, &MEMBER]);
        entities
            .map(|entity| store.find(entity, "{}").len())
            .collect::<Vec<usize>>()
    };
    use EntityType::User;
    user(&mut rig, "anna");
    done(&mut rig, IdentityCommand::CreateGroup(new("sales")));
    follow(&mut rig, &store);
    let before = numbers(&store);
    // In rounds with one window or with several, the row that goes is new, or stored.
    for is_stored in [false, true] {
        user(&mut rig, "bert");
        done(&mut rig, IdentityCommand::CreateGroup(new("night")));
        done(&mut rig, IdentityCommand::CreateRole(new("guard")));
        done(&mut rig, IdentityCommand::CreateTenant(new("acme")));
        rule(&mut rig, "r-1");
        authorize(&mut rig, "bert", ResourceMatcher::Any);
        for id in ["anna", "bert"] {
            let joins = membership("sales", User, id);
            done(&mut rig, IdentityCommand::AddToGroup(joins));
        }
        let joins = membership("guard", EntityType::Group, "night");
        done(&mut rig, IdentityCommand::AddToRole(joins));
        if is_stored {
            follow(&mut rig, &store);
            assert_eq!(members(&store, ("GROUP", "sales")), ["bert", "anna"]);
            assert_eq!(store.find(&MEMBER, "{}").len(), 3);
        }
        let leaves = membership("sales", User, "anna");
        done(&mut rig, IdentityCommand::RemoveFromGroup(leaves));
        for command in [
            IdentityCommand::DeleteUser {
                username: "bert".into(),
            },
            IdentityCommand::DeleteGroup { id: "night".into() },
            IdentityCommand::DeleteRole { id: "guard".into() },
            IdentityCommand::DeleteTenant { id: "acme".into() },
            IdentityCommand::DeleteMappingRule { id: "r-1".into() },
        ] {
            done(&mut rig, command);
        }
        follow(&mut rig, &store);
        assert_eq!(numbers(&store), before, "{is_stored}");
    }
    // The row of a member that left comes back with the member, also within a window.
    for _ in 0..3 {
        let joins = membership("sales", User, "anna");
        done(&mut rig, IdentityCommand::AddToGroup(joins));
        let leaves = membership("sales", User, "anna");
        done(&mut rig, IdentityCommand::RemoveFromGroup(leaves));
        let joins = membership("sales", User, "anna");
        done(&mut rig, IdentityCommand::AddToGroup(joins));
        follow(&mut rig, &store);
        assert_eq!(members(&store, ("GROUP", "sales")), ["anna"]);
        let leaves = membership("sales", User, "anna");
        done(&mut rig, IdentityCommand::RemoveFromGroup(leaves));
        follow(&mut rig, &store);
        assert_eq!(numbers(&store), before);
    }
}

/// The other partitions repeat the first partition's changes: a shared location has each row once, with names and mail addresses.
#[test]
fn identities_written_by_all_partitions_have_one_row() {
    let mut rig = Rig::with_partitions(2);
    rig.record_batches();
    everything(&mut rig);
    let location = super::BACKEND.config().location;
    let window = Duration::from_millis(5);
    let stores = [1, 2].map(|partition| Filled::at(location.clone(), partition, window));
    let batches = std::mem::take(&mut rig.batches);
    let of_second = batches.iter().filter(|(partition, _)| *partition == 2);
    assert!(
        of_second.count() > 10,
        "the second partition writes as well"
    );
    for store in &stores {
        store.follow(&batches);
    }
    // The second one first, then the first: both have written.
    for store in stores.iter().rev() {
        store.find(&USER, "{}");
    }
    let [first, _] = &stores;
    assert_eq!(ids(first, &USER, "username"), ["anna", "bert"]);
    assert_eq!(first.find(&USER, "{}").len(), 2);
    assert_eq!(
        first.one(&USER, r#"{"username": "anna"}"#)["name"],
        "Name of anna"
    );
    // New users have the permission to read their own entry.
    assert_eq!(first.find(&AUTHORIZATION, "{}").len(), 3 + 2);
    assert_eq!(first.find(&MEMBER, "{}").len(), 7);
}
