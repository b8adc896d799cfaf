//! Secondary storage while its search server is down, refuses requests, or has incomplete writes; and behaviour specific to search servers.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use serde_json::{Value as Json, json};
use skep_model::builder::Bpmn;
use skep_query::entities::{
    ELEMENT_INSTANCE, INCIDENT, JOB, JOB_STATISTICS, PROCESS_INSTANCE, VARIABLE,
};
use skep_query::{Answer, Consistency, Entity, Query, QueryError, answer, search};
use skep_secondary::{Documents, DocumentsSettings, StoreLocation};
use skep_testbed::SearchServer;

use super::BACKEND;
use super::outage::{PATIENCE, fault, filled, recover, refused};
use skep_testkit::one_task::{create, rig};
use skep_testkit::rig::Rig;
use skep_testkit::stores::{Filled, follow};
use skep_testkit::stores::{document_settings, documents};

pub fn settings(url: String, prefix: &str) -> DocumentsSettings {
    document_settings(BACKEND.product(), url, prefix)
}

pub fn location(settings: DocumentsSettings) -> StoreLocation {
    StoreLocation::Documents(Arc::new(Documents::new(settings).unwrap()))
}

/// A sum over documents, which reveals repeated writes.
fn created_jobs(store: &Filled) -> i64 {
    let mut rows = search(&JOB_STATISTICS, r#"{"page": {"limit": 10000}}"#).unwrap();
    rows.details = true;
    let Answer::Page(found) = store.ask(Query::Search(rows)) else {
        panic!("no page");
    };
    let column = JOB_STATISTICS.column("created");
    let counts = found
        .rows
        .iter()
        .map(|row| row[column].as_int().unwrap_or_default());
    counts.sum()
}

#[test]
fn a_server_that_comes_late_gets_everything() {
    let Some(mut server) = SearchServer::start_new(BACKEND.product()) else {
        return;
    };
    server.kill();
    let store = filled(documents(&server, ""));
    let mut rig = rig();
    create(&mut rig, 5);
    follow(&mut rig, &store);
    let port = server.port().to_string();
    fault(&store, &port);
    refused(&store, &port);
    assert_eq!(store.durable(), 0, "the log is kept");
    server.start().unwrap();
    recover(&store);
    assert_eq!(store.find(&PROCESS_INSTANCE, "{}").len(), 5);
    // It is killed during writes, each time at another point.
    for round in 1..=3 {
        for _ in 0..20 {
            create(&mut rig, 2);
            follow(&mut rig, &store);
            std::thread::sleep(Duration::from_millis(7 * round));
        }
        server.kill();
        create(&mut rig, 10);
        follow(&mut rig, &store);
        server.start().unwrap();
        create(&mut rig, 1);
        follow(&mut rig, &store);
    }
    recover(&store);
    let instances = 5 + 3 * 51;
    assert_eq!(store.find(&PROCESS_INSTANCE, "{}").len(), instances);
    assert_eq!(store.find(&ELEMENT_INSTANCE, "{}").len(), 2 * instances);
    assert_eq!(created_jobs(&store), instances as i64);
}

/// The place of a partition, as a document.
fn place_of(server: &SearchServer, prefix: &str) -> Json {
    let path = format!("/{prefix}-skep-state/_doc/position-1");
    let found: Json = serde_json::from_str(&server.ask("GET", &path, "").unwrap()).unwrap();
    found["_source"].clone()
}

fn set_place(server: &SearchServer, prefix: &str, location: &Json) {
    let path = format!("/{prefix}-skep-state/_doc/position-1?refresh=true");
    server.ask("PUT", &path, &location.to_string()).unwrap();
}

#[test]
fn a_window_that_is_there_already_is_written_once_more_and_adds_nothing() {
    let Some(server) = BACKEND.search_server() else {
        return;
    };
    let prefix = server.prefix();
    let mut rig = rig();
    rig.deploy(
        Bpmn::process("stuck")
            .start("start")
            .service_task("task", "=missing")
            .end("end"),
    );
    create(&mut rig, 3);
    rig.create("stuck", "{}");
    let first = std::mem::take(&mut rig.batches);
    let store = filled(documents(server, &prefix));
    store.follow(&first);
    recover(&store);
    let before = place_of(server, &prefix);
    drop(store);

    create(&mut rig, 4);
    rig.create("stuck", "{}");
    let second = std::mem::take(&mut rig.batches);
    let everything = [first, second].concat();
    let all = |store: &Filled| -> Vec<Vec<Json>> {
        [
            &JOB,
            &INCIDENT,
            &PROCESS_INSTANCE,
            &ELEMENT_INSTANCE,
            &VARIABLE,
        ]
        .map(|entity: &'static Entity| store.find(entity, "{}"))
        .into()
    };
    // One window, which only the stop ends.
    let in_one = || Filled::at(documents(server, &prefix), 1, Duration::from_secs(3600));
    let store = in_one();
    store.follow(&everything);
    let rows = all(&store);
    assert_eq!(created_jobs(&store), 7);
    drop(store);
    let after = place_of(server, &prefix);

    // As left by a node that died after writing all documents, but before the position.
    let mut location = before.clone();
    location["begun"] = after["record"].clone();
    set_place(server, &prefix, &location);
    let store = filled(documents(server, &prefix));
    store.follow(&everything);
    recover(&store);
    assert_eq!(created_jobs(&store), 7);
    assert_eq!(all(&store), rows);
    let location = place_of(server, &prefix);
    assert_eq!(
        (&location["record"], &location["begun"]),
        (&after["record"], &json!(0))
    );
}

#[test]
fn a_superseded_node_cannot_write_any_more() {
    let Some(server) = BACKEND.search_server() else {
        return;
    };
    let prefix = server.prefix();
    let mut rig = rig();
    create(&mut rig, 3);
    let first = std::mem::take(&mut rig.batches);
    let old = filled(documents(server, &prefix));
    old.follow(&first);
    recover(&old);
    // Both continue with the same log, like two nodes that each consider the location their own.
    create(&mut rig, 3);
    let second = std::mem::take(&mut rig.batches);
    let new = filled(documents(server, &prefix));
    new.follow(&first);
    new.follow(&second);
    recover(&new);
    old.follow(&second);
    recover(&old);
    assert_eq!(new.find(&PROCESS_INSTANCE, "{}").len(), 6);
    assert_eq!(created_jobs(&new), 6);
}

#[test]
fn indices_of_another_cluster_are_not_touched() {
    let Some(server) = BACKEND.search_server() else {
        return;
    };
    let prefix = server.prefix();
    let store = filled(documents(server, &prefix));
    assert_eq!(store.find(&JOB, "{}").len(), 0);
    drop(store);
    let owner = format!("/{prefix}-skep-state/_update/owner");
    server
        .ask("POST", &owner, r#"{"doc": {"cluster": "other"}}"#)
        .unwrap();
    let store = filled(documents(server, &prefix));
    fault(&store, "belong to the cluster other");
    refused(&store, "belong to the cluster other");
}

#[test]
fn fields_that_are_new_are_added() {
    let Some(server) = BACKEND.search_server() else {
        return;
    };
    let prefix = server.prefix();
    // As left by an earlier version.
    let job = r#"{"mappings": {"dynamic": "strict", "properties": {"jobKey": {"type": "long"}}}}"#;
    server
        .ask("PUT", &format!("/{prefix}-skep-job"), job)
        .unwrap();
    let owner = r#"{"format": 1, "shape": "earlier", "cluster": "test"}"#;
    server
        .ask("PUT", &format!("/{prefix}-skep-state/_doc/owner"), owner)
        .unwrap();
    let mut rig = rig();
    create(&mut rig, 1);
    let store = filled(documents(server, &prefix));
    follow(&mut rig, &store);
    assert_eq!(store.find(&JOB, r#"{"type": "work"}"#).len(), 1);
}

#[test]
fn an_index_that_takes_no_writes_is_waited_for() {
    let Some(server) = BACKEND.search_server() else {
        return;
    };
    let prefix = server.prefix();
    let mut rig = rig();
    let store = filled(documents(server, &prefix));
    create(&mut rig, 1);
    follow(&mut rig, &store);
    recover(&store);
    // A server's reaction to a full disk.
    let settings = format!("/{prefix}-skep-job/_settings");
    let block = |on: Json| json!({"index.blocks.read_only_allow_delete": on}).to_string();
    server.ask("PUT", &settings, &block(json!(true))).unwrap();
    create(&mut rig, 3);
    follow(&mut rig, &store);
    fault(&store, "flood-stage");
    // Existing documents remain searchable.
    let query = search(&PROCESS_INSTANCE, "{}").unwrap();
    let (done, found) = std::sync::mpsc::channel();
    store.query(Query::Search(query), Consistency::Eventual, move |answer| {
        let _ = done.send(answer);
    });
    assert!(found.recv().unwrap().is_ok());
    server.ask("PUT", &settings, &block(Json::Null)).unwrap();
    recover(&store);
    assert_eq!(store.find(&JOB, "{}").len(), 4);
    assert_eq!(created_jobs(&store), 4);
}

const PASS: u8 = 0;
const UNAUTHORIZED: u8 = 1;
const TOO_MANY: u8 = 2;
const SILENT: u8 = 3;

/// A proxy between the store and its server, which forwards data or simulates faults.
struct Proxy {
    port: u16,
    mode: Arc<AtomicU8>,
    open: Arc<Mutex<Vec<TcpStream>>>,
}

impl Proxy {
    fn start(to: u16, mode: u8) -> Proxy {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let proxy = Proxy {
            port: listener.local_addr().unwrap().port(),
            mode: Arc::new(AtomicU8::new(mode)),
            open: Arc::default(),
        };
        let (mode, open) = (proxy.mode.clone(), proxy.open.clone());
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                open.lock().unwrap().push(stream.try_clone().unwrap());
                let mode = mode.load(Ordering::SeqCst);
                std::thread::spawn(move || serve(stream, to, mode));
            }
        });
        proxy
    }

    /// Ends all connections; new ones are treated according to `mode`.
    fn set(&self, mode: u8) {
        self.mode.store(mode, Ordering::SeqCst);
        for stream in self.open.lock().unwrap().drain(..) {
            let _ = stream.shutdown(std::net::Shutdown::Both);
        }
    }

    /// Waits for a new connection.
    fn await_connection(&self) {
        let deadline = Instant::now() + PATIENCE;
        while self.open.lock().unwrap().is_empty() {
            assert!(Instant::now() < deadline, "nobody connects");
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

fn serve(mut client: TcpStream, to: u16, mode: u8) {
    let mut buffer = [0; 1 << 16];
    let refusal = match mode {
        PASS => {
            let Ok(server) = TcpStream::connect(("127.0.0.1", to)) else {
                return;
            };
            let (mut from, mut into) = (client.try_clone().unwrap(), server.try_clone().unwrap());
            std::thread::spawn(move || {
                let _ = std::io::copy(&mut from, &mut into);
                let _ = into.shutdown(std::net::Shutdown::Both);
            });
            let _ = std::io::copy(&mut &server, &mut client);
            let _ = client.shutdown(std::net::Shutdown::Both);
            return;
        }
        UNAUTHORIZED => "401 Unauthorized",
        TOO_MANY => "429 Too Many Requests",
        // Reads, but never answers.
        _ => {
            while client.read(&mut buffer).is_ok_and(|read| read > 0) {}
            return;
        }
    };
    if client.read(&mut buffer).is_ok() {
        let body = "{\"error\": \"refused\"}";
        let answer = format!(
            "HTTP/1.1 {refusal}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
            body.len()
        );
        let _ = client.write_all(answer.as_bytes());
    }
}

#[test]
fn refused_logins_are_reported_and_retried_and_do_not_delay_a_stop() {
    let Some(server) = BACKEND.search_server() else {
        return;
    };
    let prefix = server.prefix();
    let proxy = Proxy::start(server.port(), UNAUTHORIZED);
    let url = format!("http://127.0.0.1:{}", proxy.port);
    let mut settings = settings(url, &prefix);
    (settings.username, settings.password) = ("skep".to_string(), "wrong".to_string());
    let store = filled(location(settings));
    let mut rig = rig();
    create(&mut rig, 2);
    follow(&mut rig, &store);
    let hint = format!(
        "see camunda.data.secondary-storage.{}.username and",
        server.product().name()
    );
    fault(&store, &hint);
    let reason = refused(&store, &hint);
    assert!(!reason.contains("wrong"), "{reason}");
    proxy.set(TOO_MANY);
    fault(&store, "429 Too Many Requests");
    proxy.set(PASS);
    recover(&store);
    assert_eq!(created_jobs(&store), 2);
    proxy.set(SILENT);
    create(&mut rig, 2);
    follow(&mut rig, &store);
    // A request is in transit when the node stops.
    proxy.await_connection();
    let fault = store.stop().unwrap_or_default();
    assert!(
        !fault.contains("does not answer"),
        "the stop has waited for the server: {fault}"
    );
    let store = filled(documents(server, &prefix));
    assert_eq!(created_jobs(&store), 2);
}

#[test]
fn long_texts_are_found_by_their_beginnings_and_as_a_whole() {
    let Some(server) = BACKEND.search_server() else {
        return;
    };
    let store = filled(documents(server, &server.prefix()));
    let mut rig = rig();
    let long = "ä".repeat(60_000);
    for end in ["1", "2"] {
        rig.create("p", &format!(r#"{{"long": "{long}{end}"}}"#));
    }
    follow(&mut rig, &store);
    let is = |value: String| json!({"value": value}).to_string();
    assert_eq!(store.find(&VARIABLE, &is(format!("\"{long}1\""))).len(), 1);
    assert_eq!(store.find(&VARIABLE, &is(format!("\"{long}3\""))).len(), 0);
    let like = json!({"value": {"$like": "\"ääää*"}}).to_string();
    let found = store.find(&VARIABLE, &like);
    assert_eq!(found.len(), 2);
    assert_eq!(found[0]["value"], json!(format!("\"{long}1\"")));
}

#[test]
fn a_pattern_that_the_server_cannot_look_for_is_refused_with_its_cause() {
    let Some(server) = BACKEND.search_server() else {
        return;
    };
    let store = filled(documents(server, &server.prefix()));
    let mut rig = rig();
    create(&mut rig, 1);
    follow(&mut rig, &store);
    let like = |pattern: String| {
        let body = json!({"filter": {"type": {"$like": pattern}}}).to_string();
        Query::Search(search(&JOB, &body).unwrap())
    };
    let refused = store.try_ask(like(format!("*w{}k", "?".repeat(30))));
    assert_eq!(refused, Err(QueryError::TooComplex));
    // Adjacent wildcards count as one, in any number and order.
    for (pattern, total) in [("*?**?*rk", 1), ("w?*?**?", 1), ("*????*?", 0)] {
        let Answer::Page(found) = store.ask(like(pattern.to_string())) else {
            panic!("no page");
        };
        assert_eq!(found.total, total, "{pattern}");
    }
    // Creations are counted for the worker with an empty name.
    let nobody = store.find(&JOB_STATISTICS, r#"{"worker": {"$like": ""}}"#);
    assert_eq!(nobody.len(), 1);
}

/// A store's answer to a search.
fn page(store: &Filled, body: &str) -> Json {
    let asked = search(&PROCESS_INSTANCE, body).unwrap();
    match store.ask(Query::Search(asked.clone())) {
        Answer::Page(found) => serde_json::from_str(&answer::page(&asked, &found)).unwrap(),
        other => panic!("{body}: {other:?}"),
    }
}

/// Instances, some of which have ended or have an incident.
fn with_ended_and_failed() -> Rig {
    let mut rig = rig();
    for n in 0..23 {
        rig.create("p", &format!(r#"{{"n": {}, "m": {n}}}"#, n % 3));
        rig.advance(1_000 * (n % 4));
    }
    for (n, job) in rig.jobs("work").iter().enumerate() {
        rig.advance(500);
        match n % 5 {
            0 => rig.complete(job, "{}"),
            1 | 2 => rig.fail(job, 0, 0),
            _ => {}
        }
    }
    rig
}

#[test]
fn joins_with_too_many_keys_are_filtered_row_by_row() {
    let Some(server) = BACKEND.search_server() else {
        return;
    };
    let mut narrow = settings(server.url(), &server.prefix());
    narrow.joined_keys = 5;
    let (narrow, plain) = (filled(location(narrow)), filled(StoreLocation::Embedded));
    let rig = with_ended_and_failed();
    rig.batches.iter().for_each(|batch| {
        narrow.follow(std::slice::from_ref(batch));
        plain.follow(std::slice::from_ref(batch));
    });
    let n = |n: usize| format!(r#"{{"name": "n", "value": "{n}"}}"#);
    let filters = [
        format!(r#"{{"variables": [{}]}}"#, n(1)),
        r#"{"variables": [{"name": "m", "value": "7"}]}"#.to_string(),
        r#"{"elementId": "task", "elementInstanceState": "ACTIVE"}"#.to_string(),
        r#"{"elementId": "task", "elementInstanceState": "ACTIVE", "hasIncident": false}"#.to_string(),
        r#"{"elementId": {"$like": "t*k"}, "hasElementInstanceIncident": true}"#.to_string(),
        r#"{"elementId": "task", "elementInstanceState": {"$neq": "ACTIVE"}, "startDate": {"$exists": true}}"#.to_string(),
        r#"{"errorMessage": {"$exists": true}}"#.to_string(),
        format!(r#"{{"errorMessage": {{"$exists": true}}, "variables": [{}]}}"#, n(0)),
        format!(r#"{{"variables": [{}, {}]}}"#, n(1), n(2)),
        format!(
            r#"{{"$or": [{{"variables": [{}]}}, {{"variables": [{{"name": "m", "value": "3"}}]}}], "elementId": "task"}}"#,
            n(2)
        ),
    ];
    // Fields that many rows lack, or have in common.
    let sorts = [
        ("processInstanceKey", "DESC"),
        ("endDate", "ASC"),
        ("endDate", "DESC"),
        ("startDate", "DESC"),
        ("processDefinitionVersionTag", "ASC"),
    ];
    for filter in &filters {
        for (field, order) in sorts {
            let sort = format!(r#"[{{"field": "{field}", "order": "{order}"}}]"#);
            let body = |page: &str| {
                format!(r#"{{"filter": {filter}, "sort": {sort}, "page": {{{page}}}}}"#)
            };
            let mut pages = vec![
                r#""from": 2, "limit": 3"#.to_string(),
                r#""limit": 100"#.to_string(),
            ];
            let first = page(&plain, &body(r#""limit": 4"#));
            if let Some(end) = first["page"]["endCursor"].as_str() {
                pages.push(format!(r#""after": "{end}", "limit": 2"#));
                pages.push(format!(r#""before": "{end}", "limit": 2"#));
            }
            for page in pages {
                let body = body(&page);
                assert_eq!(
                    self::page(&narrow, &body),
                    self::page(&plain, &body),
                    "{body}"
                );
            }
        }
    }
}
