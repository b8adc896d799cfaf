//! The data directory: it has one owner, and some facts are fixed for its lifetime.

use std::io::{Error, ErrorKind};
use std::path::Path;

use skep_storage::disk::create_dir_durably;

use crate::cluster::bootstrap::{Identity, Keep};
use crate::config::BrokerConfig;
use crate::router::OpenError;

/// A directory that only this process uses.
pub struct Claimed {
    /// Held for the lifetime of the process; `None` for a gateway, which has no directory.
    pub lock: Option<std::fs::File>,
    pub identity: Identity,
    /// Whether it belongs to a single node that has not become one of several yet.
    pub alone: bool,
    /// As stored, or as configured if the directory is new.
    pub partitions: u32,
}

/// Locks the data directory and reads what is fixed for its lifetime. A single node fixes it here, at its first start.
pub fn claim(config: &BrokerConfig) -> Result<Claimed, OpenError> {
    if config.is_gateway() {
        return Ok(Claimed {
            lock: None,
            identity: Identity::default(),
            alone: false,
            partitions: config.partitions,
        });
    }
    let directory = config.directory.display().to_string();
    let io = |source| OpenError::Directory {
        directory: directory.clone(),
        source,
    };
    create_dir_durably(&config.directory).map_err(io)?;
    let lock = lock(config)?;
    if config.directory.join(RESTORING).exists() {
        return Err(OpenError::HalfRestored { directory });
    }
    let (mut alone, mut partitions) = (config.cluster.is_none(), config.partitions);
    let identity = match std::fs::read_to_string(config.directory.join("cluster")) {
        Ok(text) => {
            let found = check(config, &text)?;
            (alone, partitions) = (found.alone, found.partitions);
            found.identity
        }
        Err(error) if error.kind() == ErrorKind::NotFound && config.cluster.is_some() => {
            Identity::default()
        }
        Err(error) if error.kind() == ErrorKind::NotFound => {
            let new = || uuid::Uuid::new_v4().to_string();
            let identity = Identity {
                cluster_id: config.cluster_id.clone().unwrap_or_else(new),
                formed: true,
                epoch: 0,
            };
            keeper(config)(&identity).map_err(io)?;
            identity
        }
        Err(error) => return Err(io(error)),
    };
    Ok(Claimed {
        lock: Some(lock),
        identity,
        alone,
        partitions,
    })
}

/// Gives this process exclusive use of the directory, for as long as it keeps the file.
pub fn lock(config: &BrokerConfig) -> Result<std::fs::File, OpenError> {
    let directory = || config.directory.display().to_string();
    let io = |source| OpenError::Directory {
        directory: directory(),
        source,
    };
    let lock = std::fs::File::options()
        .create(true)
        .truncate(false)
        .write(true)
        .open(config.directory.join("lock"))
        .map_err(io)?;
    match lock.try_lock() {
        Ok(()) => Ok(lock),
        Err(std::fs::TryLockError::WouldBlock) => Err(OpenError::InUse {
            directory: directory(),
        }),
        Err(std::fs::TryLockError::Error(source)) => Err(io(source)),
    }
}

/// The node that owns the directory; empty for a single node.
fn place(config: &BrokerConfig) -> String {
    match &config.cluster {
        None => String::new(),
        Some(_) => format!("node {}", config.node_id),
    }
}

/// Exists while a backup is being restored.
pub const RESTORING: &str = "restoring";
const FORMED: &str = "formed";
const EPOCH: &str = "epoch ";
/// Prefix of the last line, which has the CRC-32 of all lines above.
const SUM: &str = "sum ";

struct IdentityFile {
    identity: Identity,
    alone: bool,
    partitions: u32,
}

fn check(config: &BrokerConfig, text: &str) -> Result<IdentityFile, OpenError> {
    let directory = || config.directory.display().to_string();
    let damaged = || OpenError::Damaged {
        directory: directory(),
    };
    let text = without_checksum(text).ok_or_else(damaged)?;
    let mut lines = text.lines();
    let mut line = || lines.next().unwrap_or_default();
    let (cluster_id, partitions, found, state) = (line(), line(), line(), line());
    let partitions = partitions.parse().map_err(|_| damaged())?;
    let epoch = match line() {
        "" => 0,
        epoch => {
            let epoch = epoch.strip_prefix(EPOCH).and_then(|it| it.parse().ok());
            epoch.ok_or_else(damaged)?
        }
    };
    let wanted = place(config);
    // A single node can become the first of several.
    if found != wanted && !found.is_empty() {
        let whose = |place: &str| match place {
            "" => "a single node".to_string(),
            place => place.to_string(),
        };
        return Err(OpenError::Foreign {
            directory: directory(),
            reason: format!(
                "it belongs to {}, and this is {} (camunda.cluster.node-id, camunda.cluster.size). Choose the right directory",
                whose(found),
                whose(&wanted),
            ),
        });
    }
    let id = config.cluster_id.as_deref().filter(|id| *id != cluster_id);
    if let Some(id) = id.filter(|_| config.cluster.is_some()) {
        return Err(OpenError::Foreign {
            directory: directory(),
            reason: format!(
                "it belongs to the cluster {cluster_id}, but camunda.cluster.cluster-id is {id}"
            ),
        });
    }
    let alone = found.is_empty();
    Ok(IdentityFile {
        identity: Identity {
            cluster_id: cluster_id.to_string(),
            formed: alone || state == FORMED,
            epoch,
        },
        alone,
        partitions,
    })
}

