//! Settings below `camunda.security`, as written by operators.

use skep_protocol::permission::{PermissionType, ResourceType};
use skep_protocol::value::{EntityType, Member, ResourceMatcher};

use super::*;
use crate::config::source::{Given, environment};
use crate::config::{Loaded, resolve};

const AREA: &str = "camunda.security";

fn said(settings: &[(&str, &str)]) -> Vec<Given> {
    let given = |(name, text): &(&str, &str)| Given::flag("--set", name, text);
    settings.iter().map(given).collect()
}

fn resolved(settings: &[(&str, &str)]) -> Result<Loaded, String> {
    resolve(&said(settings)).map_err(|error| error.to_string())
}

fn variables(variables: &[(&str, &str)]) -> Result<Loaded, String> {
    let variables = variables.iter().map(|(name, text)| {
        let name = format!("CAMUNDA_SECURITY_INITIALIZATION_{name}");
        (name, (*text).to_string())
    });
    resolve(&environment(variables)).map_err(|error| error.to_string())
}

fn yaml(text: &str) -> Vec<Given> {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("application.yaml");
    std::fs::write(&path, text).unwrap();
    crate::config::source::file(&path).unwrap().concat()
}

fn member(kind: EntityType, id: &str, of: &str) -> (std::sync::Arc<str>, Member) {
    (of.into(), Member::new(kind, id))
}

const METHOD: &str = "camunda.security.authentication.method";
const UNPROTECTED: &str = "camunda.security.authentication.unprotected-api";
const AUTHORIZATIONS: &str = "camunda.security.authorizations.enabled";

#[test]
fn the_api_is_protected_as_soon_as_a_setting_asks_for_it() {
    for (given, protected, authorizations) in [
        (&[][..], false, false),
        (&[(METHOD, "basic")], true, true),
        (&[(UNPROTECTED, "false")], true, true),
        (&[(UNPROTECTED, "true")], false, false),
        (&[(METHOD, "basic"), (UNPROTECTED, "true")], false, false),
        (&[(METHOD, "basic"), (AUTHORIZATIONS, "false")], true, false),
        (&[(AUTHORIZATIONS, "true")], false, true),
    ] {
        let loaded = resolved(given).unwrap();
        let gateway = loaded.settings.gateway_config();
        let broker = loaded.settings.broker_config();
        assert_eq!(
            gateway.security.login == Login::Basic,
            protected,
            "{given:?}"
        );
        assert_eq!(gateway.security.authorizations, authorizations, "{given:?}");
        assert_eq!(
            broker.engine.identity.authorizations, authorizations,
            "{given:?}"
        );
        let value = |name: &str| {
            let mut all = loaded.effective.iter();
            all.find(|one| one.name == name).unwrap().value.clone()
        };
        assert_eq!(value(METHOD), "basic");
        assert_eq!(value(UNPROTECTED), (!protected).to_string());
        assert_eq!(value(AUTHORIZATIONS), authorizations.to_string());
    }
}

#[test]
fn a_port_open_to_other_machines_requires_a_choice_about_logins() {
    for name in ["server.address", "camunda.api.grpc.address"] {
        for address in ["0.0.0.0", "::", "192.168.0.7"] {
            let refused = resolved(&[(name, address)]).unwrap_err();
            for part in [name, address, "method: basic", "unprotected-api: true"] {
                assert!(refused.contains(part), "{part}: {refused}");
            }
            for chosen in [
                (METHOD, "basic"),
                (UNPROTECTED, "true"),
                (UNPROTECTED, "false"),
            ] {
                assert!(resolved(&[(name, address), chosen]).is_ok(), "{chosen:?}");
            }
        }
        for address in ["127.0.0.1", "127.0.0.2", "::1"] {
            assert!(resolved(&[(name, address)]).is_ok(), "{address}");
        }
    }
    assert!(resolved(&[("management.server.address", "0.0.0.0")]).is_ok());
}

