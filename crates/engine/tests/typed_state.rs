//! Only appliers change the state. The compiler enforces it: functions that change rows are visible to appliers only. This test checks that
//! this remains so: public functions with a mutable state either read, which may load a cold row into memory, or are internal to the
//! engine.
#![allow(clippy::disallowed_methods)] // It reads the sources.

use std::path::{Path, PathBuf};

/// These change no row: reads of rows that may be cold, the engine's operations on the whole state, and shared texts.
const NO_CHANGE: &[&str] = &[
    "get",
    "record",
    "contains",
    "step",
    "remaining",
    "is_runaway",
    "origin",
    "steps",
    "child_after",
    "scope_of_variable",
    "visible_variable",
    "visible_variables",
    "list",
    "started_by",
    "rest",
    "promote",
    "observe_key",
    "keys_are_above",
    "checkpoint",
    "evict",
    "damage",
    "records",
    "running_of",
    "count_of",
    "long_list",
    "item",
    "seen_by",
    "with_workers",
    "keep_compiled",
    "holder",
    "is_started",
    "arrival",
];

fn files(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).expect("sources are there") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            files(&path, found);
        } else if path.extension().is_some_and(|e| e == "rs") {
            found.push(path);
        }
    }
}

fn sources(folder: &str) -> Vec<(String, String)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("src")
        .join(folder);
    let mut found = Vec::new();
    files(&folder, &mut found);
    let read = |path: PathBuf| {
        let text = std::fs::read_to_string(&path).expect("a source");
        (path.display().to_string(), text)
    };
    found.into_iter().map(read).collect()
}

/// Names of public functions that take `&mut self`.
fn changeable(source: &str) -> impl Iterator<Item = &str> {
    let functions = source
        .split("\n    pub fn ")
        .skip(1)
        .chain(source.split("\n    pub(crate) fn ").skip(1));
    functions.filter_map(|function| {
        let (name, rest) = function.split_once(['(', '<'])?;
        let parameters = rest.split('{').next()?;
        parameters.contains("&mut self").then_some(name)
    })
}

#[test]
fn methods_that_change_rows_are_visible_only_to_appliers() {
    let mut seen = 0;
    for (path, source) in sources("state") {
        // Private modules.
        if ["cells.rs", "index.rs", "names.rs", "undo.rs"]
            .iter()
            .any(|name| path.ends_with(name))
        {
            continue;
        }
        for name in changeable(&source) {
            seen += 1;
            assert!(
                NO_CHANGE.contains(&name),
                "{path}: {name} takes &mut self and is visible to processors. If it changes a row, say \
                 `pub(in crate::appliers)`; if it only reads one that may be cold, add it to the list here."
            );
        }
    }
    assert!(seen > 20, "{seen} functions");
}

#[test]
fn only_tests_damage_the_state() {
    for folder in ["processing", "appliers"] {
        for (path, source) in sources(folder) {
            assert!(!source.contains(".damage("), "{path}");
        }
    }
}