/// Writes the node's identity into its directory.
pub fn keeper(config: &BrokerConfig) -> Keep {
    let config = config.clone();
    Box::new(move |identity| {
        if config.is_gateway() {
            return Ok(());
        }
        let mut text = format!("{}\n{}\n", identity.cluster_id, config.partitions);
        let place = place(&config);
        // A single node has an epoch if it was restored.
        if !place.is_empty() || identity.epoch > 0 {
            let state = if identity.formed { FORMED } else { "forming" };
            text.push_str(&format!("{place}\n{state}\n"));
            if identity.epoch > 0 {
                text.push_str(&format!("{EPOCH}{}\n", identity.epoch));
            }
        }
        let sum = crc32fast::hash(text.as_bytes());
        text.push_str(&format!("{SUM}{sum:08x}\n"));
        write_durably(&config.directory.join("cluster"), text.as_bytes())
    })
}

/// The lines before the checksum, which earlier versions did not write. `None`: the checksum does not match.
fn without_checksum(text: &str) -> Option<&str> {
    let Some((lines, sum)) = text.rsplit_once(SUM) else {
        return Some(text);
    };
    let sum = u32::from_str_radix(sum.trim_end(), 16).ok()?;
    (crc32fast::hash(lines.as_bytes()) == sum).then_some(lines)
}

/// Durably replaces a file.
///
/// # Errors
/// The old content stays, or, if only flushing the directory failed, either the old or the new one.
pub fn write_durably(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    use std::io::Write;
    let temporary = path.with_extension("new");
    let mut file = std::fs::File::create(&temporary)?;
    file.write_all(bytes)?;
    file.sync_all()?;
    std::fs::rename(&temporary, path)?;
    match path.parent() {
        Some(directory) => std::fs::File::open(directory)?.sync_all(),
        None => Ok(()),
    }
}

/// Reads a text written by [`write_durably`]. `None`: there is no such file.
///
/// # Errors
/// The file cannot be read, or `parse` does not accept it; the error then names the file and continues with `fault`.
pub fn read_written<T>(
    path: &Path,
    parse: impl FnOnce(&str) -> Option<T>,
    fault: &str,
) -> std::io::Result<Option<T>> {
    let text = match std::fs::read_to_string(path) {
        Ok(text) => text,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    let damaged = || {
        Error::new(
            ErrorKind::InvalidData,
            format!("{} {fault}", path.display()),
        )
    };
    parse(&text).map(Some).ok_or_else(damaged)
}

/// The content of a file of two numbers.
pub fn two_numbers([first, second]: [u64; 2]) -> String {
    format!("{first} {second}\n")
}

/// Reads what [`two_numbers`] wrote.
pub fn parse_two_numbers(text: &str) -> Option<[u64; 2]> {
    let (first, second) = text.trim_end().split_once(' ')?;
    Some([first.parse().ok()?, second.parse().ok()?])
}

#[cfg(test)]
mod tests {
    use super::{claim, keeper, parse_two_numbers, read_written, two_numbers, write_durably};
    use crate::cluster::bootstrap::Identity;
    use crate::config::BrokerConfig;
    use crate::router::OpenError;

    fn config(directory: &tempfile::TempDir) -> BrokerConfig {
        BrokerConfig {
            directory: directory.path().to_path_buf(),
            partitions: 3,
            ..BrokerConfig::default()
        }
    }

    #[test]
    fn a_damaged_identity_is_refused_and_one_of_an_earlier_version_is_read() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("cluster");
        let identity = Identity {
            cluster_id: "0e4f-a".to_string(),
            formed: true,
            epoch: 0,
        };
        keeper(&config(&directory))(&identity).unwrap();
        let whole = std::fs::read(&file).unwrap();
        for at in 0..whole.len() - 1 {
            let mut damaged = whole.clone();
            damaged[at] ^= 1;
            std::fs::write(&file, damaged).unwrap();
            let claimed = claim(&config(&directory)).map(|claimed| claimed.identity);
            assert_ne!(claimed.ok().as_ref(), Some(&identity), "byte {at}");
        }
        std::fs::write(&file, &whole).unwrap();
        assert_eq!(claim(&config(&directory)).unwrap().identity, identity);
        std::fs::write(&file, "0e4f-a\n3\n").unwrap();
        assert_eq!(claim(&config(&directory)).unwrap().identity, identity);
        std::fs::write(&file, "0e4f-b\n3\nsum 00000000\n").unwrap();
        let refused = claim(&config(&directory)).err();
        assert!(matches!(refused, Some(OpenError::Damaged { .. })));
    }
    #[test]
    fn a_written_text_is_read_back_and_an_error_names_the_damaged_file() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("numbers");
        let read = || read_written(&file, parse_two_numbers, "has no two numbers");
        assert_eq!(read().unwrap(), None);
        write_durably(&file, two_numbers([u64::MAX, 7]).as_bytes()).unwrap();
        assert_eq!(read().unwrap(), Some([u64::MAX, 7]));
        for damaged in ["", "7", "7 ", "7 x", "7 8 9", "-7 8"] {
            std::fs::write(&file, damaged).unwrap();
            let error = read().unwrap_err();
            assert_eq!(error.kind(), std::io::ErrorKind::InvalidData, "{damaged}");
            let expected = format!("{} has no two numbers", file.display());
            assert_eq!(error.to_string(), expected, "{damaged}");
        }
    }
}
