//! Converts the state of a single node that earlier versions kept outside of the metadata group's files, in the file `alone`.

use std::io::{Error, ErrorKind, Result};
use std::path::PathBuf;

use skep_cluster::{State, node_of};

use super::metadata_group;
use super::state::DIRECTORY;
use crate::config::BrokerConfig;
use crate::directory::write_durably;
use crate::replica_file::ReplicaOf;
use crate::started;

const FILE: &str = "alone";

fn file(config: &BrokerConfig) -> PathBuf {
    config.directory.join(FILE)
}

/// The initial cluster state of this node, with what it knew while it had no others. Without such a file, `first` is used as it is.
///
/// # Errors
/// The file cannot be read, or must not be carried over.
pub(super) fn carried_over(
    config: &BrokerConfig,
    first: State,
) -> std::result::Result<State, String> {
    let text = |reason: String| format!("{}: {reason}", file(config).display());
    match std::fs::read(file(config)) {
        Ok(bytes) => renumbered(config, State::decode(&bytes).map_err(text)?, first).map_err(text),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(first),
        Err(error) => Err(text(error.to_string())),
    }
}

fn renumbered(
    config: &BrokerConfig,
    known: State,
    first: State,
) -> std::result::Result<State, String> {
    if known.nodes.contains_key(&config.node_id) {
        return Ok(State {
            cluster_id: first.cluster_id,
            ..known
        });
    }
    if known.purge.is_some() {
        return Err(
            "a purge is in progress, and the number of the node has changed (camunda.cluster.node-id): start it with its former number \
             first"
                .to_string(),
        );
    }
    Ok(State {
        cluster_id: first.cluster_id,
        nodes: first.nodes,
        ..known
    })
}

/// A node without others is the only member of its groups, whatever its number is: its state under another number is carried over, as is
/// the state of earlier versions.
///
/// # Errors
/// Files cannot be read or written.
pub(super) fn gets_another_number(config: &BrokerConfig) -> std::result::Result<(), String> {
    let directory = config.directory.join(DIRECTORY);
    let text = |error: Error| error.to_string();
    let there = ReplicaOf::read(&directory).map_err(text)?;
    if there.is_none_or(|there| node_of(there.own) == Some(config.node_id)) {
        return Ok(());
    }
    if let Some(known) = metadata_group::stored_state(&directory) {
        write_durably(&file(config), &known.encode()).map_err(text)?;
        carried_over(config, State::default())?;
    }
    started::forget(&config.directory, DIRECTORY).map_err(text)?;
    std::fs::remove_dir_all(&directory).map_err(text)
}

/// Removes the old file, once the metadata group has all of it.
///
/// # Errors
/// The file cannot be removed.
pub(super) fn forget_former(config: &BrokerConfig) -> Result<()> {
    match std::fs::remove_file(file(config)) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::sync::Arc;

    use skep_cluster::{Layout, Purge, State};

    use super::{FILE, renumbered};
    use crate::Broker;
    use crate::clock::Clock;
    use crate::config::BrokerConfig;

    fn config(directory: &Path, node_id: u32) -> BrokerConfig {
        BrokerConfig {
            node_id,
            directory: directory.to_path_buf(),
            secondary_storage: None,
            ..BrokerConfig::default()
        }
    }

    fn open(directory: &Path, node_id: u32) -> Arc<Broker> {
        Broker::open(config(directory, node_id), Arc::new(Clock::default())).unwrap()
    }

    fn layout(node: u32) -> Layout {
        Layout {
            nodes: vec![node],
            copies: 1,
            partitions: 1,
        }
    }

    /// A directory as earlier versions left it: a node and its knowledge after a purge.
    fn former_directory() -> tempfile::TempDir {
        let directory = tempfile::tempdir().unwrap();
        open(directory.path(), 0).stop();
        let path = |name: &str| directory.path().join(name);
        std::fs::remove_dir_all(path("cluster-state")).unwrap();
        std::fs::remove_file(path("replicas/cluster-state")).unwrap();
        let known = State {
            revision: 9,
            least_keys: [(1, 500)].into(),
            purged_keys: [(1, 400)].into(),
            ..State::bootstrapped("former".to_string(), &layout(0), 0)
        };
        std::fs::write(path(FILE), known.encode()).unwrap();
        directory
    }

    #[test]
    fn the_state_of_a_single_node_of_an_earlier_version_is_carried_over_once() {
        let directory = former_directory();
        let broker = open(directory.path(), 0);
        let cluster_id = broker.cluster_state().cluster_id.clone();
        assert_ne!(cluster_id, "former", "the directory has the id");
        assert_eq!(broker.cluster_state().least_keys, [(1, 500)].into());
        assert!(!directory.path().join(FILE).exists());
        broker.stop();
        drop(broker);
        let broker = open(directory.path(), 0);
        assert_eq!(broker.cluster_state().purged_keys, [(1, 400)].into());
        assert_eq!(broker.cluster_state().cluster_id, cluster_id);
        broker.stop();
    }

    #[test]
    fn a_single_node_keeps_its_state_under_another_number() {
        let directory = former_directory();
        open(directory.path(), 0).stop();
        for number in [2, 2, 0] {
            let broker = open(directory.path(), number);
            let state = broker.cluster_state();
            assert!(state.nodes.keys().eq([&number]));
            assert_eq!(state.least_keys, [(1, 500)].into());
            broker.stop();
        }
    }

    #[test]
    fn a_purge_is_finished_under_the_number_under_which_it_was_begun() {
        let first = State::bootstrapped("a".to_string(), &layout(2), 0);
        let known = State {
            purge: Some(Purge::default()),
            ..State::bootstrapped("a".to_string(), &layout(0), 0)
        };
        let renumber =
            |node| renumbered(&config(Path::new("x"), node), known.clone(), first.clone());
        assert!(renumber(0).is_ok());
        assert!(renumber(2).unwrap_err().contains("former number"));
    }
}
