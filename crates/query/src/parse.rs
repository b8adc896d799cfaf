//! Parses the body of a search request into a [`Search`].

use std::collections::HashMap;
use std::sync::Arc;

use serde_json::{Map, Value as Json};

use crate::cursor::Cursor;
use crate::entities::{ELEMENT_INSTANCE, PROCESS_INSTANCE, USER_TASK};
use crate::entity::{Entity, Field, Kind, Ops, RelatedFilter, Takes};
use crate::latest;
use crate::search::{
    Condition, Conditions, MAX_LIMIT, MAX_WINDOW, Op, Page, Related, Search, Sort, Start,
};
use crate::spellings;
use crate::time;
use crate::value::Value;

/// An invalid search. The text says what is wrong, where, and how to fix it.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{0}")]
pub struct BadRequest(pub String);

type Result<T> = std::result::Result<T, BadRequest>;

fn bad<T>(text: impl Into<String>) -> Result<T> {
    Err(BadRequest(text.into()))
}

/// Page size if the request does not specify one.
const DEFAULT_LIMIT: u32 = 100;
/// Maximum number of conditions in one search, including those of `$or` and the values of lists.
const MAX_CONDITIONS: usize = 5_000;
/// Maximum number of conditions on other entities in one search; each is a search of its own.
const MAX_RELATED: usize = 50;
const MAX_SORTS: usize = 32;
/// Maximum bytes of a pattern. SQLite allows 50,000, and JSON may escape one character as six.
const MAX_PATTERN: usize = 8_000;

/// The number of conditions that a filter may still use.
struct Budget {
    conditions: usize,
    related: usize,
}

impl Budget {
    const FULL: Budget = Budget {
        conditions: MAX_CONDITIONS,
        related: MAX_RELATED,
    };

    fn spend(&mut self, conditions: usize) -> Result<()> {
        let Some(left) = self.conditions.checked_sub(conditions) else {
            return bad(format!(
                "The filter has more than {MAX_CONDITIONS} conditions and values. Ask for less at a time."
            ));
        };
        self.conditions = left;
        Ok(())
    }

    fn spend_related(&mut self, path: &str) -> Result<()> {
        let Some(left) = self.related.checked_sub(1) else {
            return bad(format!(
                "With '{path}' the filter has more than {MAX_RELATED} conditions on what belongs to a row, each of which is a \
                 search of its own. Ask for less at a time."
            ));
        };
        self.related = left;
        Ok(())
    }
}

/// Parses the body of a search. An empty body matches everything.
///
/// # Errors
/// Unknown fields, operators and sorts, values of the wrong type, and pages out of bounds.
pub fn search(entity: &'static Entity, body: &str) -> Result<Search> {
    let mut search = Search::all(entity, Conditions::new(), DEFAULT_LIMIT);
    if body.trim_ascii().is_empty() {
        return Ok(search);
    }
    let body: Json = serde_json::from_str(body).or_else(|error| {
        bad(format!(
            "The request body is not valid JSON: {error}. Send one JSON object."
        ))
    })?;
    let body = match body {
        Json::Null => return Ok(search),
        body => object(&body, "The request body")?.clone(),
    };
    for (name, value) in &body {
        match name.as_str() {
            _ if value.is_null() => known(name)?,
            "filter" => filter(&mut search, value)?,
            "sort" => search.sort = sorts(entity, value)?,
            // Parsed later: its cursors depend on the sort, which may come after it.
            "page" => {}
            _ => known(name)?,
        }
    }
    let latest = latest::sort(&search);
    let is_latest = latest.is_some();
    search.sort = latest.unwrap_or(search.sort);
    if let Some(value) = body.get("page").filter(|value| !value.is_null()) {
        let by = search.sort.iter().map(|sort| sort.field).chain([0]);
        let kinds: Vec<Kind> = by.map(|field| entity.field(field).kind).collect();
        search.page = page(value, entity, &kinds)?;
    }
    if is_latest {
        search.page.start = latest::beside_all_versions(search.page.start);
    }
    Ok(search)
}

fn known(name: &str) -> Result<()> {
    match name {
        "filter" | "sort" | "page" => Ok(()),
        _ => bad(format!(
            "The field '{name}' is not known here. A search has 'filter', 'sort' and 'page'."
        )),
    }
}

/// Parses a key from text: a decimal 64-bit number.
pub fn key(text: &str) -> Option<i64> {
    let digits = text.strip_prefix('-').unwrap_or(text);
    let fits = !digits.is_empty() && text.len() <= 25;
    let plain = digits.bytes().all(|byte| byte.is_ascii_digit());
    (fits && plain).then(|| text.parse().ok()).flatten()
}

