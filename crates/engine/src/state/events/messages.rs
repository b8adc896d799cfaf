//! Published messages that are buffered until their time to live ends.

mod queue;

use std::collections::{BTreeSet, HashMap};
use std::ops::RangeInclusive;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use skep_protocol::document::JsonText;
use skep_protocol::record::decode;
use skep_protocol::value::MessageValue;
use skep_protocol::{Key, TenantId};

pub use self::queue::Rank;

use self::queue::Queue;
use super::sharded::{Name, Sharded};
use crate::state::table::{ReadEarlier, Row, StoreError, Table, Tables, weight_of};
use crate::state::undo::Indexed;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Message {
    pub name: Arc<str>,
    pub correlation_key: Arc<str>,
    pub message_id: Arc<str>,
    /// Milliseconds; 0 or less for an unbuffered message.
    pub time_to_live: i64,
    /// End of the time to live, epoch milliseconds.
    pub deadline: i64,
    pub variables: Vec<(Arc<str>, JsonText)>,
    pub tenant: TenantId,
    /// Processes that took the message: at most one instance of each gets it.
    pub correlated: Vec<Arc<str>>,
    /// How often it has moved to another partition, with its correlation key. Only the second version of the row has it.
    #[serde(skip_serializing_if = "has_not_moved")]
    pub moves: u32,
}

#[allow(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde passes a reference"
)]
fn has_not_moved(moves: &u32) -> bool {
    *moves == 0
}

impl Message {
    fn of(value: &MessageValue) -> Message {
        Message {
            name: value.name.clone(),
            correlation_key: value.correlation_key.clone(),
            message_id: value.message_id.clone(),
            time_to_live: value.time_to_live,
            deadline: value.deadline,
            variables: value.variables.clone(),
            tenant: value.tenant.clone(),
            correlated: Vec::new(),
            moves: 0,
        }
    }

    /// Its place among the messages of its name and correlation key, by its own key.
    pub fn rank(&self, key: Key) -> Rank {
        Rank::new(self.moves, key)
    }

    /// The record value.
    pub fn value(&self) -> MessageValue {
        MessageValue {
            name: self.name.clone(),
            correlation_key: self.correlation_key.clone(),
            time_to_live: self.time_to_live,
            deadline: self.deadline,
            message_id: self.message_id.clone(),
            variables: self.variables.clone(),
            tenant: self.tenant.clone(),
        }
    }
}

impl Row for Message {
    const TABLE: u8 = 6;
    const VERSION: u8 = 2;

    fn version(&self) -> u8 {
        if self.moves == 0 { 1 } else { 2 }
    }

    fn read_earlier(version: u8, bytes: &[u8]) -> ReadEarlier<Self> {
        // A zero is encoded as one byte.
        (version == 1).then(|| decode(&[bytes, &[0]].concat()))
    }

    fn weight(&self) -> usize {
        let texts = [&self.name, &self.correlation_key, &self.message_id];
        let correlated = self.correlated.iter().map(|id| CORRELATED + id.len());
        size_of::<Self>()
            + texts.iter().map(|text| text.len()).sum::<usize>()
            + weight_of(&self.variables)
            + self.tenant.weight()
            + correlated.sum::<usize>()
    }
}

/// Bytes of one entry in the list of processes that took a message, without its text.
const CORRELATED: usize = size_of::<Arc<str>>();

/// [`Name`] with the message id.
type NameKeyAndId = (TenantId, Arc<str>, Arc<str>, Arc<str>);

pub struct Messages {
    pub table: Table<Message>,
    by_name: Sharded<Queue>,
    by_id: HashMap<NameKeyAndId, Key>,
    deadlines: BTreeSet<(i64, Key)>,
}

impl Messages {
    pub fn open(tables: &Arc<Tables>) -> Result<Messages, StoreError> {
        let mut messages = Messages {
            table: Table::open(tables)?,
            by_name: Sharded::default(),
            by_id: HashMap::new(),
            deadlines: BTreeSet::new(),
        };
        tables.scan_by_key::<Message>(&mut |key, row| messages.add_to_index(key, &row))?;
        Ok(messages)
    }

    pub(in crate::appliers) fn insert(&mut self, key: Key, value: &MessageValue) {
        self.add(key, Message::of(value));
    }

    /// Inserts a message of another partition, which these processes have taken, after so many moves. It may be here already, if that
    /// partition has lost its knowledge of that in a recovery.
    pub(in crate::appliers) fn arrive(
        &mut self,
        key: Key,
        value: &MessageValue,
        (correlated, moves): (Vec<Arc<str>>, u32),
    ) {
        self.remove(key);
        let message = Message {
            correlated,
            moves,
            ..Message::of(value)
        };
        self.add(key, message);
    }

