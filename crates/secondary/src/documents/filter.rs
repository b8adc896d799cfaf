//! Conditions, sorts and cursors in the query language of search servers.

use serde_json::{Map, Value as Json, json};
use skep_query::{Cursor, Entity, Kind, Op, Search, Sort, Value};

use super::document::{items_name, stand_in};

/// Maximum values in one list of a query; servers accept 65,536.
const MAX_LISTED: usize = 60_000;

pub fn nothing() -> Json {
    json!({"match_none": {}})
}

pub fn everything() -> Json {
    json!({"match_all": {}})
}

pub fn all_of(conditions: Vec<Json>) -> Json {
    if conditions.is_empty() {
        everything()
    } else {
        json!({"bool": {"filter": conditions}})
    }
}

pub fn one_of(alternatives: Vec<Json>) -> Json {
    if alternatives.is_empty() {
        nothing()
    } else {
        json!({"bool": {"should": alternatives, "minimum_should_match": 1}})
    }
}

pub fn none_of(condition: Json) -> Json {
    json!({"bool": {"must_not": [condition]}})
}

fn exists(name: &str) -> Json {
    json!({"exists": {"field": name}})
}

fn literal(value: &Value) -> Json {
    match value {
        Value::Null => Json::Null,
        Value::Int(number) => json!(number),
        Value::Text(text) => json!(stand_in(text)),
    }
}

/// Returns an object with one member.
pub fn named(name: &str, member: Json) -> Json {
    let mut object = Map::new();
    object.insert(name.to_string(), member);
    Json::Object(object)
}

fn with(query: &str, name: &str, value: Json) -> Json {
    named(query, named(name, value))
}

/// Matches documents whose field has one of these values.
pub fn among(name: &str, values: &[Value]) -> Json {
    let there = values.iter().filter(|value| **value != Value::Null);
    let literals: Vec<Json> = there.map(literal).collect();
    let lists = literals.chunks(MAX_LISTED);
    let mut lists: Vec<Json> = lists.map(|list| with("terms", name, json!(list))).collect();
    match lists.len() {
        0 => nothing(),
        1 => lists.remove(0),
        _ => one_of(lists),
    }
}

fn range(name: &str, comparison: &str, value: &Value) -> Json {
    match value {
        Value::Null => nothing(),
        value => with("range", name, named(comparison, literal(value))),
    }
}

pub fn field(name: &str, op: &Op) -> Json {
    match op {
        Op::Eq(value) => among(name, std::slice::from_ref(value)),
        // An absent value differs from every value that is present.
        Op::Neq(Value::Null) => exists(name),
        Op::Neq(value) => none_of(among(name, std::slice::from_ref(value))),
        Op::Exists(true) => exists(name),
        Op::Exists(false) => none_of(exists(name)),
        Op::Gt(value) => range(name, "gt", value),
        Op::Gte(value) => range(name, "gte", value),
        Op::Lt(value) => range(name, "lt", value),
        Op::Lte(value) => range(name, "lte", value),
        Op::In(values) => among(name, values),
        Op::NotIn(values) => none_of(among(name, values)),
        // To the server, an empty pattern matches no text, not even the empty one.
        Op::Like(pattern) if pattern.is_empty() => field(name, &Op::Eq(Value::text(""))),
        Op::Like(pattern) => with("wildcard", name, json!({"value": wildcard(pattern)})),
    }
}

/// Matches a list with at least one item that satisfies the operator.
pub fn item(entity: &Entity, at: usize, op: &Op) -> Json {
    let name = items_name(entity.field(at).name);
    match op {
        // This means "has an item that differs", not "has no such item".
        Op::Neq(value) => gaps_around(&name, std::slice::from_ref(value)),
        Op::NotIn(values) => gaps_around(&name, values),
        Op::Exists(false) => nothing(),
        op => field(&name, op),
    }
}

/// Matches a list with a value other than these, which means a value in one of the gaps between them.
fn gaps_around(name: &str, values: &[Value]) -> Json {
    let mut sorted: Vec<&Value> = values.iter().filter(|v| **v != Value::Null).collect();
    sorted.sort_by(|a, b| a.compare(b, false));
    let (Some(first), Some(last)) = (sorted.first(), sorted.last()) else {
        return exists(name);
    };
    let mut gaps = vec![range(name, "lt", first), range(name, "gt", last)];
    for pair in sorted.windows(2) {
        if let [low, high] = pair {
            let bounds = json!({"gt": literal(low), "lt": literal(high)});
            gaps.push(with("range", name, bounds));
        }
    }
    one_of(gaps)
}

