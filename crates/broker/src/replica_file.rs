//! The file `replica` in a group's directory: which member this is, and the members with which it began. It is written before anything
//! else; later, the members in the log take precedence.

use std::path::Path;

use skep_replication::Members;

use crate::directory::{read_written, write_durably};

const NAME: &str = "replica";

/// A member of a group, and the members with which it began.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReplicaOf {
    pub own: u64,
    pub members: Members,
}

impl ReplicaOf {
    /// A member with which the group begins.
    pub fn bootstrap(own: u64, voters: Vec<u64>) -> ReplicaOf {
        ReplicaOf {
            own,
            members: Members::bootstrap(voters),
        }
    }

    /// Reads the file. `None`: there is no such file.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn read(directory: &Path) -> std::io::Result<Option<ReplicaOf>> {
        let fault = "does not identify its replica";
        read_written(&directory.join(NAME), parse, fault)
    }

    /// Writes the file. Returns after fsync.
    ///
    /// # Errors
    /// The disk cannot be written.
    pub fn write(&self, directory: &Path) -> std::io::Result<()> {
        let list = |members: &[u64]| {
            let members: Vec<String> = members.iter().map(u64::to_string).collect();
            members.join(" ")
        };
        let Members {
            index,
            plan,
            confirmed,
            voters,
            learners,
        } = &self.members;
        let (voters, learners) = (list(voters), list(learners));
        let text = format!(
            "member {}\nentry {index}\nplan {plan}\nconfirmed {confirmed}\nvoters {voters}\nlearners {learners}\n",
            self.own
        );
        write_durably(&directory.join(NAME), text.as_bytes())
    }
}

fn parse(text: &str) -> Option<ReplicaOf> {
    let mut lines = text.lines();
    let mut line = |name: &str| lines.next()?.strip_prefix(name)?.strip_prefix(' ');
    let list = |text: &str| -> Option<Vec<u64>> {
        let members = text.split_whitespace().map(|member| member.parse().ok());
        members.collect()
    };
    Some(ReplicaOf {
        own: line("member")?.parse().ok()?,
        members: Members {
            index: line("entry")?.parse().ok()?,
            plan: line("plan")?.parse().ok()?,
            confirmed: line("confirmed")?.parse().ok()?,
            voters: list(line("voters")?)?,
            learners: list(line("learners")?)?,
        },
    })
}

#[cfg(test)]
mod tests {
    use super::{Members, NAME, ReplicaOf};

    #[test]
    fn a_written_replica_file_is_read_back() {
        let directory = tempfile::tempdir().unwrap();
        assert_eq!(ReplicaOf::read(directory.path()).unwrap(), None);
        let replica = ReplicaOf {
            own: (7 << 32) + 3,
            members: Members {
                index: 12,
                plan: 7,
                confirmed: 6,
                voters: vec![1, 2],
                learners: vec![(7 << 32) + 3],
            },
        };
        replica.write(directory.path()).unwrap();
        assert_eq!(ReplicaOf::read(directory.path()).unwrap(), Some(replica));
        std::fs::write(directory.path().join(NAME), "member 1\nentry x\n").unwrap();
        assert!(ReplicaOf::read(directory.path()).is_err());
    }
}