    fn add(&mut self, key: Key, message: Message) {
        self.add_to_index(key, &message);
        self.table.insert(key, message);
    }

    pub(in crate::appliers) fn remove(&mut self, key: Key) {
        if let Some(message) = self.table.remove(key) {
            self.take_from_index(key, &message);
        }
    }

    /// Records that a process took the message, which may have expired meanwhile.
    pub(in crate::appliers) fn add_correlated(&mut self, key: Key, bpmn_process_id: &Arc<str>) {
        if let Some(message) = self.table.get_mut(key) {
            message.correlated.push(bpmn_process_id.clone());
            let (name, rank) = (name_of(message), message.rank(key));
            self.table.add_weight(CORRELATED + bpmn_process_id.len());
            if let Some(queue) = self.by_name.get_mut(&name) {
                queue.take(rank, bpmn_process_id);
            }
        }
    }

    /// Records that a process did not take the message after all. The message may have expired meanwhile.
    pub(in crate::appliers) fn remove_correlated(&mut self, key: Key, bpmn_process_id: &Arc<str>) {
        if let Some(message) = self.table.get_mut(key) {
            message.correlated.retain(|id| id != bpmn_process_id);
            let (name, rank) = (name_of(message), message.rank(key));
            if let Some(queue) = self.by_name.get_mut(&name) {
                queue.give_back(rank, bpmn_process_id);
            }
        }
    }

    pub fn get(&mut self, key: Key) -> Option<&Message> {
        self.table.get(key)
    }

    /// A buffered message with the same name, correlation key and message id.
    pub fn with_id(
        &self,
        tenant: &TenantId,
        name: &Arc<str>,
        correlation_key: &Arc<str>,
        id: &Arc<str>,
    ) -> Option<Key> {
        let (tenant, name) = (tenant.clone(), name.clone());
        let id = (tenant, name, correlation_key.clone(), id.clone());
        self.by_id.get(&id).copied()
    }

    /// The oldest buffered message that the process has not taken and that has not expired.
    pub fn oldest_for(
        &self,
        (tenant, name, correlation_key): (&TenantId, &Arc<str>, &Arc<str>),
        bpmn_process_id: &str,
        now: i64,
    ) -> Option<Rank> {
        let name = (tenant.clone(), name.clone(), correlation_key.clone());
        self.by_name.get(&name)?.oldest_for(bpmn_process_id, now)
    }

    /// The messages with correlation keys of these shards, each with its correlation key.
    pub fn of_shards(&self, shards: RangeInclusive<u16>) -> impl Iterator<Item = (&Arc<str>, Key)> {
        let queues = self.by_name.of_shards(shards);
        queues.flat_map(|(correlation_key, queue)| {
            queue.keys().map(move |key| (correlation_key, key))
        })
    }

    pub fn expired(&self, now: i64) -> impl Iterator<Item = Key> + '_ {
        self.deadlines
            .range(..=(now, Key(i64::MAX)))
            .map(|(_, key)| *key)
    }

    pub fn next_due(&self) -> Option<i64> {
        self.deadlines.first().map(|(due, _)| *due)
    }

    pub fn len(&self) -> usize {
        self.table.len()
    }

    pub fn is_empty(&self) -> bool {
        self.table.is_empty()
    }
}

impl Indexed<Message> for Messages {
    fn rows(&mut self) -> &mut Table<Message> {
        &mut self.table
    }

    fn add_to_index(&mut self, key: Key, row: &Message) {
        let queue = self.by_name.or_default(name_of(row));
        queue.add(row.rank(key), row.deadline, &row.correlated);
        if !row.message_id.is_empty() {
            self.by_id.insert(id_of(row), key);
        }
        // An unbuffered message ends when all waiting subscriptions have it, which may take several turns.
        if row.time_to_live > 0 {
            self.deadlines.insert((row.deadline, key));
        }
    }

    fn take_from_index(&mut self, key: Key, row: &Message) {
        let name = name_of(row);
        if let Some(queue) = self.by_name.get_mut(&name) {
            queue.remove(row.rank(key));
            if queue.is_empty() {
                self.by_name.remove(&name);
            }
        }
        if !row.message_id.is_empty() {
            self.by_id.remove(&id_of(row));
        }
        self.deadlines.remove(&(row.deadline, key));
    }
}

fn name_of(message: &Message) -> Name {
    (
        message.tenant.clone(),
        message.name.clone(),
        message.correlation_key.clone(),
    )
}

fn id_of(message: &Message) -> NameKeyAndId {
    let (tenant, name, correlation_key) = name_of(message);
    (tenant, name, correlation_key, message.message_id.clone())
}
