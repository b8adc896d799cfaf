//! Members that have lost acknowledged entries: the contradictions are detected, and nobody continues silently.

mod groups;

use bytes::Bytes;
use groups::{NoLog, elected, settle};
use skep_replication::{
    EntryId, Group, GroupConfig, GroupError, LogEvidence, Output, RecoveredLog, Role,
};
use skep_storage::log::Recovered;

/// A member without data: its directory is lost, which nobody has noticed.
fn emptied(node: u64) -> Group {
    let recovered = RecoveredLog {
        log: Recovered::default(),
        checkpoint: EntryId::default(),
        source: Box::new(NoLog),
        evidence: LogEvidence::default(),
    };
    Group::open(GroupConfig::new(7, node, vec![1, 2, 3]), recovered).unwrap()
}

/// Three members with the same entries, the former leader last.
fn with_entries() -> (Vec<Group>, usize) {
    let (mut groups, mut sent) = elected();
    let leads = |group: &Group| matches!(group.role(), Role::Leader { .. });
    let leader = groups.iter().position(leads).unwrap();
    for _ in 0..20 {
        groups[leader]
            .propose(Bytes::from_static(b"acknowledged"))
            .unwrap();
        settle(&mut groups, &mut sent);
    }
    for group in &mut groups {
        group.tick();
    }
    settle(&mut groups, &mut sent);
    (groups, leader)
}

/// Drives the members together. Returns the error that ended each of them, if any.
fn run(groups: &mut [Group], ticks: usize, away: Option<usize>) -> Vec<Option<GroupError>> {
    let mut ended: Vec<Option<GroupError>> = groups.iter().map(|_| None).collect();
    for _ in 0..ticks {
        let mut messages = Vec::new();
        for (at, group) in groups.iter_mut().enumerate() {
            if ended[at].is_some() || away == Some(at) {
                continue;
            }
            group.tick();
            let mut out = Output::default();
            loop {
                out.clear();
                if let Err(error) = group.poll(&mut out) {
                    ended[at] = Some(error);
                    break;
                }
                if out.is_empty() {
                    break;
                }
                messages.append(&mut out.messages);
                out.appends.iter().for_each(|it| group.persisted(it.number));
            }
        }
        for message in messages {
            let to = message.to() as usize - 1;
            if ended[to].is_none() && away != Some(to) {
                groups[to].receive(message.from(), message);
            }
        }
    }
    ended
}

/// All members but the complete one were emptied, and one of them was elected and has `more` entries before the other is back.
fn after_a_majority_was_emptied(more: usize) -> (Vec<Option<GroupError>>, usize) {
    let (mut groups, whole) = with_entries();
    for at in (0..3).filter(|at| *at != whole) {
        groups[at] = emptied(at as u64 + 1);
    }
    run(&mut groups, 200, Some(whole));
    // Changes leaders: the new term may equal a former one, in which case nothing distinguishes the two.
    for at in (0..3).cycle().take(more.min(6)).filter(|at| *at != whole) {
        let other = (0..3).find(|it| *it != whole && *it != at);
        groups[at].transfer_leadership(other.unwrap() as u64 + 1);
        run(&mut groups, 10, Some(whole));
    }
    for _ in 0..more {
        for (at, group) in groups.iter_mut().enumerate() {
            if at != whole {
                let _ = group.propose(Bytes::from_static(b"keys that were given before"));
            }
        }
        run(&mut groups, 2, Some(whole));
    }
    (run(&mut groups, 200, None), whole)
}

#[test]
fn a_leader_that_has_less_than_a_member_has_committed_ceases_to_lead() {
    let (ended, whole) = after_a_majority_was_emptied(0);
    let lost = |it: &Option<GroupError>| matches!(it, Some(GroupError::LostEntries { .. }));
    assert!(ended.iter().any(lost), "{ended:?}");
    assert!(
        ended[whole].is_none(),
        "the one that has everything goes on: {ended:?}"
    );
}

#[test]
fn a_member_whose_committed_entries_its_leader_contradicts_takes_no_part_any_more() {
    let (ended, whole) = after_a_majority_was_emptied(60);
    assert!(
        matches!(
            ended[whole],
            Some(GroupError::CommittedElsewhere { index: 1.., .. })
        ),
        "{ended:?}"
    );
}

#[test]
fn members_that_have_lost_nothing_contradict_each_other_in_nothing() {
    let (mut groups, leader) = with_entries();
    let away = (leader + 1) % 3;
    for round in 0..20 {
        let _ = groups[leader].propose(Bytes::from_static(b"more"));
        let ended = run(&mut groups, 7, (round % 2 == 0).then_some(away));
        assert!(ended.iter().all(Option::is_none), "{ended:?}");
    }
}
