//! The exporters to search servers, with failing servers: in the end the same documents have arrived, and none twice.

mod server;

use std::sync::Arc;
use std::time::{Duration, Instant};

use skep_exporting::{
    Beginning, Driver, ExportMetrics, Flavor, Known, LogProgress, Make, Position, SearchSettings,
    Sink, Status, Trust, Verify,
};

use server::{Fate, Server};
use skep_testkit::certificates::Certificates;
use skep_testkit::committed_log::Log;
use skep_testkit::one_task::written;

/// The log of this many instances.
fn log(instances: usize, variables: &str) -> Log {
    Log::new(written(instances, variables))
}

fn settings(urls: Vec<String>) -> SearchSettings {
    let mut settings = SearchSettings::new(Flavor::Elasticsearch);
    settings.urls = urls;
    settings.bulk.delay = Duration::from_millis(1);
    settings.bulk.size = 40;
    settings
}

/// A running exporter. It ends when dropped.
struct Exporting {
    status: Arc<Status>,
    thread: Option<std::thread::JoinHandle<()>>,
    end: u64,
}

impl Exporting {
    fn begin(settings: &SearchSettings, log: &Log) -> Exporting {
        Exporting::from(settings, log, (Position::default(), Vec::new()))
    }

    /// Continues from another exporter's position.
    fn from(settings: &SearchSettings, log: &Log, (from, metadata): (Position, Vec<u8>)) -> Self {
        let metrics = ExportMetrics::default().of(1, "search", Sink::Bulks);
        let status = Arc::new(Status::new("search", from, metrics));
        let exporter = settings.exporter(Beginning {
            partition: 1,
            position: from,
            metadata,
            status: status.clone(),
            known: Known::default(),
        });
        let progress = Arc::new(LogProgress::default());
        let end = log.entries().len() as u64;
        progress.commit(end);
        let driver = Driver::new(exporter, log.clone(), progress, status.clone(), 1);
        Exporting {
            status,
            thread: driver.start(),
            end,
        }
    }

