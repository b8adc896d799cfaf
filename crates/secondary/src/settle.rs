//! Resolves changes that depend on stored data to plain row values, so that a store only has to write rows.
//!
//! Data from the window is used directly. The rest is looked up, many rows at a time.

mod active_elements;
mod active_instances;
mod ahead;
mod batches;
mod counted;
mod durations;
mod incidents;
mod lists;
mod merged;
mod refusals;
mod versions;

use skep_exporting::TargetError;
use std::collections::BTreeSet;
use std::sync::Arc;

use rustc_hash::FxHashMap;
use skep_protocol::Key;
use skep_query::entities::{
    CORRELATED_MESSAGE_SUBSCRIPTION, DECISION_DEFINITION, DECISION_INSTANCE, DECISION_REQUIREMENTS,
    ELEMENT_INSTANCE, EVENT_WAIT, MESSAGE_SUBSCRIPTION, PROCESS_INSTANCE, USER_TASK,
};
use skep_query::{Condition, Conditions, Entity, Op, Row, Value};

use ahead::Ahead;

use crate::changes::{Changes, Completion};

/// Keys looked up at a time.
const CHUNK: usize = 500;

/// Read access to stored rows.
pub trait Stored {
    /// Returns these columns of the rows that match the conditions, in any order.
    fn look_up(
        &self,
        entity: &'static Entity,
        conditions: &Conditions,
        columns: &[usize],
    ) -> Result<Vec<Row>, TargetError>;

    /// Whether the store keeps counts of active element and process instances. One that counts rows when it is asked does not need them.
    fn keeps_counts(&self) -> bool {
        false
    }
}

/// Settles all changes. Afterwards only rows, counts of instances, definitions and deletions remain to be stored.
pub fn settle(changes: &mut Changes, stored: &dyn Stored) -> Result<(), TargetError> {
    if !stored.keeps_counts() {
        return rows(changes, stored);
    }
    let stored = &Ahead::read(changes, stored)?;
    rows(changes, stored)?;
    active_elements::settle(changes, stored)?;
    active_instances::settle(changes, stored)
}

/// Settles everything but counts of rows.
fn rows(changes: &mut Changes, stored: &dyn Stored) -> Result<(), TargetError> {
    flows(changes, stored)?;
    versions::settle(changes, stored)?;
    complete(changes, stored)?;
    lists::settle(changes, stored)?;
    durations::settle(changes, stored)?;
    merged::settle(changes, stored)?;
    batches::settle(changes, stored)?;
    refusals::settle(changes, stored)?;
    incidents::settle(changes, stored)
}

/// The columns of rows with the changes applied. Rows that are neither stored nor changed are omitted.
fn current(
    changes: &Changes,
    stored: &dyn Stored,
    entity: &'static Entity,
    keys: &BTreeSet<i64>,
    columns: &[usize],
) -> Result<FxHashMap<i64, Row>, TargetError> {
    let rows = changes.rows_of(entity);
    let begun = begun(entity);
    let (mut found, mut unknown) = (FxHashMap::default(), Vec::new());
    for key in keys {
        let here = rows.and_then(|rows| rows.get(*key));
        let is_all = here.is_some_and(|row| {
            let has = |column: &usize| row.mask & (1 << column) != 0;
            begun.is_some_and(|begun| has(&begun)) || columns.iter().all(has)
        });
        if !is_all {
            unknown.push(Value::Int(*key));
        }
        if here.is_some() {
            found.insert(*key, vec![Value::Null; columns.len()]);
        }
    }
    let with_key: Vec<usize> = std::iter::once(0).chain(columns.iter().copied()).collect();
    for row in look_up_in(stored, entity, 0, &unknown, &with_key)? {
        if let [Value::Int(key), values @ ..] = row.as_slice() {
            found.insert(*key, values.to_vec());
        }
    }
    for (key, values) in &mut found {
        let Some(here) = rows.and_then(|rows| rows.get(*key)) else {
            continue;
        };
        for (value, column) in values.iter_mut().zip(columns) {
            if here.mask & (1 << column) != 0 {
                *value = here.values.get(*column).cloned().unwrap_or_default();
            }
        }
    }
    Ok(found)
}

/// The column that is set when a row is created. If a change sets it, the row did not exist before.
pub(crate) fn begun(entity: &Entity) -> Option<usize> {
    let is_one = |other: &Entity| std::ptr::eq(entity, other);
    (is_one(&PROCESS_INSTANCE) || is_one(&ELEMENT_INSTANCE))
        .then(|| entity.index_of("startDate"))
        .flatten()
}

