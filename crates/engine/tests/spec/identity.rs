//! Users, groups, roles, tenants, mapping rules, and their grants.

use skep_engine::{EngineConfig, IdentityConfig};
use skep_identity::{Grants, defaults};
use skep_protocol::command::*;
use skep_protocol::grants;
use skep_protocol::origin::{Claims, Principal};
use skep_protocol::permission::{PermissionType, ResourceType};
use skep_protocol::record::RecordType;
use skep_protocol::value::*;
use skep_protocol::{Key, Rejection, RejectionType, Response};

use skep_testkit::rig::*;

pub fn send(rig: &mut Rig, command: IdentityCommand) -> Result<Response, Rejection> {
    rig.send(Command::Identity(command))
}

pub fn user(name: &str) -> UserValue {
    UserValue {
        user_key: Key::NONE,
        username: name.into(),
        name: format!("The name of {name}").into(),
        email: format!("{name}@example.org").into(),
        password: PasswordHash::new("$argon2id$secret"),
    }
}

pub fn new(id: &str) -> NewParent {
    NewParent {
        id: id.into(),
        name: id.into(),
        description: "".into(),
    }
}

pub fn member(parent: &str, kind: EntityType, id: &str) -> Membership {
    Membership {
        parent: parent.into(),
        member: Member::new(kind, id),
    }
}

pub fn authorization(
    owner: (OwnerType, &str),
    on: ResourceType,
    matcher: ResourceMatcher,
    permissions: &[PermissionType],
) -> AuthorizationValue {
    AuthorizationValue {
        authorization_key: Key::NONE,
        owner_type: owner.0,
        owner_id: owner.1.into(),
        resource_type: on,
        matcher,
        permissions: permissions.to_vec(),
    }
}

fn set_up() -> IdentityCommand {
    IdentityCommand::SetUp(Box::new(defaults::setup()))
}

fn rejected(answer: Result<Response, Rejection>) -> (RejectionType, String) {
    let rejection = answer.expect_err("it is refused");
    (rejection.kind, rejection.reason.to_string())
}

pub fn grants_of(rig: &Rig, partition: usize, name: &str) -> Grants {
    let principal = Principal {
        id: name.into(),
        ..Principal::default()
    };
    let directory = &rig.partitions[partition - 1]
        .engine
        .state
        .identity
        .directory;
    Grants::of(directory, &Claims::User(principal.into())).expect("a user has grants")
}

pub const CREATE: &[skep_protocol::permission::Permission] =
    grants![ProcessDefinition: CreateProcessInstance];

#[test]
fn users_can_read_themselves_and_are_deleted_with_memberships_and_grants() {
    let mut rig = Rig::new();
    let created = send(&mut rig, IdentityCommand::CreateUser(user("anna"))).unwrap();
    let Response::User(shown) = created else {
        panic!("{created:?}");
    };
    assert!(shown.password.is_empty(), "an answer shows no password");
    send(&mut rig, IdentityCommand::CreateGroup(new("sales"))).unwrap();
    let anna = member("sales", EntityType::User, "anna");
    send(&mut rig, IdentityCommand::AddToGroup(anna)).unwrap();
    assert!(grants_of(&rig, 1, "anna").allows(grants![User: Read][0], "anna"));
    assert!(!grants_of(&rig, 1, "anna").allows(grants![User: Read][0], "bert"));
    let from = rig.seen.len();
    let username = "anna".into();
    send(&mut rig, IdentityCommand::DeleteUser { username }).unwrap();
    let names: Vec<String> = (rig.seen[from..].iter())
        .filter(|record| record.record_type == RecordType::Event)
        .map(|record| format!("{} {}", record.value_type, record.intent))
        .collect();
    let expected = [
        "GROUP ENTITY_REMOVED",
        "AUTHORIZATION DELETED",
        "USER DELETED",
    ];
    assert_eq!(names, expected);
    let state = &rig.partitions[0].engine.state;
    assert_eq!(state.identity.table.len(), 1, "the group is left");
}

