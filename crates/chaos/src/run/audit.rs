//! The end of a run: instances end, and every node is asked for the acknowledged ones.

use std::collections::HashMap;
use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::{Stage, lock};
use crate::http::{Kept, Rest};
use crate::probes::float;

/// Maximum time to wait for an answer.
const LIMIT: Duration = Duration::from_secs(30);
/// Secondary storage lags behind acknowledgements; once it has not changed for this long, it has caught up.
const STILL: Duration = Duration::from_secs(3);
const PAUSE: Duration = Duration::from_millis(200);
/// Instances per page.
const PAGE: usize = 2000;

/// Lets instances end within the time limit. Those that do not are found by the final audit.
pub(super) async fn drain(
    stage: &Arc<Stage>,
    process_id: &str,
    limit: Duration,
) -> anyhow::Result<()> {
    let begin = Instant::now();
    while begin.elapsed() < limit && stage.live.ledger().open() > 0 {
        // The ledger does not know completions whose answers were lost.
        let unfinished = of_first_node(stage, process_id).await?;
        if unfinished == Some(0) {
            break;
        }
        tokio::time::sleep(PAUSE).await;
    }
    stage.note_value("drain.seconds".into(), begin.elapsed().as_secs_f64());
    Ok(())
}

/// Number of unfinished instances; `None` if a node cannot tell.
async fn of_first_node(stage: &Arc<Stage>, process_id: &str) -> anyhow::Result<Option<u64>> {
    let Some(rest) = rests(stage).into_iter().next() else {
        return Ok(None);
    };
    let id = process_id.to_string();
    let asked = tokio::task::spawn_blocking(move || {
        let filter = json!({ "processDefinitionId": id, "state": "ACTIVE" });
        let body = json!({ "filter": filter, "page": { "limit": 1 } });
        search(&mut Kept::to(rest), &body)
    });
    let total = |answer: Value| answer.get("page")?.get("totalItems")?.as_u64();
    Ok(asked.await?.ok().and_then(total))
}

/// REST APIs of the nodes that are up.
fn rests(stage: &Stage) -> Vec<Rest> {
    let cluster = lock(&stage.cluster);
    let all = cluster.nodes().iter().zip(cluster.rests());
    let up = all.filter(|(node, _)| node.is_up());
    up.map(|(_, rest)| rest).collect()
}

fn search(node: &mut Kept, body: &Value) -> io::Result<Value> {
    let path = "/v2/process-instances/search";
    node.json("POST", path, &body.to_string(), LIMIT)
}

/// One node's account of the instances.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Findings {
    /// Acknowledged but missing.
    lost: u64,
    /// Present, but neither acknowledged nor in doubt.
    surplus: u64,
    /// Present, but not ended.
    unfinished: u64,
}

/// Records the worst result of any node. If a node does not answer, nothing is recorded, and everything that depends on it is NOT RUN.
pub(super) async fn ask_every_node(stage: &Arc<Stage>, process_id: &str) -> anyhow::Result<()> {
    let (created, twice, in_doubt, repeated, overflown) = {
        let ledger = stage.live.ledger();
        let Some(audit) = &ledger.audit else {
            return Ok(());
        };
        let created: Vec<i64> = audit.created.iter().copied().collect();
        let overflown = audit.overflown();
        (
            created,
            audit.created_twice,
            audit.in_doubt,
            audit.repeated,
            overflown,
        )
    };
    if overflown {
        return Ok(());
    }
    stage.note_value(
        "ledger.acknowledged".into(),
        float(u64::try_from(created.len())?),
    );
    stage.note_value("ledger.in-doubt".into(), float(in_doubt));
    stage.note_value("ledger.repeated".into(), float(repeated));
    let (nodes, id) = (rests(stage), process_id.to_string());
    let asked = tokio::task::spawn_blocking(move || {
        let each = nodes
            .into_iter()
            .map(|rest| settled(&mut Kept::to(rest), &id, &created, in_doubt));
        each.collect::<io::Result<Vec<Findings>>>()
    });
    let Ok(found) = asked.await? else {
        return Ok(());
    };
    let worst = |of: fn(&Findings) -> u64| found.iter().map(of).max();
    for (name, worst) in [
        ("ledger.lost", worst(|found| found.lost)),
        (
            "ledger.surplus",
            worst(|found| found.surplus).map(|count| count + twice),
        ),
        ("ledger.unfinished", worst(|found| found.unfinished)),
    ] {
        if let Some(worst) = worst {
            stage.note_value(name.into(), float(worst));
        }
    }
    Ok(())
}