fn object<'j>(value: &'j Json, what: &str) -> Result<&'j Map<String, Json>> {
    value.as_object().map_or_else(
        || {
            bad(format!(
                "{what} is {}, but must be a JSON object.",
                kind_of(value)
            ))
        },
        Ok,
    )
}

fn list<'j>(value: &'j Json, what: &str) -> Result<&'j [Json]> {
    match value {
        Json::Array(items) => Ok(items),
        value => bad(format!(
            "The field '{what}' is {}, but must be a list.",
            kind_of(value)
        )),
    }
}

fn kind_of(value: &Json) -> &'static str {
    match value {
        Json::Null => "null",
        Json::Bool(_) => "a boolean",
        Json::Number(_) => "a number",
        Json::String(_) => "a string",
        Json::Array(_) => "a list",
        Json::Object(_) => "an object",
    }
}

fn filter(search: &mut Search, value: &Json) -> Result<()> {
    let fields = object(value, "The field 'filter'")?;
    let mut budget = Budget::FULL;
    search.filter = conditions(search.entity, fields, "filter", &mut budget)?;
    if let Some(alternatives) = fields.get("$or").filter(|or| !or.is_null()) {
        let taking = [&PROCESS_INSTANCE, &ELEMENT_INSTANCE, &USER_TASK];
        if !taking.iter().any(|one| std::ptr::eq(search.entity, *one)) {
            return bad(format!(
                "A search for {} takes no '$or' in its filter.",
                search.entity.with_article()
            ));
        }
        for alternative in list(alternatives, "filter.$or")? {
            let fields = object(alternative, "An item of 'filter.$or'")?;
            if fields.contains_key("$or") {
                return bad("The items of 'filter.$or' take no '$or' of their own.");
            }
            budget.spend(1)?;
            let held = conditions(search.entity, fields, "filter.$or", &mut budget)?;
            search.any_of.push(held);
        }
        let alternatives = together(std::mem::take(&mut search.any_of));
        match <[Conditions; 1]>::try_from(alternatives) {
            Ok([only]) => search.filter.extend(only),
            Err(alternatives) => search.any_of = alternatives,
        }
    }
    Ok(())
}

/// Merges alternatives that compare the same field with one value each into a single condition with a list of values. Thousands
/// of keys are then looked up by index instead of testing each alternative on each row.
fn together(alternatives: Vec<Conditions>) -> Vec<Conditions> {
    let mut merged: Vec<Conditions> = Vec::new();
    let mut places: HashMap<usize, usize> = HashMap::new();
    for alternative in alternatives {
        let [
            Condition::Field {
                field,
                op: Op::Eq(value),
            },
        ] = alternative.as_slice()
        else {
            merged.push(alternative);
            continue;
        };
        let place = places.get(field).copied();
        let known = place.and_then(|place| merged.get_mut(place));
        if let Some(
            [
                Condition::Field {
                    op: Op::In(values), ..
                },
            ],
        ) = known.map(Vec::as_mut_slice)
        {
            values.push(value.clone());
            continue;
        }
        places.insert(*field, merged.len());
        let op = Op::In(vec![value.clone()]);
        merged.push(vec![Condition::Field { field: *field, op }]);
    }
    merged
}

fn conditions(
    entity: &'static Entity,
    fields: &Map<String, Json>,
    path: &str,
    budget: &mut Budget,
) -> Result<Conditions> {
    let mut found = Conditions::new();
    let mut groups: Vec<(u8, Related)> = Vec::new();
    for (name, value) in fields {
        if name == "$or" || value.is_null() {
            continue;
        }
        let path = format!("{path}.{name}");
        if let Some(filter) = entity.related.iter().find(|filter| filter.name == name) {
            related(filter, value, &path, budget, &mut found, &mut groups)?;
            continue;
        }
        if let Some((_, list, kind)) = entity.items.iter().find(|(filter, ..)| filter == name) {
            let at = entity.index_of(list).unwrap_or_default();
            let listed = (name == list).then_some(entity.field(at).ops);
            items((at, *kind), listed, value, &path, budget, &mut found)?;
            continue;
        }
        let mut fields = entity.fields.iter().enumerate();
        let field = fields.find(|(_, field)| field.name == name && !field.ops.is_none());
        let Some((at, field)) = field else {
            return bad(unknown_field(entity, &path));
        };
        for op in ops(field, field.ops, value, &path, budget)? {
            found.extend(spellings::conditions(field, at, op));
        }
    }
    let groups = groups.into_iter();
    found.extend(groups.map(|(_, related)| Condition::Related(Box::new(related))));
    Ok(found)
}

