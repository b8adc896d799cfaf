//! The files of the repository, and reports of violations.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

/// The root of the repository.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// All files of the repository with one of these endings, by their path from its root.
pub fn files(endings: &[&str]) -> BTreeMap<String, String> {
    let root = root();
    let mut found = BTreeMap::new();
    let mut directories = vec![root.clone()];
    while let Some(directory) = directories.pop() {
        for entry in fs::read_dir(&directory).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_str().unwrap();
            if path.is_dir() {
                let foreign = name.starts_with('.') || name.starts_with("target");
                if !foreign && !["node_modules", "__pycache__", "data"].contains(&name) {
                    directories.push(path);
                }
                continue;
            }
            let name = path.strip_prefix(&root).unwrap().display().to_string();
            if endings.iter().any(|ending| name.ends_with(ending)) {
                found.insert(name, fs::read_to_string(&path).unwrap());
            }
        }
    }
    assert!(!found.is_empty(), "there are files to look at");
    found
}

/// Fails with the rule and its violations, if any.
pub fn expect_none(problems: &[String], rule: &str) {
    let mut text = String::new();
    for problem in problems {
        writeln!(text, "  {problem}").unwrap();
    }
    assert!(problems.is_empty(), "{rule}\n{text}");
}
