//! The logs of all partitions together: everything that must happen once happens exactly once, and nothing happens without a cause.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use skep_protocol::batch::BatchReader;
use skep_protocol::intent::{
    CommandDistributionIntent, Intent, JobIntent, MessageIntent,
    MessageStartEventSubscriptionIntent, MessageSubscriptionIntent, ProcessInstanceIntent,
    ProcessMessageSubscriptionIntent, SignalIntent,
};
use skep_protocol::record::{Record, RecordType};
use skep_protocol::value::{
    JobValue, MessageStartEventSubscriptionValue, MessageSubscriptionValue, MessageValue,
    ProcessInstanceValue, ProcessMessageSubscriptionValue,
};
use skep_protocol::{Key, ValueType};

use super::super::jobs::Jobs;
use super::tally::Tally;

/// A published message.
#[derive(Debug)]
struct Published {
    name: Arc<str>,
    correlation_key: Arc<str>,
}

/// A distribution: how many partitions took part when it was started, and those that have carried it out.
#[derive(Debug)]
struct Received {
    needed: u32,
    by: BTreeSet<u32>,
}

#[derive(Debug, Default)]
pub struct Chronicle {
    /// How many take part.
    partitions: u32,
    /// By partition: the last entry read from its log.
    read: BTreeMap<u32, u64>,
    pub jobs: BTreeMap<u32, Jobs>,
    /// Keys of all entities, with their kinds.
    given: BTreeSet<(u8, Key)>,
    published: BTreeMap<Key, Published>,
    ids: BTreeSet<(Arc<str>, Arc<str>, Arc<str>)>,
    /// Element instances and the contents of the messages correlated to them.
    contents: BTreeSet<(Key, String)>,
    pub correlated: Correlated,
    /// Running instances started by messages, by process and correlation key.
    live: BTreeMap<(Arc<str>, Arc<str>), Key>,
    /// Jobs that came back from closed streams, with the deadlines of those activations.
    pub returned: BTreeSet<(Key, i64)>,
    pub begun: BTreeSet<Key>,
    pub ended: BTreeSet<Key>,
    distributions: Distributions,
    /// By partition: keys up to this counter were purged.
    purged: BTreeMap<u32, u64>,
    /// Whether committed entries were lost: other partitions may have acted on them.
    pub has_lost: bool,
    pub tally: Tally,
}

#[derive(Debug, Default)]
pub struct Correlated {
    /// By message and process: the instance that the message was correlated to, or that it started.
    pub to: BTreeMap<(Key, Arc<str>), Key>,
    /// By instance: number of messages.
    pub count: BTreeMap<Key, u64>,
}

#[derive(Debug, Default)]
struct Distributions {
    received: BTreeMap<Key, Received>,
    /// By receiver and sender: the last one.
    last: BTreeMap<(u32, u32), Key>,
}

impl Chronicle {
    pub fn of(partitions: u32) -> Chronicle {
        Chronicle {
            partitions,
            ..Chronicle::default()
        }
    }

    /// The counter of the newest key that the partition is known to have assigned.
    pub fn newest_key(&self, partition: u32) -> u64 {
        let keys = self.given.iter().map(|(_, key)| *key);
        let own = keys.filter(|key| key.partition() == Some(partition));
        own.map(Key::counter).max().unwrap_or_default()
    }

    /// A purge has removed all keys up to these, and logs start empty. No key may be assigned again.
    pub fn forget(&mut self, purged: BTreeMap<u32, u64>) {
        *self = Chronicle {
            partitions: self.partitions,
            purged,
            given: std::mem::take(&mut self.given),
            returned: std::mem::take(&mut self.returned),
            begun: std::mem::take(&mut self.begun),
            ended: std::mem::take(&mut self.ended),
            tally: std::mem::take(&mut self.tally),
            ..Chronicle::default()
        };
    }

    /// The partition goes on from an earlier entry. What was lost may happen again, and what it has caused elsewhere stays; but keys of what
    /// was lost are not given to anything else.
    pub fn loses(&mut self, partition: u32, kept: u64) {
        self.has_lost = true;
        self.read.insert(partition, kept);
    }