fn unknown_field(entity: &Entity, path: &str) -> String {
    let fields = entity.fields.iter();
    let names = fields.filter(|f| !f.ops.is_none()).map(|f| f.name);
    let names = names.chain(entity.related.iter().map(|r| r.name));
    let names = names.chain(entity.items.iter().map(|(name, ..)| *name));
    let mut names: Vec<&str> = names.collect();
    names.sort_unstable();
    names.dedup();
    format!(
        "The field '{path}' is not one that {} can be filtered by. Those are: {}.",
        entity.with_article(),
        names.join(", ")
    )
}

/// Parses a filter on the items of a list. Either a list of texts, all of which must be present (if the list has operators of
/// its own, each entry needs a matching item), or operators that one item must satisfy.
fn items(
    (field, kind): (usize, Kind),
    listed: Option<Ops>,
    value: &Json,
    path: &str,
    budget: &mut Budget,
    found: &mut Conditions,
) -> Result<()> {
    let one = Field::new("item", kind, Ops::TEXT);
    let Some(operators) = listed else {
        for op in ops(&one, one.ops, value, path, budget)? {
            found.push(Condition::Item { field, op });
        }
        return Ok(());
    };
    for item in list(value, path)? {
        let taken = match item.is_object() && !operators.is_none() {
            true => operators,
            false if item.is_string() => Ops::PLAIN,
            false => return bad(format!("The items of '{path}' must be strings.")),
        };
        if item.as_object().is_some_and(Map::is_empty) {
            budget.spend(1)?;
        }
        for op in ops(&one, taken, item, path, budget)? {
            found.push(Condition::Item { field, op });
        }
    }
    Ok(())
}

fn related(
    filter: &'static RelatedFilter,
    value: &Json,
    path: &str,
    budget: &mut Budget,
    found: &mut Conditions,
    groups: &mut Vec<(u8, Related)>,
) -> Result<()> {
    let entity = (filter.entity)();
    let column = |name: &str| entity.index_of(name).unwrap_or_default();
    let at = column(filter.field);
    let field = entity.field(at);
    let mut row = Related {
        entity,
        own: filter.own,
        link: filter.link,
        conditions: Vec::new(),
    };
    if let Some((name, text)) = filter.only {
        row.conditions.push(Condition::Field {
            field: column(name),
            op: Op::Eq(Value::text(text)),
        });
    }
    if filter.takes == Takes::NamedValues {
        for item in list(value, path)? {
            let item = object(item, &format!("An item of '{path}'"))?;
            let (Some(Json::String(name)), Some(value)) = (item.get("name"), item.get("value"))
            else {
                return bad(format!(
                    "An item of '{path}' must have a 'name', which is a string, and a 'value'."
                ));
            };
            if let Some(other) = item.keys().find(|k| !["name", "value"].contains(&&***k)) {
                return bad(format!("The field '{other}' is not known in '{path}'."));
            }
            budget.spend_related(path)?;
            let mut one = row.clone();
            one.conditions.push(Condition::Field {
                field: column("name"),
                op: Op::Eq(Value::text(name)),
            });
            for op in ops(field, filter.ops, value, &format!("{path}.value"), budget)? {
                one.conditions.extend(spellings::conditions(field, at, op));
            }
            found.push(Condition::Related(Box::new(one)));
        }
        return Ok(());
    }
    let said = ops(field, filter.ops, value, path, budget)?;
    // Without conditions, the related row need not even exist.
    if said.iter().all(Op::says_nothing) {
        return Ok(());
    }
    let said = said.into_iter();
    row.conditions
        .extend(said.flat_map(|op| spellings::conditions(field, at, op)));
    let group = groups
        .iter_mut()
        .find(|(group, _)| filter.group != 0 && *group == filter.group);
    match group {
        Some((_, together)) => together.conditions.append(&mut row.conditions),
        None => {
            budget.spend_related(path)?;
            groups.push((filter.group, row));
        }
    }
    Ok(())
}

