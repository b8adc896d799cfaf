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

/// Whether the file is code of the product: not a test, nor a crate that only tests depend on.
#[allow(dead_code)] // One of the test programs looks at documents only.
pub fn is_product(path: &str) -> bool {
    let mut parts = path.split('/');
    let (Some("crates"), Some(name), Some("src")) = (parts.next(), parts.next(), parts.next())
    else {
        return false;
    };
    let of_tests = ["sim", "testbed", "testkit", "tidy"].contains(&name);
    !of_tests && !path.ends_with("tests.rs") && !path.contains("/tests/")
}

/// A file's code before its first module of tests.
#[allow(dead_code)] // One of the test programs looks at documents only.
pub fn without_tests(text: &str) -> &str {
    let mut begins = 0;
    let lines = text.split_inclusive('\n').map(|line| {
        let at = begins;
        begins += line.len();
        (at, line.trim_end())
    });
    let lines: Vec<_> = lines.collect();
    let is_tests = |pair: &&[(usize, &str)]| {
        let [(_, attribute), (_, module)] = **pair else {
            return false;
        };
        let is_for_tests = attribute == "#[cfg(test)]" || attribute.starts_with("#[cfg(all(test,");
        is_for_tests && module.contains("mod ") && module.ends_with('{')
    };
    let begins = lines.windows(2).find(is_tests);
    begins.map_or(text, |pair| &text[..pair[0].0])
}

/// Fails with the rule and its violations, if any.
pub fn expect_none(problems: &[String], rule: &str) {
    let mut text = String::new();
    for problem in problems {
        writeln!(text, "  {problem}").unwrap();
    }
    assert!(problems.is_empty(), "{rule}\n{text}");
}
