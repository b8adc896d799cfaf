//! The files of the kit and the lists of results.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// The test files with their compliance level, in order.
pub fn test_files(root: &Path) -> Vec<(String, PathBuf)> {
    let mut files = Vec::new();
    for level in ["compliance-level-2", "compliance-level-3"] {
        for folder in sorted(&root.join(level)) {
            for file in sorted(&folder) {
                if file.extension().is_some_and(|extension| extension == "xml") {
                    files.push((level.to_owned(), file));
                }
            }
        }
    }
    files
}

fn sorted(folder: &Path) -> Vec<PathBuf> {
    let mut paths: Vec<PathBuf> = fs::read_dir(folder)
        .expect("folder of the kit")
        .map(|entry| entry.expect("entry").path())
        .collect();
    paths.sort();
    paths
}

/// The cases that Camunda's engine passes: `compliance-level-2/folder/file/case`.
pub fn camunda_passes(root: &Path) -> BTreeSet<String> {
    let text = fs::read_to_string(root.join("camunda-results.csv")).expect("camunda-results.csv");
    text.lines()
        .filter_map(|line| {
            let mut fields = line.split(',');
            let name = [fields.next()?, fields.next()?, fields.next()?].join("/");
            (fields.next()? == "SUCCESS").then_some(name)
        })
        .collect()
}

/// The deviating cases, each with its reason. Lines are `# reason` followed by the cases that it applies to.
pub fn deviations() -> BTreeMap<String, String> {
    let text = include_str!("../tck-deviations.txt");
    let mut reason = String::new();
    let mut cases = BTreeMap::new();
    for line in text.lines().map(str::trim).filter(|line| !line.is_empty()) {
        match line.strip_prefix('#') {
            Some(text) => reason = text.trim().to_owned(),
            None => {
                assert!(!reason.is_empty(), "no reason for the deviation {line}");
                cases.insert(line.to_owned(), reason.clone());
            }
        }
    }
    cases
}
