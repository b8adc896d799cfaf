//! Turns lists in YAML, or in the environment with one variable per item, into the equivalent text: `a, b`.

use super::source::{Given, Source};
use super::table::KEYS;
use super::value::Kind;

/// The given settings, with the items of each list (`name[0]`, `name[1]`) joined into one text.
pub fn joined(given: &[Given]) -> Vec<Given> {
    let mut joined: Vec<Given> = Vec::with_capacity(given.len());
    for one in given {
        let one = &numbered(one);
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
    let mut keys = KEYS
        .iter()
        .filter(|key| matches!(key.kind, Kind::Words(_) | Kind::List));
    keys.any(|key| {
        let mut names = std::iter::once(&key.name).chain(key.old).chain(key.also);
        names.any(|name| plain.matches(name))
    })
}

/// Rewrites an item's number, which in the environment follows an underscore.
fn numbered(given: &Given) -> Given {
    let environment = matches!(given.source, Source::Environment(_));
    let Some((name, number)) = given.name.rsplit_once('_').filter(|_| environment) else {
        return given.clone();
    };
    let item = Given {
        name: format!("{name}[{number}]"),
        ..given.clone()
    };
    match number.parse::<u16>() {
        Ok(_) if is_list(&item) => item,
        _ => given.clone(),
    }
}
