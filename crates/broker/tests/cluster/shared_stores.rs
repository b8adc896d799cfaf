//! Nodes that share a store: the leaders fill it, and each node finds what it has acknowledged.

use super::*;

/// Creates instances on each of the nodes in turn; each node finds its own at once.
pub async fn create_and_find(rigs: &[&Rig], count: usize, created: &mut HashSet<Key>) {
    for n in 0..count {
        let rig = rigs[n % rigs.len()];
        let answer = insist(rig, create("one-task", "{}", None)).await;
        let Ok(Response::ProcessInstanceCreated(new)) = answer else {
            panic!("{answer:?}");
        };
        let key = new.process_instance_key;
        let query = Query::Get {
            entity: &PROCESS_INSTANCE,
            key,
        };
        let began = Instant::now();
        let answer = loop {
            let asked = rig.broker.query(query.clone(), Consistency::ReadYourWrites);
            match asked.await {
                // A search server may not be ready yet with a new index.
                Err(QueryError::Unavailable(_)) if began.elapsed() < DEADLINE => {
                    tokio::time::sleep(Duration::from_millis(100)).await;
                }
                answer => break answer,
            }
        };
        let found = matches!(answer, Ok((Answer::Row(Some(_)), 0)));
        assert!(found, "{key}: {answer:?}");
        created.insert(key);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn nodes_share_a_database_which_the_leaders_fill_each_entry_once() {
    let Some(nodes) = Nodes::new(3, 2).with_database() else {
        return;
    };
    let server = nodes.database.unwrap();
    leaders_fill_it(&nodes, |table, sum| {
        let prefix = &nodes.prefix;
        let sum = match sum {
            Some(column) => format!("sum({column})"),
            None => "count(*)".to_string(),
        };
        let counted = server.sql(&format!("SELECT {sum} FROM {prefix}{table}"));
        counted.unwrap().parse().unwrap()
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn nodes_share_a_search_server_which_the_leaders_fill_each_entry_once() {
    let Some(nodes) = Nodes::new(3, 2).with_search_server() else {
        return;
    };
    let server = nodes.search_server.unwrap();
    leaders_fill_it(&nodes, |table, sum| {
        let index = format!("/{}-skep-{}", nodes.prefix, table.replace('_', "-"));
        server
            .ask("POST", &format!("{index}/_refresh"), "")
            .unwrap();
        let sum =
            sum.map(|column| format!(r#","aggs":{{"sum":{{"sum":{{"field":"{column}"}}}}}}"#));
        let body = format!(r#"{{"size":0{}}}"#, sum.clone().unwrap_or_default());
        let answer = server
            .ask("POST", &format!("{index}/_search"), &body)
            .unwrap();
        let place = match sum {
            Some(_) => r#""sum":{"value":"#,
            None => r#""total":{"value":"#,
        };
        let (_, counted) = answer.split_once(place).unwrap();
        let end = counted.find([',', '}', '.']).unwrap();
        counted[..end].parse().unwrap()
    })
    .await;
}

/// `counted` returns the number of rows in a table, or the sum over one of its columns.
async fn leaders_fill_it(nodes: &Nodes, counted: impl Fn(&str, Option<&str>) -> usize) {
    let mut rigs: Vec<Option<Rig>> = nodes.all().await.into_iter().map(Some).collect();
    rigs[0].as_ref().unwrap().deploy(&one_task()).await;
    let mut created = first_rows::store_is_there(rigs[0].as_ref().unwrap()).await;
    for round in 0..3 {
        create_and_find(&rigs.iter().flatten().collect::<Vec<_>>(), 12, &mut created).await;
        // The leaders on this node hand over, and its checkpoint allows the log to be compacted.
        stop(rigs[round].take().unwrap()).await;
        create_and_find(&rigs.iter().flatten().collect::<Vec<_>>(), 12, &mut created).await;
        let back = nodes.open(round).await;
        wait_until("the node to know the leaders", || knows_all_leaders(&back)).await;
        rigs[round] = Some(back);
    }
    let rigs: Vec<Rig> = rigs.into_iter().flatten().collect();
    for partition in 0..2 {
        let fills = |rig: &&Rig| {
            let handle = &rig.broker.partitions()[partition];
            handle.exporters.working().len() == 1
        };
        let filling = || rigs.iter().filter(fills).count();
        wait_until("one of them to fill the store", || filling() == 1).await;
    }
    // Sums reveal repeated writes.
    for (table, sum) in [
        ("process_instance", None),
        ("job_statistics", Some("created")),
    ] {
        assert_eq!(counted(table, sum), created.len(), "{table}");
    }
    // The progress of the store is part of every replica's state, which keeps the log from there on and no further.
    for rig in &rigs {
        for handle in rig.broker.partitions() {
            wait_until("replicas to know the position", || {
                let value = handle.exporters.value();
                value
                    .exporter("secondary-storage")
                    .is_some_and(|known| known.position.entry > 0)
            })
            .await;
        }
    }
}
