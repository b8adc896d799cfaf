//! Groups of active process instances by what they have of their definition: the question for which stores may keep counts.

use crate::entities::PROCESS_INSTANCE;
use crate::groups::{Groups, Measure};
use crate::search::{Condition, Conditions, Op};
use crate::value::Value;

const STATE: usize = PROCESS_INSTANCE.column("state");
const INCIDENT: usize = PROCESS_INSTANCE.column("hasIncident");

/// What active process instances are counted by.
pub const COUNTED_BY: [usize; 5] = [
    PROCESS_INSTANCE.column("processDefinitionKey"),
    PROCESS_INSTANCE.column("processDefinitionId"),
    PROCESS_INSTANCE.column("processDefinitionName"),
    PROCESS_INSTANCE.column("processDefinitionVersion"),
    PROCESS_INSTANCE.column("tenantId"),
];

/// Groups of active process instances.
#[derive(Clone, Debug, PartialEq)]
pub struct ActiveInstances {
    /// Conditions, and alternatives, on columns of [`COUNTED_BY`]. That an instance is active is not among them.
    pub filter: Conditions,
    pub any_of: Vec<Conditions>,
    pub by: Vec<usize>,
    pub measures: Vec<ActiveMeasure>,
}

/// A measure of a group of active process instances.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ActiveMeasure {
    Instances,
    WithIncident,
    WithoutIncident,
    /// Of a column of [`COUNTED_BY`].
    Least(usize),
    Most(usize),
}

impl ActiveInstances {
    /// The question that these groups ask, if numbers of instances by [`COUNTED_BY`] answer it. A condition on anything else makes it
    /// another one.
    pub fn of(groups: &Groups) -> Option<ActiveInstances> {
        let search = &groups.search;
        if !std::ptr::eq(search.entity, &PROCESS_INSTANCE) || groups.by.is_empty() {
            return None;
        }
        let conditions = search.filter.iter().cloned();
        let (active, filter): (Conditions, Conditions) = conditions.partition(is_active);
        let mut all = filter.iter().chain(search.any_of.iter().flatten());
        if active.is_empty() || !all.all(is_of_counted) || !groups.by.iter().all(is_counted) {
            return None;
        }
        let measures = groups.measures.iter().map(ActiveMeasure::of);
        Some(ActiveInstances {
            measures: measures.collect::<Option<Vec<_>>>()?,
            by: groups.by.clone(),
            any_of: search.any_of.clone(),
            filter,
        })
    }
}

impl ActiveMeasure {
    fn of(measure: &Measure) -> Option<ActiveMeasure> {
        match measure {
            Measure::Rows => Some(ActiveMeasure::Instances),
            Measure::RowsWhere(conditions) => match conditions.as_slice() {
                [Condition::Field { field, op }] if *field == INCIDENT => match op {
                    Op::Eq(Value::Int(0)) => Some(ActiveMeasure::WithoutIncident),
                    Op::Eq(Value::Int(1)) => Some(ActiveMeasure::WithIncident),
                    _ => None,
                },
                _ => None,
            },
            Measure::Least(at) => is_counted(at).then_some(ActiveMeasure::Least(*at)),
            Measure::Most(at) => is_counted(at).then_some(ActiveMeasure::Most(*at)),
            Measure::Distinct(_) | Measure::Sum(_) => None,
        }
    }
}

fn is_active(condition: &Condition) -> bool {
    match condition {
        Condition::Field {
            field,
            op: Op::Eq(state),
        } => *field == STATE && state.as_text() == Some("ACTIVE"),
        _ => false,
    }
}

fn is_of_counted(condition: &Condition) -> bool {
    match condition {
        Condition::Field { field, .. } => is_counted(field),
        Condition::Any(alternatives) => alternatives.iter().flatten().all(is_of_counted),
        Condition::Item { .. } | Condition::Within { .. } | Condition::Related(_) => false,
    }
}

fn is_counted(column: &usize) -> bool {
    COUNTED_BY.contains(column)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::search::Search;

    fn is(column: &str, value: Value) -> Condition {
        let field = PROCESS_INSTANCE.column(column);
        let op = Op::Eq(value);
        Condition::Field { field, op }
    }

    fn asked() -> Groups {
        let with = |has: bool| Measure::RowsWhere(vec![is("hasIncident", Value::from(has))]);
        let version = PROCESS_INSTANCE.column("processDefinitionVersion");
        Groups {
            search: Search::all(
                &PROCESS_INSTANCE,
                vec![is("state", Value::text("ACTIVE"))],
                0,
            ),
            by: vec![PROCESS_INSTANCE.column("processDefinitionId")],
            span: None,
            measures: vec![
                Measure::Rows,
                with(true),
                with(false),
                Measure::Least(version),
                Measure::Most(version),
            ],
        }
    }

    #[test]
    fn the_question_is_recognized_with_any_condition_on_what_is_counted_by() {
        let mut groups = asked();
        let tenant = is("tenantId", Value::text("a"));
        let granted = Condition::Field {
            field: PROCESS_INSTANCE.column("processDefinitionId"),
            op: Op::In(vec![Value::text("p"), Value::text("q")]),
        };
        let granted = Condition::Any(vec![vec![granted]]);
        groups
            .search
            .filter
            .extend([tenant.clone(), granted.clone()]);
        groups.search.any_of.push(vec![tenant.clone()]);
        let version = PROCESS_INSTANCE.column("processDefinitionVersion");
        let expected = ActiveInstances {
            filter: vec![tenant.clone(), granted],
            any_of: vec![vec![tenant]],
            by: groups.by.clone(),
            measures: vec![
                ActiveMeasure::Instances,
                ActiveMeasure::WithIncident,
                ActiveMeasure::WithoutIncident,
                ActiveMeasure::Least(version),
                ActiveMeasure::Most(version),
            ],
        };
        assert_eq!(ActiveInstances::of(&groups), Some(expected));
    }

    #[test]
    fn a_question_about_anything_else_is_another_one() {
        assert!(ActiveInstances::of(&asked()).is_some());
        let business = is("businessId", Value::text("a"));
        let nested = Condition::Any(vec![vec![business.clone()]]);
        let start = PROCESS_INSTANCE.column("startDate");
        let changes: [&dyn Fn(&mut Groups); 11] = [
            &|groups| groups.search.entity = &crate::entities::ELEMENT_INSTANCE,
            &|groups| groups.search.filter.clear(),
            &|groups| groups.search.filter = vec![is("state", Value::text("COMPLETED"))],
            &|groups| groups.search.filter.push(business.clone()),
            &|groups| groups.search.filter.push(nested.clone()),
            &|groups| groups.search.any_of.push(vec![business.clone()]),
            &|groups| groups.by.push(start),
            &|groups| groups.by.clear(),
            &|groups| groups.measures.push(Measure::Most(start)),
            &|groups| groups.measures.push(Measure::Sum(start)),
            &|groups| {
                groups
                    .measures
                    .push(Measure::RowsWhere(vec![business.clone()]))
            },
        ];
        for change in changes {
            let mut other = asked();
            change(&mut other);
            assert_eq!(ActiveInstances::of(&other), None, "{other:?}");
        }
    }
}