#[test]
fn no_record_shows_a_password() {
    let mut rig = Rig::new();
    send(&mut rig, IdentityCommand::CreateUser(user("anna"))).unwrap();
    for record in &rig.seen {
        assert!(
            !record.json.to_string().contains("secret"),
            "{}",
            record.json
        );
    }
    let stored = format!("{:?}", rig.partitions[0].engine.state.identity.directory);
    assert!(!stored.contains("secret"), "{stored}");
}

#[test]
fn identities_reach_all_partitions_without_passwords_and_mail_addresses() {
    let mut rig = Rig::with_partitions(3);
    send(&mut rig, set_up()).unwrap();
    send(&mut rig, IdentityCommand::CreateUser(user("anna"))).unwrap();
    let anna = member("admin", EntityType::User, "anna");
    send(&mut rig, IdentityCommand::AddToRole(anna)).unwrap();
    for partition in 1..=3 {
        assert!(grants_of(&rig, partition, "anna").allows(CREATE[0], "any"));
    }
    let known = |partition: usize| {
        let directory = &rig.partitions[partition].engine.state.identity.directory;
        directory.user("anna").unwrap().clone()
    };
    assert_eq!(known(0).password.reveal(), "$argon2id$secret");
    for partition in [1, 2] {
        let user = known(partition);
        assert!(user.password.is_empty() && user.email.is_empty() && user.name.is_empty());
        assert_eq!(user.user_key, known(0).user_key);
    }
}

#[test]
fn the_set_up_creates_missing_entities_and_a_repetition_nothing() {
    let mut rig = Rig::with_partitions(2);
    let mut setup = defaults::setup();
    setup.users.push(user("anna"));
    setup.role_members.push((
        defaults::ADMIN.into(),
        Member::new(EntityType::User, "anna"),
    ));
    let setup = IdentityCommand::SetUp(Box::new(setup));
    send(&mut rig, setup.clone()).unwrap();
    assert!(grants_of(&rig, 2, "anna").allows_any(grants![User: Create][0]));
    assert_eq!(grants_of(&rig, 1, "anna").roles().len(), 1);
    let from = rig.seen.len();
    send(&mut rig, setup.clone()).unwrap();
    let again: Vec<_> = rig.seen[from..].iter().map(|r| &r.intent).collect();
    assert!(again.is_empty(), "{again:?}");
    // A membership that was ended by hand is there again after the next start.
    let anna = member(defaults::ADMIN, EntityType::User, "anna");
    send(&mut rig, IdentityCommand::RemoveFromRole(anna)).unwrap();
    assert!(grants_of(&rig, 2, "anna").roles().is_empty());
    send(&mut rig, setup).unwrap();
    assert_eq!(grants_of(&rig, 2, "anna").roles().len(), 1);
}

/// Each node sends it when it starts. A directory that has become nearly full meanwhile has room for what is there already.
#[test]
fn a_set_up_needs_room_for_what_is_missing() {
    let mut rig = Rig::new();
    let group = |id: &str| ParentValue {
        key: Key::NONE,
        id: id.into(),
        name: "Group".into(),
        description: "x".repeat(9_000_000).into(),
        member: None,
    };
    let set_up = |id: &str| {
        let mut setup = defaults::setup();
        setup.groups.push(group(id));
        IdentityCommand::SetUp(Box::new(setup))
    };
    send(&mut rig, set_up("configured")).unwrap();
    for id in ["a", "b"] {
        let create = NewParent {
            description: "x".repeat(8_000_000).into(),
            ..new(id)
        };
        send(&mut rig, IdentityCommand::CreateGroup(create)).unwrap();
    }
    send(&mut rig, set_up("configured")).unwrap();
    let rows = |rig: &Rig| rig.partitions[0].engine.state.identity.table.len();
    let before = rows(&rig);
    let (kind, reason) = rejected(send(&mut rig, set_up("missing")));
    assert_eq!(kind, RejectionType::InvalidState, "{reason}");
    assert_eq!(rows(&rig), before);
}

