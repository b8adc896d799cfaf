//! The load generator against a mock gateway: its counts match the actual events.

mod mock;

use std::{
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

use clap::Parser as _;
use mock::Engine;
use skep_load::{LoadArgs, Report};

#[derive(clap::Parser, Debug)]
struct Cli {
    #[command(flatten)]
    args: LoadArgs,
}

/// Runs `skep load` with arguments against an engine.
async fn load(engine: &Arc<Engine>, arguments: &str) -> Report {
    let (rest, grpc) = mock::serve(engine).await;
    let common = format!(
        "load --rest-address {rest} --grpc-address {grpc} --management-address 127.0.0.1:1 --warmup 0s --duration 400ms"
    );
    let line = common.split(' ').chain(arguments.split_whitespace());
    skep_load::run(Cli::try_parse_from(line).unwrap().args)
        .await
        .unwrap()
}

fn assert_clean(report: &Report) {
    for result in &report.results {
        let counts = &result.counts;
        assert!(counts.completed > 0, "{}", report.to_text());
        assert_eq!(counts.duplicates, 0, "{}", report.to_text());
        assert_eq!(counts.lost + counts.foreign_jobs, 0, "{}", report.to_text());
        assert_eq!(counts.start_failures, 0, "{}", report.to_text());
        assert_eq!(counts.completion_failures, 0, "{}", report.to_text());
        assert_eq!(result.open_at_end, 0, "{}", report.to_text());
        assert!(result.messages.is_empty(), "{}", report.to_text());
    }
}

#[tokio::test]
async fn a_closed_loop_completes_what_it_starts_over_every_wire() {
    for wire in [
        "--transport rest",
        "--transport rest --http 2",
        "--transport grpc",
    ] {
        for jobs in ["--jobs push", "--jobs poll"] {
            let engine = Engine::new(2);
            let arguments =
                format!("{wire} {jobs} --tasks 2 --concurrency 8 --threads 2 --workers 2");
            let report = load(&engine, &arguments).await;
            assert_clean(&report);
            let result = &report.results[0];
            assert!(result.instance.p50_ms >= result.create.p50_ms, "{wire}");
            assert!(result.job.count >= result.counts.completed, "{wire}");
        }
    }
}

#[tokio::test]
async fn awaited_instances_are_completed_by_their_answer() {
    for wire in ["rest", "grpc"] {
        let engine = Engine::new(1);
        let arguments = format!("--transport {wire} --await-completion --concurrency 4");
        let report = load(&engine, &arguments).await;
        assert_clean(&report);
        assert_eq!(report.results[0].create.count, 0);
        assert!(report.results[0].instance.count > 0);
    }
}

#[tokio::test]
async fn processes_without_jobs_complete_with_their_creation() {
    let report = load(&Engine::new(0), "--tasks 0 --concurrency 2").await;
    assert_clean(&report);
}

#[tokio::test]
async fn an_open_loop_shows_a_stall_in_every_start_that_fell_into_it() {
    let engine = Engine::new(1);
    engine.stalled.store(true, Ordering::SeqCst);
    let wake = engine.clone();
    tokio::spawn(async move {
        wake.stalling.notified().await;
        tokio::time::sleep(Duration::from_millis(300)).await;
        wake.stalled.store(false, Ordering::SeqCst);
        wake.unstalled.notify_waiters();
    });
    // Two in flight: all other starts become due while nothing can be sent.
    let report = load(&engine, "--rate 200 --max-in-flight 2").await;
    assert_eq!(report.results[0].open_at_end, 0, "{}", report.to_text());
    let create = &report.results[0].create;
    assert!(create.count >= 40, "{}", report.to_text());
    assert!(create.max_ms >= 300.0, "{}", report.to_text());
    // Of the starts due during the stall, only those of its last 50 ms waited for less.
    assert!(create.p50_ms >= 50.0, "{}", report.to_text());
}

#[tokio::test]
async fn a_rate_may_grow_or_go_up_in_steps() {
    for rate in ["50..400", "50,400"] {
        let report = load(&Engine::new(1), &format!("--rate {rate}")).await;
        assert_clean(&report);
        let said = report.to_text();
        assert!(said.contains(&format!("open loop at {rate}/s")), "{said}");
        let json = serde_json::to_value(&report).unwrap();
        assert_eq!(json["settings"]["rate"], rate);
    }
    let wrong = Cli::try_parse_from(["load", "--rate", "0..400"]);
    let wrong = wrong.unwrap_err().to_string();
    assert!(wrong.contains("a rate is above 0"), "{wrong}");
}

#[tokio::test]
async fn starters_and_workers_may_be_two_programs() {
    let engine = Engine::new(1);
    let (starter, worker) = tokio::join!(
        load(&engine, "--rate 200 --workers 0"),
        load(&engine, "--concurrency 0"),
    );
    let (starter, worker) = (&starter.results[0], &worker.results[0]);
    assert!(starter.create.count > 0);
    assert_eq!(starter.counts.jobs_received, 0);
    assert_eq!(worker.create.count, 0);
    assert!(worker.counts.jobs_completed > 0);
    let neither = Cli::try_parse_from(["load", "--concurrency", "0", "--workers", "0"]);
    let neither = skep_load::run(neither.unwrap().args).await.unwrap_err();
    assert!(neither.to_string().contains("that is no load"), "{neither}");
}

#[tokio::test]
async fn refusals_and_duplicates_are_counted() {
    for wire in ["rest", "grpc"] {
        let engine = Engine::new(1);
        engine.refuse_every.store(4, Ordering::SeqCst);
        engine.repeat_every.store(5, Ordering::SeqCst);
        let report = load(&engine, &format!("--transport {wire} --rate 300")).await;
        let counts = &report.results[0].counts;
        assert!(counts.start_rejections > 0, "{}", report.to_text());
        assert!(counts.duplicates > 0, "{}", report.to_text());
        assert!(counts.completed > 0, "{}", report.to_text());
        let refusal = "RESOURCE_EXHAUSTED: full";
        assert!(report.results[0].messages.contains_key(refusal));
    }
}

#[tokio::test]
async fn the_report_has_the_time_until_instances_are_found() {
    let engine = Engine::new(1);
    let report = load(&engine, "--transport grpc --rate 300 --find").await;
    assert_clean(&report);
    let found = &report.results[0].found;
    let searches = engine.searches.load(Ordering::SeqCst);
    // Three searches for each instance, with pauses between them.
    assert!(
        found.count > 0 && found.p50_ms >= 4.0,
        "{}",
        report.to_text()
    );
    assert!(i64::try_from(found.count).unwrap() <= searches / 3 + 1);
    assert!(
        report.to_text().contains("until found"),
        "{}",
        report.to_text()
    );
    let unseen = load(&Engine::new(1), "--concurrency 2").await;
    assert!(!unseen.to_text().contains("found"));
}

#[tokio::test]
async fn a_comparison_gives_ratios_and_both_reports() {
    let directory = std::env::temp_dir().join(format!("skep-load-test-{}", std::process::id()));
    std::fs::create_dir_all(&directory).unwrap();
    let (json, html) = (directory.join("r.json"), directory.join("r.html"));
    let arguments = format!(
        "--compare --slices 2 --concurrency 4 --pid {} --json {} --html {}",
        std::process::id(),
        json.display(),
        html.display()
    );
    let report = load(&Engine::new(1), &arguments).await;
    assert_clean(&report);
    let comparison = report.comparison.as_ref().unwrap();
    assert!(comparison.throughput.min <= comparison.throughput.max);
    assert!(report.to_text().contains("REST ÷ gRPC  throughput"));
    let json: serde_json::Value = serde_json::from_slice(&std::fs::read(json).unwrap()).unwrap();
    assert_eq!(json["results"][1]["transport"], "grpc");
    assert!(json["results"][0]["counts"]["completed"].as_u64() > Some(0));
    assert!(json["results"][0]["server"]["rss_bytes"].as_u64() > Some(0));
    let html = std::fs::read_to_string(html).unwrap();
    let plots: Vec<_> = html.split("<svg").skip(1).collect();
    assert!(plots.len() >= 6, "plots are inline");
    for plot in plots {
        let svg = format!("<svg{}", &plot[..plot.find("</svg>").unwrap() + 6]);
        roxmltree::Document::parse(&svg).unwrap();
        assert!(!svg.contains("NaN") && !svg.contains("inf"), "{svg}");
    }
    assert!(
        !html.contains("http://") && !html.contains("<script"),
        "self-contained"
    );
    std::fs::remove_dir_all(directory).unwrap();
}