/// Translates an API pattern, in which a trailing backslash stands for itself. In a run of wildcards, `*` is moved to the end
/// and written once: the server's automaton doubles in size with each `?` after a `*`.
fn wildcard(pattern: &str) -> String {
    let mut out = String::with_capacity(pattern.len());
    let mut characters = pattern.chars();
    let mut any = false;
    loop {
        let next = characters.next();
        match next {
            Some('*') => any = true,
            Some('?') => out.push('?'),
            _ => {
                if std::mem::take(&mut any) {
                    out.push('*');
                }
                let Some(c) = next else {
                    return out;
                };
                out.push(c);
                if c == '\\' {
                    out.push(characters.next().unwrap_or('\\'));
                }
            }
        }
    }
}

const KEY: Sort = Sort {
    field: 0,
    descending: false,
};

fn sorts(search: &Search) -> impl Iterator<Item = Sort> + '_ {
    search.sort.iter().copied().chain([KEY])
}

/// The sort of a page. Absent values come last, or first in a reversed page.
pub fn order(search: &Search, reversed: bool) -> Json {
    let missing = if reversed { "_first" } else { "_last" };
    let by = sorts(search).map(|sort| {
        let field = search.entity.field(sort.field);
        let order = if sort.descending != reversed {
            "desc"
        } else {
            "asc"
        };
        named(field.name, json!({"order": order, "missing": missing}))
    });
    Json::Array(by.collect())
}

/// Matches rows that come after the cursor in sort order, or before it, decided by the first value in which they differ.
pub fn beyond(search: &Search, cursor: &Cursor, before: bool) -> Json {
    let name = |sort: &Sort| search.entity.field(sort.field).name;
    let pairs: Vec<(Sort, &Value)> = sorts(search).zip(&cursor.0).collect();
    let mut alternatives = Vec::new();
    for (at, (sort, value)) in pairs.iter().enumerate() {
        // Nothing comes after an absent value, and every present value comes before it.
        if **value == Value::Null && !before {
            continue;
        }
        let equal = pairs.iter().take(at).map(|(sort, value)| match value {
            Value::Null => none_of(exists(name(sort))),
            value => among(name(sort), std::slice::from_ref(*value)),
        });
        let mut conditions: Vec<Json> = equal.collect();
        conditions.push(match value {
            Value::Null => exists(name(sort)),
            value => {
                let comparison = if sort.descending == before {
                    "gt"
                } else {
                    "lt"
                };
                let differs = range(name(sort), comparison, value);
                if before {
                    differs
                } else {
                    one_of(vec![differs, none_of(exists(name(sort)))])
                }
            }
        });
        alternatives.push(all_of(conditions));
    }
    one_of(alternatives)
}

/// Converts the value of a field from an aggregation result.
pub fn value_of(kind: Kind, value: &Json) -> Value {
    match (kind, value) {
        (Kind::Text | Kind::Enum(_) | Kind::Json, Json::String(text)) => Value::text(text),
        (Kind::Text | Kind::Enum(_) | Kind::Json, _) => Value::Null,
        (_, Json::Number(number)) => {
            let whole = number.as_i64();
            let float = || number.as_f64().filter(|n| n.is_finite());
            whole
                .or_else(|| float().map(|n| n.round() as i64))
                .map_or(Value::Null, Value::Int)
        }
        _ => Value::Null,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_backslash_at_the_end_is_one() {
        assert_eq!(wildcard(r"a*\*\"), r"a*\*\\");
    }

    #[test]
    fn an_item_beside_others_lies_in_a_gap() {
        let values = [Value::text("b"), Value::text("a")];
        let gaps = gaps_around("x", &values)["bool"]["should"].clone();
        assert_eq!(gaps[0], json!({"range": {"x": {"lt": "a"}}}));
        assert_eq!(gaps[1], json!({"range": {"x": {"gt": "b"}}}));
        assert_eq!(gaps[2], json!({"range": {"x": {"gt": "a", "lt": "b"}}}));
    }
}
