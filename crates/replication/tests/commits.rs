//! The number of messages that tell followers the commit index.

mod groups;

use bytes::Bytes;
use groups::{elected, round, settle};
use skep_replication::{Group, Message, Role};

const ENTRIES: usize = 100;

fn leader(groups: &mut [Group]) -> &mut Group {
    let leads = |group: &&mut Group| matches!(group.role(), Role::Leader { .. });
    groups.iter_mut().find(leads).unwrap()
}

fn propose(groups: &mut [Group]) {
    let proposed = leader(groups).propose(Bytes::from_static(b"entry"));
    proposed.unwrap();
}

/// The messages for a sequence of entries, each sent before the previous one is committed everywhere.
fn sent_for_entries(groups: &mut [Group]) -> Vec<Message> {
    let mut sent = Vec::new();
    for _ in 0..ENTRIES {
        propose(groups);
        round(groups, &mut sent);
    }
    settle(groups, &mut sent);
    sent
}

#[test]
fn under_load_commits_travel_with_the_next_entries() {
    let (mut groups, _) = elected();
    let sent = sent_for_entries(&mut groups);
    let telling = |message: &&Message| message.entries() == 0 && message.kind().is_of_leader();
    let alone = sent.iter().filter(telling).count();
    // To each of two followers, about the last entries.
    assert!(alone <= 4, "{alone} messages told of commits alone");
    assert!(sent.len() <= 4 * (ENTRIES + 2), "{} messages", sent.len());
}

#[test]
fn the_last_commit_is_announced_without_waiting_for_a_heartbeat() {
    let (mut groups, _) = elected();
    for _ in 0..3 {
        sent_for_entries(&mut groups);
        // No tick has passed.
        let last = leader(&mut groups).last_index();
        let known: Vec<u64> = groups.iter().map(Group::commit_index).collect();
        assert_eq!(known, [last; 3]);
    }
}
