//! Start of replicas with their files, without them, and with older ones.

use std::sync::Arc;

use skep_cluster::member;
use skep_storage::disk::RealDisk;
use skep_storage::log::LogConfig;

use super::{ErrorKind, Log, NotStarted, Path, PathBuf, Remedy, Started, forget, give_up, mark};

struct Node(tempfile::TempDir);

impl Node {
    fn new() -> Node {
        Node(tempfile::tempdir().unwrap())
    }

    fn directory(&self) -> PathBuf {
        self.0.path().join("partitions").join("1")
    }

    fn with<T>(&self, member: u64, action: impl FnOnce(Started<'_>) -> T) -> T {
        action(Started {
            root: self.0.path(),
            name: "1".to_string(),
            directory: &self.directory(),
            member,
            remedy: Remedy::ReplaceMember,
        })
    }

    fn check(&self, member: u64) -> std::result::Result<u64, NotStarted> {
        self.with(member, |it| it.check())
    }

    /// A node's steps at its start.
    fn start(&self, member: u64) -> std::result::Result<(), NotStarted> {
        let starts = self.check(member)?;
        std::fs::create_dir_all(self.directory()).unwrap();
        let log = self.directory().join("log");
        drop(Log::open(Arc::new(RealDisk), &log, LogConfig::default()).unwrap());
        Ok(self.with(member, |it| it.begins(starts))?)
    }
}

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for file in std::fs::read_dir(from).unwrap().map(Result::unwrap) {
        let to = to.join(file.file_name());
        if file.file_type().unwrap().is_dir() {
            copy(&file.path(), &to);
        } else {
            std::fs::copy(file.path(), to).unwrap();
        }
    }
}

#[test]
fn a_replica_starts_again_with_its_files() {
    let node = Node::new();
    for starts in 0..3 {
        assert_eq!(node.check(member(2, 0)).unwrap(), starts);
        node.start(member(2, 0)).unwrap();
    }
}

#[test]
fn a_replica_whose_directory_or_log_is_gone_does_not_start() {
    for gone in ["", "log"] {
        let node = Node::new();
        node.start(member(2, 0)).unwrap();
        std::fs::remove_dir_all(node.directory().join(gone)).unwrap();
        let refused = node.start(member(2, 0)).unwrap_err();
        assert!(matches!(refused, NotStarted::Gone { .. }), "{refused}");
        assert!(
            refused.to_string().contains("Remove this member"),
            "{refused}"
        );
    }
}

#[test]
fn a_log_without_files_is_gone() {
    let node = Node::new();
    node.start(member(2, 0)).unwrap();
    let log = node.directory().join("log");
    for file in std::fs::read_dir(&log).unwrap() {
        std::fs::remove_file(file.unwrap().path()).unwrap();
    }
    let refused = node.start(member(2, 0)).unwrap_err();
    assert!(matches!(refused, NotStarted::Gone { .. }), "{refused}");
}

#[test]
fn an_older_copy_of_the_directory_does_not_start() {
    let node = Node::new();
    node.start(member(2, 0)).unwrap();
    let backup = tempfile::tempdir().unwrap();
    copy(&node.directory(), backup.path());
    node.start(member(2, 0)).unwrap();
    std::fs::remove_dir_all(node.directory()).unwrap();
    copy(backup.path(), &node.directory());
    let refused = node.start(member(2, 0)).unwrap_err();
    let older = matches!(
        refused,
        NotStarted::Older {
            found: 1,
            known: 2,
            ..
        }
    );
    assert!(older, "{refused}");
}

#[test]
fn a_member_added_again_starts_without_files_but_its_predecessor_does_not() {
    let node = Node::new();
    node.start(member(2, 0)).unwrap();
    std::fs::remove_dir_all(node.directory()).unwrap();
    assert_eq!(node.check(member(2, 1)).unwrap(), 0);
    node.start(member(2, 1)).unwrap();
    std::fs::remove_dir_all(node.directory()).unwrap();
    assert!(node.check(member(2, 0)).is_err());
}

#[test]
fn a_replica_that_was_given_up_starts_without_files() {
    let node = Node::new();
    node.start(member(2, 0)).unwrap();
    forget(node.0.path(), "1").unwrap();
    forget(node.0.path(), "1").unwrap();
    std::fs::remove_dir_all(node.directory()).unwrap();
    assert_eq!(node.check(member(2, 0)).unwrap(), 0);
}

/// Here the removal fails at once, as if there were a crash.
#[test]
fn a_crash_while_files_are_removed_leaves_a_replica_that_counts_as_never_started() {
    let node = Node::new();
    node.start(member(2, 0)).unwrap();
    std::fs::remove_dir_all(node.directory()).unwrap();
    std::fs::write(node.directory(), "no directory").unwrap();
    assert!(give_up(node.0.path(), "1", &node.directory()).is_err());
    std::fs::remove_file(node.directory()).unwrap();
    assert_eq!(node.check(member(2, 0)).unwrap(), 0);
}

#[test]
fn a_crash_between_the_two_marks_does_not_count_as_an_older_copy() {
    let node = Node::new();
    node.start(member(2, 0)).unwrap();
    let mark = mark(node.0.path(), "1");
    let before = std::fs::read(&mark).unwrap();
    node.start(member(2, 0)).unwrap();
    std::fs::write(&mark, before).unwrap();
    assert_eq!(node.check(member(2, 0)).unwrap(), 2);
}

#[test]
fn a_replica_that_was_started_before_starts_on_a_full_disk_and_a_new_one_does_not() {
    let node = Node::new();
    std::fs::create_dir_all(node.directory()).unwrap();
    // Writes to this file find no space.
    let no_room = node.directory().join("starts.new");
    std::os::unix::fs::symlink("/dev/full", &no_room).unwrap();
    let refused = node.start(member(0, 0));
    assert!(
        matches!(&refused, Err(NotStarted::Io(error)) if error.kind() == ErrorKind::StorageFull),
        "{refused:?}"
    );
    std::fs::remove_file(&no_room).unwrap();
    node.start(member(0, 0)).unwrap();
    std::os::unix::fs::symlink("/dev/full", &no_room).unwrap();
    node.start(member(0, 0)).unwrap();
    std::fs::remove_file(&no_room).unwrap();
    // The start is counted again, and still guarded.
    node.start(member(0, 0)).unwrap();
    std::fs::remove_dir_all(node.directory()).unwrap();
    assert!(matches!(
        node.check(member(0, 0)),
        Err(NotStarted::Gone { .. })
    ));
}
