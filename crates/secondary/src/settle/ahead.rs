//! Reads stored rows ahead: one look-up for what several steps need of the same rows. With a database that other machines run, each look-up
//! is a round trip.

use std::collections::BTreeSet;

use skep_exporting::TargetError;

use rustc_hash::FxHashMap;
use skep_query::{Condition, Conditions, Entity, Op, Row, Value};

use super::counted::CountedRows;
use super::{FLOWS, Stored, active_elements, active_instances, durations, look_up_in};
use crate::changes::Changes;

/// A store, with the rows that were read ahead. Nothing else is written meanwhile.
pub struct Ahead<'a> {
    stored: &'a dyn Stored,
    read: [Read; 2],
}

/// Rows of an entity by their keys. `None`: there is no such row.
struct Read {
    entity: &'static Entity,
    columns: Vec<usize>,
    rows: FxHashMap<i64, Option<Row>>,
}

impl<'a> Ahead<'a> {
    /// Reads the earlier rows that a window moves in counts, which are most of those that other steps look up.
    pub fn read(changes: &Changes, stored: &'a dyn Stored) -> Result<Ahead<'a>, TargetError> {
        // Durations are those of elements that end, which are moved, too.
        let elements = moved(changes, &active_elements::ROWS);
        let mut instances = moved(changes, &active_instances::ROWS);
        let takers = changes.takers_of_flows().map(|key| key.0);
        instances.extend(takers.filter(|key| !active_instances::ROWS.begins(changes, *key)));
        Ok(Ahead {
            stored,
            read: [
                Read::of(stored, &active_elements::ROWS, durations::STARTED, elements)?,
                Read::of(stored, &active_instances::ROWS, FLOWS, instances)?,
            ],
        })
    }
}

fn moved<const N: usize>(changes: &Changes, rows: &CountedRows<N>) -> BTreeSet<i64> {
    let changed = changes.rows_of(rows.entity).into_iter();
    let changed = changed.flat_map(|changed| changed.iter());
    let moved = changed.filter(|row| rows.is_moved(row));
    moved.map(|row| row.key).collect()
}

impl Read {
    /// `beside`: a column that another step needs.
    fn of<const N: usize>(
        stored: &dyn Stored,
        rows: &CountedRows<N>,
        beside: usize,
        keys: BTreeSet<i64>,
    ) -> Result<Read, TargetError> {
        let (entity, first) = (rows.entity, [0, beside]);
        let columns: Vec<usize> = first.into_iter().chain(rows.columns).collect();
        let mut read = Read {
            entity,
            rows: keys.iter().map(|key| (*key, None)).collect(),
            columns,
        };
        let keys: Vec<Value> = keys.into_iter().map(Value::Int).collect();
        for row in look_up_in(stored, entity, 0, &keys, &read.columns)? {
            if let Some(Value::Int(key)) = row.first() {
                read.rows.insert(*key, Some(row));
            }
        }
        Ok(read)
    }

    /// Where its rows have these columns, if they have all of them.
    fn places(&self, columns: &[usize]) -> Option<Vec<usize>> {
        let place = |column: &usize| self.columns.iter().position(|known| known == column);
        columns.iter().map(place).collect()
    }
}

impl Stored for Ahead<'_> {
    fn look_up(
        &self,
        entity: &'static Entity,
        conditions: &Conditions,
        columns: &[usize],
    ) -> Result<Vec<Row>, TargetError> {
        let mut read = self.read.iter();
        let read = read.find(|read| std::ptr::eq(read.entity, entity));
        let known = read.and_then(|read| Some((read, read.places(columns)?)));
        let (
            Some((read, places)),
            [
                Condition::Field {
                    field: 0,
                    op: Op::In(keys),
                },
            ],
        ) = (known, conditions.as_slice())
        else {
            return self.stored.look_up(entity, conditions, columns);
        };
        let (mut found, mut unknown): (Vec<Row>, Vec<Value>) = Default::default();
        for key in keys {
            match key.as_int().and_then(|key| read.rows.get(&key)) {
                Some(Some(row)) => {
                    let value = |at: &usize| row.get(*at).cloned().unwrap_or_default();
                    found.push(places.iter().map(value).collect());
                }
                Some(None) => {}
                None => unknown.push(key.clone()),
            }
        }
        found.append(&mut look_up_in(self.stored, entity, 0, &unknown, columns)?);
        Ok(found)
    }

