//! The index that leads to the rows of tenants.

use skep_query::{Condition, Entity, Indexed, Op, Search};

use super::page::{is_given, values_of};
use super::{Columns, Sql};

/// The condition that limits a search to tenants, with the columns of the index that leads to their rows. Where the index goes on with a
/// column that has to have one of a few values as well, it is among them: the processes that a caller may see. With a single one, the
/// index has the rows in the order of the column behind it.
pub fn of_tenants<'a>(sql: &Sql<'_>, search: &'a Search) -> Option<(Columns, &'a Condition)> {
    if !sql.tenants {
        return None;
    }
    let entity = search.entity;
    let led = |condition: &'a Condition| {
        let name = entity.field(tenant_of(entity, condition)?).name;
        let mut indices = entity.indices.iter();
        let index = indices.find(|columns| columns.first() == Some(&name))?;
        let led = match index.get(1) {
            Some(next) if is_given(search, next) => 3.min(index.len()),
            Some(next) if is_narrowed(search, next) => 2,
            _ => 1,
        };
        Some((index.get(..led)?, condition))
    };
    search.filter.iter().find_map(led)
}

/// The field with the tenant, if the condition lists values of it. A row without a tenant belongs to all of them.
fn tenant_of(entity: &Entity, condition: &Condition) -> Option<usize> {
    let listed = |condition: &Condition| match condition {
        Condition::Field {
            field,
            op: Op::Eq(_) | Op::In(_) | Op::Exists(false),
        } => Some(*field),
        _ => None,
    };
    let field = match condition {
        Condition::Any(alternatives) => {
            let mut fields = alternatives.iter().map(|all| match all.as_slice() {
                [only] => listed(only),
                _ => None,
            });
            let first = fields.next()??;
            fields.all(|field| field == Some(first)).then_some(first)?
        }
        condition => listed(condition)?,
    };
    (entity.field(field).indexed == Indexed::OfTenants).then_some(field)
}

/// Whether the column must have one of a few values.
fn is_narrowed(search: &Search, column: &str) -> bool {
    let field = search.entity.index_of(column);
    let is_listed = |condition| values_of(condition).is_some_and(|(of, _)| Some(of) == field);
    search.filter.iter().any(is_listed)
}

#[cfg(test)]
mod tests {
    use skep_query::Value;
    use skep_query::entities::PROCESS_INSTANCE;

    use super::*;
    use crate::sql::page::tests::{first_columns, same_by, statement};
    use crate::sql::page::{Part, Way, parts};
    use crate::sql::samples::{self, searches, tables};
    use crate::sql::select;
    use crate::sql::unselective::unselective_columns;

