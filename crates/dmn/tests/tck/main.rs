//! The DMN Technology Compatibility Kit: every case of the data provided in `../shared/dmn-tck`.
//!
//! `tck-deviations.txt` lists the cases with other results, each with the reason. The test fails if another case deviates, or if a listed
//! case passes. Without the data nothing is run, which the test reports.

mod case;
mod list;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use case::run_file;

/// Location of the data: `SKEP_DMN_TCK`, or beside the repository (also beside a worktree's parent).
fn data() -> Option<PathBuf> {
    if let Some(path) = std::env::var_os("SKEP_DMN_TCK") {
        return Some(PathBuf::from(path));
    }
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .ancestors()
        .skip(2)
        .map(|root| root.join("../shared/dmn-tck"))
        .find(|path| path.is_dir())
}

#[derive(Default)]
struct Total {
    cases: usize,
    pass: usize,
    camunda: usize,
    camunda_pass: usize,
}

#[test]
fn every_case_of_the_kit_passes_or_is_listed_with_its_reason() {
    let Some(root) = data() else {
        // Bypasses the test harness, which hides the output of passing tests.
        let _ = std::io::stderr().write_all(
            b"NOT RUN (tck): the DMN TCK data is missing. Put it into ../shared/dmn-tck beside the repository, or name its \
              directory in SKEP_DMN_TCK.\n",
        );
        return;
    };
    let camunda = list::camunda_passes(&root);
    assert!(!camunda.is_empty(), "camunda-results.csv has no results");
    let deviations = list::deviations();
    let mut totals: BTreeMap<String, Total> = BTreeMap::new();
    let mut failed: BTreeMap<String, String> = BTreeMap::new();
    let mut seen = BTreeSet::new();
    for (level, file) in list::test_files(&root) {
        for result in run_file(&root, &file) {
            let total = totals.entry(level.clone()).or_default();
            total.cases += 1;
            let by_camunda = camunda.contains(&result.name);
            total.camunda += usize::from(by_camunda);
            match result.failure {
                None => {
                    total.pass += 1;
                    total.camunda_pass += usize::from(by_camunda);
                }
                Some(failure) => {
                    let mark = if by_camunda { " [Camunda passes]" } else { "" };
                    failed.insert(result.name.clone(), format!("{failure}{mark}"));
                }
            }
            assert!(
                seen.insert(result.name.clone()),
                "two cases {}",
                result.name
            );
        }
    }
    for (level, total) in &totals {
        println!(
            "{level}: {} of {} cases pass; Camunda's engine passes {}, of these {} pass here",
            total.pass, total.cases, total.camunda, total.camunda_pass
        );
    }
    let mut problems = String::new();
    for (name, failure) in &failed {
        if !deviations.contains_key(name) {
            let _ = writeln!(problems, "{name}: {failure}");
        }
    }
    for name in deviations.keys() {
        if !seen.contains(name) {
            let _ = writeln!(
                problems,
                "{name}: listed as deviation, but there is no such case"
            );
        } else if !failed.contains_key(name) {
            let _ = writeln!(
                problems,
                "{name}: listed as deviation, but it passes. Remove it"
            );
        }
    }
    println!("{} deviations are listed", deviations.len());
    assert!(
        problems.is_empty(),
        "{} cases are not as listed:\n{problems}",
        problems.lines().count()
    );
}