#[test]
fn a_set_up_that_is_partly_invalid_changes_nothing() {
    let mut rig = Rig::new();
    let mut setup = defaults::setup();
    setup.users.push(user("anna"));
    setup.authorizations.push(authorization(
        (OwnerType::User, "anna"),
        ResourceType::Document,
        ResourceMatcher::Any,
        &[PermissionType::Update],
    ));
    let refused = send(&mut rig, IdentityCommand::SetUp(Box::new(setup)));
    assert_eq!(rejected(refused).0, RejectionType::InvalidArgument);
    assert_eq!(rig.partitions[0].engine.state.identity.table.len(), 0);
}

#[test]
fn the_first_administrator_is_made_once() {
    let mut rig = Rig::new();
    let first = IdentityCommand::CreateInitialAdmin(user("anna"));
    let early = send(&mut rig, first.clone());
    assert_eq!(rejected(early).0, RejectionType::InvalidState);
    send(&mut rig, set_up()).unwrap();
    send(&mut rig, first).unwrap();
    assert!(grants_of(&rig, 1, "anna").allows_any(grants![Role: Delete][0]));
    let second = send(&mut rig, IdentityCommand::CreateInitialAdmin(user("bert")));
    assert_eq!(rejected(second).0, RejectionType::Forbidden);
}

#[test]
fn no_first_administrator_is_created_if_the_role_has_a_member_of_any_kind() {
    for kind in [EntityType::Group, EntityType::Client] {
        let mut rig = Rig::new();
        send(&mut rig, set_up()).unwrap();
        send(&mut rig, IdentityCommand::CreateGroup(new("operators"))).unwrap();
        let operators = member("admin", kind, "operators");
        send(&mut rig, IdentityCommand::AddToRole(operators)).unwrap();
        let late = send(
            &mut rig,
            IdentityCommand::CreateInitialAdmin(user("mallory")),
        );
        assert_eq!(rejected(late).0, RejectionType::Forbidden, "{kind:?}");
    }
}

/// docs/security.md warns of it, too: the first login at a provider creates no user, so there need not be one.
#[test]
fn a_configured_member_that_is_created_later_has_its_rights() {
    let mut rig = Rig::new();
    let mut setup = defaults::setup();
    let ghost = Member::new(EntityType::User, "ghost");
    setup.role_members.push(("admin".into(), ghost));
    send(&mut rig, IdentityCommand::SetUp(Box::new(setup))).unwrap();
    let first = send(&mut rig, IdentityCommand::CreateInitialAdmin(user("anna")));
    assert_eq!(rejected(first).0, RejectionType::Forbidden);
    send(&mut rig, IdentityCommand::CreateUser(user("ghost"))).unwrap();
    assert!(grants_of(&rig, 1, "ghost").allows_any(grants![Role: Delete][0]));
}

/// docs/security.md warns of it: whoever takes the last member from the role opens the request to everybody.
#[test]
fn a_role_that_has_lost_its_last_administrator_may_get_a_first_one_again() {
    let mut rig = Rig::new();
    send(&mut rig, set_up()).unwrap();
    let first = |name: &str| IdentityCommand::CreateInitialAdmin(user(name));
    send(&mut rig, first("anna")).unwrap();
    let anna = member("admin", EntityType::User, "anna");
    send(&mut rig, IdentityCommand::RemoveFromRole(anna)).unwrap();
    assert!(!grants_of(&rig, 1, "anna").allows_any(grants![Role: Delete][0]));
    send(&mut rig, first("bert")).unwrap();
    assert!(grants_of(&rig, 1, "bert").allows_any(grants![Role: Delete][0]));
    let bert = IdentityCommand::DeleteUser {
        username: "bert".into(),
    };
    send(&mut rig, bert).unwrap();
    send(&mut rig, first("carl")).unwrap();
    assert!(grants_of(&rig, 1, "carl").allows_any(grants![Role: Delete][0]));
}

