//! Users, groups, roles, tenants, mapping rules and authorizations, and their members.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use http::request::Parts;
use http::{Response, StatusCode};
use serde_json::{Map, Value as Json, json};
use skep_protocol::Key;
use skep_protocol::origin::Claims;
use skep_protocol::value::{OwnerType, ParentType};
use skep_query::access::MAX_IDS;
use skep_query::entities::{AUTHORIZATION, GROUP, MAPPING_RULE, MEMBER, ROLE, TENANT, USER};
use skep_query::{Condition, Entity, Op, Related, ResultPage, Search, Value, answer};

use super::statistics::members as members_of;
use super::{Ask, What, invalid, read, refused};
use crate::rest::operations::path::Id;
use crate::rest::problem::Problem;
use crate::rest::{RestBody, encode, sight};

/// Ids in a filter at most.
const MAX_LISTED: usize = 1_000;

/// A query for entities by an id.
#[derive(Debug)]
pub struct Identified {
    search: Search,
    id: String,
}

fn is(entity: &Entity, field: &str, op: Op) -> Condition {
    let field = entity.index_of(field).unwrap_or_default();
    debug_assert!(field > 0, "the code names a column that is there");
    Condition::Field { field, op }
}

fn equals(entity: &Entity, field: &str, text: &str) -> Condition {
    is(entity, field, Op::Eq(Value::text(text)))
}

/// Nodes with builds before 30 November 2026 keep the rows of deleted entities.
fn is_there(entity: &Entity) -> Condition {
    is(entity, "isDeleted", Op::Eq(Value::from(false)))
}

/// All existing entities.
pub fn all(entity: &'static Entity, body: &str, parts: &Parts) -> Result<Search, Problem> {
    let mut search = read(entity, body, parts)?;
    search.filter.push(is_there(entity));
    Ok(search)
}

fn identified(entity: &'static Entity, field: &str, Id(id): &Id) -> Result<What, Problem> {
    let filter = vec![is_there(entity), equals(entity, field, id)];
    Ok(What::Identified(Identified {
        search: Search::all(entity, filter, 1),
        id: id.to_string(),
    }))
}

pub fn user(id: &Id) -> Result<What, Problem> {
    identified(&USER, "username", id)
}

pub fn group(id: &Id) -> Result<What, Problem> {
    identified(&GROUP, "groupId", id)
}

pub fn role(id: &Id) -> Result<What, Problem> {
    identified(&ROLE, "roleId", id)
}

pub fn tenant(id: &Id) -> Result<What, Problem> {
    identified(&TENANT, "tenantId", id)
}

pub fn mapping_rule(id: &Id) -> Result<What, Problem> {
    identified(&MAPPING_RULE, "mappingRuleId", id)
}

pub fn authorization(key: Key) -> Result<What, Problem> {
    let has_key = Condition::Field {
        field: 0,
        op: Op::Eq(Value::Int(key.0)),
    };
    Ok(What::Identified(Identified {
        search: Search::all(&AUTHORIZATION, vec![is_there(&AUTHORIZATION), has_key], 1),
        id: key.to_string(),
    }))
}

/// Filters of authorizations that hold for any of a list of texts, and the fields that they compare.
const LISTS: [(&str, &str); 2] = [
    ("resourceIds", "resourceId"),
    ("resourcePropertyNames", "resourcePropertyName"),
];

pub fn authorizations(body: &str, parts: &Parts) -> Result<Search, Problem> {
    let mut asked = members_of(body)?;
    let mut conditions = Vec::new();
    if let Some(Json::Object(filter)) = asked.get_mut("filter") {
        for (name, field) in LISTS {
            if let Some(texts) = listed(filter, name)? {
                conditions.push(is(&AUTHORIZATION, field, Op::In(texts)));
            }
        }
    }
    let body = if conditions.is_empty() {
        body.to_string()
    } else {
        Json::Object(asked).to_string()
    };
    let mut search = all(&AUTHORIZATION, &body, parts)?;
    search.filter.append(&mut conditions);
    Ok(search)
}

/// Those that make up the permissions of the caller, who is known when the question is asked.
pub fn own_authorizations(body: &str, parts: &Parts) -> Result<What, Problem> {
    authorizations(body, parts).map(What::OwnAuthorizations)
}

/// The texts of this filter, which is taken out.
fn listed(filter: &mut Map<String, Json>, name: &str) -> Result<Option<Vec<Value>>, Problem> {
    let texts = match filter.remove(name) {
        None | Some(Json::Null) => return Ok(None),
        Some(Json::Array(texts)) => texts,
        Some(_) => {
            return Err(invalid(format!(
                "The field 'filter.{name}' must be a list of strings."
            )));
        }
    };
    if texts.len() > MAX_LISTED {
        return Err(invalid(format!(
            "The field 'filter.{name}' has {} items, but at most {MAX_LISTED} are allowed. Ask for less at a time.",
            texts.len()
        )));
    }
    let texts = texts.iter().map(|text| match text {
        Json::String(text) => Ok(Value::text(text)),
        _ => Err(invalid(format!(
            "The items of 'filter.{name}' must be strings."
        ))),
    });
    texts.collect::<Result<_, _>>().map(Some)
}