#[test]
fn tokens_need_a_configured_issuer() {
    let refused = resolved(&[(METHOD, "oidc")]).unwrap_err();
    assert!(refused.contains("oidc.issuer-uri"), "{refused}");
    assert!(resolved(&[(METHOD, "oidc"), (UNPROTECTED, "true")]).is_ok());
    let issuer = format!("{AREA}.authentication.oidc.issuer-uri");
    let named = (&*issuer, "https://id.example.org");
    let security = resolved(&[(METHOD, "oidc"), named]).unwrap();
    let security = security.settings.security;
    assert_eq!(security.login(), Login::Bearer);
    let identity = security.identity();
    assert!(!identity.manages_users && identity.manages_groups);
    let groups = format!("{AREA}.authentication.oidc.groups-claim");
    let security = resolved(&[(METHOD, "oidc"), named, (&groups, "groups")]).unwrap();
    assert!(!security.settings.security.identity().manages_groups);
}

#[test]
fn a_described_provider_that_is_not_used_is_reported() {
    let issuer = format!("{AREA}.authentication.oidc.issuer-uri");
    let named = (&*issuer, "https://id.example.org");
    let refused = resolved(&[named]).unwrap_err();
    assert!(refused.contains("is not oidc"), "{refused}");
    for chosen in [(METHOD, "basic"), (UNPROTECTED, "true")] {
        let warnings = resolved(&[named, chosen]).unwrap().warnings;
        assert!(warnings.concat().contains("is not oidc"), "{warnings:?}");
    }
}

#[test]
fn tenant_checks_need_a_login() {
    let checks = format!("{AREA}.multi-tenancy.checks-enabled");
    for open in [&[][..], &[(METHOD, "basic"), (UNPROTECTED, "true")]] {
        let refused = resolved(&[&[(&*checks, "true")], open].concat()).unwrap_err();
        assert!(refused.contains(&checks), "{refused}");
    }
    let loaded = resolved(&[(&checks, "true"), (METHOD, "basic")]).unwrap();
    assert!(loaded.settings.security.identity().tenant_checks);
    assert_eq!(loaded.warnings, [""; 0]);
    let off = resolved(&[(&checks, "false")]).unwrap();
    assert!(!off.settings.security.identity().tenant_checks);
    assert_eq!(off.warnings, [""; 0]);
}

#[test]
fn the_limits_of_wrong_passwords_reach_the_gateway() {
    let name = |setting: &str| format!("skep.security.wrong-passwords.{setting}");
    let (of_name, pause, of_address) = (name("per-name"), name("pause"), name("per-address"));
    let given = [(&*of_name, "3"), (&*pause, "1m"), (&*of_address, "5000")];
    let gateway = resolved(&given).unwrap().settings.gateway_config();
    let expected = GuessLimits {
        of_name: 3,
        pause: Duration::from_secs(60),
        of_address: 5000,
    };
    assert_eq!(gateway.security.guesses, expected);
    for setting in [&of_name, &of_address] {
        assert!(
            resolved(&[(setting.as_str(), "0")]).is_err(),
            "nobody could log in"
        );
    }
}

#[test]
fn a_view_may_get_as_old_as_the_silence_before_an_election() {
    const ELECTION: &str = "camunda.cluster.raft.election-timeout";
    const AGE: &str = "skep.security.max-view-age";
    for (age, election, is_possible) in [
        ("0ms", "2s", true),
        ("2s", "2s", true),
        ("1999ms", "2s", false),
        ("1ms", "1s", false),
    ] {
        let loaded = resolved(&[(AGE, age), (ELECTION, election)]);
        assert_eq!(loaded.is_ok(), is_possible, "{age} {election}");
        if let Err(refused) = loaded {
            assert!(
                refused.contains(AGE) && refused.contains(ELECTION),
                "{refused}"
            );
        }
    }
}

