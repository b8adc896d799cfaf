//! Conditions on rows of other entities. Whether such a row exists says something about it, so it must be one that the caller
//! may read.

use super::{Access, Narrowed, Sight, TooManyGrants, of, to_grants, to_tenants};
use crate::entities::{MAPPING_RULE, MEMBER, PROCESS_INSTANCE, ROLE, USER_TASK, VARIABLE};
use crate::entity::{Entity, Kind};
use crate::search::{Condition, Conditions, Op, Related, Search};

/// Narrows all conditions of a search that relate to other rows, however deep; true if any was narrowed.
pub(super) fn narrow(search: &mut Search, sight: &Sight) -> Result<bool, TooManyGrants> {
    let entity = search.entity;
    let mut narrowed = each(entity, &mut search.filter, sight)?;
    for conditions in &mut search.any_of {
        narrowed |= each(entity, conditions, sight)?;
    }
    Ok(narrowed)
}

fn each(
    entity: &'static Entity,
    conditions: &mut Conditions,
    sight: &Sight,
) -> Result<bool, TooManyGrants> {
    let mut narrowed = false;
    for condition in conditions {
        match condition {
            Condition::Field { .. } | Condition::Item { .. } | Condition::Within { .. } => {}
            Condition::Any(alternatives) => {
                for conditions in alternatives {
                    narrowed |= each(entity, conditions, sight)?;
                }
            }
            Condition::Related(related) => {
                narrowed |= each(related.entity, &mut related.conditions, sight)?;
                narrowed |= one(entity, related, sight)?;
            }
        }
    }
    Ok(narrowed)
}

fn one(
    entity: &'static Entity,
    related: &mut Related,
    sight: &Sight,
) -> Result<bool, TooManyGrants> {
    // It only collects the conditions that a search of these rows would get.
    let mut rows = Search::all(related.entity, Vec::new(), 0);
    let mut is_nothing = false;
    // Keys are unique in a cluster: a row that one leads to is of the same tenant.
    let link = related.entity.index_of(related.link);
    if link.is_none_or(|at| related.entity.field(at).kind != Kind::Key) {
        let of_tenants = to_tenants(&mut rows, &sight.tenancy);
        is_nothing |= matches!(of_tenants, Narrowed::Nothing);
    }
    if let Some(grants) = &sight.grants
        && !is_part_of(entity, related)
    {
        is_nothing |= matches!(to_grants(&mut rows, grants)?, Narrowed::Nothing);
    }
    if is_nothing {
        rows.filter = vec![Condition::Field {
            field: 0,
            op: Op::In(Vec::new()),
        }];
    }
    let is_narrowed = !rows.filter.is_empty();
    related.conditions.append(&mut rows.filter);
    Ok(is_narrowed)
}

