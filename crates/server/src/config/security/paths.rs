//! The path of a setting below `camunda.security.initialization`: its list, entry and field. In files, names have dots and brackets
//! (`users[0].name`), in the environment underscores (`USERS_0_NAME`).

use super::super::source::{Given, Source};
use super::super::value::squeeze;

const AREA: &str = "camunda.security.initialization";

/// A list of entries that have fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum List {
    Users,
    MappingRules,
    Authorizations,
    Roles,
    Groups,
    Tenants,
}

impl List {
    pub const ALL: [List; 6] = [
        List::Users,
        List::MappingRules,
        List::Authorizations,
        List::Roles,
        List::Groups,
        List::Tenants,
    ];

    pub fn name(self) -> &'static str {
        match self {
            List::Users => "users",
            List::MappingRules => "mapping-rules",
            List::Authorizations => "authorizations",
            List::Roles => "roles",
            List::Groups => "groups",
            List::Tenants => "tenants",
        }
    }

    /// The field that identifies an entry.
    pub fn id(self) -> &'static str {
        match self {
            List::Users => "username",
            List::MappingRules => "mapping-rule-id",
            List::Authorizations => "owner-id",
            List::Roles => "role-id",
            List::Groups => "group-id",
            List::Tenants => "tenant-id",
        }
    }

    /// The fields of an entry, in documented order.
    pub fn fields(self) -> &'static [&'static str] {
        match self {
            List::Users => &["username", "password", "name", "email"],
            List::MappingRules => &["mapping-rule-id", "claim-name", "claim-value"],
            List::Authorizations => &[
                "owner-type",
                "owner-id",
                "resource-type",
                "resource-id",
                "resource-property-name",
                "permissions",
            ],
            List::Roles => &[
                "role-id",
                "name",
                "description",
                "users",
                "clients",
                "groups",
                "mapping-rules",
            ],
            List::Groups => &[
                "group-id",
                "name",
                "description",
                "users",
                "clients",
                "mapping-rules",
            ],
            List::Tenants => &[
                "tenant-id",
                "name",
                "description",
                "users",
                "clients",
                "groups",
                "roles",
                "mapping-rules",
            ],
        }
    }
}

/// The entity that a setting is part of.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Of {
    Entry(List, usize),
    /// A built-in role, or one of the list, as written.
    Role(String),
}

/// A list, an entry and a field. Field names are normalized for comparison.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SettingPath {
    pub of: Of,
    pub field: String,
    /// In a list field: the index of the item.
    pub item: Option<usize>,
}

/// `None`: the setting is about something else. An error: it is one of these, but invalid.
pub fn setting_path(given: &Given) -> Option<Result<SettingPath, String>> {
    if !given.is_below(AREA) {
        return None;
    }
    let found = match &given.source {
        Source::Environment(_) => variable(&given.name),
        _ => named(&given.name),
    };
    Some(found.ok_or_else(|| {
        format!(
            "{} ({}): there is no such setting. Expected LIST[NUMBER].FIELD, LIST out of users, mapping-rules, authorizations, roles, \
             groups, tenants; or default-roles.ROLE.MEMBERS, MEMBERS out of users, clients, groups, mapping-rules",
            given.name, given.source
        )
    }))
}

fn list(name: &str) -> Option<List> {
    let squeezed = squeeze(name);
    List::ALL
        .into_iter()
        .find(|list| squeeze(list.name()) == squeezed)
}

/// Splits `name[1]` into name and number.
fn numbered(segment: &str) -> Option<(&str, Option<usize>)> {
    match segment.split_once('[') {
        None => Some((segment, None)),
        Some((name, number)) => {
            let number = number.strip_suffix(']')?.parse().ok()?;
            Some((name, Some(number)))
        }
    }
}