#[test]
fn tenant_checks_without_the_operations_on_tenants_lead_to_a_warning() {
    let name = |setting: &str| format!("{AREA}.multi-tenancy.{setting}");
    let (checks, api) = (name("checks-enabled"), name("api-enabled"));
    for (checked, open, is_warned) in [
        ("true", "false", true),
        ("true", "true", false),
        ("false", "false", false),
    ] {
        let given = [(&*checks, checked), (&*api, open), (METHOD, "basic")];
        let warnings = resolved(&given).unwrap().warnings;
        assert_eq!(warnings.len(), usize::from(is_warned), "{warnings:?}");
        let text = warnings.concat();
        assert_eq!(text.contains(&checks), is_warned, "{text}");
        assert_eq!(text.contains(&api), is_warned, "{text}");
    }
}

#[test]
fn an_older_name_of_the_unprotected_api_is_known() {
    let old = "camunda.security.authentication.basic.allow-unauthenticated-api-access";
    let loaded = resolved(&[(METHOD, "basic"), (old, "true")]).unwrap();
    assert!(!loaded.settings.security.is_protected());
    let both = yaml(&format!("{old}: false\n{UNPROTECTED}: true\n"));
    let refused = resolve(&both).unwrap_err().to_string();
    assert!(refused.contains("different values"), "{refused}");
}

#[test]
fn every_cluster_has_its_roles_and_its_tenant() {
    let initial = resolved(&[]).unwrap().settings.security.initial;
    assert_eq!(initial.setup, skep_identity::defaults::setup());
    assert!(initial.users.is_empty());
}

#[test]
fn users_and_their_roles_come_from_the_environment() {
    let loaded = variables(&[
        ("USERS_0_USERNAME", "demo"),
        ("USERS_0_PASSWORD", "hush, demo"),
        ("USERS_0_NAME", "Demo User"),
        ("USERS_0_EMAIL", "demo@example.org"),
        ("USERS_10_USERNAME", "connectors"),
        ("USERS_10_PASSWORD", "hush"),
        ("USERS_10_EMAIL", ""),
        ("DEFAULTROLES_ADMIN_USERS_0", "demo"),
        ("DEFAULTROLES_ADMIN_USERS_1", "root"),
        ("DEFAULTROLES_CONNECTORS_USERS", "connectors, demo"),
        ("DEFAULTROLES_CONNECTORS_CLIENTS", "connectors"),
        ("DEFAULTROLES_READONLYADMIN_MAPPINGS", "auditors"),
    ]);
    let initial = loaded.unwrap().settings.security.initial;
    let users: Vec<_> = initial
        .users
        .iter()
        .map(|one| {
            (
                &*one.user.username,
                &*one.user.name,
                &*one.user.email,
                one.password.reveal(),
            )
        })
        .collect();
    assert_eq!(
        users,
        [
            ("demo", "Demo User", "demo@example.org", "hush, demo"),
            ("connectors", "", "", "hush"),
        ]
    );
    assert_eq!(
        initial.setup.role_members,
        [
            member(EntityType::User, "demo", "admin"),
            member(EntityType::User, "root", "admin"),
            member(EntityType::Client, "connectors", "connectors"),
            member(EntityType::User, "connectors", "connectors"),
            member(EntityType::User, "demo", "connectors"),
            member(EntityType::MappingRule, "auditors", "readonly-admin"),
        ]
    );
}

const EVERYTHING: &str = "
camunda.security:
  initialization:
    users:
      - username: anna
        password: hush
    mapping-rules:
      - mappingRuleId: auditors
        claimName: groups
        claimValue: audit
    roles:
      - role-id: clerk
        name: Clerk
        description: Works
        users: [anna, bert]
        mapping-rules: auditors
      - role-id: admin
        groups: chiefs
    groups:
      - group-id: chiefs
        clients: [app]
    tenants:
      - tenant-id: north
        roles: [clerk]
      - tenant-id: <default>
        users: anna
    default-roles:
      clerk:
        clients: worker
    authorizations:
      - owner-type: role
        owner-id: clerk
        resource-type: process-definition
        resource-id: '*'
        permissions: [READ_PROCESS_INSTANCE, create-process-instance]
      - ownerType: USER
        ownerId: anna
        resourceType: USER_TASK
        resourcePropertyName: assignee
        permissions: READ, COMPLETE