    /// From now on so many partitions take part.
    pub fn grows(&mut self, partitions: u32) {
        self.partitions = partitions;
    }

    /// Handles a committed entry; all replicas report it, and the first report counts.
    pub fn committed(&mut self, partition: u32, index: u64, payload: &[u8]) {
        if !self.has_lost {
            let jobs = self.jobs.entry(partition).or_default();
            jobs.committed(index, payload);
        }
        let read = self.read.entry(partition).or_default();
        if index <= *read {
            return;
        }
        *read = index;
        if payload.is_empty() {
            return;
        }
        for record in BatchReader::new(payload).expect("a batch") {
            let record = record.expect("a record");
            if record.record_type == RecordType::Event {
                self.event(partition, &record);
            }
        }
    }

    fn event(&mut self, partition: u32, record: &Record<'_>) {
        let is = |value_type, intent| record.value_type == value_type && record.intent == intent;
        let key = record.key;
        self.is_there(partition, key);
        if self.has_lost {
            return self.gives_keys(partition, record);
        }
        if is(ValueType::Message, MessageIntent::Published.id()) {
            self.is_new(partition, record);
            self.publishes(key, record.value().expect("a message"));
        } else if is(
            ValueType::ProcessMessageSubscription,
            ProcessMessageSubscriptionIntent::Correlated.id(),
        ) {
            self.takes(partition, &record.value().expect("a subscription"));
        } else if is(
            ValueType::MessageStartEventSubscription,
            MessageStartEventSubscriptionIntent::Correlated.id(),
        ) {
            self.starts(&record.value().expect("a start"));
        } else if is(
            ValueType::ProcessInstance,
            ProcessInstanceIntent::ElementActivating.id(),
        ) {
            self.is_new(partition, record);
            let value: ProcessInstanceValue = record.value().expect("an element");
            if value.process_instance_key == key {
                self.begun.insert(key);
            }
        } else if is(
            ValueType::ProcessInstance,
            ProcessInstanceIntent::ElementCompleted.id(),
        ) || is(
            ValueType::ProcessInstance,
            ProcessInstanceIntent::ElementTerminated.id(),
        ) {
            let value: ProcessInstanceValue = record.value().expect("an element");
            if value.process_instance_key == key {
                assert!(self.ended.insert(key), "instance {key} has ended twice");
                self.live.retain(|_, instance| *instance != key);
            }
        } else if is(ValueType::Job, JobIntent::Created.id()) {
            self.is_new(partition, record);
        } else if is(ValueType::Job, JobIntent::Yielded.id()) {
            let job: JobValue = record.value().expect("a job");
            let was_returned = self.returned.contains(&(key, job.deadline));
            assert!(
                was_returned,
                "job {key} was taken from a worker who has not returned it"
            );
            self.tally.add("yielded", 1);
        } else if is(ValueType::Signal, SignalIntent::Broadcasted.id()) {
            self.is_new(partition, record);
            self.tally.add("signals", 1);
        } else if is(
            ValueType::MessageSubscription,
            MessageSubscriptionIntent::Created.id(),
        ) {
            let value: MessageSubscriptionValue = record.value().expect("a subscription");
            self.is_there(partition, value.element_instance_key);
        } else if record.value_type == ValueType::CommandDistribution {
            self.distributes(partition, key, record.intent);
        }
    }

    /// Checks the keys of whatever begins with this event.
    fn gives_keys(&mut self, partition: u32, record: &Record<'_>) {
        let begins = [
            (ValueType::Message, MessageIntent::Published.id()),
            (
                ValueType::ProcessInstance,
                ProcessInstanceIntent::ElementActivating.id(),
            ),
            (ValueType::Job, JobIntent::Created.id()),
            (ValueType::Signal, SignalIntent::Broadcasted.id()),
        ];
        if begins.contains(&(record.value_type, record.intent)) {
            self.is_new(partition, record);
            self.tally.add("begun after a loss", 1);
        }
    }

