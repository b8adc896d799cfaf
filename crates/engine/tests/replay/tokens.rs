//! Tokens that wait at joining gateways, counted from the records: each activation of such a gateway takes one from each flow that has
//! some, whatever caused it.

use std::collections::BTreeMap;

use skep_engine::state::{ElementInstance, Row, read_row};
use skep_model::{ElementIndex, ElementKind};
use skep_protocol::Key;
use skep_testkit::rig::*;

/// Number of tokens by scope, gateway and sequence flow.
type Waiting = BTreeMap<(Key, u32, u32), u32>;

/// The tokens in all records so far.
#[derive(Default)]
pub struct Tokens {
    waiting: Waiting,
    /// Number of records that have been read.
    read: usize,
}

impl Tokens {
    /// Reads the new records, and checks that the engine has the same tokens.
    pub fn check(&mut self, rig: &mut Rig, seed: u64) {
        for record in rig.seen.split_off(self.read) {
            if record.is_event() && record.value_type == "PROCESS_INSTANCE" {
                self.count(rig, &record);
            }
            rig.seen.push(record);
        }
        self.read = rig.seen.len();
        assert!(
            self.waiting == held(rig),
            "seed {seed}: tokens at joins\n{:?}\nin the records, and in the engine\n{:?}",
            self.waiting,
            held(rig)
        );
    }

    fn count(&mut self, rig: &mut Rig, record: &Seen) {
        let key = |name| Key(record.field(name).as_i64().unwrap_or(-1));
        let scope = key("flowScopeKey");
        if matches!(record.intent, "ELEMENT_COMPLETED" | "ELEMENT_TERMINATED") {
            self.waiting.retain(|(of, ..), _| *of != record.key);
            return;
        }
        let processes = &rig.engine(record.partition).state.processes;
        let Some(process) = processes.get(key("processDefinitionKey")).cloned() else {
            return;
        };
        let graph = &process.graph;
        let Some(element) = graph.find(record.element()) else {
            return;
        };
        let place = match &graph.element(element).kind {
            ElementKind::SequenceFlow(flow) if graph.element(flow.target).joins() => {
                Some((scope, flow.target.0, element.0))
            }
            _ => None,
        };
        match (record.intent, place) {
            ("SEQUENCE_FLOW_TAKEN", Some(place)) => *self.waiting.entry(place).or_default() += 1,
            ("SEQUENCE_FLOW_DELETED", Some(place)) => self.take(place),
            ("ELEMENT_ACTIVATING", None) => self.take_each(scope, element),
            _ => {}
        }
    }

    fn take_each(&mut self, scope: Key, gateway: ElementIndex) {
        let here = (scope, gateway.0, 0)..=(scope, gateway.0, u32::MAX);
        let flows: Vec<_> = self.waiting.range(here).map(|(place, _)| *place).collect();
        for place in flows {
            self.take(place);
        }
    }

    fn take(&mut self, place: (Key, u32, u32)) {
        if let Some(count) = self.waiting.get_mut(&place) {
            *count -= 1;
            if *count == 0 {
                self.waiting.remove(&place);
            }
        }
    }
}

/// The tokens in the engine's state.
fn held(rig: &mut Rig) -> Waiting {
    let mut held = Waiting::new();
    for partition in &rig.partitions {
        for ((table, key), row) in partition.engine.state.dump() {
            if table != ElementInstance::TABLE {
                continue;
            }
            let scope = Key(i64::from_be_bytes(key.try_into().unwrap()));
            let row: ElementInstance = read_row(&row).unwrap();
            let tokens = row.extra.iter().flat_map(|extra| extra.joins.iter());
            held.extend(tokens.map(|(gateway, flow, count)| ((scope, gateway, flow), count)));
        }
    }
    held
}