";

#[test]
fn all_lists_come_from_a_file() {
    let initial = resolve(&yaml(EVERYTHING))
        .unwrap()
        .settings
        .security
        .initial;
    let every = skep_identity::defaults::setup();
    let setup = initial.setup;
    assert_eq!(initial.users.len(), 1);
    let [rule] = &*setup.mapping_rules else {
        panic!("one rule");
    };
    assert_eq!((&*rule.claim_name, &*rule.claim_value), ("groups", "audit"));
    let [clerk] = &setup.roles[every.roles.len()..] else {
        panic!("one role more");
    };
    assert_eq!((&*clerk.name, &*clerk.description), ("Clerk", "Works"));
    assert_eq!(&*setup.groups[0].name, "chiefs", "its id is its name");
    assert_eq!(setup.tenants.len(), every.tenants.len() + 1);
    assert_eq!(
        setup.role_members,
        [
            member(EntityType::User, "anna", "clerk"),
            member(EntityType::User, "bert", "clerk"),
            member(EntityType::MappingRule, "auditors", "clerk"),
            member(EntityType::Group, "chiefs", "admin"),
            member(EntityType::Client, "worker", "clerk"),
        ]
    );
    assert_eq!(
        setup.group_members,
        [member(EntityType::Client, "app", "chiefs")]
    );
    assert_eq!(
        setup.tenant_members[every.tenant_members.len()..],
        [
            member(EntityType::Role, "clerk", "north"),
            member(EntityType::User, "anna", "<default>"),
        ]
    );
    let [all, own] = &setup.authorizations[every.authorizations.len()..] else {
        panic!("two authorizations more");
    };
    assert_eq!(all.resource_type, ResourceType::ProcessDefinition);
    assert_eq!(all.matcher, ResourceMatcher::Any);
    let permissions = [
        PermissionType::CreateProcessInstance,
        PermissionType::ReadProcessInstance,
    ];
    assert_eq!(all.permissions, permissions);
    assert_eq!(own.matcher, ResourceMatcher::Property("assignee".into()));
}

#[test]
fn a_stronger_source_replaces_a_list() {
    let mut given = yaml(EVERYTHING);
    given.extend(environment(
        [
            ("CAMUNDA_SECURITY_INITIALIZATION_USERS_0_USERNAME", "zoe"),
            ("CAMUNDA_SECURITY_INITIALIZATION_USERS_0_PASSWORD", "hush"),
            (
                "CAMUNDA_SECURITY_INITIALIZATION_DEFAULTROLES_CLERK_CLIENTS",
                "other",
            ),
        ]
        .into_iter()
        .map(|(name, text)| (name.to_string(), text.to_string())),
    ));
    let initial = resolve(&given).unwrap().settings.security.initial;
    let users: Vec<&str> = initial
        .users
        .iter()
        .map(|one| &*one.user.username)
        .collect();
    assert_eq!(users, ["zoe"]);
    let of_role = |id: &str| {
        let found = member(EntityType::Client, id, "clerk");
        initial.setup.role_members.contains(&found)
    };
    assert!(of_role("other") && !of_role("worker"));
    assert_eq!(initial.setup.groups.len(), 1, "other lists stay");
}

#[test]
fn passwords_may_stand_elsewhere_than_the_users() {
    let mut given = yaml("camunda.security.initialization.users: [{username: a}, {username: b}]\n");
    let passwords = [("0", "hush"), ("1", "shush")].map(|(number, text)| {
        let name = format!("CAMUNDA_SECURITY_INITIALIZATION_USERS_{number}_PASSWORD");
        (name, text.to_string())
    });
    given.extend(environment(passwords.into_iter()));
    let initial = resolve(&given).unwrap().settings.security.initial;
    let users: Vec<(&str, &str)> = initial
        .users
        .iter()
        .map(|one| (&*one.user.username, one.password.reveal()))
        .collect();
    assert_eq!(users, [("a", "hush"), ("b", "shush")]);
}

