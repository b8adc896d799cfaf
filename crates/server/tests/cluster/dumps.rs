//! Clusters whose rows are in PostgreSQL or a search server: all is lost except the backups and a dump of the rows, which is brought to the
//! moment of a backup.

use std::collections::HashSet;
use std::path::Path;

use serde_json::{Value, json};
use skep_testbed::{Postgres, Product, SearchServer};

use super::backups::{create, directory, expect_searchable, instances, said, settings, skep, take};
use super::continuous::{Ledger, expect_only_what_was_before, instant, now, out};
use super::{Nodes, SIZE, leader};
use crate::support::ledger::deploy_one_task;
use crate::support::{Server, eventually};

fn secondary(settings: &[(&str, &str)]) -> Vec<String> {
    let settings = settings.iter().flat_map(|(name, value)| {
        let set = format!("camunda.data.secondary-storage.{name}={value}");
        ["--set".to_string(), set]
    });
    settings.collect()
}

/// Settings for rows in this database.
fn rows_in(url: &str) -> Vec<String> {
    secondary(&[
        ("type", "rdbms"),
        ("rdbms.url", url),
        ("rdbms.username", "skep"),
        ("rdbms.password", "secret"),
    ])
}

fn post(server: &Server, path: &str) {
    let (status, body) = server.management("POST", path).expect("an answer");
    assert!(
        status == 200 && !body.contains("\"status\":500"),
        "{path}: {status}: {body}"
    );
}

/// Checks that a restore is refused for these reasons, and writes nothing.
fn expect_refused(command: &[&str], arguments: &[String], reasons: &[&str]) {
    let parent = tempfile::tempdir().unwrap();
    let data = parent.path().join("refused");
    let refused = skep(command, &data, arguments);
    let text = said(&refused);
    assert_eq!(refused.status.code(), Some(2), "{text}");
    for reason in reasons {
        assert!(text.contains(reason), "{reason}: {text}");
    }
    assert!(!data.exists(), "{text}");
}

async fn searches_answer(server: &Server) {
    eventually("searches are answered", async || {
        let path = "/v2/process-instances/search";
        let answer = server.ask(server.rest, "POST", path, "{}");
        answer.is_some_and(|(status, _)| status == 200)
    })
    .await;
}

/// A server that has written the rows of ten instances, and whose exporting is then paused softly, so that it keeps its log. Returns the keys
/// of the instances as well.
async fn pause_after_ten(data: &Path, arguments: &[String]) -> (Server, HashSet<i64>) {
    let server = crate::start(data, arguments, data.join("log")).await;
    let client = server.client();
    deploy_one_task(&client).await;
    let mut created = HashSet::new();
    for _ in 0..10 {
        created.insert(create(&client).await);
    }
    searches_answer(&server).await;
    expect_searchable(&server, created.len()).await;
    post(&server, "/actuator/exporting/pause?soft=true");
    (server, created)
}

/// `with`: the settings for the database with this URL.
fn expect_other_rows_to_be_refused(
    database: &Postgres,
    dump: &str,
    with: &dyn Fn(&str) -> Vec<String>,
) {
    database.load(dump, "another").unwrap();
    let foreign = database.sql_in("another", "UPDATE skep SET cluster = 'another'");
    foreign.unwrap();
    database.load(dump, "history").unwrap();
    let other = "UPDATE position SET record = record - 1 WHERE partition = 1";
    database.sql_in("history", other).unwrap();
    let command = ["restore", "--backup", "1"];
    expect_refused(
        &command,
        &with(&database.url()),
        &[
            "they are of later work",
            "older than the moment",
            &format!("127.0.0.1:{}/postgres", database.port()),
        ],
    );
    let another = with(&database.url_of("another"));
    expect_refused(&command, &another, &["belong to the cluster another"]);

    let of_history = with(&database.url_of("history"));
    let half = tempfile::tempdir().unwrap();
    let refused = skep(&command, half.path(), &of_history);
    assert!(
        said(&refused).contains("by another history of this cluster"),
        "{}",
        said(&refused)
    );
}

