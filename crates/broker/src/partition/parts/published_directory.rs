//! The directory of users and permissions that a replica publishes for its node: always that of committed entries, and never an older one
//! than before. Permissions that were revoked would be back.

use skep_identity::Directory;

use crate::partition::core::{PartitionCore, Released};

#[derive(Debug, Default)]
pub struct PublishedDirectory {
    /// Version of the one that was published last. `None`: none of this state was.
    version: Option<u64>,
    /// The entry up to which it goes.
    entry: u64,
}

impl PublishedDirectory {
    /// The entry up to which the directory goes that was published last.
    pub fn entry(&self) -> u64 {
        self.entry
    }

    /// The state was replaced. Versions of different states cannot be compared: a state that was read from a checkpoint counts its rows.
    pub fn state_is_new(&mut self) {
        self.version = None;
    }

    /// The newest directory of what is released. Call it before anything newer is published that the state may have by now, and before the
    /// answers are sent: a client whose change was acknowledged must find it applied.
    pub fn released(&mut self, released: &[Released]) -> Option<Directory> {
        let changed = |released: &&Released| released.effects.directory.is_some();
        let newest = released.iter().rev().find(changed)?;
        self.published(newest.effects.directory.as_ref()?, newest.index)
    }

    /// The directory of the state, of a replica that follows or begins to lead: nothing in it is uncommitted.
    pub fn of_state(&mut self, core: &PartitionCore) -> Option<Directory> {
        if core.is_stale() {
            return None;
        }
        debug_assert!(
            core.evaluated().0 <= core.applied(),
            "only what is committed is published"
        );
        let directory = &core.engine().state.identity.directory;
        // A replica that gets its first snapshot has none yet, and this node may have one from another node.
        if core.applied() == 0 && directory.is_empty() {
            return None;
        }
        self.published(directory, core.applied())
    }

    fn published(&mut self, directory: &Directory, entry: u64) -> Option<Directory> {
        debug_assert!(
            entry >= self.entry,
            "no older directory follows a newer one"
        );
        self.entry = entry;
        let version = directory.version();
        let is_new = self.version.replace(version) != Some(version);
        is_new.then(|| directory.clone())
    }
}

#[cfg(test)]
mod tests {
    use skep_engine::Effects;
    use skep_identity::Entry;
    use skep_protocol::Key;
    use skep_protocol::value::{PasswordHash, UserValue};

    use super::*;

    /// A directory to which these users were added.
    fn with(names: &[&str]) -> Directory {
        let mut directory = Directory::default();
        for (number, name) in (1..).zip(names) {
            let user = UserValue {
                user_key: Key::new(1, number),
                username: (*name).into(),
                name: "".into(),
                email: "".into(),
                password: PasswordHash::new("a hash"),
            };
            directory.add(Key::new(1, number), &Entry::User(user));
        }
        directory
    }

    fn released(index: u64, directory: Option<&Directory>) -> Released {
        Released {
            index,
            bytes: Some(1),
            effects: Effects {
                directory: directory.cloned(),
                ..Effects::default()
            },
        }
    }

    #[test]
    fn of_entries_that_are_released_together_the_newest_directory_is_published_once() {
        let (older, newer) = (with(&["anna"]), with(&["anna", "bert"]));
        let mut published = PublishedDirectory::default();
        let together = [
            released(3, Some(&older)),
            released(4, Some(&newer)),
            released(5, None),
        ];
        let shown = published.released(&together).expect("a new one");
        assert!(shown.user("bert").is_some());
        assert_eq!(published.entry(), 4);
        assert!(published.released(&[released(6, Some(&newer))]).is_none());
        assert!(published.released(&[released(7, None)]).is_none());
    }

    #[test]
    fn the_directory_of_another_state_is_new_though_its_version_is_the_same() {
        let (before, after) = (with(&["anna", "bert"]), with(&["anna", "carl"]));
        assert_eq!(before.version(), after.version());
        let mut published = PublishedDirectory::default();
        published.released(&[released(3, Some(&before))]);
        published.state_is_new();
        let shown = published.released(&[released(4, Some(&after))]);
        assert!(shown.expect("a new one").user("bert").is_none());
    }
}