/// Parses the condition on a field: a plain value, or an object with operators.
fn ops(
    field: &Field,
    allowed: Ops,
    value: &Json,
    path: &str,
    budget: &mut Budget,
) -> Result<Vec<Op>> {
    let Json::Object(operators) = value else {
        budget.spend(1)?;
        return Ok(vec![Op::Eq(plain(field, value, path)?)]);
    };
    if allowed == Ops::PLAIN {
        return bad(format!(
            "The field '{path}' takes a plain value, no operators."
        ));
    }
    let is_empty = |value: &Json| value.as_array().is_some_and(Vec::is_empty);
    let says_more = operators
        .values()
        .any(|value| !value.is_null() && !is_empty(value));
    let mut found = Vec::new();
    for (name, value) in operators {
        if value.is_null() {
            continue;
        }
        let path = format!("{path}.{name}");
        // The Java client sends both lists along with every operator. Alone, an empty list still matches nothing: a batch
        // operation with it must not apply to everything.
        if matches!(name.as_str(), "$in" | "$notIn") && is_empty(value) && says_more {
            continue;
        }
        if !allowed.allows(name) {
            return bad(format!(
                "The operator '{path}' is not one that this field takes. Those are: {}.",
                allowed.names().join(", ")
            ));
        }
        budget.spend(value.as_array().map_or(1, Vec::len).max(1))?;
        found.push(operator(field, name, value, &path)?);
    }
    Ok(found)
}

fn operator(field: &Field, name: &str, value: &Json, path: &str) -> Result<Op> {
    let one = |value: &Json| plain(field, value, path);
    let many = |value: &Json| -> Result<Vec<Value>> {
        list(value, path)?
            .iter()
            .map(|item| plain(field, item, path))
            .collect()
    };
    Ok(match name {
        "$eq" => Op::Eq(one(value)?),
        "$neq" => Op::Neq(one(value)?),
        "$gt" => Op::Gt(one(value)?),
        "$gte" => Op::Gte(one(value)?),
        "$lt" => Op::Lt(one(value)?),
        "$lte" => Op::Lte(one(value)?),
        "$in" => Op::In(many(value)?),
        "$notIn" => Op::NotIn(many(value)?),
        "$exists" => match value {
            Json::Bool(exists) => Op::Exists(*exists),
            value => return bad(wrong_type(path, value, "true or false")),
        },
        _ => match value {
            Json::String(pattern) if pattern.len() > MAX_PATTERN => {
                return bad(format!(
                    "The pattern of '{path}' has {} bytes. At most {MAX_PATTERN} can be looked for.",
                    pattern.len()
                ));
            }
            Json::String(pattern) => Op::Like(pattern.as_str().into()),
            value => return bad(wrong_type(path, value, "a string")),
        },
    })
}

fn wrong_type(path: &str, value: &Json, wanted: &str) -> String {
    format!(
        "The field '{path}' is {}, but must be {wanted}.",
        kind_of(value)
    )
}

fn plain(field: &Field, value: &Json, path: &str) -> Result<Value> {
    match (field.kind, value) {
        (Kind::Key, Json::String(text)) => match key(text) {
            Some(key) => Ok(Value::Int(key)),
            None => bad(format!(
                "The field '{path}' is '{text}', which is no key: a key is a decimal number of 64 bits."
            )),
        },
        (Kind::Key, value) => bad(wrong_type(path, value, "a key: a string of decimal digits")),
        (Kind::Text | Kind::Json, Json::String(text)) => Ok(Value::text(text)),
        (Kind::Text | Kind::Json, value) => bad(wrong_type(path, value, "a string")),
        (Kind::Int, Json::Number(number)) => match number.as_i64().map(i32::try_from) {
            Some(Ok(number)) => Ok(Value::Int(i64::from(number))),
            _ => bad(format!(
                "The field '{path}' is {number}, but must be a whole number of 32 bits."
            )),
        },
        (Kind::Int, value) => bad(wrong_type(path, value, "a whole number")),
        (Kind::Bool, Json::Bool(truth)) => Ok(Value::from(*truth)),
        (Kind::Bool, value) => bad(wrong_type(path, value, "true or false")),
        (Kind::Time, Json::String(text)) => match time::parse(text) {
            Some(millis) => Ok(Value::Int(millis)),
            None => bad(format!(
                "The field '{path}' is '{text}', which is no date-time with zone. Write it like 2026-01-31T13:05:00.000Z."
            )),
        },
        (Kind::Time, value) => bad(wrong_type(path, value, "a date-time: a string")),
        (Kind::Enum(names), Json::String(text)) => one_of(names, text, path),
        (Kind::Enum(_), value) => bad(wrong_type(path, value, "a string")),
    }
}