/// As the reference does it: exporting is paused softly, so that the log is kept from the dump on.
#[tokio::test(flavor = "multi_thread")]
async fn a_dump_before_a_backup_is_brought_to_the_backup_and_other_rows_are_refused() {
    let Some(database) = Postgres::start_new() else {
        return;
    };
    let (data, store) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let with = |url: &str| [directory(store.path()), rows_in(url)].concat();
    let (server, mut kept) = pause_after_ten(data.path(), &with(&database.url())).await;
    let client = server.client();
    for _ in 0..5 {
        kept.insert(create(&client).await);
    }
    expect_searchable(&server, kept.len()).await;
    let dump = database.dump().unwrap();
    for _ in 0..10 {
        kept.insert(create(&client).await);
    }
    expect_searchable(&server, kept.len()).await;
    // Without the pause, the log before the checkpoint would be deleted now.
    post(&server, "/actuator/partitions/takeSnapshot");
    take(&server, 1).await;
    post(&server, "/actuator/exporting/resume");
    let lost = create(&client).await;
    expect_searchable(&server, kept.len() + 1).await;
    let history = server.management("POST", "/actuator/backupHistory");
    let (status, body) = history.expect("an answer");
    assert!(
        status == 400 && body.contains("pg_dump"),
        "{status}: {body}"
    );
    drop(server);

    expect_other_rows_to_be_refused(&database, &dump, &with);
    database.load(&dump, "restored").unwrap();
    let arguments = with(&database.url_of("restored"));
    let data = tempfile::tempdir().unwrap();
    let restored = out(&skep(&["restore"], data.path(), &arguments));
    assert!(
        restored.contains("/restored as skep, where the nodes write"),
        "{restored}"
    );
    let server = crate::start(data.path(), &arguments, data.path().join("log")).await;
    searches_answer(&server).await;
    assert_eq!(expect_searchable(&server, kept.len()).await, kept);
    // The backup was taken during the pause, which goes on.
    post(&server, "/actuator/exporting/resume");
    let new = create(&server.client()).await;
    assert!(new != lost && !kept.contains(&new), "a key was given twice");
    kept.insert(new);
    assert_eq!(expect_searchable(&server, kept.len()).await, kept);
}

/// A directory of its own for each node, with rows in another database.
fn other_nodes(rows: &[String], store: &Path) -> Nodes {
    let mut nodes = Nodes::new(SIZE as u32);
    nodes.more = [directory(store), rows.to_vec()].concat();
    nodes
}

#[tokio::test(flavor = "multi_thread", worker_threads = 6)]
async fn a_dump_under_load_is_brought_to_a_later_marker_though_a_leader_is_lost() {
    let Some(mut database) = Postgres::start_new() else {
        return;
    };
    let store = tempfile::tempdir().unwrap();
    let mut nodes = other_nodes(&rows_in(&database.url()), store.path());
    let continuous = [("continuous", "true"), ("checkpoint-interval", "PT1S")];
    nodes.more.extend(settings(&continuous));
    let servers = nodes.all().await;
    deploy_one_task(&servers[0].client()).await;
    let mut ledger = Ledger::default();
    let early = ledger.create_until_marked(&servers[0]).await;
    ledger.create_until_marked(&servers[0]).await;
    searches_answer(&servers[0]).await;
    eventually(
        "there are rows of work after the first marker",
        async || instances(&servers[0]).is_superset(&ledger.acknowledged_before(now())),
    )
    .await;
    let dump = database.dump().unwrap();
    // The next backup has the log from here on; what is before it is in the range of the one before.
    for server in &servers {
        post(server, "/actuator/partitions/takeSnapshot");
    }
    let id = u64::try_from(now()).unwrap();
    take(&servers[1], id).await;
    let wanted = ledger.create_until_marked(&servers[1]).await;
    ledger.create_until_marked(&servers[2]).await;
    drop(servers);

    database.load(&dump, "restored").unwrap();
    let restored = other_nodes(&rows_in(&database.url_of("restored")), store.path());
    let arguments = restored.arguments(0);
    let to = instant(early);
    let reasons = ["they are of later work", "These rows fit moments from"];
    expect_refused(&["restore", "--to", &to], &arguments, &reasons);
    let planned = skep(
        &["restore", "--dry-run", "--json"],
        &restored.directory(0),
        &arguments,
    );
    let planned: Value = serde_json::from_str(&out(&planned)).unwrap();
    let newest = &planned["newestMoment"];
    assert!(
        newest.is_string() && planned["moment"] == *newest,
        "{planned}"
    );
    assert_eq!(planned["partitions"], json!([1, 2, 3]));
    let to = instant(wanted);
    for node in 0..SIZE {
        let command = ["restore", "--to", to.as_str()];
        let data = restored.directory(node);
        out(&skep(&command, &data, &restored.arguments(node)));
    }
    expect_rows_after_a_lost_leader(&restored, &mut database, (wanted, &ledger)).await;
}

/// The database is away at first. The node that writes the rows of partition 1 is lost before it has written any: another one has the log.
async fn expect_rows_after_a_lost_leader(
    nodes: &Nodes,
    database: &mut Postgres,
    (wanted, ledger): (i64, &Ledger),
) {
    database.stop();
    let mut servers = nodes.all().await;
    for server in &servers {
        post(server, "/actuator/partitions/takeSnapshot");
    }
    let leads = leader(&servers[0]).await;
    servers[leads].kill();
    database.start().unwrap();
    let lives = &servers[(leads + 1) % SIZE];
    searches_answer(lives).await;
    expect_only_what_was_before(lives, wanted, ledger).await;
}

const INDICES: &str = "skep-*";
const HISTORY: &str = "/actuator/backupHistory";

