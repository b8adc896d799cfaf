//! Files and directories given to a command, and the files that a deployment takes from them.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use anyhow::Context;

use super::Usage;

/// Suffixes of files that can be deployed.
pub const RESOURCES: [&str; 4] = ["bpmn", "dmn", "form", "rpa"];
/// Maximum number of files that a command takes from directories.
pub const MAX_FILES: usize = 1000;
/// Maximum depth of nested directories.
const MAX_DEPTH: usize = 32;

/// The named files, in this order, each once; instead of a directory, all files below it that can be deployed, by name.
///
/// # Errors
/// A directory that cannot be read, or has none or too many of these files.
pub fn deployable(named: &[PathBuf]) -> anyhow::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for path in named {
        if !path.is_dir() {
            found.push(path.clone());
            continue;
        }
        let mut inside = Vec::new();
        below(path, &RESOURCES, &mut inside)?;
        if inside.is_empty() {
            let text = format!(
                "{} has no file that can be deployed: a name ends in .bpmn, .dmn, .form or .rpa",
                path.display()
            );
            return Err(Usage(text).into());
        }
        inside.sort_unstable();
        found.extend(inside);
    }
    let mut places = HashSet::new();
    found.retain(|path| places.insert(place(path)));
    Ok(found)
}

/// Sorts the paths and removes duplicates, however each file was found.
pub fn each_once(paths: &mut Vec<PathBuf>) {
    paths.sort_by_cached_key(|path| place(path));
    paths.dedup_by_key(|path| place(path));
}

fn place(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| path.to_path_buf())
}

/// Collects the files in a directory with one of these suffixes, and those in the directories within it. Skips hidden directories and links
/// to directories, which may form cycles.
///
/// # Errors
/// A directory that cannot be read, or more than [`MAX_FILES`] files.
pub fn below(directory: &Path, suffixes: &[&str], found: &mut Vec<PathBuf>) -> anyhow::Result<()> {
    collect(directory, suffixes, MAX_DEPTH, found)
}

/// As [`below`], without the directories within it.
///
/// # Errors
/// As for [`below`].
pub fn directly_in(
    directory: &Path,
    suffixes: &[&str],
    found: &mut Vec<PathBuf>,
) -> anyhow::Result<()> {
    collect(directory, suffixes, 1, found)
}

fn collect(
    directory: &Path,
    suffixes: &[&str],
    depth: usize,
    found: &mut Vec<PathBuf>,
) -> anyhow::Result<()> {
    let cannot = || format!("{} cannot be read", directory.display());
    for entry in std::fs::read_dir(directory).with_context(cannot)? {
        let entry = entry.with_context(cannot)?;
        let path = entry.path();
        if path.is_dir() {
            let left_out = entry.file_name().to_string_lossy().starts_with('.')
                || entry.file_type().with_context(cannot)?.is_symlink();
            if depth > 1 && !left_out {
                collect(&path, suffixes, depth - 1, found)?;
            }
            continue;
        }
        let suffix = path.extension().and_then(|suffix| suffix.to_str());
        if !suffix.is_some_and(|suffix| suffixes.contains(&suffix)) {
            continue;
        }
        if found.len() == MAX_FILES {
            let text = format!(
                "there are more than {MAX_FILES} files that end in .{}, up to those in {}; name fewer",
                suffixes.join(", ."),
                directory.display()
            );
            return Err(Usage(text).into());
        }
        found.push(path);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_stands_for_the_files_below_it_that_can_be_deployed() {
        let directory = tempfile::tempdir().unwrap();
        let here = directory.path();
        for inner in ["models/deep", "models/.git", "empty"] {
            std::fs::create_dir_all(here.join(inner)).unwrap();
        }
        for name in [
            "first.bpmn",
            "models/b.bpmn",
            "models/a.dmn",
            "models/deep/c.form",
            "models/notes.txt",
            "models/.git/d.bpmn",
        ] {
            std::fs::write(here.join(name), "").unwrap();
        }
        std::os::unix::fs::symlink(here, here.join("models/deep/circle")).unwrap();
        let at = |names: &[&str]| names.iter().map(|name| here.join(name)).collect::<Vec<_>>();
        let named = at(&["models/b.bpmn", "models", "first.bpmn"]);
        let all = [
            "models/b.bpmn",
            "models/a.dmn",
            "models/deep/c.form",
            "first.bpmn",
        ];
        assert_eq!(deployable(&named).unwrap(), at(&all));
        let empty = deployable(&at(&["empty"])).unwrap_err();
        assert!(empty.is::<Usage>(), "{empty}");
        let nowhere = at(&["nowhere.bpmn"]);
        assert_eq!(deployable(&nowhere).unwrap(), nowhere);
    }

    #[test]
    fn a_directory_with_too_many_files_is_refused() {
        let directory = tempfile::tempdir().unwrap();
        for number in 0..MAX_FILES {
            std::fs::write(directory.path().join(format!("{number}.bpmn")), "").unwrap();
        }
        let named = [directory.path().to_path_buf()];
        assert_eq!(deployable(&named).unwrap().len(), MAX_FILES);
        std::fs::write(directory.path().join("last.bpmn"), "").unwrap();
        let why = deployable(&named).unwrap_err();
        assert!(why.is::<Usage>(), "{why}");
        assert!(why.to_string().contains("more than 1000 files"), "{why}");
    }
}