#[test]
fn default_roles_and_the_default_tenant_stay_as_they_are() {
    let mut rig = Rig::new();
    send(&mut rig, set_up()).unwrap();
    let id = || "admin".into();
    let update = UpdateParent {
        id: "admin".into(),
        name: "x".into(),
        description: None,
    };
    let tenant = "<default>".into();
    let more = authorization(
        (OwnerType::Role, "rpa"),
        ResourceType::Message,
        ResourceMatcher::Any,
        &[PermissionType::Create],
    );
    let first = {
        let directory = &rig.partitions[0].engine.state.identity.directory;
        let admin = id();
        let mut all = directory.authorizations_of(OwnerType::Role, &admin);
        all.next().expect("the admin may do something").0
    };
    for command in [
        IdentityCommand::DeleteRole { id: id() },
        IdentityCommand::UpdateRole(update),
        IdentityCommand::DeleteTenant { id: tenant },
        IdentityCommand::CreateAuthorization(more),
        IdentityCommand::DeleteAuthorization {
            authorization_key: first,
        },
    ] {
        let (kind, reason) = rejected(send(&mut rig, command));
        assert_eq!(kind, RejectionType::Forbidden, "{reason}");
    }
}

#[test]
fn a_member_must_be_there_unless_only_the_provider_knows() {
    let mut rig = Rig::new();
    send(&mut rig, IdentityCommand::CreateRole(new("clerk"))).unwrap();
    for kind in [EntityType::User, EntityType::Group, EntityType::MappingRule] {
        let add = IdentityCommand::AddToRole(member("clerk", kind, "nobody"));
        assert_eq!(rejected(send(&mut rig, add)).0, RejectionType::NotFound);
    }
    let app = member("clerk", EntityType::Client, "app");
    send(&mut rig, IdentityCommand::AddToRole(app.clone())).unwrap();
    let again = send(&mut rig, IdentityCommand::AddToRole(app));
    assert_eq!(rejected(again).0, RejectionType::AlreadyExists);
}

type Change = fn(Membership) -> IdentityCommand;

#[test]
fn members_join_and_leave_once() {
    let mut rig = Rig::new();
    for create in [
        IdentityCommand::CreateGroup(new("sales")),
        IdentityCommand::CreateRole(new("clerk")),
        IdentityCommand::CreateTenant(new("acme")),
    ] {
        send(&mut rig, create).unwrap();
    }
    let parents: [(&str, Change, Change); 3] = [
        (
            "sales",
            IdentityCommand::AddToGroup,
            IdentityCommand::RemoveFromGroup,
        ),
        (
            "clerk",
            IdentityCommand::AddToRole,
            IdentityCommand::RemoveFromRole,
        ),
        (
            "acme",
            IdentityCommand::AddToTenant,
            IdentityCommand::RemoveFromTenant,
        ),
    ];
    for (parent, add, remove) in parents {
        let app = |of: &str| member(of, EntityType::Client, "app");
        for (command, expected) in [
            (add(app("nothing")), Some(RejectionType::NotFound)),
            (remove(app("nothing")), Some(RejectionType::NotFound)),
            (remove(app(parent)), Some(RejectionType::NotFound)),
            (add(app(parent)), None),
            (add(app(parent)), Some(RejectionType::AlreadyExists)),
            (remove(app(parent)), None),
            (remove(app(parent)), Some(RejectionType::NotFound)),
        ] {
            let refused = send(&mut rig, command.clone()).err();
            assert_eq!(refused.map(|it| it.kind), expected, "{command:?}");
        }
    }
    let role = member("acme", EntityType::Role, "nobody");
    let refused = send(&mut rig, IdentityCommand::AddToTenant(role));
    assert_eq!(rejected(refused).0, RejectionType::NotFound);
}

