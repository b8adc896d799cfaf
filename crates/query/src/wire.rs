//! Serialization of queries and answers between nodes.
//!
//! Columns are sent as indices, so both sides must have the same ones; [`fingerprint`] verifies that.

use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error};

use crate::entities::ALL;
use crate::entity::Entity;
use crate::search::{Conditions, Related};

/// A hash that is equal on two nodes if they agree on entities, columns and rows.
pub fn fingerprint() -> u64 {
    // FNV-1a.
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    let mut add = |text: &str| {
        for byte in text.bytes().chain([0]) {
            hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
    };
    for entity in ALL {
        add(entity.table);
        entity.fields.iter().for_each(|field| add(field.name));
    }
    hash
}

/// Serializes an entity as the name of its table.
pub(crate) mod entity {
    use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error};

    use crate::entities::ALL;
    use crate::entity::Entity;

    pub fn serialize<S: Serializer>(
        entity: &&'static Entity,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        entity.table.serialize(serializer)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<&'static Entity, D::Error> {
        let table = String::deserialize(deserializer)?;
        let entity = ALL.into_iter().find(|entity| entity.table == table);
        entity.ok_or_else(|| D::Error::custom(format!("there is no entity {table}")))
    }
}

/// The static name of a column.
fn column(name: &str) -> Option<&'static str> {
    let mut fields = ALL.iter().flat_map(|entity| entity.fields);
    fields
        .find(|field| field.name == name)
        .map(|field| field.name)
}

/// [`Related`] with owned texts.
#[derive(Serialize, Deserialize)]
struct SentRelated {
    #[serde(with = "entity")]
    entity: &'static Entity,
    own: String,
    link: String,
    conditions: Conditions,
}

impl Serialize for Related {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let sent = SentRelated {
            entity: self.entity,
            own: self.own.to_string(),
            link: self.link.to_string(),
            conditions: self.conditions.clone(),
        };
        sent.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Related {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Related, D::Error> {
        let sent = SentRelated::deserialize(deserializer)?;
        let known = |name: &str| {
            column(name).ok_or_else(|| D::Error::custom(format!("there is no column {name}")))
        };
        Ok(Related {
            own: known(&sent.own)?,
            link: known(&sent.link)?,
            entity: sent.entity,
            conditions: sent.conditions,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::entities::PROCESS_INSTANCE;
    use crate::search::{Condition, Op, Page, Search, Sort, Start};
    use crate::{Answer, Cursor, Groups, Measure, Query, QueryError, ResultPage, Value};

    fn there_and_back<T: Serialize + serde::de::DeserializeOwned>(value: &T) -> T {
        let bytes = skep_protocol::record::encode(value);
        skep_protocol::record::decode(&bytes).unwrap()
    }

    #[test]
    fn a_search_arrives_as_it_was_sent() {
        let mut related = Vec::new();
        for entity in ALL {
            for filter in entity.related {
                related.push(Condition::Related(Box::new(Related {
                    entity: (filter.entity)(),
                    own: filter.own,
                    link: filter.link,
                    conditions: vec![Condition::Field {
                        field: 1,
                        op: Op::In(vec![Value::Null, Value::Int(-3), Value::text("a")]),
                    }],
                })));
            }
        }
        assert!(!related.is_empty());
        let search = Search {
            filter: vec![Condition::Any(vec![related])],
            sort: vec![Sort {
                field: 2,
                descending: true,
            }],
            page: Page {
                limit: 7,
                start: Start::After(Cursor(vec![Value::text("x"), Value::Int(1)])),
            },
            ..Search::all(&PROCESS_INSTANCE, Vec::new(), 1)
        };
        let query = Query::Groups(Groups {
            search,
            by: vec![1],
            span: Some(9),
            measures: vec![Measure::Rows, Measure::RowsWhere(Vec::new())],
        });
        assert_eq!(
            format!("{:?}", there_and_back(&query)),
            format!("{query:?}")
        );
    }

    #[test]
    fn answers_and_refusals_arrive_too() {
        let found = Answer::Page(ResultPage {
            rows: vec![vec![Value::Null, Value::Int(4), Value::text("ä")]],
            total: 1,
            more: true,
        });
        let answered: Result<(Answer, u64), QueryError> = Ok((found, 3));
        assert_eq!(there_and_back(&answered), answered);
        let refused: Result<(Answer, u64), QueryError> = Err(QueryError::TooMany { groups: 5 });
        assert_eq!(there_and_back(&refused), refused);
    }

    #[test]
    fn unknown_tables_are_refused() {
        let bytes = skep_protocol::record::encode(&"no_such_table");
        let read = |bytes: &[u8]| {
            #[derive(Deserialize)]
            struct Named(#[serde(with = "entity")] &'static Entity);
            skep_protocol::record::decode::<Named>(bytes).map(|named| named.0.table)
        };
        assert!(read(&bytes).is_err());
        let bytes = skep_protocol::record::encode(&"job");
        assert_eq!(read(&bytes).unwrap(), "job");
    }
}