#[test]
fn a_later_document_of_a_file_replaces_a_list() {
    let text = |user: &str| {
        format!("camunda.security.initialization.users: [{{username: {user}, password: hush}}]\n")
    };
    let both = format!(
        "camunda.security.initialization.users:\n  - {{username: a, password: x}}\n  - {{username: b, password: x}}\n---\n{}",
        text("c")
    );
    let initial = resolve(&yaml(&both)).unwrap().settings.security.initial;
    let users: Vec<&str> = initial
        .users
        .iter()
        .map(|one| &*one.user.username)
        .collect();
    assert_eq!(users, ["c"]);
}

/// The given settings, the named entry, and the message about it.
type Refused = (
    &'static [(&'static str, &'static str)],
    &'static str,
    &'static str,
);

const REFUSED: &[Refused] = &[
    (
        &[("USERS_0_PASSWORD", "geheim")],
        "users[0]",
        "No username provided",
    ),
    (
        &[("USERS_3_USERNAME", "a")],
        "users[3]",
        "No password provided",
    ),
    (
        &[("USERS_0_USERNAME", "a b"), ("USERS_0_PASSWORD", "geheim")],
        "users[0]",
        "illegal characters",
    ),
    (
        &[
            ("USERS_0_USERNAME", "a"),
            ("USERS_0_PASSWORD", "geheim"),
            ("USERS_0_EMAIL", "nobody"),
        ],
        "users[0]",
        "email 'nobody' is not valid",
    ),
    (
        &[
            ("USERS_0_USERNAME", "a"),
            ("USERS_0_PASSWORD", "geheim"),
            ("USERS_1_USERNAME", "a"),
            ("USERS_1_PASSWORD", "geheim"),
        ],
        "users[1]",
        "is configured twice",
    ),
    (
        &[
            ("USERS_0_USERNAME", "a"),
            ("USERS_0_PASSWORD", "geheim"),
            ("USERS_0_PASWORD", "geheim"),
        ],
        "users[0]",
        "no field 'pasword'",
    ),
    (
        &[("DEFAULTROLES_BOSS_USERS", "a")],
        "default-roles.boss",
        "no role 'boss'",
    ),
    (
        &[("DEFAULTROLES_ADMIN_TENANTS", "a")],
        "default-roles.admin",
        "no field 'tenants'",
    ),
    (&[("ROLES_0_NAME", "a")], "roles[0]", "No role-id provided"),
    (
        &[("GROUPS_0_GROUPID", "g"), ("GROUPS_1_GROUPID", "g")],
        "groups[1]",
        "is configured twice",
    ),
    (
        &[("TENANTS_0_TENANTID", "<other>")],
        "tenants[0]",
        "illegal characters",
    ),
    (
        &[("MAPPINGRULES_0_MAPPINGRULEID", "r")],
        "mapping-rules[0]",
        "No claim-name provided",
    ),
    (
        &[
            ("MAPPINGRULES_0_MAPPINGRULEID", "r"),
            ("MAPPINGRULES_0_CLAIMNAME", "$..a..b..c..d"),
            ("MAPPINGRULES_0_CLAIMVALUE", "v"),
        ],
        "mapping-rules[0]",
        "has more than 3 recursive segments",
    ),
    (
        &[
            ("AUTHORIZATIONS_0_OWNERTYPE", "USER"),
            ("AUTHORIZATIONS_0_OWNERID", "a"),
            ("AUTHORIZATIONS_0_RESOURCETYPE", "USER"),
            ("AUTHORIZATIONS_0_RESOURCEID", "*"),
            ("AUTHORIZATIONS_0_PERMISSIONS", "READ,ACCESS"),
        ],
        "authorizations[0]",
        "permissions 'ACCESS' is not one of CREATE, DELETE, READ, UPDATE",
    ),
    (
        &[
            ("AUTHORIZATIONS_0_OWNERTYPE", "USER"),
            ("AUTHORIZATIONS_0_OWNERID", "a"),
            ("AUTHORIZATIONS_0_RESOURCETYPE", "USER"),
            ("AUTHORIZATIONS_0_PERMISSIONS", "READ"),
        ],
        "authorizations[0]",
        "One of resource-id and resource-property-name",
    ),
    (
        &[("PEOPLE_0_USERNAME", "geheim")],
        "PEOPLE_0_USERNAME",
        "no such setting",
    ),
];