/// The value of an enum in any case, converted to the API's spelling.
fn one_of(names: &[&'static str], text: &str, path: &str) -> Result<Value> {
    let name = names.iter().find(|name| name.eq_ignore_ascii_case(text));
    match name {
        Some(name) => Ok(Value::Text(Arc::from(*name))),
        None => bad(format!(
            "Unexpected value '{text}' for enum field '{path}'. Use any of the following values: [{}]",
            names.join(", ")
        )),
    }
}

fn sorts(entity: &Entity, value: &Json) -> Result<Vec<Sort>> {
    let items = list(value, "sort")?;
    if items.len() > MAX_SORTS {
        return bad(format!(
            "A search sorts by {MAX_SORTS} fields at most, this one by {}.",
            items.len()
        ));
    }
    let mut sorts: Vec<Sort> = Vec::with_capacity(items.len());
    for item in items {
        let item = object(item, "An item of 'sort'")?;
        let mut descending = false;
        let mut by = None;
        for (name, value) in item {
            match (name.as_str(), value) {
                ("field", Json::String(text)) => by = Some(sortable(entity, text)?),
                ("order", Json::String(text)) => {
                    let order = one_of(&["ASC", "DESC"], text, "sort.order")?;
                    descending = order.as_text() == Some("DESC");
                }
                ("order", Json::Null) => {}
                ("field" | "order", value) => {
                    return bad(wrong_type(&format!("sort.{name}"), value, "a string"));
                }
                _ => return bad(format!("The field 'sort.{name}' is not known here.")),
            }
        }
        let Some(field) = by else {
            return bad("An item of 'sort' has no 'field'. Name the field to sort by.");
        };
        // Earlier sorts by the same field take precedence.
        if sorts.iter().all(|sort| sort.field != field) {
            sorts.push(Sort { field, descending });
        }
    }
    Ok(sorts)
}

/// The field of this name, in any case: an enum of the API, unlike the names in a filter.
fn sortable(entity: &Entity, name: &str) -> Result<usize> {
    let mut fields = entity.fields.iter();
    let at = fields.position(|field| field.sortable && field.name.eq_ignore_ascii_case(name));
    match at {
        Some(at) => Ok(at),
        None => {
            let fields = entity.fields.iter().filter(|field| field.sortable);
            let names: Vec<&str> = fields.map(|field| field.name).collect();
            bad(format!(
                "Unexpected value '{name}' for enum field 'sort.field'. Use any of the following values: [{}]",
                names.join(", ")
            ))
        }
    }
}

fn page(value: &Json, entity: &Entity, cursor_kinds: &[Kind]) -> Result<Page> {
    let fields = object(value, "The field 'page'")?;
    let mut limit = DEFAULT_LIMIT;
    let mut start = None;
    for (name, value) in fields.iter().filter(|(_, value)| !value.is_null()) {
        let path = format!("page.{name}");
        let this = match (name.as_str(), value) {
            ("limit", value) => {
                limit = number(&path, value, 1, MAX_LIMIT)?;
                continue;
            }
            ("from", value) => Start::Offset(number(&path, value, 0, i32::MAX as u32)?),
            ("after", Json::String(text)) => {
                Start::After(cursor(&path, text, entity, cursor_kinds)?)
            }
            ("before", Json::String(text)) => {
                Start::Before(cursor(&path, text, entity, cursor_kinds)?)
            }
            ("after" | "before", value) => return bad(wrong_type(&path, value, "a string")),
            _ => {
                return bad(format!(
                    "The field '{path}' is not known here. A page has 'limit' and one of 'from', 'after' and 'before'."
                ));
            }
        };
        if start.replace(this).is_some() {
            return bad(
                "The page has more than one of 'from', 'after' and 'before'. Name one place where it begins.",
            );
        }
    }
    let start = start.unwrap_or(Start::Offset(0));
    if let Start::Offset(from) = start
        && from.saturating_add(limit) > MAX_WINDOW
    {
        return bad(format!(
            "The page ends at row {}, but pages that are named by their offset end at row {MAX_WINDOW}. Go on with 'after' and \
             the 'endCursor' of the page before.",
            u64::from(from) + u64::from(limit)
        ));
    }
    Ok(Page { limit, start })
}

fn number(path: &str, value: &Json, least: u32, most: u32) -> Result<u32> {
    let Json::Number(number) = value else {
        return bad(wrong_type(path, value, "a whole number"));
    };
    let fits = number.as_i64().and_then(|n| u32::try_from(n).ok());
    match fits.filter(|n| (least..=most).contains(n)) {
        Some(n) => Ok(n),
        None => bad(format!(
            "The field '{path}' is {number}, but must be a whole number from {least} to {most}."
        )),
    }
}

fn cursor(path: &str, text: &str, entity: &Entity, kinds: &[Kind]) -> Result<Cursor> {
    match Cursor::decode(text, entity, kinds) {
        Some(cursor) => Ok(cursor),
        None => bad(format!(
            "The field '{path}' is no cursor of a search for this with this sort. Use the 'startCursor' or 'endCursor' of an earlier \
             answer of the same search, and keep the sort as it was."
        )),
    }
}