fn asked(server: &Server, (method, path): (&str, &str), body: &Value) -> (u16, Value) {
    let answer = server.manage(method, path, &body.to_string());
    let (status, body) = answer.expect("an answer");
    (status, serde_json::from_str(&body).unwrap_or_default())
}

/// Takes a snapshot through Skep, and waits until exporting is as it was. Returns its name.
async fn snapshot(server: &Server, id: u64) -> String {
    let begins = || asked(server, ("POST", HISTORY), &json!({ "backupId": id }));
    let (status, begun) = begins();
    assert_eq!(status, 202, "{begun}");
    let name = begun["scheduledSnapshots"][0].as_str().unwrap().to_string();
    assert!(
        name.starts_with(&format!("camunda_webapps_{id}_")),
        "{name}"
    );
    let one = format!("{HISTORY}/{id}");
    eventually("the snapshot is complete", async || {
        let (status, found) = asked(server, ("GET", &one), &Value::Null);
        assert!(status == 200 && found["state"] != "FAILED", "{found}");
        found["state"] == "COMPLETED"
    })
    .await;
    eventually("exporting goes on as before", async || {
        let (_, partitions) = asked(server, ("GET", "/actuator/partitions"), &Value::Null);
        partitions["1"]["exporterPhase"] == "SOFT_PAUSED"
    })
    .await;
    let (status, again) = begins();
    assert_eq!(status, 400, "{again}");
    name
}

fn expect_snapshots(server: &Server, (pattern, ids): (&str, &[u64])) {
    let path = format!("{HISTORY}{pattern}");
    let (status, found) = asked(server, ("GET", &path), &Value::Null);
    assert_eq!(status, 200, "{found}");
    let found = found.as_array().unwrap().iter();
    let found: Vec<u64> = found.map(|it| it["backupId"].as_u64().unwrap()).collect();
    assert_eq!(found, ids, "{pattern}");
}

/// Indices are written one after another: exporting is paused while the snapshot is taken.
#[tokio::test(flavor = "multi_thread")]
async fn a_snapshot_of_a_search_server_is_brought_to_a_backup() {
    let Some(search) = SearchServer::start_new(Product::OpenSearch) else {
        return;
    };
    search.make_repository().unwrap();
    let (data, store) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let rows = secondary(&[("type", "opensearch"), ("opensearch.url", &search.url())]);
    let name = SearchServer::REPOSITORY;
    let repository = format!("camunda.data.backup.repository-name={name}");
    let repository = vec!["--set".to_string(), repository];
    let arguments = [directory(store.path()), rows, repository].concat();
    let (server, mut kept) = pause_after_ten(data.path(), &arguments).await;
    let client = server.client();
    let name = snapshot(&server, 7).await;
    for _ in 0..10 {
        kept.insert(create(&client).await);
    }
    // Without the pause, the log before the checkpoint would be deleted now.
    post(&server, "/actuator/partitions/takeSnapshot");
    take(&server, 1).await;
    post(&server, "/actuator/exporting/resume");
    let lost = create(&client).await;
    expect_searchable(&server, kept.len() + 1).await;
    expect_snapshots(&server, ("", &[7]));
    expect_snapshots(&server, ("?pattern=7*", &[7]));
    expect_snapshots(&server, ("?pattern=8*", &[]));
    drop(server);
    expect_rows_of_snapshot((&search, &name), &arguments, (kept, lost)).await;
}

async fn expect_rows_of_snapshot(
    (search, name): (&SearchServer, &str),
    arguments: &[String],
    (mut kept, lost): (HashSet<i64>, i64),
) {
    let command = ["restore", "--backup", "1"];
    expect_refused(&command, arguments, &["they are of later work"]);
    search.restore_snapshot(name, INDICES).unwrap();
    // As if the snapshot had been taken in the middle of a window.
    let begun = |record: u64| {
        let body = json!({ "doc": { "begun": record } }).to_string();
        search.ask("POST", "/skep-state/_update/position-1", &body)
    };
    begun(1).unwrap();
    let reasons = ["partition 1", "while exporting was paused"];
    expect_refused(&command, arguments, &reasons);
    begun(0).unwrap();

    let data = tempfile::tempdir().unwrap();
    out(&skep(&["restore"], data.path(), arguments));
    let server = crate::start(data.path(), arguments, data.path().join("log")).await;
    // The backup was taken during the pause, which goes on.
    post(&server, "/actuator/exporting/resume");
    searches_answer(&server).await;
    assert_eq!(expect_searchable(&server, kept.len()).await, kept);
    let new = create(&server.client()).await;
    assert!(new != lost && !kept.contains(&new), "a key was given twice");
    kept.insert(new);
    assert_eq!(expect_searchable(&server, kept.len()).await, kept);
    let one = format!("{HISTORY}/7");
    for status in [204, 404] {
        let (answered, body) = asked(&server, ("DELETE", &one), &Value::Null);
        assert_eq!(answered, status, "{body}");
    }
}
