//! The files of a directory that can be deployed, and which of them have changed.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use anyhow::Context;

use crate::cli::files::RESOURCES;

pub struct Files {
    directory: PathBuf,
    /// Time of the last change and size, by file.
    known: BTreeMap<PathBuf, (SystemTime, u64)>,
}

impl Files {
    pub fn of(directory: &Path) -> Files {
        Files {
            directory: directory.to_path_buf(),
            known: BTreeMap::new(),
        }
    }

    /// The files that are new or have changed since the last call.
    pub fn changed(&mut self) -> anyhow::Result<Vec<PathBuf>> {
        let mut now = BTreeMap::new();
        let entries = std::fs::read_dir(&self.directory)
            .with_context(|| format!("{} cannot be read", self.directory.display()))?;
        for entry in entries {
            let path = entry?.path();
            let suffix = path.extension().and_then(|suffix| suffix.to_str());
            if !suffix.is_some_and(|suffix| RESOURCES.contains(&suffix)) {
                continue;
            }
            // A file may have disappeared meanwhile.
            if let Ok(found) = std::fs::metadata(&path)
                && found.is_file()
            {
                now.insert(path, (found.modified()?, found.len()));
            }
        }
        let is_new =
            |(path, stamp): &(&PathBuf, &(SystemTime, u64))| self.known.get(*path) != Some(*stamp);
        let changed = now
            .iter()
            .filter(is_new)
            .map(|(path, _)| path.clone())
            .collect();
        self.known = now;
        Ok(changed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_changes_is_found_once() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("a.bpmn");
        let mut files = Files::of(directory.path());
        assert!(files.changed().unwrap().is_empty());
        std::fs::write(&file, "1").unwrap();
        std::fs::write(directory.path().join("notes.txt"), "1").unwrap();
        assert_eq!(files.changed().unwrap(), std::slice::from_ref(&file));
        assert!(files.changed().unwrap().is_empty());
        std::fs::write(&file, "12").unwrap();
        assert_eq!(files.changed().unwrap(), std::slice::from_ref(&file));
        std::fs::remove_file(&file).unwrap();
        assert!(files.changed().unwrap().is_empty());
        std::fs::write(&file, "12").unwrap();
        assert_eq!(files.changed().unwrap(), [file]);
    }
}
