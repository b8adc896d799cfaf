//! Lists in YAML as the texts that they stand for: `a, b`.

use super::source::Given;
use super::table::KEYS;
use super::value::Kind;

/// What was given, with the items of each list (`name[0]`, `name[1]`) in one text.
pub fn joined(given: &[Given]) -> Vec<Given> {
    let mut joined: Vec<Given> = Vec::with_capacity(given.len());
    for one in given {
        let Some((name, index)) = one.name.split_once('[').filter(|_| is_list(one)) else {
            joined.push(one.clone());
            continue;
        };
        match joined.last_mut() {
            Some(last) if last.name == name && index != "0]" => {
                last.text.push(',');
                last.text.push_str(&one.text);
            }
            _ => joined.push(Given {
                name: name.to_string(),
                ..one.clone()
            }),
        }
    }
    joined
}

fn is_list(given: &Given) -> bool {
    let name = given.name.split('[').next().unwrap_or_default();
    let plain = Given {
        name: name.to_string(),
        ..given.clone()
    };
    let mut keys = KEYS.iter();
    keys.any(|key| matches!(key.kind, Kind::Words(_)) && plain.matches(key.name))
}
