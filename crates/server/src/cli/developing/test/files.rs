//! The files of a run: test cases, and the resources that they need.

use std::path::{Path, PathBuf};

use anyhow::Context;

use super::document::{MAX_FILE, TestFile, read};
use crate::cli::Usage;
use crate::cli::files::{MAX_FILES, RESOURCES, below, directly_in, each_once};
use crate::errors::Coded;

/// Maximum number of test cases in a run.
pub const MAX_CASES: usize = 10_000;

/// The test cases of files, and of all `.json` files below directories.
///
/// # Errors
/// No files, too many files, or files that do not match the schema, with all their mistakes.
pub fn test_files(named: &[PathBuf]) -> anyhow::Result<Vec<TestFile>> {
    let mut paths = Vec::new();
    for path in named {
        if path.is_dir() {
            below(path, &["json"], &mut paths)?
        } else {
            paths.push(path.clone())
        }
    }
    each_once(&mut paths);
    if paths.is_empty() {
        return Err(Usage("there is no .json file with test cases".into()).into());
    }
    limit("files with test cases", paths.len(), MAX_FILES)?;
    let mut files = Vec::new();
    let mut findings = Vec::new();
    for path in paths {
        let text = text(&path)?;
        match read(&path, &text) {
            Ok(file) => files.push(file),
            Err(found) => findings.extend(found),
        }
    }
    if !findings.is_empty() {
        let text = format!(
            "there are invalid test cases; nothing was run.\n{}",
            findings.join("\n")
        );
        return Err(Coded::new("INVALID_ARGUMENT", text).into());
    }
    let cases = files.iter().map(|file| file.cases.len()).sum();
    limit("test cases", cases, MAX_CASES)?;
    Ok(files)
}

fn limit(what: &str, count: usize, most: usize) -> Result<(), Usage> {
    if count > most {
        Err(Usage(format!(
            "there are {count} {what}, the limit is {most}"
        )))
    } else {
        Ok(())
    }
}

fn text(path: &Path) -> anyhow::Result<String> {
    let cannot = || format!("{} cannot be read", path.display());
    let size = std::fs::metadata(path).with_context(cannot)?.len();
    if size > MAX_FILE {
        let text = format!(
            "{} has {size} bytes, the limit is {MAX_FILE}",
            path.display()
        );
        return Err(Coded::new("INVALID_ARGUMENT", text).into());
    }
    std::fs::read_to_string(path).with_context(cannot)
}

/// The resources to deploy for a file of test cases: those in its directory, and those below the other directories.
pub fn resources(file: &Path, others: &[PathBuf]) -> anyhow::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    let beside = match file.parent() {
        Some(directory) if directory != Path::new("") => directory,
        _ => Path::new("."),
    };
    directly_in(beside, &RESOURCES, &mut found)?;
    for other in others {
        if other.is_dir() {
            below(other, &RESOURCES, &mut found)?
        } else {
            found.push(other.clone())
        }
    }
    each_once(&mut found);
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn test_cases_are_found_below_and_resources_beside() {
        let directory = tempfile::tempdir().unwrap();
        let here = directory.path();
        for inner in ["a/b", ".git", "models/deep"] {
            std::fs::create_dir_all(here.join(inner)).unwrap();
        }
        let none = r#"{"testCases": []}"#;
        for (name, text) in [
            ("a/one.json", none),
            ("a/b/two.json", none),
            (".git/three.json", "{"),
            ("a/p.bpmn", ""),
            ("a/b/q.bpmn", ""),
            ("models/deep/r.dmn", ""),
            ("models/notes.txt", ""),
        ] {
            std::fs::write(here.join(name), text).unwrap();
        }
        std::os::unix::fs::symlink(here, here.join("a/b/circle")).unwrap();
        let files = test_files(&[here.to_path_buf(), here.join("a/b/../one.json")]).unwrap();
        let names: Vec<_> = files.iter().map(|file| file.path.clone()).collect();
        assert_eq!(names, [here.join("a/b/two.json"), here.join("a/one.json")]);
        let others = [here.join("models"), here.join("a")];
        let found = resources(&here.join("a/one.json"), &others).unwrap();
        let all = ["a/b/q.bpmn", "a/p.bpmn", "models/deep/r.dmn"];
        assert_eq!(found, all.map(|name| here.join(name)));
        let found = resources(&here.join("a/one.json"), &[]).unwrap();
        assert_eq!(found, [here.join("a/p.bpmn")]);
    }

    #[test]
    fn files_beyond_a_limit_are_refused() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("big.json");
        std::fs::write(&file, " ".repeat(MAX_FILE as usize + 1)).unwrap();
        let why = test_files(std::slice::from_ref(&file)).unwrap_err();
        assert!(why.to_string().contains("the limit is 4194304"), "{why}");
        let none = test_files(&[directory.path().join("nowhere.json")]).unwrap_err();
        assert!(none.to_string().contains("cannot be read"), "{none}");
        std::fs::remove_file(file).unwrap();
        let empty = test_files(&[directory.path().to_path_buf()]).unwrap_err();
        assert!(empty.is::<Usage>(), "{empty}");
    }
}
