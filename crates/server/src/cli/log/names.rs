//! Names of elements: from the checkpoint, and from the PROCESS records that pass by.

use std::collections::HashMap;
use std::path::Path;

use anyhow::Context;
use skep_broker::partition::checkpoint::stored_definitions;
use skep_model::{Element, ElementIndex, ElementKind, Process};
use skep_protocol::Key;
use skep_protocol::intent::ValueType;
use skep_protocol::json::{Definitions, ElementNames, Lineage};
use skep_protocol::record::{Record, RecordType};
use skep_protocol::value::ProcessValue;

/// A checkpoint up to this size is copied to be read.
const MAX_CHECKPOINT: u64 = 1 << 30;

/// What is known of the definitions and instances of a partition.
pub struct Names {
    partition: u32,
    definitions: HashMap<Key, Definition>,
    lineage: Lineage,
}

#[derive(Default)]
struct Definition {
    elements: Vec<ElementNames>,
    /// Indices of the call activities, in the order of their ids.
    call_activities: Vec<u32>,
}

impl Names {
    pub fn new(partition: u32) -> Names {
        Names {
            partition,
            definitions: HashMap::new(),
            lineage: Lineage::default(),
        }
    }

    pub fn learn(&mut self, record: &Record<'_>) {
        self.lineage.learn(record);
        if record.value_type != ValueType::Process || record.record_type != RecordType::Event {
            return;
        }
        // What cannot be read is printed as what it is, or reported, by the renderer.
        let Ok(value) = record.value::<ProcessValue>() else {
            return;
        };
        let ids: Vec<String> = value.elements.iter().map(ToString::to_string).collect();
        let definition = match skep_model::parse_pinned(&value.resource, &ids) {
            Ok(graph) => Definition::of(&value.bpmn_process_id, value.version, &graph),
            Err(_) => Definition::of_ids(&value, ids),
        };
        self.definitions
            .insert(value.process_definition_key, definition);
    }

    /// To be called when the records of a batch are printed.
    pub fn batch_ends(&mut self) {
        self.lineage.forget_ended();
    }

    /// Learns the definitions of the checkpoint in this directory. The store is not touched: a copy of it is read.
    pub fn learn_checkpoint(&mut self, store: &Path) -> anyhow::Result<()> {
        let copy = Copied::of(store)?;
        for process in stored_definitions(&copy.0)? {
            let definition =
                Definition::of(&process.bpmn_process_id, process.version, &process.graph);
            self.definitions.insert(process.key, definition);
        }
        Ok(())
    }
}

impl Definition {
    fn of(process_id: &str, version: i32, graph: &Process) -> Definition {
        let names = |element: &Element| ElementNames {
            bpmn_process_id: process_id.to_string(),
            version,
            element_id: element.id.to_string(),
            element_type: element.element_type.as_str(),
            event_type: element.event_type(),
            custom_headers: match &element.kind {
                ElementKind::ServiceTask(job) => job.headers_json.to_string(),
                _ => "{}".to_string(),
            },
        };
        let mut call_activities: Vec<u32> = (0..)
            .zip(&graph.elements)
            .filter(|(_, element)| matches!(element.kind, ElementKind::CallActivity(_)))
            .map(|(index, _)| index)
            .collect();
        call_activities.sort_by_key(|index| &graph.element(ElementIndex(*index)).id);
        Definition {
            elements: graph.elements.iter().map(names).collect(),
            call_activities,
        }
    }

    /// A model that this version cannot read: ids are all that is known.
    fn of_ids(value: &ProcessValue, ids: Vec<String>) -> Definition {
        let names = |element_id| ElementNames {
            bpmn_process_id: value.bpmn_process_id.to_string(),
            version: value.version,
            element_id,
            element_type: "UNSPECIFIED",
            event_type: "UNSPECIFIED",
            custom_headers: "{}".to_string(),
        };
        Definition {
            elements: ids.into_iter().map(names).collect(),
            call_activities: Vec::new(),
        }
    }
}

impl Definitions for Names {
    fn element(&self, process_definition_key: Key, element: u32) -> Option<ElementNames> {
        let definition = self.definitions.get(&process_definition_key)?;
        definition.elements.get(element as usize).cloned()
    }