/// Whether callers who may read a row may also read the related ones.
fn is_part_of(entity: &Entity, related: &Related) -> bool {
    let is = |a: &Entity, b: &Entity| a.table == b.table;
    let other = related.entity;
    match of(other) {
        // The instance that names their process is the row itself.
        Some(Access::OfInstance(column, permissions)) if is(entity, &PROCESS_INSTANCE) => {
            let reads = matches!(of(entity), Some(Access::By(_, own)) if own == permissions);
            reads && related.link == column && related.own == entity.key().name
        }
        // A user task is shown with the variables that it sees.
        Some(Access::OfInstance(..)) => is(entity, &USER_TASK) && is(other, &VARIABLE),
        // No filter of a client: the operations that list the roles and mapping rules of a group, role or tenant.
        Some(Access::Members) => {
            is(other, &MEMBER) && (is(entity, &ROLE) || is(entity, &MAPPING_RULE))
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {

    use serde_json::{Value as Json, json};
    use skep_identity::Tenancy;
    use skep_protocol::permission::Permission;
    use skep_protocol::value::ResourceMatcher;
    use skep_protocol::{TenantId, grants};

    use super::*;
    use crate::access;
    use crate::entities::{self, INCIDENT, PROCESS_DEFINITION};
    use crate::entity::{RelatedFilter, Takes};
    use crate::value::Value;

    fn granted(permissions: &[Permission], on: &ResourceMatcher) -> Sight {
        access::tests::granted(permissions, std::slice::from_ref(on))
    }

    fn nobody() -> Sight {
        granted(&[], &ResourceMatcher::Any)
    }

    /// Every filter of a client on related rows, with its entity.
    fn filters() -> Vec<(&'static Entity, &'static RelatedFilter)> {
        let of = |entity: &&'static Entity| {
            let entity = *entity;
            entity.related.iter().map(move |filter| (entity, filter))
        };
        entities::ALL.iter().flat_map(of).collect()
    }

    /// A search with this filter, once directly and once as an alternative.
    fn asked((entity, filter): (&'static Entity, &RelatedFilter)) -> Search {
        let other = (filter.entity)();
        let compared = other.field(other.column(filter.field)).kind;
        let value = match compared {
            Kind::Key | Kind::Text | Kind::Json => json!("1"),
            Kind::Int => json!(1),
            Kind::Bool => json!(true),
            Kind::Time => json!("2026-01-01T00:00:00Z"),
            Kind::Enum(names) => json!(names[0]),
        };
        let value = match filter.takes {
            Takes::Field => value,
            Takes::NamedValues => json!([{"name": "a", "value": value}]),
        };
        let one = Json::from_iter([(filter.name, value)]);
        let mut all = one.clone();
        all["$or"] = json!([one]);
        let body = json!({"filter": all}).to_string();
        crate::search(entity, &body).unwrap_or_else(|error| panic!("{body}: {error}"))
    }

    /// The conditions on related rows.
    fn related(search: &Search) -> Vec<&Related> {
        let all = search.any_of.iter().flatten().chain(&search.filter);
        all.filter_map(|condition| match condition {
            Condition::Related(related) => Some(&**related),
            _ => None,
        })
        .collect()
    }

    fn finds_nothing(related: &Related) -> bool {
        let none = Op::In(Vec::new());
        let mut conditions = related.conditions.iter();
        conditions.any(|one| matches!(one, Condition::Field { op, .. } if *op == none))
    }

    /// Filters on rows that the permission to read the row itself covers, by tables. All others are closed to callers without
    /// a permission of their own.
    const COVERED: [(&str, &str); 2] =
        [("process_instance", "variable"), ("user_task", "variable")];

    #[test]
    fn no_filter_tells_about_related_rows_that_its_caller_may_not_read() {
        assert!(filters().len() >= 11);
        for (entity, filter) in filters() {
            let other = (filter.entity)();
            let name = format!("{}.{}", entity.table, filter.name);
            let mut search = asked((entity, filter));
            assert_eq!(related(&search).len(), 2, "{name}");
            narrow(&mut search, &nobody()).unwrap();
            let is_covered = COVERED.contains(&(entity.table, other.table));
            for related in related(&search) {
                assert_eq!(finds_nothing(related), !is_covered, "{name}");
            }
        }
    }

    #[test]
    fn without_the_permission_the_rows_themselves_are_closed_where_a_filter_is_not() {
        for (entity, filter) in filters() {
            let narrowed = access::narrow(&mut asked((entity, filter)), &nobody());
            let narrowed = narrowed.unwrap();
            assert!(matches!(narrowed, Narrowed::Nothing), "{}", filter.name);
        }
        let tasks = granted(grants![UserTask: Read], &ResourceMatcher::Id("7".into()));
        let body = r#"{"filter": {"localVariables": [{"name": "a", "value": "1"}]}}"#;
        let mut search = crate::search(&USER_TASK, body).unwrap();
        access::narrow(&mut search, &tasks).unwrap();
        let is_theirs = Condition::Field {
            field: const { USER_TASK.column("userTaskKey") },
            op: Op::In(vec![Value::Int(7)]),
        };
        assert_eq!(
            search.filter.last(),
            Some(&Condition::Any(vec![vec![is_theirs]]))
        );
    }

    #[test]
    fn whoever_may_read_everything_filters_by_everything() {
        let all = grants![
            ProcessDefinition: ReadProcessInstance,
            Batch: Read,
            UserTask: Read,
        ];
        for (entity, filter) in filters() {
            let mut search = asked((entity, filter));
            let before = search.clone();
            let sight = granted(all, &ResourceMatcher::Any);
            let narrowed = access::narrow(&mut search, &sight).unwrap();
            assert!(matches!(narrowed, Narrowed::Whole), "{}", filter.name);
            assert_eq!(
                (search.filter, search.any_of),
                (before.filter, before.any_of)
            );
        }
    }

    #[test]
    fn related_rows_are_those_of_readable_processes() {
        let reads = grants![ProcessDefinition: ReadProcessInstance];
        let sight = granted(reads, &ResourceMatcher::Id("order".into()));
        let body = r#"{"filter": {"errorMessage": "no", "batchOperationKey": "1"}}"#;
        let mut search = crate::search(&PROCESS_INSTANCE, body).unwrap();
        access::narrow(&mut search, &sight).unwrap();
        let of_order = Condition::Field {
            field: const { INCIDENT.column("processDefinitionId") },
            op: Op::In(vec![Value::text("order")]),
        };
        for related in related(&search) {
            let is_incident = related.entity.table == INCIDENT.table;
            let is_last = related.conditions.last();
            let of_order = Condition::Any(vec![vec![of_order.clone()]]);
            assert_eq!(is_last == Some(&of_order), is_incident);
            assert_eq!(finds_nothing(related), !is_incident);
        }
    }

    #[test]
    fn conditions_inside_others_are_narrowed_too() {
        let of = |entity: &'static Entity, conditions| {
            Condition::Related(Box::new(Related {
                entity,
                own: "processInstanceKey",
                link: "processInstanceKey",
                conditions,
            }))
        };
        let inner = of(&INCIDENT, Vec::new());
        let outer = of(&PROCESS_INSTANCE, vec![Condition::Any(vec![vec![inner]])]);
        let mut search = Search::all(&entities::JOB, vec![outer], 1);
        assert!(narrow(&mut search, &nobody()).unwrap());
        let [outer] = related(&search)[..] else {
            panic!("{search:?}");
        };
        assert!(finds_nothing(outer));
        let Some(Condition::Any(alternatives)) = outer.conditions.first() else {
            panic!("{outer:?}");
        };
        let [Condition::Related(inner)] = &alternatives[0][..] else {
            panic!("{alternatives:?}");
        };
        assert!(finds_nothing(inner));
    }

    #[test]
    fn rows_related_by_name_are_those_of_the_callers_tenants() {
        let by = |link: &'static str| {
            let related = Related {
                entity: &PROCESS_DEFINITION,
                own: link,
                link,
                conditions: Vec::new(),
            };
            let related = Condition::Related(Box::new(related));
            Search::all(&PROCESS_INSTANCE, vec![related], 1)
        };
        let acme = Sight {
            grants: None,
            tenancy: Tenancy::Of([TenantId::new("acme")].into()),
        };
        let mut by_key = by("processDefinitionKey");
        assert!(!narrow(&mut by_key, &acme).unwrap(), "it has one owner");
        let mut by_id = by("processDefinitionId");
        assert!(narrow(&mut by_id, &acme).unwrap());
        assert_eq!(related(&by_id)[0].conditions.len(), 1);
    }
}
