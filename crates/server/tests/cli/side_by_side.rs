//! `skep bench`: two builds in turn. Their speed does not matter here.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use serde_json::Value;

use crate::binary::{ROOM, run, stderr, stdout, workplace};

const THIS: &str = env!("CARGO_BIN_EXE_skep");
const SHORT: [&str; 8] = [
    "--pairs",
    "2",
    "--duration",
    "300ms",
    "--warmup",
    "100ms",
    "--concurrency",
    "4",
];

fn bench(here: &Path, against: &str, more: &[&str]) -> std::process::Output {
    run(
        here,
        &[
            &["bench", "--against", against],
            &SHORT[..],
            &ROOM[..],
            more,
        ]
        .concat(),
    )
}

/// Whether a comparison has left nothing behind.
fn is_empty(here: &Path) -> bool {
    let mut left = std::fs::read_dir(here).unwrap();
    !left.any(|entry| {
        let name = entry.unwrap().file_name();
        name.to_str().unwrap().starts_with("skep-bench")
    })
}

#[test]
fn a_build_is_measured_beside_itself_and_the_exit_code_is_that_of_the_verdict() {
    let directory = workplace();
    let here = directory.path();
    for transport in ["rest", "grpc"] {
        let ran = bench(here, THIS, &["--json", "--noisy", "--transport", transport]);
        let said = format!("{}{}", stdout(&ran), stderr(&ran));
        let found: Value = serde_json::from_str(&stdout(&ran)).expect(&said);
        let code = match &found["verdict"] {
            Value::String(verdict) if verdict == "held" => 0,
            Value::String(verdict) if verdict == "refuted" => 1,
            other => other["not-run"].as_str().map(|_| 3).expect(&said),
        };
        assert_eq!(ran.status.code(), Some(code), "{said}");
        let pairs = found["pairs"].as_array().unwrap();
        assert_eq!(pairs.len(), 2);
        for figure in [
            "throughput",
            "create-p99-ms",
            "cpu-us-per-instance",
            "peak-rss-mib",
            "start-ms",
        ] {
            for side in ["this", "other"] {
                let measured = pairs[1][side][figure].as_f64().unwrap();
                assert!(measured > 0.0, "{figure}: {found:#}");
            }
        }
        let ratio = &found["ratios"]["throughput"];
        let of = |bound: &str| ratio[bound].as_f64().unwrap();
        assert!(of("low") <= of("median") && of("median") <= of("high"));
        assert!(is_empty(here), "{said}");
    }
}

#[test]
fn an_impossible_comparison_is_refused_and_leaves_nothing_behind() {
    let directory = workplace();
    let here = directory.path();
    let broken = here.join("broken");
    let script =
        "#!/bin/sh\n[ \"$1\" = --version ] && exec echo 'broken 1'\necho 'no such disk'; exit 1\n";
    std::fs::write(&broken, script).unwrap();
    std::fs::set_permissions(&broken, std::fs::Permissions::from_mode(0o755)).unwrap();
    for (against, code, said) in [
        ("none", 2, "none is not a program"),
        (
            "broken",
            3,
            "broken does not start; the end of its log: no such disk",
        ),
        ("/bin/false", 3, "/bin/false --version fails"),
    ] {
        let ran = bench(here, against, &[]);
        assert_eq!(ran.status.code(), Some(code), "{}", stderr(&ran));
        assert!(stderr(&ran).contains(said), "{}", stderr(&ran));
        assert!(is_empty(here));
    }
    let ran = bench(here, THIS, &["--set", "camunda"]);
    assert_eq!(ran.status.code(), Some(2), "{}", stderr(&ran));
}