    fn calling_element(&self, process_definition_key: Key, element: u32) -> Option<u32> {
        let definition = self.definitions.get(&process_definition_key)?;
        let mut places = definition.call_activities.iter();
        let place = places.position(|index| *index == element)?;
        u32::try_from(place).ok()
    }

    fn lineage(&self) -> &Lineage {
        &self.lineage
    }

    fn partition_id(&self) -> u32 {
        self.partition
    }
}

/// A copy of a store that goes away with this value.
struct Copied(std::path::PathBuf);

impl Copied {
    fn of(store: &Path) -> anyhow::Result<Copied> {
        let size = size_of_files(store)?;
        if size > MAX_CHECKPOINT {
            anyhow::bail!("it has {size} bytes; at most {MAX_CHECKPOINT} are copied");
        }
        let name = format!(
            "skep-log-{}-{:016x}",
            std::process::id(),
            rand::random::<u64>()
        );
        let copy = Copied(std::env::temp_dir().join(name));
        copy_files(store, &copy.0)?;
        Ok(copy)
    }
}

impl Drop for Copied {
    fn drop(&mut self) {
        // What is left behind is in the directory for temporary files.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn size_of_files(directory: &Path) -> std::io::Result<u64> {
    let mut size = 0;
    for entry in std::fs::read_dir(directory)? {
        let entry = entry?;
        size += match entry.file_type()?.is_dir() {
            true => size_of_files(&entry.path())?,
            false => entry.metadata()?.len(),
        };
    }
    Ok(size)
}

fn copy_files(from: &Path, to: &Path) -> anyhow::Result<()> {
    std::fs::create_dir_all(to).with_context(|| format!("{} cannot be made", to.display()))?;
    for entry in std::fs::read_dir(from)? {
        let entry = entry?;
        let target = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            copy_files(&entry.path(), &target)?;
        } else {
            std::fs::copy(entry.path(), target)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use skep_broker::clock::Clock;
    use skep_broker::{Broker, BrokerConfig};
    use skep_protocol::Response;
    use skep_protocol::command::{Command, Deploy, Resource};
    use skep_protocol::service::{Broker as _, PartitionRole};

    use super::*;

    /// Deploys into a directory whose server then stops, which makes a checkpoint. Returns the definition's key.
    async fn deployed_into(directory: &Path) -> Key {
        let config = BrokerConfig {
            directory: directory.to_path_buf(),
            ..BrokerConfig::default()
        };
        let broker = Broker::open(config, Arc::new(Clock::default())).unwrap();
        while broker.partitions()[0].status.role() != PartitionRole::Leader {
            tokio::task::yield_now().await;
        }
        let resource = Resource {
            name: "order.bpmn".into(),
            content: include_str!("../../../../../examples/first-process.bpmn").into(),
        };
        let deploy = Command::Deploy(Deploy {
            resources: vec![resource],
        });
        let answer = broker.execute(deploy.into()).await;
        tokio::task::spawn_blocking(move || broker.stop())
            .await
            .unwrap();
        match answer.result {
            Ok(Response::Deployed(deployed)) => deployed.processes[0].process_definition_key,
            other => panic!("{other:?}"),
        }
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn a_checkpoint_names_the_elements_of_its_definitions_and_is_not_touched() {
        let directory = tempfile::tempdir().unwrap();
        let key = deployed_into(directory.path()).await;
        let store = directory.path().join("partitions/1/state");
        let before = size_of_files(&store).unwrap();

        let mut names = Names::new(1);
        assert!(names.element(key, 0).is_none());
        names.learn_checkpoint(&store).unwrap();
        let process = names.element(key, 0).unwrap();
        assert_eq!(
            (process.element_id.as_str(), process.element_type),
            ("order", "PROCESS")
        );
        assert_eq!(
            (process.bpmn_process_id.as_str(), process.version),
            ("order", 1)
        );
        let events: Vec<&str> = (0..)
            .map_while(|index| names.element(key, index))
            .filter(|element| element.element_type == "START_EVENT")
            .map(|element| element.event_type)
            .collect();
        assert_eq!(events, ["NONE"]);
        assert_eq!(size_of_files(&store).unwrap(), before);
    }

    #[test]
    fn what_is_no_checkpoint_says_so() {
        let directory = tempfile::tempdir().unwrap();
        let missing = directory.path().join("state");
        assert!(Names::new(1).learn_checkpoint(&missing).is_err());
    }
}