/// Returns columns of the rows whose field has one of these values.
fn look_up_in(
    stored: &dyn Stored,
    entity: &'static Entity,
    field: usize,
    values: &[Value],
    columns: &[usize],
) -> Result<Vec<Row>, TargetError> {
    let mut found = Vec::new();
    for chunk in values.chunks(CHUNK) {
        let op = Op::In(chunk.to_vec());
        let conditions = vec![Condition::Field { field, op }];
        found.append(&mut stored.look_up(entity, &conditions, columns)?);
    }
    Ok(found)
}

const FLOWS: usize = PROCESS_INSTANCE.column("takenFlows");

/// Adds taken sequence flows to the rows of their process instances.
fn flows(changes: &mut Changes, stored: &dyn Stored) -> Result<(), TargetError> {
    const BEGUN: usize = PROCESS_INSTANCE.column("startDate");
    let mut taken = changes.take_flows();
    taken.sort_unstable();
    // Instances that began in this window have no earlier flows.
    let began = |key: i64| {
        let row = changes.rows_of(&PROCESS_INSTANCE)?.get(key)?;
        (row.mask & (1 << BEGUN) != 0).then_some(())
    };
    let keys = taken.iter().map(|(key, _)| key.0);
    let earlier = keys.filter(|key| began(*key).is_none()).collect();
    let known = current(changes, stored, &PROCESS_INSTANCE, &earlier, &[FLOWS])?;
    let same = |a: &[(Key, Arc<str>)], b: &[(Key, Arc<str>)]| {
        a.len() == b.len() && a.iter().zip(b).all(|((_, a), (_, b))| a == b)
    };
    let mut last: (&[(Key, Arc<str>)], Value) = (&[], Value::Null);
    for of_one in taken.chunk_by(|(a, _), (b, _)| a == b) {
        let Some((key, _)) = of_one.first() else {
            continue;
        };
        let before = known.get(&key.0).and_then(|row| row.first()?.as_text());
        let flows = match before {
            // Most instances take the same flows as the one before and can share the text.
            None if same(last.0, of_one) => last.1.clone(),
            _ => joined(before.unwrap_or_default(), of_one),
        };
        if before.is_none() {
            last = (of_one, flows.clone());
        }
        changes.put(&PROCESS_INSTANCE, *key, FLOWS, flows);
    }
    Ok(())
}

/// Merges the stored sequence flows with the new ones.
fn joined(before: &str, taken: &[(Key, Arc<str>)]) -> Value {
    let mut ids: Vec<&str> = before.lines().collect();
    ids.extend(taken.iter().map(|(_, id)| &**id));
    ids.sort_unstable();
    ids.dedup();
    Value::text(&ids.join("\n"))
}

/// Columns that new rows copy from the row of another entity.
struct Taking {
    into: &'static Entity,
    /// The column in the new row with the key of the other row.
    by: usize,
    from: &'static Entity,
    /// Pairs of columns: in the new row, and in the other row.
    columns: &'static [(usize, usize)],
    /// If there is no such row, the key itself is used.
    or_key: bool,
}

const BUSINESS_ID: usize = PROCESS_INSTANCE.column("businessId");

static OF_TASK: Taking = Taking {
    into: &USER_TASK,
    by: USER_TASK.column("processInstanceKey"),
    from: &PROCESS_INSTANCE,
    columns: &[
        (USER_TASK.column("tags"), PROCESS_INSTANCE.column("tags")),
        (USER_TASK.column("businessId"), BUSINESS_ID),
    ],
    or_key: false,
};

static OF_SUBSCRIPTION: Taking = Taking {
    into: &MESSAGE_SUBSCRIPTION,
    by: MESSAGE_SUBSCRIPTION.column("processInstanceKey"),
    from: &PROCESS_INSTANCE,
    columns: &[
        (
            MESSAGE_SUBSCRIPTION.column("rootProcessInstanceKey"),
            PROCESS_INSTANCE.column("rootProcessInstanceKey"),
        ),
        (MESSAGE_SUBSCRIPTION.column("businessId"), BUSINESS_ID),
    ],
    or_key: false,
};

static OF_CORRELATED: Taking = Taking {
    into: &CORRELATED_MESSAGE_SUBSCRIPTION,
    by: CORRELATED_MESSAGE_SUBSCRIPTION.column("processInstanceKey"),
    from: &PROCESS_INSTANCE,
    columns: &[
        (
            CORRELATED_MESSAGE_SUBSCRIPTION.column("rootProcessInstanceKey"),
            PROCESS_INSTANCE.column("rootProcessInstanceKey"),
        ),
        (
            CORRELATED_MESSAGE_SUBSCRIPTION.column("businessId"),
            BUSINESS_ID,
        ),
    ],
    or_key: false,
};