    fn fault(&self) -> String {
        let deadline = Instant::now() + Duration::from_secs(180);
        loop {
            if let Some(fault) = self.status.fault() {
                return fault.reason;
            }
            assert!(Instant::now() < deadline, "nothing is in the way");
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    /// Waits until everything has arrived.
    fn arrives(&self) {
        let deadline = Instant::now() + Duration::from_secs(180);
        while self.status.durable().entry < self.end {
            assert!(Instant::now() < deadline, "{:?}", self.status.fault());
            std::thread::sleep(Duration::from_millis(1));
        }
    }
}

impl Drop for Exporting {
    fn drop(&mut self) {
        self.status.stop();
        self.thread.take().unwrap().join().unwrap();
    }
}

/// The documents stored by a server that never fails.
fn expected(log: &Log) -> Vec<(String, String, serde_json::Value)> {
    let server = Server::start(None);
    Exporting::begin(&settings(vec![server.url()]), log).arrives();
    let kept = server.kept.lock();
    assert!(kept.documents.values().all(|(times, ..)| *times == 1));
    documents(&kept)
}

fn documents(kept: &server::Kept) -> Vec<(String, String, serde_json::Value)> {
    let documents = kept.documents.iter();
    documents
        .map(|(id, (_, index, document))| (id.clone(), index.clone(), document.clone()))
        .collect()
}

#[test]
fn each_record_becomes_one_document_with_the_next_number_of_its_type() {
    let documents = expected(&log(3, "{}"));
    let jobs = documents.iter().filter(|(_, _, d)| d["valueType"] == "JOB");
    let mut numbers: Vec<u64> = jobs
        .map(|(_, _, d)| d["sequence"].as_u64().unwrap())
        .collect();
    numbers.sort_unstable();
    let first = (1u64 << 51) + 1;
    assert_eq!(numbers, (first..first + 3).collect::<Vec<_>>());
}

#[test]
fn a_server_that_fails_in_every_way_gets_the_same_documents() {
    let log = log(40, r#"{"a":[1,2]}"#);
    let expected = expected(&log);
    let server = Server::start(None);
    server.fates(&[
        Fate::Refused(429),
        Fate::Half(429),
        Fate::Refused(503),
        Fate::HangsUp,
        Fate::Says("{\"errors\": fal"),
        Fate::Slow,
        Fate::Half(500),
        Fate::Refused(429),
    ]);
    let exporting = Exporting::begin(&settings(vec![server.url()]), &log);
    exporting.arrives();
    assert_eq!(exporting.status.failures(), 7);
    let kept = server.kept.lock();
    assert!(kept.fates.is_empty());
    assert_eq!(documents(&kept), expected);
}

#[test]
fn one_that_is_silent_is_given_up_and_the_next_one_asked() {
    let log = log(5, "{}");
    let expected = expected(&log);
    let (silent, well) = (Server::start(None), Server::start(None));
    silent.fates(&[Fate::Silent]);
    let mut settings = settings(vec![well.url(), silent.url()]);
    settings.request_timeout = Duration::from_millis(300);
    let exporting = Exporting::begin(&settings, &log);
    let fault = exporting.fault();
    assert!(fault.contains("does not answer within 300ms"), "{fault}");
    exporting.arrives();
    assert_eq!(documents(&well.kept.lock()), expected);
}

#[test]
fn a_bulk_too_large_for_one_request_is_divided() {
    let log = log(20, "{}");
    let expected = expected(&log);
    let server = Server::start(None);
    server.kept.lock().max_bytes = Some(4000);
    let mut settings = settings(vec![server.url()]);
    settings.bulk.size = 1000;
    Exporting::begin(&settings, &log).arrives();
    let kept = server.kept.lock();
    assert!(kept.largest > 4000, "there was something to divide");
    assert_eq!(documents(&kept), expected);
    assert!(kept.documents.values().all(|(times, ..)| *times == 1));
}

#[test]
fn a_document_that_no_request_can_hold_is_named_and_can_be_left_out() {
    let log = log(1, &format!(r#"{{"a":"{}"}}"#, "x".repeat(10_000)));
    let server = Server::start(None);
    server.kept.lock().max_bytes = Some(9000);
    let mut settings = settings(vec![server.url()]);
    // A fault is reported for each large document in turn.
    loop {
        let exporting = Exporting::begin(&settings, &log);
        let deadline = Instant::now() + Duration::from_secs(180);
        while exporting.status.fault().is_none() && exporting.status.durable().entry < exporting.end
        {
            assert!(Instant::now() < deadline);
            std::thread::sleep(Duration::from_millis(1));
        }
        let Some(fault) = exporting.status.fault() else {
            break;
        };
        let reason = fault.reason;
        assert!(
            reason.contains("camunda.data.export.skip-records"),
            "{reason}"
        );
        let id = reason.strip_prefix("document 1-").unwrap();
        let position = id.split(' ').next().unwrap().parse().unwrap();
        assert!(settings.skip.insert(position), "{position} was left out");
    }
    assert!(!settings.skip.is_empty());
    let kept = server.kept.lock();
    for position in &settings.skip {
        assert!(!kept.documents.contains_key(&format!("1-{position}")));
    }
}

#[test]
fn redirects_are_not_followed_and_their_target_is_reported() {
    let log = log(1, "{}");
    let (old, new) = (Server::start(None), Server::start(None));
    old.fates(&[Fate::Redirected(format!("{}/_bulk", new.url()))]);
    let mut settings = settings(vec![old.url()]);
    settings.login = Some(("ada".to_string(), "secret".to_string()));
    let exporting = Exporting::begin(&settings, &log);
    let fault = exporting.fault();
    assert!(
        fault.contains(&new.url()) && fault.contains("name that address"),
        "{fault}"
    );
    exporting.arrives();
    let authorization = old.kept.lock().authorization.clone();
    assert_eq!(authorization.as_deref(), Some("Basic YWRhOnNlY3JldA=="));
    assert_eq!(new.kept.lock().bulks, 0);
}

#[test]
fn the_bulk_waiting_for_a_server_is_bounded() {
    let log = log(60, &format!(r#"{{"a":"{}"}}"#, "x".repeat(1000)));
    let server = Server::start(None);
    server.fates(&vec![Fate::Refused(503); 5]);
    let mut settings = settings(vec![server.url()]);
    settings.bulk.size = 100_000;
    settings.bulk.memory_limit = 20_000;
    let exporting = Exporting::begin(&settings, &log);
    exporting.arrives();
    // Entries of the log are not split.
    let largest = server.kept.lock().largest;
    assert!((20_000..60_000).contains(&largest), "{largest}");
}

#[test]
fn repeating_after_an_unclean_end_replaces_documents() {
    let log = log(20, "{}");
    let expected = expected(&log);
    let server = Server::start(None);
    let settings = settings(vec![server.url()]);
    let first = Exporting::begin(&settings, &log);
    let deadline = Instant::now() + Duration::from_secs(180);
    let report = loop {
        let report = first.status.report();
        if report.0.entry > 0 {
            break report;
        }
        assert!(Instant::now() < deadline);
    };
    first.arrives();
    drop(first);
    // Later progress was not saved.
    Exporting::from(&settings, &log, report).arrives();
    assert_eq!(documents(&server.kept.lock()), expected);
}

#[test]
fn https_requires_a_trusted_certificate_for_the_name_of_the_server() {
    let log = log(2, "{}");
    let expected = expected(&log);
    let (named, other) = (Certificates::of("127.0.0.1"), Certificates::of("elsewhere"));
    let whole = Verify::ChainAndName;
    for (server, trust, verify, refusal) in [
        (&named, named.file("ca.pem"), whole, None),
        (&named, named.file("own.pem"), whole, None),
        (
            &named,
            other.file("ca.pem"),
            whole,
            Some("invalid peer certificate"),
        ),
        (&named, None, whole, Some("invalid peer certificate")),
        (&named, other.file("ca.pem"), Verify::Nothing, None),
        (
            &other,
            other.file("ca.pem"),
            whole,
            Some("not valid for name"),
        ),
        (
            &other,
            other.file("own.pem"),
            whole,
            Some("not valid for name"),
        ),
        (&other, other.file("ca.pem"), Verify::Chain, None),
        (
            &other,
            named.file("ca.pem"),
            Verify::Chain,
            Some("invalid peer certificate"),
        ),
        (&named, named.file("none.pem"), whole, Some("none.pem")),
    ] {
        let fake = Server::start(Some(server.server.clone()));
        let mut settings = settings(vec![format!("https://127.0.0.1:{}", fake.port)]);
        let case = format!("{trust:?} {verify:?}");
        settings.trust = Trust {
            certificates: trust,
            verify,
            identity: None,
        };
        let exporting = Exporting::begin(&settings, &log);
        match refusal {
            None => {
                exporting.arrives();
                assert_eq!(documents(&fake.kept.lock()), expected, "{case}");
            }
            Some(said) => {
                let fault = exporting.fault();
                assert!(fault.contains(said), "{case}: {fault}");
                assert!(fake.kept.lock().documents.is_empty(), "{case}");
            }
        }
    }
}
