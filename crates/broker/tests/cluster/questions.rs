//! Operators' queries to one node are answered by all nodes; and their commands to one node are carried out by all.

use skep_exporting::Phase;
use skep_protocol::command::ExportingChange;
use skep_protocol::value::ExportingPhase;

use super::*;

#[tokio::test(flavor = "multi_thread")]
async fn all_nodes_answer_and_an_absent_one_is_marked() {
    let nodes = Nodes::new(3, 1);
    let mut rigs = nodes.all().await;
    for (node, rig) in rigs.iter().enumerate() {
        let answer = move |question: &str| format!("{node} heard {question}");
        rig.broker.answer_questions(Box::new(answer));
    }
    for rig in &rigs {
        let answers = rig.broker.ask_nodes("who").await;
        let expected = |node: u32| (node, Some(format!("{node} heard who")));
        assert_eq!(answers, (0..3).map(expected).collect());
    }
    stop(rigs.pop().unwrap()).await;
    let answers = rigs[0].broker.ask_nodes("who").await;
    assert_eq!((answers.len(), &answers[&2]), (3, &None));
    assert!(answers[&1].is_some());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pause_requested_on_one_node_rests_the_stores_of_all() {
    let nodes = Nodes::new(3, 2);
    let rigs = nodes.all().await;
    rigs[0].deploy(&one_task()).await;
    for (phase, resting) in [
        (ExportingPhase::Paused, true),
        (ExportingPhase::Exporting, false),
    ] {
        for partition in [1, 2] {
            let change = ExportingChange::Phase(phase);
            let command = Command::ChangeExporting { partition, change };
            insist(&rigs[0], command).await.unwrap();
        }
        for rig in &rigs {
            for handle in rig.broker.partitions() {
                let phase = if resting {
                    Phase::Paused
                } else {
                    Phase::Exporting
                };
                wait_until("all nodes to hear of it", || {
                    let stores = handle.exporters.exporters();
                    let rest = stores.iter().all(|store| store.is_resting() == resting);
                    handle.exporters.phase() == phase && rest
                })
                .await;
            }
        }
    }
}