#[test]
fn an_entry_that_cannot_be_stops_the_start_and_is_named() {
    for (given, entry, why) in REFUSED {
        let refused = variables(given).unwrap_err();
        assert!(
            refused.contains(entry) && refused.contains(why),
            "{entry}, {why}: {refused}"
        );
        assert!(refused.contains("environment variable"), "{refused}");
        assert!(!refused.contains("geheim"), "{refused}");
    }
}

#[test]
fn more_than_a_cluster_may_have_stops_the_start() {
    let groups = |count: usize, description: &str| {
        let given = (0..count).flat_map(|number| {
            let group = format!("CAMUNDA_SECURITY_INITIALIZATION_GROUPS_{number}");
            let description = (format!("{group}_DESCRIPTION"), description.to_string());
            [
                (format!("{group}_GROUPID"), format!("g{number}")),
                description,
            ]
        });
        resolve(&environment(given)).map_err(|error| error.to_string())
    };
    let refused = groups(5, &"x".repeat(4 << 20)).unwrap_err();
    let why = "bytes of names and texts, and the limit is 33554432. Configure fewer";
    assert!(refused.contains(why), "{}", refused.len());
    assert!(groups(3, &"x".repeat(4 << 20)).is_ok());
}

/// What a client could not send, a set-up cannot have either.
#[test]
fn a_text_that_no_request_could_carry_stops_the_start() {
    // A list, a field of its entries, and the other fields that an entry needs.
    const FIELDS: [(&str, &str, &[&str]); 5] = [
        ("groups", "description", &["group-id"]),
        ("roles", "description", &["role-id"]),
        ("tenants", "description", &["tenant-id"]),
        (
            "mapping-rules",
            "claim-value",
            &["mapping-rule-id", "claim-name"],
        ),
        (
            "mapping-rules",
            "claim-name",
            &["mapping-rule-id", "claim-value"],
        ),
    ];
    for (list, field, others) in FIELDS {
        let variable = |field: &str| format!("{list}_0_{field}").replace('-', "").to_uppercase();
        let name = variable(field);
        let others: Vec<String> = others.iter().map(|other| variable(other)).collect();
        let with = |bytes: usize| {
            let text = "x".repeat(bytes);
            let mut given: Vec<(&str, &str)> = others.iter().map(|other| (&**other, "x")).collect();
            given.push((&name, &text));
            variables(&given)
        };
        let refused = with((4 << 20) + 1).unwrap_err();
        let why = format!("The {field} has 4194305 bytes, and 4194304 are allowed");
        assert!(refused.contains(&why), "{name}: {}", refused.len());
        assert!(refused.contains("[0] (environment variable"), "{name}");
        assert!(refused.len() < 2_000, "{name}: {}", refused.len());
        assert!(with(4 << 20).is_ok(), "{name}");
    }
    // The setting that limits requests limits them too.
    let refused = resolved(&[
        ("camunda.api.grpc.max-message-size", "1KB"),
        ("camunda.security.initialization.groups[0].group-id", "g"),
        (
            "camunda.security.initialization.groups[0].description",
            &"x".repeat(1_025),
        ),
    ])
    .unwrap_err();
    assert!(
        refused.contains("1025 bytes, and 1024 are allowed"),
        "{refused}"
    );
}

