//! Random bodies and paths: most match their schema and refer to existing values.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde_json::{Map, Value, json};

use crate::described::{merged, properties, schema_list, type_of, values};
use crate::http::OPENAPI;
use crate::schema::differences;
use skep_random::Random;

/// Maximum number of optional members per object.
const MEMBERS: u64 = 2;

pub struct Bodies {
    random: Random,
    /// Values in answers by member name.
    known: BTreeMap<String, Vec<Value>>,
}

impl Bodies {
    pub fn new(seed: u64) -> Bodies {
        let mut bodies = Bodies {
            random: Random(seed),
            known: BTreeMap::new(),
        };
        // Values that answers lack under these names; the clock of stories begins with this year.
        let times = json!({"from": "2026-01-01T00:00:00Z", "to": "2026-01-03T00:00:00Z"});
        bodies.learn(&times);
        bodies.learn(&json!({"jobType": "job", "hasIncident": false}));
        bodies
    }

    /// Remembers the values of an answer.
    pub fn learn(&mut self, answer: &Value) {
        match answer {
            Value::Object(members) => {
                for (name, value) in members {
                    if value.is_object() || value.is_array() {
                        self.learn(value);
                    } else if !value.is_null() {
                        let known = self.known.entry(name.clone()).or_default();
                        if known.len() < 50 && !known.contains(value) {
                            known.push(value.clone());
                        }
                    }
                }
            }
            Value::Array(items) => items.iter().for_each(|item| self.learn(item)),
            _ => {}
        }
    }

    fn one_of<'v, T>(&mut self, all: &'v [T]) -> Option<&'v T> {
        let at = self.random.below(all.len().max(1) as u64);
        all.get(at as usize)
    }

    fn in_of(&mut self, one: u64, of: u64) -> bool {
        self.random.below(of) < one
    }

    /// A path with values for its parameters: mostly existing keys, sometimes unknown ones, or `others`.
    pub fn path(&mut self, template: &str, others: &[&str]) -> String {
        let mut path = crate::described::root(template).to_string();
        for part in template.split('/').skip(1) {
            path.push('/');
            let Some(name) = part
                .strip_prefix('{')
                .and_then(|part| part.strip_suffix('}'))
            else {
                path.push_str(part);
                continue;
            };
            let known = self.known.get(name).cloned().unwrap_or_default();
            let chosen = self.one_of(&known).and_then(Value::as_str);
            let chosen = match self.random.below(10) {
                0 => None,
                _ => chosen,
            };
            let chosen = chosen.or(self.one_of(others).copied()).unwrap_or("1");
            for byte in chosen.bytes() {
                let _ = write!(path, "%{byte:02X}");
            }
        }
        path
    }

    /// A body for an operation.
    pub fn of(&mut self, schema: &Value) -> Value {
        self.some(schema, "")
    }

    /// A value for a member with this name.
    fn some(&mut self, schema: &Value, name: &str) -> Value {
        if self.in_of(1, 200) {
            let values = values();
            return self.one_of(&values).cloned().unwrap_or_default();
        }
        let all = merged(schema);
        if let Some(value) = self.one_of(&schema_list(&all, "enum")) {
            return value.clone();
        }
        if let Some(part) = self.one_of(&schema_list(&all, "oneOf")).cloned() {
            return match name {
                "page" => self.page(),
                _ => self.some(&part, name),
            };
        }
        match type_of(&all) {
            Some("object") if name == "page" => self.page(),
            Some("object") => self.object(&all, name),
            Some("array") => {
                let items = self.random.below(4);
                (0..items).map(|_| self.some(&all["items"], name)).collect()
            }
            _ => self.plain(schema, name),
        }
    }

    /// A page without a cursor: only answers create those.
    fn page(&mut self) -> Value {
        let limit = 1 + self.random.below(5);
        match self.random.below(3) {
            0 => json!({}),
            1 => json!({"limit": limit}),
            _ => json!({"from": self.random.below(4), "limit": limit}),
        }
    }

    fn object(&mut self, schema: &Map<String, Value>, name: &str) -> Value {
        let properties = properties(schema);
        let required = schema_list(schema, "required");
        let mut object = Map::new();
        for (member, schema) in &properties {
            let is_chosen = self.in_of(MEMBERS, properties.len() as u64);
            if !is_chosen && !required.contains(&json!(member)) {
                continue;
            }
            // Operators apply to the enclosing member.
            let about = if member.starts_with('$') {
                name
            } else {
                member
            };
            let mut value = self.some(schema, about);
            if let ("$like", Some(text)) = (member.as_str(), value.as_str()) {
                value = self.pattern(text).into();
            }
            object.insert(member.clone(), value);
        }
        if self.in_of(1, 100) {
            object.insert("unknown".to_string(), json!(1));
        }
        object.into()
    }

    /// Few wildcards: a search server limits their number.
    fn pattern(&mut self, text: &str) -> String {
        let mut letters: Vec<char> = text.chars().collect();
        for _ in 0..3 {
            let at = self.random.below(letters.len().max(1) as u64) as usize;
            if let Some(letter) = letters.get_mut(at) {
                *letter = if self.in_of(1, 2) { '*' } else { '?' };
            }
        }
        letters.into_iter().collect()
    }

    /// Mostly an existing value, or a valid one.
    fn plain(&mut self, schema: &Value, name: &str) -> Value {
        let fits = |value: &Value| differences(&OPENAPI, schema, value).is_empty();
        let known = self.known.get(name).into_iter().flatten();
        let known: Vec<Value> = known.filter(|value| fits(value)).cloned().collect();
        if self.in_of(3, 4)
            && let Some(value) = self.one_of(&known)
        {
            return value.clone();
        }
        let fitting: Vec<Value> = values().into_iter().filter(|value| fits(value)).collect();
        self.one_of(&fitting).cloned().unwrap_or_default()
    }
}
