//! What a store answers.

use std::future::Future;
use std::pin::Pin;

use serde::{Deserialize, Serialize};
use skep_protocol::Key;

use crate::entity::Entity;
use crate::groups::Groups;
use crate::pulse::Pulse;
use crate::search::Search;
use crate::value::Value;
use crate::wire;

/// A row: the values of all fields of its entity, in their order.
pub type Row = Vec<Value>;

/// What can be asked of a store.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Query {
    Search(Search),
    Get {
        #[serde(with = "wire::entity")]
        entity: &'static Entity,
        key: Key,
    },
    /// The sequence flows that a process instance has taken.
    SequenceFlows {
        process_instance_key: Key,
    },
    /// Rows in groups, counted.
    Groups(Groups),
    /// How many instances of each element of a process definition are active, completed, terminated, or have incidents: of all
    /// its process instances.
    DefinitionStatistics {
        process_definition_key: Key,
    },
    /// How many instances of each element are active, completed, terminated, or have incidents.
    ElementStatistics {
        process_instance_key: Key,
    },
}

/// Alternatives and related entities that a query may ask for and still be an ordinary one.
const FEW_ALTERNATIVES: usize = 32;
const FEW_RELATED: usize = 8;

impl Query {
    /// It asks very much of each row, so that it may take as long as many others.
    pub fn is_costly(&self) -> bool {
        let Query::Search(search) = self else {
            return false;
        };
        let all = search.any_of.iter().flatten().chain(&search.filter);
        let related = all.filter(|condition| matches!(condition, crate::Condition::Related(_)));
        search.any_of.len() > FEW_ALTERNATIVES || related.count() > FEW_RELATED
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Answer {
    Found(Found),
    /// `None`: there is no such thing.
    Row(Option<Row>),
    /// Lists without pages; the columns are those that the query is about.
    Rows(Vec<Row>),
}

/// A page.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Found {
    pub rows: Vec<Row>,
    /// All that match, or as many as are counted.
    pub total: u64,
    /// There are more than `total`.
    pub more: bool,
}

/// Whether an answer must hold what was acknowledged before it was asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Consistency {
    /// It does; the store is waited for, within bounds.
    #[default]
    ReadYourWrites,
    /// What is there now.
    Eventual,
}

/// Why a store did not answer.
#[derive(Clone, Debug, PartialEq, thiserror::Error, Serialize, Deserialize)]
pub enum QueryError {
    /// There is no store.
    #[error(
        "Secondary storage is off (camunda.data.secondary-storage.type is 'none'), so that nothing can be searched. Turn it on \
         and start the node again."
    )]
    Disabled,
    #[error("{0}")]
    Unavailable(String),
    #[error(
        "The query took longer than the {seconds} s that one may take. Narrow it down with filters, or ask for smaller pages."
    )]
    TooLong { seconds: u64 },
    #[error(
        "The answer would have more than {mebibytes} MiB. Ask for a smaller page, or leave 'truncateValues' out."
    )]
    TooLarge { mebibytes: usize },
    #[error("The statistics would have more than {groups} groups. Narrow them down with a filter.")]
    TooMany { groups: usize },
    #[error(
        "A pattern ('$like') has more '*' and '?' than the search server of secondary storage can look for. Use fewer of them."
    )]
    TooComplex,
    #[error(
        "More queries than can be answered at a time wait already. Send this one again after a moment."
    )]
    Busy,
}

pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// Answers queries over all partitions.
pub trait Storage: Send + Sync + 'static {
    /// There is none: every query is refused with [`QueryError::Disabled`], whatever it asks for.
    fn is_off(&self) -> bool {
        false
    }

    /// The answer, and how many milliseconds of acknowledged history it lacks; 0 when it has everything.
    fn query(
        &self,
        query: Query,
        consistency: Consistency,
    ) -> BoxFuture<'_, Result<(Answer, u64), QueryError>>;

    /// Which kinds of rows have changed, compared with an earlier pulse. A storage that does not count changes does not know.
    fn pulse(&self) -> BoxFuture<'_, Pulse> {
        Box::pin(async { Pulse::unknown() })
    }
}