/// The members of a group, role or tenant; none if it does not exist. `kind` selects the kind of members: one of the views of
/// [`MEMBER`] that show one column.
pub fn members(
    kind: &'static Entity,
    (parent_type, Id(parent)): (ParentType, Id),
    body: &str,
    parts: &Parts,
) -> Result<Search, Problem> {
    let shown = kind.fields.iter().position(|field| field.shown);
    let shown = shown.unwrap_or_default();
    let mut asked = members_of(body)?;
    // The keys of these rows mean nothing to clients. A cursor belongs to a sort, so there is one from the beginning.
    let is_unsorted = match asked.get("sort") {
        None | Some(Json::Null) => true,
        Some(Json::Array(sorts)) => sorts.is_empty(),
        Some(_) => false,
    };
    if is_unsorted {
        let by_name = json!([{"field": kind.field(shown).name}]);
        asked.insert("sort".to_string(), by_name);
    }
    let mut search = all(kind, &Json::Object(asked).to_string(), parts)?;
    search.filter.extend(belongs(parent_type, parent));
    search.filter.push(Condition::Field {
        field: shown,
        op: Op::Exists(true),
    });
    Ok(search)
}

fn belongs(parent_type: ParentType, parent: &str) -> [Condition; 2] {
    [
        equals(&MEMBER, "parentType", parent_type.name()),
        equals(&MEMBER, "parentId", parent),
    ]
}

/// Roles, or mapping rules, that belong to a group, role or tenant. `id` is the field that names them, here and as members.
pub fn belonging(
    (entity, id): (&'static Entity, &'static str),
    (parent_type, Id(parent)): (ParentType, Id),
    body: &str,
    parts: &Parts,
) -> Result<Search, Problem> {
    let mut conditions = vec![is_there(&MEMBER)];
    conditions.extend(belongs(parent_type, parent));
    let mut search = all(entity, body, parts)?;
    search.filter.push(Condition::Related(Box::new(Related {
        entity: &MEMBER,
        own: id,
        link: id,
        conditions,
    })));
    Ok(search)
}

/// The roles that a group has, as one of its members.
pub fn roles_of_group(Id(group): Id, body: &str, parts: &Parts) -> Result<Search, Problem> {
    let conditions = vec![
        is_there(&MEMBER),
        equals(&MEMBER, "parentType", ParentType::Role.name()),
        equals(&MEMBER, "groupId", group),
    ];
    let mut search = all(&ROLE, body, parts)?;
    search.filter.push(Condition::Related(Box::new(Related {
        entity: &MEMBER,
        own: "roleId",
        link: "parentId",
        conditions,
    })));
    Ok(search)
}

/// The authorizations of any of these owners.
fn owned_by(owners: &BTreeSet<(OwnerType, Arc<str>)>) -> Condition {
    let mut by_type: BTreeMap<OwnerType, Vec<Value>> = BTreeMap::new();
    for (owner_type, id) in owners {
        by_type
            .entry(*owner_type)
            .or_default()
            .push(Value::Text(id.clone()));
    }
    let any = by_type.into_iter().map(|(owner_type, ids)| {
        vec![
            equals(&AUTHORIZATION, "ownerType", owner_type.name()),
            is(&AUTHORIZATION, "ownerId", Op::In(ids)),
        ]
    });
    Condition::Any(any.collect())
}

impl Ask<'_> {
    /// The authorizations that make up the permissions of the caller: their own, and those of their groups, roles and mapping rules. Nobody
    /// needs a permission to read them. An anonymous caller gets 401 without a body.
    pub(super) async fn own_authorizations(
        &mut self,
        claims: &Claims,
        mut search: Search,
    ) -> Result<Response<RestBody>, Problem> {
        let Some(grants) = sight::of_caller(self.front, claims) else {
            return Ok(encode::nobody());
        };
        let owners = grants.owners();
        if owners.len() > MAX_IDS {
            return Err(invalid(format!(
                "The permissions of the caller come from {} owners, but at most {MAX_IDS} can be searched.",
                owners.len()
            )));
        }
        let found = if owners.is_empty() {
            ResultPage::default()
        } else {
            search.filter.push(owned_by(owners));
            self.trust();
            self.counted(search.clone()).await?
        };
        let enabled = self.front.config.security.authorizations;
        let mut out = answer::page(&search, &found);
        let end = out.pop();
        debug_assert_eq!(end, Some('}'), "a page is an object");
        out.push_str(&format!(r#","authorizationsEnabled":{enabled}}}"#));
        Ok(encode::json(out))
    }

    pub(super) async fn identified(&mut self, asked: Identified) -> Result<String, Problem> {
        let entity = asked.search.entity;
        let whole = asked.search.clone();
        let row = self.found(asked.search).await?.pop();
        if row.is_none() && self.sight.grants.is_some() {
            self.trust();
            if self.found(whole).await?.pop().is_some() {
                return Err(refused(entity));
            }
        }
        match row {
            Some(row) => Ok(answer::row(entity, &row)),
            None => {
                let by = if std::ptr::eq(entity, &AUTHORIZATION) {
                    "key"
                } else {
                    "id"
                };
                let text = format!("{} with {by} '{}' not found", entity.title, asked.id);
                Err(Problem::new(StatusCode::NOT_FOUND, "NOT_FOUND", text))
            }
        }
    }
}