    /// Checks that what has this key was not purged.
    fn is_there(&self, partition: u32, key: Key) {
        let purged = key.partition().and_then(|home| self.purged.get(&home));
        assert!(
            purged.is_none_or(|purged| key.counter() > *purged),
            "partition {partition} has an event about {key}, which was purged"
        );
    }

    /// Checks that the key is new, and was generated by the partition that it belongs to.
    fn is_new(&mut self, partition: u32, record: &Record<'_>) {
        let (kind, key) = (record.value_type, record.key);
        assert_eq!(
            key.partition(),
            Some(partition),
            "{kind:?} has another's key"
        );
        assert!(
            self.given.insert((kind as u8, key)),
            "the key {key} of {kind:?} was given twice"
        );
    }

    fn publishes(&mut self, key: Key, message: MessageValue) {
        let name_key_and_id = (
            message.name.clone(),
            message.correlation_key.clone(),
            message.message_id,
        );
        let has_id = !name_key_and_id.2.is_empty();
        assert!(
            !has_id || self.ids.insert(name_key_and_id.clone()),
            "{name_key_and_id:?} was published twice"
        );
        let published = Published {
            name: message.name,
            correlation_key: message.correlation_key,
        };
        self.published.insert(key, published);
    }

    fn takes(&mut self, partition: u32, value: &ProcessMessageSubscriptionValue) {
        let (element, message) = (value.element_instance_key, value.message_key);
        let content = format!("{:?}", value.variables);
        assert!(
            self.contents.insert((element, content.clone())),
            "element {element} took the same message twice: {content}"
        );
        let published = self.published.get(&message).unwrap_or_else(|| {
            panic!("element {element} took message {message}, which nobody has published")
        });
        assert_eq!(published.name, value.message_name);
        assert_eq!(published.correlation_key, value.correlation_key);
        let instance = value.process_instance_key;
        let process = value.bpmn_process_id.clone();
        self.goes_to(message, process, instance);
        // The message was on one partition, the instance on another.
        let across = message.partition() != Some(partition);
        self.tally.add("across", u64::from(across));
        *self.correlated.count.entry(instance).or_default() += 1;
    }

    fn goes_to(&mut self, message: Key, process: Arc<str>, instance: Key) {
        let before = self.correlated.to.insert((message, process), instance);
        assert_eq!(
            before, None,
            "message {message} went to two instances of a process"
        );
    }

    fn starts(&mut self, value: &MessageStartEventSubscriptionValue) {
        let (message, instance) = (value.message_key, value.process_instance_key);
        assert!(
            self.published.contains_key(&message),
            "{instance} began with message {message}, which nobody has published"
        );
        let process = value.bpmn_process_id.clone();
        self.goes_to(message, process.clone(), instance);
        let before = self
            .live
            .insert((process, value.correlation_key.clone()), instance);
        assert_eq!(
            before, None,
            "{instance} began while another one with key '{}' lives",
            value.correlation_key
        );
    }

    fn distributes(&mut self, partition: u32, key: Key, intent: u8) {
        if intent == CommandDistributionIntent::Started.id() {
            let received = Received {
                needed: self.partitions,
                by: BTreeSet::new(),
            };
            let before = self.distributions.received.insert(key, received);
            assert!(before.is_none(), "distribution {key} was started twice");
            self.tally.add("distributed", 1);
        } else if intent == CommandDistributionIntent::Received.id() {
            let by = self.distributions.received.get_mut(&key);
            let by =
                by.unwrap_or_else(|| panic!("{partition} carries out {key}, which nobody started"));
            assert!(
                by.by.insert(partition),
                "{partition} has carried out {key} twice"
            );
            let from = key.partition().expect("a partition");
            let before = self.distributions.last.insert((partition, from), key);
            assert!(
                before < Some(key),
                "{partition} carried out {key} after {before:?}"
            );
        } else if intent == CommandDistributionIntent::Finished.id() {
            // New partitions may have it too.
            let Received { needed, by } = &self.distributions.received[&key];
            assert!(
                by.len() as u32 + 1 >= *needed,
                "{key} has ended without some partition: {needed} took part, and it was carried out by {by:?}"
            );
        }
    }
}
