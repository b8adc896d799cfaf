//! Checks that the instructions match the published schema: walks the table in tests/facts row by row.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::{Map, Value, json};

use super::document::read;
use super::instruction::NAMES;

const TABLE: &str = include_str!("../../../../../../tests/facts/process-test.md");

struct Field {
    name: &'static str,
    kind: &'static str,
    needed: &'static str,
}

fn table() -> BTreeMap<&'static str, Vec<Field>> {
    let mut objects: BTreeMap<&str, Vec<Field>> = BTreeMap::new();
    for line in TABLE.lines().filter(|line| line.starts_with("| ")) {
        let cells: Vec<&str> = line.trim_matches('|').split('|').map(str::trim).collect();
        let [object, name, kind, needed, _] = cells[..] else {
            panic!("{line}");
        };
        if object != "Object" {
            let field = Field { name, kind, needed };
            objects.entry(object).or_default().push(field);
        }
    }
    objects
}

struct Facts(BTreeMap<&'static str, Vec<Field>>);

impl Facts {
    /// A value of a type, and values that do not belong to it.
    fn value(&self, kind: &str) -> (Value, Vec<Value>) {
        if let Some(inner) = kind.strip_prefix("list of ") {
            let (value, others) = self.value(inner);
            let others = others.into_iter().map(|other| json!([other]));
            let others = others.chain([json!("a"), json!({}), json!(null)]);
            return (json!([value.clone(), value]), others.collect());
        }
        if let Some(names) = kind.strip_prefix("one of ") {
            let first = names.split(", ").next().unwrap();
            return (json!(first), vec![json!("IS_ODD"), json!(1), json!(null)]);
        }
        match kind {
            "string" => (json!("text"), vec![json!(1), json!(null), json!(["text"])]),
            "integer" => (json!(7), vec![json!("7"), json!(null), json!(1.5)]),
            "integer from 1" => (json!(1), vec![json!(0), json!(-1), json!("1")]),
            "boolean" => (json!(true), vec![json!("true"), json!(null), json!(1)]),
            "variables" => (
                json!({"a": 1.5, "b": null, "c": [{"d": "e"}]}),
                vec![json!([1]), json!("a"), json!(null)],
            ),
            "any" => (json!(null), vec![]),
            object => {
                let fields = self.0.get(object).unwrap_or_else(|| panic!("{object}"));
                let mut others = vec![json!("a"), json!(null), json!({"unknown": 1})];
                if fields.iter().any(|field| field.needed != "optional") {
                    others.push(json!({}));
                }
                (self.sample(object, true), others)
            }
        }
    }

    /// An object with all of its fields, or with the required ones only.
    fn sample(&self, object: &str, all: bool) -> Value {
        let mut sample = Map::new();
        if NAMES.contains(&object) {
            sample.insert("type".into(), object.into());
        }
        for field in &self.0[object] {
            if all || field.needed == "required" {
                sample.insert(field.name.into(), self.of(object, field));
            }
        }
        Value::Object(sample)
    }

    fn of(&self, object: &str, field: &Field) -> Value {
        // Strings with a required format.
        match (object, field.name) {
            ("SET_TIME", "time") => json!("2026-01-19T13:00:00Z"),
            ("INCREASE_TIME", "duration") => json!("P2DT1H"),
            _ => self.value(field.kind).0,
        }
    }
}

fn accepts(instruction: &Value) -> Result<(), String> {
    let file = json!({"testCases": [{"name": "n", "instructions": [instruction]}]});
    let read = read(Path::new("a.json"), &file.to_string());
    read.map(drop).map_err(|found| found.join("\n"))
}

#[test]
fn the_instructions_are_those_of_the_schema() {
    let facts = table();
    let known: Vec<&str> = facts
        .keys()
        .copied()
        .filter(|name| name.chars().all(|c| c.is_ascii_uppercase() || c == '_'))
        .collect();
    assert_eq!(known.len(), 26);
    let mut ours = NAMES.to_vec();
    ours.sort_unstable();
    assert_eq!(ours, known);
}

#[test]
fn every_instruction_is_read_with_all_fields_and_with_those_it_needs() {
    let facts = Facts(table());
    for name in NAMES {
        for all in [true, false] {
            let sample = facts.sample(name, all);
            assert_eq!(accepts(&sample), Ok(()), "{sample:#}");
        }
    }
}

#[test]
fn every_field_is_checked() {
    let facts = Facts(table());
    for name in NAMES {
        let whole = facts.sample(name, true);
        let with = |field: &str, value: Option<Value>| {
            let mut changed = whole.as_object().unwrap().clone();
            match value {
                Some(value) => changed.insert(field.into(), value),
                None => changed.remove(field),
            };
            Value::Object(changed)
        };
        for field in &facts.0[name] {
            let is_needed = field.needed == "required";
            let without = accepts(&with(field.name, None));
            assert_eq!(without.is_err(), is_needed, "{name} {}", field.name);
            if let Err(why) = without {
                let said = format!("({name}): missing field `{}`", field.name);
                assert!(why.contains(&said), "{why}");
            }
            for other in facts.value(field.kind).1 {
                let changed = with(field.name, Some(other));
                let why = accepts(&changed).expect_err(&changed.to_string());
                assert!(why.starts_with("a.json:1:"), "{why}");
                assert!(why.contains(&format!("({name}): ")), "{why}");
            }
            for state in field
                .kind
                .strip_prefix("one of ")
                .iter()
                .flat_map(|all| all.split(", "))
            {
                assert_eq!(accepts(&with(field.name, Some(json!(state)))), Ok(()));
            }
        }
        let why = accepts(&with("another", Some(json!(1)))).unwrap_err();
        assert!(why.contains("unknown field `another`"), "{why}");
    }
}

#[test]
fn objects_that_need_one_of_several_fields_take_each() {
    let facts = Facts(table());
    for name in NAMES {
        for field in &facts.0[name] {
            let Some(inner) = facts.0.get(field.kind) else {
                continue;
            };
            for one in inner.iter().filter(|one| one.needed == "one needed") {
                let mut sample = facts.sample(name, true);
                sample[field.name] = json!({one.name: "a"});
                assert_eq!(accepts(&sample), Ok(()), "{sample:#}");
            }
        }
    }
}