fn named(name: &str) -> Option<SettingPath> {
    let segments: Vec<&str> = name.split('.').skip(3).collect();
    let (first, between) = segments.split_first()?;
    let (last, between) = between.split_last()?;
    let (field, item) = numbered(last)?;
    let field = squeeze(field);
    let of = match numbered(first)? {
        (first, None) if squeeze(first) == "defaultroles" => Of::Role(between.join(".")),
        (first, Some(number)) if between.is_empty() => Of::Entry(list(first)?, number),
        _ => return None,
    };
    Some(SettingPath { of, field, item })
}

fn variable(name: &str) -> Option<SettingPath> {
    let name = name.to_ascii_lowercase();
    let rest = name.strip_prefix("camunda_security_initialization_")?;
    let mut words: Vec<&str> = rest.split('_').collect();
    let item: Option<usize> = words.last()?.parse().ok();
    if item.is_some() {
        words.pop();
    }
    if let [first, role @ .., field] = &*words
        && *first == "defaultroles"
    {
        let of = Of::Role(role.concat());
        let field = (*field).to_string();
        return Some(SettingPath { of, field, item });
    }
    let at = words
        .iter()
        .position(|word| word.parse::<usize>().is_ok())?;
    let (before, after) = words.split_at_checked(at)?;
    let (number, field) = after.split_first()?;
    if field.is_empty() {
        return None;
    }
    let of = Of::Entry(list(&before.concat())?, number.parse().ok()?);
    let field = field.concat();
    Some(SettingPath { of, field, item })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_files_and_of_the_environment_give_the_same_path() {
        let environment = |name: &str| Given {
            name: name.to_string(),
            text: "x".to_string(),
            source: Source::Environment(name.to_string()),
        };
        let entry = |list, number, field: &str, item| SettingPath {
            of: Of::Entry(list, number),
            field: field.to_string(),
            item,
        };
        let role = |role: &str, field: &str, item| SettingPath {
            of: Of::Role(role.to_string()),
            field: field.to_string(),
            item,
        };
        for (file, variable, expected) in [
            (
                "users[0].username",
                "USERS_0_USERNAME",
                entry(List::Users, 0, "username", None),
            ),
            (
                "mapping-rules[12].claim-name",
                "MAPPINGRULES_12_CLAIMNAME",
                entry(List::MappingRules, 12, "claimname", None),
            ),
            (
                "roles[1].mappingRules[3]",
                "ROLES_1_MAPPINGRULES_3",
                entry(List::Roles, 1, "mappingrules", Some(3)),
            ),
            (
                "defaultRoles.admin.users[0]",
                "DEFAULTROLES_ADMIN_USERS_0",
                role("admin", "users", Some(0)),
            ),
            (
                "default-roles.connectors.clients",
                "DEFAULTROLES_CONNECTORS_CLIENTS",
                role("connectors", "clients", None),
            ),
        ] {
            let given = Given::flag("--set", &format!("{AREA}.{file}"), "x");
            assert_eq!(setting_path(&given), Some(Ok(expected.clone())), "{file}");
            let given = environment(&format!("CAMUNDA_SECURITY_INITIALIZATION_{variable}"));
            assert_eq!(setting_path(&given), Some(Ok(expected)), "{variable}");
        }
        let readonly =
            environment("CAMUNDA_SECURITY_INITIALIZATION_DEFAULTROLES_READONLYADMIN_GROUPS");
        assert_eq!(
            setting_path(&readonly),
            Some(Ok(role("readonlyadmin", "groups", None)))
        );
    }

    #[test]
    fn settings_without_a_valid_path_are_errors_and_other_settings_are_ignored() {
        for name in [
            "users.username",
            "users[x].username",
            "users[0]",
            "people[0].name",
            "users[0].name.first",
        ] {
            let given = Given::flag("--set", &format!("{AREA}.{name}"), "x");
            let error = setting_path(&given).unwrap().unwrap_err();
            assert!(error.contains(name), "{error}");
        }
        let other = Given::flag("--set", "camunda.security.csrf.enabled", "x");
        assert_eq!(setting_path(&other), None);
    }
}