/// Only an identity provider knows its users and groups, and clients always.
#[test]
fn who_is_managed_here_must_exist_as_a_member_and_as_an_owner() {
    for here in [true, false] {
        let mut rig = Rig::with_configs(1, |partition| EngineConfig {
            partition,
            identity: IdentityConfig {
                manages_users: here,
                manages_groups: here,
                ..IdentityConfig::default()
            },
            ..EngineConfig::default()
        });
        send(&mut rig, IdentityCommand::CreateTenant(new("acme"))).unwrap();
        for (entity, owner, is_required) in [
            (EntityType::User, OwnerType::User, here),
            (EntityType::Group, OwnerType::Group, here),
            (EntityType::Role, OwnerType::Role, true),
            (EntityType::MappingRule, OwnerType::MappingRule, true),
            (EntityType::Client, OwnerType::Client, false),
        ] {
            let grant = authorization(
                (owner, "nobody"),
                ResourceType::Message,
                ResourceMatcher::Any,
                &[PermissionType::Create],
            );
            for command in [
                IdentityCommand::AddToTenant(member("acme", entity, "nobody")),
                IdentityCommand::CreateAuthorization(grant),
            ] {
                let refused = send(&mut rig, command.clone()).err();
                let expected = is_required.then_some(RejectionType::NotFound);
                assert_eq!(refused.map(|it| it.kind), expected, "{here}: {command:?}");
            }
        }
    }
}

/// What cannot be created twice does not become so by an update either.
#[test]
fn an_update_makes_no_second_rule_or_authorization_of_the_same_content() {
    let mut rig = Rig::new();
    send(&mut rig, IdentityCommand::CreateUser(user("anna"))).unwrap();
    let on = |id: &str| {
        authorization(
            (OwnerType::User, "anna"),
            ResourceType::Message,
            ResourceMatcher::Id(id.into()),
            &[PermissionType::Create],
        )
    };
    let mut created = |id: &str| {
        let create = IdentityCommand::CreateAuthorization(on(id));
        match send(&mut rig, create) {
            Ok(Response::AuthorizationCreated { authorization_key }) => authorization_key,
            other => panic!("{other:?}"),
        }
    };
    let (_, second) = (created("first"), created("second"));
    for (authorization_key, id, expected) in [
        (second, "first", Some(RejectionType::AlreadyExists)),
        (second, "second", None),
        (Key::new(1, 4711), "third", Some(RejectionType::NotFound)),
    ] {
        let update = AuthorizationValue {
            authorization_key,
            ..on(id)
        };
        let refused = send(&mut rig, IdentityCommand::UpdateAuthorization(update)).err();
        assert_eq!(refused.map(|it| it.kind), expected, "{id}");
    }
    let rule = |id: &str, value: &str| MappingRuleValue {
        mapping_rule_key: Key::NONE,
        mapping_rule_id: id.into(),
        claim_name: "dept".into(),
        claim_value: value.into(),
        name: id.into(),
    };
    for (id, value) in [("one", "sales"), ("two", "support")] {
        let create = IdentityCommand::CreateMappingRule(rule(id, value));
        send(&mut rig, create).unwrap();
    }
    let same = IdentityCommand::UpdateMappingRule(rule("two", "sales"));
    let (kind, reason) = rejected(send(&mut rig, same));
    assert_eq!(kind, RejectionType::AlreadyExists);
    assert!(
        reason.contains("'dept'") && reason.contains("'sales'"),
        "{reason}"
    );
    let own = IdentityCommand::UpdateMappingRule(rule("two", "support"));
    send(&mut rig, own).unwrap();
}

