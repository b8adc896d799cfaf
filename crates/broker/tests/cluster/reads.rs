//! Reads on one node of work acknowledged on another.

use super::*;

enum Lookup {
    Yes,
    No,
    /// The answer is marked as possibly incomplete.
    Behind,
}

async fn look_for(rig: &Rig, key: Key) -> Lookup {
    let query = Query::Get {
        entity: &PROCESS_INSTANCE,
        key,
    };
    match rig.broker.query(query, Consistency::ReadYourWrites).await {
        Ok((Answer::Row(Some(_)), _)) => Lookup::Yes,
        Ok((Answer::Row(None), 0)) => Lookup::No,
        Ok((Answer::Row(None), 1..)) | Err(QueryError::Unavailable(_)) => Lookup::Behind,
        other => panic!("{other:?}"),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_instance_acknowledged_by_one_node_is_found_at_once_on_all_others() {
    let nodes = Nodes::new(3, 2);
    let rigs = nodes.all().await;
    rigs[0].deploy(&one_task()).await;
    let mut surely = 0;
    for n in 0..150 {
        let key = new_one(&rigs[n % 3]).await;
        for rig in &rigs {
            match look_for(rig, key).await {
                Lookup::Yes => surely += 1,
                Lookup::No => {
                    panic!("{key} is not found, and nothing is said of what may be lacking")
                }
                // A leader was replaced: the machine is busy.
                Lookup::Behind => {}
            }
        }
    }
    assert!(surely > 400, "{surely} of 450 were found");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_node_that_has_just_started_answers_with_all_of_it_or_says_that_it_may_lack_something() {
    let nodes = Nodes::new(3, 2);
    let mut rigs = nodes.all().await;
    rigs[0].deploy(&one_task()).await;
    for _ in 0..3 {
        let away = rigs.remove(0);
        let node = away.broker.config().node_id as usize;
        stop(away).await;
        let mut keys = Vec::new();
        for n in 0..30 {
            keys.push(create_one(&rigs[n % 2]).await);
        }
        let back = nodes.open(node).await;
        let mut left = keys.len();
        let began = Instant::now();
        while left > 0 {
            assert!(began.elapsed() < DEADLINE, "{left} are not found");
            left = 0;
            for key in &keys {
                match look_for(&back, *key).await {
                    Lookup::Yes => {}
                    Lookup::No => {
                        panic!("{key} is not found, and nothing is said of what may be lacking")
                    }
                    Lookup::Behind => left += 1,
                }
            }
        }
        rigs.push(back);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_node_that_is_cut_off_says_that_it_may_lack_something() {
    let nodes = Nodes::linked(3, 1);
    let rigs = nodes.all().await;
    streams::all_connected(&nodes).await;
    wait_until("leaders", || rigs.iter().all(knows_all_leaders)).await;
    rigs[0].deploy(&one_task()).await;
    let first = new_one(&rigs[0]).await;
    // The leader, and another node.
    for round in 0..2 {
        wait_until("leaders", || rigs.iter().all(reaches_all_leaders)).await;
        let leads = rigs[0].broker.partitions()[0].status.leader().unwrap() as usize;
        let alone = (leads + round) % 3;
        let hold = |held| {
            let of_node = nodes
                .links
                .iter()
                .filter(|(ends, _)| ends.0 == alone || ends.1 == alone);
            of_node.for_each(|(_, link)| link.hold(held));
        };
        hold(true);
        let other = &rigs[(alone + 1) % 3];
        wait_until("another leader", || {
            let leader = other.broker.partitions()[0].status.leader();
            leader.is_some_and(|it| it as usize != alone)
        })
        .await;
        let key = create_one(other).await;
        for _ in 0..3 {
            let found = look_for(&rigs[alone], key).await;
            assert!(
                matches!(found, Lookup::Behind),
                "nothing is said of what is lacking"
            );
        }
        assert!(matches!(look_for(other, key).await, Lookup::Yes));
        // Existing rows are found all the same.
        assert!(matches!(look_for(&rigs[alone], first).await, Lookup::Yes));
        hold(false);
        wait_until("the node to be back", || {
            committed_by(&rigs[alone]) >= committed_by(other)
        })
        .await;
    }
}

fn committed_by(rig: &Rig) -> u64 {
    stores::committed(rig)
}

/// Its connections are open, but nothing arrives: the node does not wait for nodes that it cannot hear.
#[tokio::test(flavor = "multi_thread")]
async fn an_isolated_node_refuses_commands_at_once_with_the_cause() {
    let nodes = Nodes::linked(3, 1);
    let rigs = nodes.all().await;
    streams::all_connected(&nodes).await;
    wait_until("leaders", || rigs.iter().all(knows_all_leaders)).await;
    rigs[0].deploy(&one_task()).await;
    let leads = rigs[0].broker.partitions()[0].status.leader().unwrap() as usize;
    let alone = (leads + 1) % 3;
    let links = nodes.links.iter();
    let of_node = links.filter(|(ends, _)| ends.0 == alone || ends.1 == alone);
    of_node.for_each(|(_, link)| link.hold(true));
    wait_until("no other node", || is_alone(&rigs[alone])).await;
    expect_no_quorum(&rigs[alone]).await;
}