static OF_EVALUATION: Taking = Taking {
    into: &DECISION_INSTANCE,
    by: DECISION_INSTANCE.column("processInstanceKey"),
    from: &PROCESS_INSTANCE,
    columns: &[(DECISION_INSTANCE.column("businessId"), BUSINESS_ID)],
    or_key: false,
};

/// If the scope is the process itself, there is no element instance, and the key is that of the process instance.
static OF_SIGNAL: Taking = Taking {
    into: &EVENT_WAIT,
    by: EVENT_WAIT.column("elementInstanceKey"),
    from: &ELEMENT_INSTANCE,
    columns: &[(
        EVENT_WAIT.column("processInstanceKey"),
        ELEMENT_INSTANCE.column("processInstanceKey"),
    )],
    or_key: true,
};

static OF_WAIT: Taking = Taking {
    into: &EVENT_WAIT,
    by: EVENT_WAIT.column("processInstanceKey"),
    from: &PROCESS_INSTANCE,
    columns: &[(
        EVENT_WAIT.column("rootProcessInstanceKey"),
        PROCESS_INSTANCE.column("rootProcessInstanceKey"),
    )],
    or_key: false,
};

static OF_DECISION: Taking = Taking {
    into: &DECISION_DEFINITION,
    by: DECISION_DEFINITION.column("decisionRequirementsKey"),
    from: &DECISION_REQUIREMENTS,
    columns: &[
        (
            DECISION_DEFINITION.column("decisionRequirementsName"),
            DECISION_REQUIREMENTS.column("decisionRequirementsName"),
        ),
        (
            DECISION_DEFINITION.column("decisionRequirementsVersion"),
            DECISION_REQUIREMENTS.column("version"),
        ),
    ],
    or_key: false,
};

fn complete(changes: &mut Changes, stored: &dyn Stored) -> Result<(), TargetError> {
    let mut rows: [Vec<Key>; 7] = Default::default();
    for completion in std::mem::take(&mut changes.completions) {
        let [
            tasks,
            subscriptions,
            correlated,
            evaluations,
            signals,
            waits,
            decisions,
        ] = &mut rows;
        let (of_kind, row) = match completion {
            Completion::UserTask(row) => (tasks, row),
            Completion::MessageSubscription(row) => (subscriptions, row),
            Completion::CorrelatedMessageSubscription(row) => (correlated, row),
            Completion::DecisionInstance(row) => (evaluations, row),
            Completion::SignalWait(row) => (signals, row),
            Completion::EventWait(row) => (waits, row),
            Completion::DecisionDefinition(row) => (decisions, row),
        };
        of_kind.push(row);
    }
    let kinds = [
        &OF_TASK,
        &OF_SUBSCRIPTION,
        &OF_CORRELATED,
        &OF_EVALUATION,
        // Comes before `OF_WAIT`, because it sets the process instance of the wait.
        &OF_SIGNAL,
        &OF_WAIT,
        &OF_DECISION,
    ];
    for (taking, rows) in kinds.into_iter().zip(&rows) {
        take(changes, stored, taking, rows)?;
    }
    Ok(())
}

fn take(
    changes: &mut Changes,
    stored: &dyn Stored,
    taking: &Taking,
    rows: &[Key],
) -> Result<(), TargetError> {
    let by = |changes: &Changes, row: Key| {
        let row = changes.rows_of(taking.into)?.get(row.0)?;
        row.values.get(taking.by)?.as_int()
    };
    let keys: BTreeSet<i64> = rows.iter().filter_map(|row| by(changes, *row)).collect();
    let columns: Vec<usize> = taking.columns.iter().map(|(_, from)| *from).collect();
    let found = current(changes, stored, taking.from, &keys, &columns)?;
    for row in rows {
        let Some(key) = by(changes, *row) else {
            continue;
        };
        let values = found.get(&key);
        for (at, (into, _)) in taking.columns.iter().enumerate() {
            let value = values.and_then(|values| values.get(at).cloned());
            let value = value.unwrap_or_default();
            let value = match value {
                Value::Null if taking.or_key => Value::Int(key),
                value => value,
            };
            changes.put(taking.into, *row, *into, value);
        }
    }
    Ok(())
}
