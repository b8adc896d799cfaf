//! Settings that are lists: `a, b`, a YAML list, or in the environment a variable for each item.

use super::profiles::{is, values};
use super::source::{Given, Source};
use super::table::KEYS;
use super::value::Kind;

/// Makes one setting of the items of each list. Of several sources the last counts.
pub fn join(given: &[Given]) -> Vec<Given> {
    let mut given = given.to_vec();
    for key in KEYS.iter().filter(|key| matches!(key.kind, Kind::List)) {
        let names = std::iter::once(&key.name).chain(key.old).chain(key.also);
        for name in names {
            for one in &mut given {
                number(one, name);
            }
            let texts = values(&given, name).join(", ");
            let Some(last) = given.iter().rposition(|one| is(one, name)) else {
                continue;
            };
            if let Some(last) = given.get_mut(last) {
                last.text = texts;
                last.name = last.name.split('[').next().unwrap_or_default().to_string();
            }
            let mut index = 0;
            given.retain(|one| {
                index += 1;
                index - 1 == last || !is(one, name)
            });
        }
    }
    given
}

/// In the environment the number of an item stands behind an underscore.
fn number(given: &mut Given, name: &str) {
    if !matches!(given.source, Source::Environment(_)) {
        return;
    }
    let Some((stem, number)) = given.name.rsplit_once('_') else {
        return;
    };
    let plain = Given {
        name: stem.to_string(),
        ..given.clone()
    };
    if number.parse::<u16>().is_ok() && is(&plain, name) {
        given.name = format!("{stem}[{number}]");
    }
}