#[test]
fn authorizations_must_be_grantable_unique_and_have_an_existing_owner() {
    let mut rig = Rig::new();
    send(&mut rig, IdentityCommand::CreateUser(user("anna"))).unwrap();
    let anna = (OwnerType::User, "anna");
    let create = [PermissionType::CreateProcessInstance];
    let on = |matcher| authorization(anna, ResourceType::ProcessDefinition, matcher, &create);
    let one = on(ResourceMatcher::Id("order".into()));
    let answer = send(&mut rig, IdentityCommand::CreateAuthorization(one.clone())).unwrap();
    let Response::AuthorizationCreated { authorization_key } = answer else {
        panic!("{answer:?}");
    };
    assert!(grants_of(&rig, 1, "anna").allows(CREATE[0], "order"));
    assert!(!grants_of(&rig, 1, "anna").allows(CREATE[0], "other"));
    let nobody = AuthorizationValue {
        owner_id: "nobody".into(),
        ..one.clone()
    };
    let other = AuthorizationValue {
        permissions: vec![PermissionType::Claim],
        ..on(ResourceMatcher::Any)
    };
    let property = on(ResourceMatcher::Property("assignee".into()));
    for (value, expected) in [
        (one, RejectionType::AlreadyExists),
        (nobody, RejectionType::NotFound),
        (other, RejectionType::InvalidArgument),
        (property, RejectionType::InvalidArgument),
    ] {
        let refused = send(&mut rig, IdentityCommand::CreateAuthorization(value));
        assert_eq!(rejected(refused).0, expected);
    }
    let widened = AuthorizationValue {
        authorization_key,
        ..on(ResourceMatcher::Any)
    };
    send(&mut rig, IdentityCommand::UpdateAuthorization(widened)).unwrap();
    assert!(grants_of(&rig, 1, "anna").allows(CREATE[0], "other"));
    let gone = IdentityCommand::DeleteAuthorization { authorization_key };
    send(&mut rig, gone.clone()).unwrap();
    assert!(!grants_of(&rig, 1, "anna").allows(CREATE[0], "order"));
    assert_eq!(rejected(send(&mut rig, gone)).0, RejectionType::NotFound);
}

#[test]
fn rights_come_by_way_of_groups_their_roles_and_the_roles_of_the_user() {
    let mut rig = Rig::new();
    send(&mut rig, IdentityCommand::CreateUser(user("anna"))).unwrap();
    send(&mut rig, IdentityCommand::CreateGroup(new("sales"))).unwrap();
    send(&mut rig, IdentityCommand::CreateRole(new("clerk"))).unwrap();
    send(&mut rig, IdentityCommand::CreateTenant(new("acme"))).unwrap();
    let grant = authorization(
        (OwnerType::Role, "clerk"),
        ResourceType::ProcessDefinition,
        ResourceMatcher::Any,
        &[PermissionType::CreateProcessInstance],
    );
    send(&mut rig, IdentityCommand::CreateAuthorization(grant)).unwrap();
    let in_group = member("sales", EntityType::User, "anna");
    let in_role = member("clerk", EntityType::Group, "sales");
    let in_tenant = member("acme", EntityType::Role, "clerk");
    send(&mut rig, IdentityCommand::AddToGroup(in_group.clone())).unwrap();
    send(&mut rig, IdentityCommand::AddToRole(in_role)).unwrap();
    send(&mut rig, IdentityCommand::AddToTenant(in_tenant)).unwrap();
    let grants = grants_of(&rig, 1, "anna");
    assert!(grants.allows(CREATE[0], "order"));
    let tenants: Vec<&str> = grants.tenants().iter().map(|t| t.as_str()).collect();
    assert_eq!(tenants, ["acme"]);
    send(&mut rig, IdentityCommand::RemoveFromGroup(in_group)).unwrap();
    let grants = grants_of(&rig, 1, "anna");
    assert!(!grants.allows(CREATE[0], "order") && grants.tenants().is_empty());
}

#[test]
fn updates_do_not_make_the_directory_larger_than_it_may_be() {
    let mut rig = Rig::new();
    for n in 0..9 {
        let group = new(&format!("group-{n}"));
        send(&mut rig, IdentityCommand::CreateGroup(group)).unwrap();
    }
    let mut described = |n: u32, bytes: usize| {
        let update = UpdateParent {
            id: format!("group-{n}").into(),
            name: "Group".into(),
            description: Some("x".repeat(bytes).into()),
        };
        send(&mut rig, IdentityCommand::UpdateGroup(update))
    };
    // All of them together may have 32 MiB.
    for n in 0..8 {
        described(n, 4_000_000).unwrap();
    }
    let (kind, reason) = rejected(described(8, 4_000_000));
    assert_eq!(kind, RejectionType::InvalidState, "{reason}");
    assert!(reason.contains("bytes of names and texts"), "{reason}");
    described(0, 4_000_000).unwrap();
    described(0, 10).unwrap();
    described(8, 4_000_000).unwrap();
}