    fn keeps_counts(&self) -> bool {
        self.stored.keeps_counts()
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use skep_protocol::Key;
    use skep_query::entities::{ELEMENT_DURATION, ELEMENT_INSTANCE, PROCESS_INSTANCE};

    use super::*;
    use crate::changes::{ActiveCounts, Lasted, Lasting, set};
    use crate::settle::settle;

    const DEFINITION: Key = Key(9);
    const RUNNING: Key = Key(2);

    /// Has an instance with an element, and another one. Notes what is looked up.
    #[derive(Default)]
    struct Two {
        asked: RefCell<Vec<&'static str>>,
    }

    impl Stored for Two {
        fn look_up(
            &self,
            entity: &'static Entity,
            conditions: &Conditions,
            columns: &[usize],
        ) -> Result<Vec<Row>, TargetError> {
            self.asked.borrow_mut().push(entity.table);
            let [Condition::Field { op, .. }] = conditions.as_slice() else {
                panic!("{conditions:?}");
            };
            let keys: &[i64] = match entity.table {
                "process_instance" => &[1, 2],
                "element_instance" => &[3],
                _ => &[],
            };
            let value = |key: i64, column: usize| match entity.field(column).name {
                "state" => Value::text("ACTIVE"),
                "hasIncident" => Value::Int(0),
                "processDefinitionKey" => Value::Int(DEFINITION.0),
                "processDefinitionId" | "elementId" => Value::text("p"),
                "takenFlows" => Value::text("earlier"),
                "startDate" => Value::Int(100),
                _ if column == 0 => Value::Int(key),
                _ => Value::Null,
            };
            let keys = keys.iter().filter(|key| op.holds_for(&Value::Int(**key)));
            let row = |key: &i64| -> Row {
                let values = columns.iter().map(|column| value(*key, *column));
                values.collect()
            };
            Ok(keys.map(row).collect())
        }

        fn keeps_counts(&self) -> bool {
            true
        }
    }

    #[test]
    fn rows_that_several_steps_need_are_looked_up_once() {
        let mut changes = Changes::default();
        let on = ((DEFINITION, 1), 0);
        set!(changes, ELEMENT_INSTANCE, Key(3), { "state": Value::text("COMPLETED") });
        changes.took.lasting.push(Lasting {
            key: Key(3),
            on,
            ended: 150,
        });
        let lasted = Lasted {
            id: "day".to_string(),
            process_id: Value::text("p"),
            tenant: Value::Null,
            element_id: "p".into(),
            durations: skep_query::Durations::default(),
        };
        changes.took.lasted.insert(on, lasted);
        set!(changes, PROCESS_INSTANCE, Key(1), { "state": Value::text("COMPLETED") });
        for instance in [Key(1), RUNNING] {
            changes.flow(instance, (DEFINITION, 2), || Some("later".into()));
        }
        let stored = Two::default();
        settle(&mut changes, &stored).expect("settled");
        let mut asked = stored.asked.into_inner();
        asked.retain(|table| table.ends_with("_instance"));
        assert_eq!(asked, ["element_instance", "process_instance"]);
        // Each step got what it needs.
        let one_less = ActiveCounts {
            active: -1,
            incidents: 0,
        };
        let counted = &changes.counted;
        let elements: Vec<_> = counted.active_elements.values().collect();
        let instances: Vec<_> = counted.active_instances.values().collect();
        assert_eq!((elements, instances), (vec![&one_less], vec![&one_less]));
        let flows = |key: Key| {
            let row = changes.rows_of(&PROCESS_INSTANCE)?.get(key.0)?;
            row.values.get(FLOWS).cloned()
        };
        for instance in [Key(1), RUNNING] {
            assert_eq!(flows(instance), Some(Value::text("earlier\nlater")));
        }
        let durations = changes.rows_of(&ELEMENT_DURATION).expect("an entity");
        let durations = durations.sorted();
        let shortest = ELEMENT_DURATION.column("shortest");
        assert_eq!(durations[0].values[shortest], Value::Int(50));
    }
}
