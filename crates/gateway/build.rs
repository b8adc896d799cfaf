//! Joins the API's description: `openapi/` has a file for each tag, and `shared.json` with what several of them refer to.

use std::error::Error;
use std::fmt::{self, Write as _};
use std::path::{Path, PathBuf};
use std::{env, fs};

use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

/// What stands beside the operations, for all of the document.
const SHARED: &str = "shared.json";

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-changed=openapi");
    let mut files = Vec::new();
    for entry in fs::read_dir("openapi")? {
        files.push(entry?.path());
    }
    files.sort();
    let (mut head, mut paths, mut schemas) = (Members::default(), Vec::new(), Vec::new());
    for file in &files {
        let problem = |error| format!("{}: {error}", file.display());
        let part: Members = read(fs::read_to_string(file)?.as_str()).map_err(problem)?;
        for (name, value) in part.0 {
            match name.as_str() {
                "paths" => add(&mut paths, read(value.get())?, file)?,
                "components" => {
                    for (_, named) in read(value.get())?.0 {
                        add(&mut schemas, read(named.get())?, file)?;
                    }
                }
                _ if file.ends_with(SHARED) => head.0.push((name, value)),
                _ => return Err(problem(format!("'{name}' belongs into {SHARED}")).into()),
            }
        }
    }
    let out = PathBuf::from(env::var("OUT_DIR")?).join("openapi.json");
    fs::write(out, joined(&head.0, &paths, &schemas)?)?;
    Ok(())
}

/// An object, in the order in which it is written, with its values as they are written.
#[derive(Default)]
struct Members(Vec<Member>);

type Member = (String, Box<RawValue>);

impl<'de> Deserialize<'de> for Members {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Members, D::Error> {
        struct InOrder;
        impl<'de> Visitor<'de> for InOrder {
            type Value = Members;

            fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Members, A::Error> {
                let mut members = Members::default();
                while let Some(member) = map.next_entry()? {
                    members.0.push(member);
                }
                Ok(members)
            }
        }
        deserializer.deserialize_map(InOrder)
    }
}

fn read(text: &str) -> Result<Members, String> {
    serde_json::from_str(text).map_err(|error| error.to_string())
}

/// Each name stands in one file.
fn add(all: &mut Vec<Member>, members: Members, file: &Path) -> Result<(), String> {
    for (name, value) in members.0 {
        if all.iter().any(|(there, _)| *there == name) {
            return Err(format!("{}: {name} is in two files", file.display()));
        }
        all.push((name, value));
    }
    Ok(())
}

fn joined(head: &[Member], paths: &[Member], schemas: &[Member]) -> Result<String, fmt::Error> {
    let mut text = String::from("{\n");
    for (name, value) in head {
        writeln!(text, " {name:?}: {value},")?;
    }
    text.push_str(" \"paths\": {\n");
    members(&mut text, "  ", paths)?;
    text.push_str(" },\n \"components\": {\n  \"schemas\": {\n");
    members(&mut text, "   ", schemas)?;
    text.push_str("  }\n }\n}\n");
    Ok(text)
}

fn members(text: &mut String, indent: &str, members: &[Member]) -> fmt::Result {
    for (at, (name, value)) in members.iter().enumerate() {
        let comma = if at + 1 < members.len() { "," } else { "" };
        writeln!(text, "{indent}{name:?}: {value}{comma}")?;
    }
    Ok(())
}