/// Asks until everything is right, or nothing changes any more.
fn settled(
    node: &mut Kept,
    process_id: &str,
    created: &[i64],
    in_doubt: u64,
) -> io::Result<Findings> {
    let (mut before, mut since) = (None, Instant::now());
    let begin = since;
    loop {
        let known = match instances(node, process_id) {
            Ok(known) => known,
            // A node that has just started does not answer searches yet.
            Err(_) if begin.elapsed() < LIMIT => {
                std::thread::sleep(PAUSE);
                continue;
            }
            Err(error) => return Err(error),
        };
        let found = compare(&known, created, in_doubt);
        if before != Some(found) {
            (before, since) = (Some(found), Instant::now());
        }
        if found == Findings::default() || since.elapsed() >= STILL {
            return Ok(found);
        }
        std::thread::sleep(PAUSE);
    }
}

/// All instances of the process, and whether they have ended. All pages come over one connection.
fn instances(node: &mut Kept, process_id: &str) -> io::Result<HashMap<i64, bool>> {
    let mut known = HashMap::new();
    let mut page = json!({ "limit": PAGE });
    loop {
        let answer = search(
            node,
            &json!({
                "filter": { "processDefinitionId": process_id },
                "page": page,
                "sort": [{ "field": "processInstanceKey" }],
            }),
        )?;
        let items = answer.get("items").and_then(Value::as_array);
        let items = items.ok_or_else(|| io::Error::other("the answer to a search has no items"))?;
        for item in items {
            let text = |name| item.get(name).and_then(Value::as_str);
            let key = text("processInstanceKey").and_then(|key| key.parse().ok());
            let key = key.ok_or_else(|| io::Error::other("an instance has no key"))?;
            known.insert(key, text("state") != Some("ACTIVE"));
        }
        let cursor = answer.get("page").and_then(|page| page.get("endCursor"));
        match cursor {
            Some(cursor) if items.len() == PAGE => {
                page = json!({ "limit": PAGE, "after": cursor });
            }
            _ => return Ok(known),
        }
    }
}

fn compare(known: &HashMap<i64, bool>, created: &[i64], in_doubt: u64) -> Findings {
    let count = |count: usize| u64::try_from(count).unwrap_or(u64::MAX);
    let there = count(created.iter().filter(|key| known.contains_key(key)).count());
    let unfinished = known.values().filter(|ended| !**ended).count();
    Findings {
        lost: count(created.len()) - there,
        surplus: (count(known.len()) - there).saturating_sub(in_doubt),
        unfinished: count(unfinished),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::http::fake;

    /// The answer to a search whose body is this, as a node with so many instances gives it.
    fn page(body: &Value, all: usize) -> String {
        let number = |value: &Value| value.as_str().and_then(|it| it.parse().ok());
        let after = number(&body["page"]["after"]).unwrap_or(0_usize);
        let last = all.min(after + PAGE);
        let item =
            |key: usize| json!({ "processInstanceKey": key.to_string(), "state": "COMPLETED" });
        let items: Vec<Value> = (after + 1..=last).map(item).collect();
        json!({ "items": items, "page": { "endCursor": last.to_string() } }).to_string()
    }

    /// A node with so many instances, which lets nobody open a second connection.
    fn node(all: usize) -> Kept {
        let answer = move |_: &str, body: &[u8]| page(&serde_json::from_slice(body).unwrap(), all);
        Kept::to(Rest::open(&fake::serve(1, answer)))
    }

    /// Opening a connection takes seconds where ports are forwarded.
    #[test]
    fn all_pages_of_an_audit_come_over_one_connection() {
        let all = PAGE * 2 + 1;
        let known = instances(&mut node(all), "a").unwrap();
        assert_eq!(known.len(), all);
        assert!(known.values().all(|ended| *ended));
    }

    #[test]
    fn lost_surplus_and_unfinished_instances_are_detected() {
        let known = |pairs: &[(i64, bool)]| pairs.iter().copied().collect::<HashMap<_, _>>();
        let well = known(&[(1, true), (2, true)]);
        assert_eq!(compare(&well, &[1, 2], 0), Findings::default());
        assert_eq!(
            compare(&well, &[1], 1),
            Findings::default(),
            "one was in doubt"
        );
        assert_eq!(compare(&well, &[1], 0).surplus, 1);
        assert_eq!(compare(&well, &[1, 2, 3], 5).lost, 1);
        assert_eq!(compare(&known(&[(1, false)]), &[1], 0).unfinished, 1);
    }
}
