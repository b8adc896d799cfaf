//! Usage: process instances, decisions and assignees, of all tenants and of each.

use std::collections::{BTreeMap, BTreeSet};

use http::request::Parts;
use skep_query::entities::{USAGE, USAGE_SPAN};
use skep_query::{Condition, Groups, Measure, Op, Query, Row, Search, Value, answer};

use super::job_statistics::in_order;
use super::statistics::is;
use super::{Ask, invalid, time_parameter};
use crate::rest::parameters::parameter;
use crate::rest::problem::Problem;

/// A query for usage metrics.
#[derive(Debug)]
pub struct Usage {
    groups: Groups,
    /// Also reports the usage of each tenant.
    with_tenants: bool,
}

const TENANT: usize = USAGE.column("tenantId");

pub fn decode(parts: &Parts) -> Result<Usage, Problem> {
    let query = parts.uri.query();
    let start = time_parameter(query, "startTime")?;
    let end = time_parameter(query, "endTime")?;
    in_order(
        ("startTime", &Value::Int(start)),
        ("endTime", &Value::Int(end)),
    )?;
    let with_tenants = match parameter(query, "withTenants").as_deref() {
        None | Some("" | "false") => false,
        Some("true") => true,
        Some(other) => {
            return Err(invalid(format!(
                "The query parameter 'withTenants' is '{other}', but must be true or false."
            )));
        }
    };
    // A row stands for its whole span.
    let start = start.saturating_sub(start.rem_euclid(USAGE_SPAN));
    let at = const { USAGE.column("startTime") };
    let when = |op| Condition::Field { field: at, op };
    let mut filter = vec![
        when(Op::Gte(Value::Int(start))),
        when(Op::Lt(Value::Int(end))),
    ];
    if let Some(tenant) = parameter(query, "tenantId").filter(|tenant| !tenant.is_empty()) {
        filter.push(is(TENANT, Value::text(&tenant)));
    }
    let groups = Groups {
        search: Search::all(&USAGE, filter, 0),
        by: vec![TENANT, const { USAGE.column("assignee") }],
        span: None,
        measures: vec![
            Measure::Sum(const { USAGE.column("processInstances") }),
            Measure::Sum(const { USAGE.column("decisionInstances") }),
        ],
    };
    Ok(Usage {
        groups,
        with_tenants,
    })
}

/// Of one tenant, or of all.
#[derive(Default)]
struct Used {
    process_instances: i64,
    decision_instances: i64,
    assignees: BTreeSet<i64>,
}

impl Used {
    fn add(&mut self, row: &Row) {
        let number = |at: usize| row.get(at).and_then(Value::as_int);
        self.process_instances += number(2).unwrap_or(0);
        self.decision_instances += number(3).unwrap_or(0);
        self.assignees.extend(number(1));
    }

    fn json(&self) -> String {
        format!(
            r#""processInstances":{},"decisionInstances":{},"assignees":{}"#,
            self.process_instances,
            self.decision_instances,
            self.assignees.len()
        )
    }
}

fn rendered(rows: &[Row], with_tenants: bool) -> String {
    let (mut all, mut tenants) = (Used::default(), BTreeMap::<&str, Used>::new());
    for row in rows {
        all.add(row);
        let tenant = row.first().and_then(Value::as_text).unwrap_or_default();
        tenants.entry(tenant).or_default().add(row);
    }
    let active = tenants.len();
    let mut each = Vec::new();
    if with_tenants {
        for (tenant, used) in &tenants {
            let mut name = String::new();
            answer::write_text(tenant, &mut name);
            each.push(format!("{name}:{{{}}}", used.json()));
        }
    }
    let (all, each) = (all.json(), each.join(","));
    format!(r#"{{{all},"activeTenants":{active},"tenants":{{{each}}}}}"#)
}

impl Ask<'_> {
    pub(super) async fn usage(&mut self, asked: Usage) -> Result<String, Problem> {
        let rows = self.rows(Query::Groups(asked.groups)).await?;
        Ok(rendered(&rows, asked.with_tenants))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_assignee_of_two_tenants_is_one() {
        let row = |tenant: &str, assignee, instances| {
            vec![
                Value::text(tenant),
                assignee,
                Value::Int(instances),
                Value::Null,
            ]
        };
        let rows = [
            row("a", Value::Null, 3),
            row("a", Value::Int(7), 0),
            row("b", Value::Int(7), 0),
            row("b", Value::Int(8), 0),
        ];
        assert_eq!(
            rendered(&rows, true),
            r#"{"processInstances":3,"decisionInstances":0,"assignees":2,"activeTenants":2,"tenants":{"#.to_string()
                + r#""a":{"processInstances":3,"decisionInstances":0,"assignees":1},"#
                + r#""b":{"processInstances":0,"decisionInstances":0,"assignees":2}}}"#
        );
        assert!(rendered(&rows, false).ends_with(r#""tenants":{}}"#));
    }
}
