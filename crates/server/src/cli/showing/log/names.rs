//! Names of elements deployed before the beginning of the log, read from the checkpoint.

use std::path::Path;

use anyhow::Context;
use skep_broker::partition::checkpoint::stored_definitions;
use skep_engine::RecordNames;

/// Maximum size of a checkpoint that is copied for reading.
const MAX_CHECKPOINT: u64 = 1 << 30;

/// Learns the definitions of the checkpoint in this directory. The store itself is not touched: a copy of it is read.
pub fn learn_checkpoint(names: &mut RecordNames, store: &Path) -> anyhow::Result<()> {
    let copy = Copied::of(store)?;
    for process in stored_definitions(&copy.0)? {
        names.add(&process);
    }
    Ok(())
}

/// A copy of a store, removed when dropped.
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
        // If removal fails, the leftovers are in the directory for temporary files.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn size_of_files(directory: &Path) -> std::io::Result<u64> {
    let mut size = 0;
    for entry in std::fs::read_dir(directory)? {
        let entry = entry?;
        size += if entry.file_type()?.is_dir() {
            size_of_files(&entry.path())?
        } else {
            entry.metadata()?.len()
        };
    }
    Ok(size)
}

fn copy_files(from: &Path, to: &Path) -> anyhow::Result<()> {
    std::fs::create_dir_all(to).with_context(|| format!("{} cannot be created", to.display()))?;
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
    use skep_protocol::command::{Command, Deploy, Request, Resource};
    use skep_protocol::json::Definitions;
    use skep_protocol::{Key, Response};
    use skep_service::{Broker as _, PartitionRole};

    use super::*;

    /// Deploys into a directory, whose server then stops and takes a checkpoint. Returns the definition's key.
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
            content: include_str!("../../../../../../examples/first-process.bpmn").into(),
        };
        let deploy = Command::Deploy(Deploy {
            resources: vec![resource],
        });
        let answer = broker.execute(Request::internal(deploy)).await;
        tokio::task::spawn_blocking(move || broker.stop())
            .await
            .unwrap();
        match answer.result {
            Ok(Response::Deployed(deployed)) => deployed.processes[0].key,
            other => panic!("{other:?}"),
        }
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn a_checkpoint_names_the_elements_of_its_definitions_and_is_not_touched() {
        let directory = tempfile::tempdir().unwrap();
        let key = deployed_into(directory.path()).await;
        let store = directory.path().join("partitions/1/state");
        let before = size_of_files(&store).unwrap();

        let mut names = RecordNames::new(1);
        assert!(names.element(key, 0).is_none());
        learn_checkpoint(&mut names, &store).unwrap();
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
    fn a_missing_checkpoint_is_an_error() {
        let directory = tempfile::tempdir().unwrap();
        let missing = directory.path().join("state");
        assert!(learn_checkpoint(&mut RecordNames::new(1), &missing).is_err());
    }
}
