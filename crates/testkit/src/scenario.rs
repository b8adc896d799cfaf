//! The recorded scenarios of `tests/oracle`: one text file each, which holds the steps, the models and the records. A line
//! `-- NAME --` begins each part (`tests/oracle/README.md`).

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// A recorded scenario.
#[derive(Clone, Debug)]
pub struct Scenario {
    /// `GROUP/NAME`
    pub name: String,
    parts: BTreeMap<String, String>,
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/oracle")
}

impl Scenario {
    /// All of them, by name.
    pub fn all() -> Vec<Scenario> {
        let within = |path: &Path| -> Vec<PathBuf> {
            let entries = std::fs::read_dir(path).unwrap();
            entries.map(|entry| entry.unwrap().path()).collect()
        };
        let groups = within(&root()).into_iter().filter(|path| path.is_dir());
        let files = groups.flat_map(|group| within(&group));
        let mut names: Vec<String> = files
            .map(|file| {
                let name = file.strip_prefix(root()).unwrap().with_extension("");
                name.to_str().unwrap().to_string()
            })
            .collect();
        names.sort();
        names.iter().map(|name| Scenario::named(name)).collect()
    }

    pub fn named(name: &str) -> Scenario {
        let path = root().join(format!("{name}.txt"));
        let text = std::fs::read_to_string(&path);
        let text = text.unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        Scenario {
            name: name.to_string(),
            parts: parts(&text),
        }
    }

    /// The text of a part: `steps.yaml`, `records.jsonl` or a model.
    #[track_caller]
    pub fn part(&self, name: &str) -> &str {
        let part = self.parts.get(name);
        part.unwrap_or_else(|| panic!("{} has no {name}", self.name))
    }

    /// The parts with this suffix.
    pub fn parts_of_kind(&self, ending: &str) -> impl Iterator<Item = &str> {
        let of_kind = self
            .parts
            .iter()
            .filter(move |(name, _)| name.ends_with(ending));
        of_kind.map(|(_, text)| text.as_str())
    }
}

/// Ends a part whose last line does not end with a new line.
const OPEN_END: &str = "\\ no newline at the end\n";

fn parts(text: &str) -> BTreeMap<String, String> {
    let mut parts = BTreeMap::new();
    let mut part: Option<&mut String> = None;
    for line in text.split_inclusive('\n') {
        if line == OPEN_END {
            let last = part.as_mut().and_then(|part| part.pop());
            assert_eq!(last, Some('\n'), "a line comes before its end");
            continue;
        }
        let header = line.strip_prefix("-- ");
        match header.and_then(|rest| rest.trim_end().strip_suffix(" --")) {
            Some(name) => {
                assert!(!parts.contains_key(name), "two parts are called {name}");
                part = Some(parts.entry(name.to_string()).or_default());
            }
            None => part.as_mut().expect("a part begins first").push_str(line),
        }
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_reaches_to_the_next_header() {
        let parts = parts(
            "-- steps.yaml --\na: 1\n-- b\n-- a.form --\n{}\n\\ no newline at the end\n-- records.jsonl --\n",
        );
        assert_eq!(parts["steps.yaml"], "a: 1\n-- b\n");
        assert_eq!(parts["a.form"], "{}");
        assert_eq!(parts["records.jsonl"], "");
    }
}