/// The limit is that of the API, and the message shows nothing of it.
#[test]
fn a_password_that_nobody_could_log_in_with_stops_the_start() {
    let with = |bytes: usize| {
        let password = "x".repeat(bytes);
        variables(&[
            ("USERS_0_USERNAME", "anna"),
            ("USERS_0_PASSWORD", &*password),
        ])
    };
    let refused = with(2_001).unwrap_err();
    let why = "[0] (environment variable";
    assert!(refused.contains(why), "{refused}");
    assert!(refused.contains("limit of 2000 bytes"), "{refused}");
    assert!(!refused.contains("xx"), "{refused}");
    assert!(with(2_000).is_ok());
}

const USER: &str = "camunda.security.initialization.users[0]";

#[test]
fn the_id_pattern_applies_to_initial_users_too() {
    let with = |pattern: &str, id: &str| {
        let user = |field: &str| format!("{USER}.{field}");
        resolve(&said(&[
            (ID_PATTERN, pattern),
            (&user("username"), id),
            (&user("password"), "geheim"),
        ]))
        .map_err(|error| error.to_string())
    };
    let loaded = with("[a-z/]{2,9}", "of/us").unwrap();
    let security = &loaded.settings.gateway_config().security;
    assert_eq!(security.ids.text(), "[a-z/]{2,9}");
    let shown = loaded.effective.iter().find(|one| one.name == ID_PATTERN);
    assert_eq!(shown.unwrap().value, "[a-z/]{2,9}");
    let refused = with("[a-z/]{2,9}", "anna.b").unwrap_err();
    assert!(
        refused.contains("users[0]") && refused.contains("match the pattern '[a-z/]{2,9}'"),
        "{refused}"
    );
    for (pattern, why) in [
        ("[a-z", "unclosed character class"),
        ("(?!x).+", "look-around"),
        ("(?:[a-z]{1000}){1000}", "it is too large"),
    ] {
        let refused = with(pattern, "anna").unwrap_err();
        let named = format!("{ID_PATTERN} = '{pattern}' (flag --set): ");
        assert!(
            refused.contains(&named) && refused.contains(why),
            "{refused}"
        );
    }
}

#[test]
fn ids_of_groups_are_those_of_the_provider_that_names_them() {
    const OIDC: &str = "camunda.security.authentication.oidc";
    let role = "camunda.security.initialization.default-roles.admin.groups";
    let issuer = format!("{OIDC}.issuer-uri");
    let claim = format!("{OIDC}.groups-claim");
    let mut given = vec![
        (METHOD, "oidc"),
        (&*issuer, "https://id.example.org"),
        (role, "/staff/sales team"),
    ];
    let refused = resolved(&given).unwrap_err();
    assert!(refused.contains("illegal characters"), "{refused}");
    given.push((&claim, "groups"));
    let setup = resolved(&given).unwrap().settings.security.initial.setup;
    let member = member(EntityType::Group, "/staff/sales team", "admin");
    assert!(setup.role_members.contains(&member));
}

#[test]
fn passwords_are_shown_nowhere() {
    let loaded =
        variables(&[("USERS_0_USERNAME", "demo"), ("USERS_0_PASSWORD", "geheim")]).unwrap();
    assert_eq!(loaded.settings.security.initial.users.len(), 1);
    assert!(!format!("{loaded:?}").contains("geheim"));
    let listing = crate::config::docs::listing(&loaded.effective);
    assert!(!listing.contains("geheim"), "{listing}");
    let mut bad = said(&[(
        "camunda.security.initialization.users[0].password",
        "geheim${",
    )]);
    let problems = crate::config::fill(&mut bad, &|_| None);
    assert!(
        problems.len() == 1 && !problems[0].contains("geheim"),
        "{problems:?}"
    );
}
