//! How many active instances of each element a definition has: the question for which stores may keep counts.

use skep_protocol::Key;

use crate::entities::{ELEMENT_INSTANCE, PROCESS_INSTANCE};
use crate::groups::{Groups, Measure};
use crate::search::{Condition, Op, Related, Search};
use crate::value::Value;

const ELEMENT: usize = ELEMENT_INSTANCE.column("elementId");
const LINK: &str = "processInstanceKey";

/// Active elements of instances of a definition.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ActiveElements {
    pub definition: Key,
    /// Only elements of process instances with incidents, or without.
    pub has_incident: Option<bool>,
}

impl ActiveElements {
    /// The question. Columns of the answer: element ID, then the number of active elements without and with incidents of their own.
    /// Without a condition on the incidents of process instances their rows are not needed: a store may lack those of instances that are
    /// older than itself.
    pub fn groups(&self) -> Groups {
        let with = |value: bool| {
            let incident = const { ELEMENT_INSTANCE.column("hasIncident") };
            Measure::RowsWhere(vec![is(incident, Value::from(value))])
        };
        let active = is(
            const { ELEMENT_INSTANCE.column("state") },
            Value::text("ACTIVE"),
        );
        let definition = Value::Int(self.definition.0);
        let of = match self.has_incident {
            None => is(
                const { ELEMENT_INSTANCE.column("processDefinitionKey") },
                definition,
            ),
            Some(has) => Condition::Related(Box::new(Related {
                entity: &PROCESS_INSTANCE,
                own: LINK,
                link: LINK,
                conditions: vec![
                    is(
                        const { PROCESS_INSTANCE.column("processDefinitionKey") },
                        definition,
                    ),
                    is(
                        const { PROCESS_INSTANCE.column("state") },
                        Value::text("ACTIVE"),
                    ),
                    is(
                        const { PROCESS_INSTANCE.column("hasIncident") },
                        Value::from(has),
                    ),
                ],
            })),
        };
        Groups {
            search: Search::all(&ELEMENT_INSTANCE, vec![active, of], 0),
            by: vec![ELEMENT],
            span: None,
            measures: vec![with(false), with(true)],
        }
    }

    /// The question that these groups ask, if it is this one. With any further condition, such as one on tenants, it is another.
    pub fn of(groups: &Groups) -> Option<ActiveElements> {
        let value = |condition: &Condition| match condition {
            Condition::Field {
                op: Op::Eq(value), ..
            } => value.as_int(),
            _ => None,
        };
        let (definition, has_incident) = match groups.search.filter.get(1)? {
            Condition::Related(related) => match related.conditions.as_slice() {
                [definition, _, has] => (value(definition)?, Some(value(has)? == 1)),
                _ => return None,
            },
            definition => (value(definition)?, None),
        };
        let asked = ActiveElements {
            definition: Key(definition),
            has_incident,
        };
        let same = asked.groups();
        let is_it = std::ptr::eq(groups.search.entity, same.search.entity)
            && groups.search.filter == same.search.filter
            && groups.search.any_of.is_empty()
            && (&groups.by, groups.span) == (&same.by, same.span)
            && groups.measures == same.measures;
        is_it.then_some(asked)
    }
}

fn is(field: usize, value: Value) -> Condition {
    let op = Op::Eq(value);
    Condition::Field { field, op }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_question_is_recognized_and_a_narrower_one_is_not() {
        for has_incident in [None, Some(false), Some(true)] {
            let asked = ActiveElements {
                definition: Key(7),
                has_incident,
            };
            assert_eq!(ActiveElements::of(&asked.groups()), Some(asked));
            let tenant = is(ELEMENT_INSTANCE.column("tenantId"), Value::text("a"));
            let changes: [&dyn Fn(&mut Groups); 6] = [
                &|groups| groups.search.filter.push(tenant.clone()),
                &|groups| groups.search.any_of.push(vec![tenant.clone()]),
                &|groups| groups.by.clear(),
                &|groups| groups.span = Some(1),
                &|groups| groups.measures.push(Measure::Rows),
                &|groups| match groups.search.filter.get_mut(1) {
                    Some(Condition::Related(of)) => of.conditions.insert(0, tenant.clone()),
                    _ => groups.search.filter.insert(1, tenant.clone()),
                },
            ];
            for change in changes {
                let mut narrower = asked.groups();
                change(&mut narrower);
                assert_eq!(ActiveElements::of(&narrower), None, "{narrower:?}");
            }
        }
    }
}