    #[test]
    fn rows_of_tenants_are_found_by_their_index_whatever_others_have() {
        let connection = tables(300);
        for tenants in [&["acme", "globex"], &["acme", "<default>"]] {
            for mut search in searches(&[r#"{"state": "ACTIVE"}"#, "{}"], &["startDate", ""]) {
                search.filter.push(samples::of_tenants(tenants));
                let columns = of_tenants(&samples::sql(), &search).unwrap().0;
                assert_eq!(columns, ["tenantId"]);
                let plan = same_by(&connection, &search, columns);
                let is_led = |step: &String| step.contains("INDEX process_instance_8 (tenantId=?");
                assert!(plan.iter().all(is_led), "{plan:?}");
                assert!(of_tenants(&samples::sql().with_tenants(false), &search).is_none());
            }
        }
    }

    #[test]
    fn rows_that_belong_to_no_tenant_are_found_by_the_index_as_well() {
        let connection = tables(300);
        let tenant = PROCESS_INSTANCE.column("tenantId");
        let is = |op| vec![Condition::Field { field: tenant, op }];
        let theirs = Op::In(vec![Value::text("acme")]);
        let any = Condition::Any(vec![is(Op::Exists(false)), is(theirs)]);
        for mut search in searches(&[r#"{"state": "ACTIVE"}"#], &["startDate"]) {
            search.filter.push(any.clone());
            let columns = of_tenants(&samples::sql(), &search).unwrap().0;
            let plan = same_by(&connection, &search, columns);
            let is_led = |step: &String| !step.contains("SCAN") && !step.contains("(state");
            assert!(plan.iter().all(is_led), "{plan:?}");
            let by_tenant = |step: &String| step.contains("process_instance_8 (tenantId=?");
            assert!(plan.iter().any(by_tenant), "{plan:?}");
        }
    }

    #[test]
    fn single_processes_of_a_tenant_are_counted_by_an_index_alone() {
        let connection = tables(300);
        let listed = r#""processDefinitionId": {"$in": ["p0", "p2"]}"#;
        let (both, all) = (2, 3);
        for (filter, led) in [
            (format!("{{{listed}}}"), both),
            (format!(r#"{{{listed}, "state": "ACTIVE"}}"#), both),
            (
                r#"{"processDefinitionId": "p0", "state": "ACTIVE"}"#.to_string(),
                all,
            ),
        ] {
            for mut search in searches(&[&filter], &["startDate"]) {
                search.filter.push(samples::of_tenants(&["acme"]));
                let columns = of_tenants(&samples::sql(), &search).unwrap().0;
                let index = ["tenantId", "processDefinitionId", "startDate"];
                assert_eq!(columns, &index[..led]);
                let count = select::count(samples::sql(), &search, &Way::Listed(columns));
                let plan: Vec<String> =
                    first_columns(&connection, &count, 3, "EXPLAIN QUERY PLAN ");
                let plan = plan.join("; ");
                let both =
                    "COVERING INDEX process_instance_8 (tenantId=? AND processDefinitionId=?";
                assert!(plan.contains(both), "{plan}");
                same_by(&connection, &search, columns);
            }
        }
    }

    #[test]
    fn an_index_has_the_rows_of_one_process_of_a_tenant_in_the_order_of_their_start() {
        let connection = tables(300);
        let filter = r#"{"processDefinitionId": "p0", "state": "ACTIVE"}"#;
        for mut search in searches(&[filter], &["startDate"]) {
            search.filter.push(samples::of_tenants(&["acme"]));
            let columns = of_tenants(&samples::sql(), &search).unwrap().0;
            // Each instance has a start.
            for part in parts(&search).iter().filter(|part| **part != Part::Absent) {
                let sql = statement(&search, *part, &Way::Listed(columns)).unwrap();
                let plan: Vec<String> = first_columns(&connection, &sql, 3, "EXPLAIN QUERY PLAN ");
                let is_led = |step: &String| step.contains("process_instance_8 (tenantId=?");
                assert!(plan.iter().any(is_led), "{plan:?}");
                let sorts = |step: &String| step.contains("B-TREE FOR ORDER BY");
                assert!(!plan.iter().any(sorts), "{plan:?}");
            }
        }
    }

    #[test]
    fn other_conditions_lead_to_few_rows_of_a_large_tenant() {
        let connection = tables(300);
        let without = Way::Without(vec!["processDefinitionId", "tenantId"]);
        for filter in [
            r#"{"state": "ACTIVE"}"#,
            r#"{"state": "ACTIVE", "processDefinitionId": {"$in": ["p0", "p2"]}}"#,
        ] {
            for mut search in searches(&[filter], &["startDate", ""]) {
                search.filter.push(samples::of_tenants(&["acme"]));
                let plan = |way| {
                    let sql = select::count(samples::sql(), &search, way);
                    let plan: Vec<String> =
                        first_columns(&connection, &sql, 3, "EXPLAIN QUERY PLAN ");
                    plan.join("; ")
                };
                let planned = plan(&Way::Planned(&[]));
                assert!(!planned.contains("(state=?"), "{planned}");
                let without = plan(&without);
                assert!(without.contains("(state=?"), "{without}");
                for part in parts(&search) {
                    let found = [&Way::Planned(&[]), &Way::Without(vec!["tenantId"])].map(|way| {
                        let sql = statement(&search, *part, way).unwrap();
                        first_columns::<i64>(&connection, &sql, 0, "")
                    });
                    assert_eq!(found[0], found[1], "{search:?}");
                }
            }
        }
    }

    #[test]
    fn an_index_of_few_different_values_is_entered_only_if_none_leads_to_fewer_rows() {
        let connection = tables(300);
        let unknown: [&str; 0] = [];
        for (filter, without, entered) in [
            (r#"{"state": "ACTIVE"}"#, &unknown[..], "(state=?"),
            (
                r#"{"state": "ACTIVE", "processDefinitionId": "p0"}"#,
                &["state"][..],
                "(processDefinitionId=?",
            ),
            // The index has both.
            (
                r#"{"state": "ACTIVE", "processDefinitionKey": "10", "processDefinitionId": "p0"}"#,
                &unknown[..],
                "(state=? AND processDefinitionKey=?",
            ),
            // An index of the few rows that have it.
            (
                r#"{"hasIncident": true, "processDefinitionId": "p0"}"#,
                &unknown[..],
                "(hasIncident=?",
            ),
        ] {
            let mut search = searches(&[filter], &["startDate"]).remove(0);
            search.filter.push(samples::of_tenants(&["acme"]));
            let mut columns = vec!["tenantId"];
            let unselective = unselective_columns(&search, &columns);
            assert_eq!(unselective, without, "{filter}");
            columns.extend(unselective);
            let way = Way::Without(columns);
            let sql = select::count(samples::sql(), &search, &way);
            let plan: Vec<String> = first_columns(&connection, &sql, 3, "EXPLAIN QUERY PLAN ");
            let plan = plan.join("; ");
            assert!(plan.contains(entered), "{filter}: {plan}");
        }
    }
}
