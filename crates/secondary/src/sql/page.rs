//! A page of a search, in sort order.
//!
//! Absent values come last, and a cursor may point anywhere. So that an index can deliver the rows in order and start at the
//! cursor, a page is queried in parts: first the rows that have the first sort field, then, if needed, those that lack it.

use skep_query::entities::PREVIEW;
use skep_query::{
    Condition, Conditions, Cursor, Entity, Indexed, Op, Related, Search, Sort, Start, Value,
};

use super::select::{columns, from};
use super::{Columns, Sql, tenants};

/// Rows of a search, partitioned by whether they have the first sort field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// All rows: the field is never absent, or the page starts at an offset.
    Whole,
    Present,
    Absent,
}

/// The parts that may contain rows of the page, in order.
pub fn parts(search: &Search) -> &'static [Part] {
    use Part::{Absent, Present, Whole};
    if sorts(search).first().is_none_or(|first| first.field == 0) {
        return &[Whole];
    }
    let at_absent = |cursor: &Cursor| matches!(cursor.0.first(), None | Some(Value::Null));
    match &search.page.start {
        Start::Offset(0) => &[Present, Absent],
        Start::Offset(_) => &[Whole],
        Start::After(cursor) if at_absent(cursor) => &[Absent],
        Start::After(_) => &[Present, Absent],
        Start::Before(cursor) if at_absent(cursor) => &[Absent, Present],
        Start::Before(_) => &[Present],
    }
}

/// Strategies to find rows.
#[derive(Clone, Debug)]
pub enum Way<'a> {
    /// As the database plans it. These conditions on related rows are evaluated row by row.
    Planned(&'a [&'a Related]),
    /// By scanning all rows in sort order along an index, if there is one. With many matches, the first ones are found soon.
    Walked,
    /// By these columns of indices only. See [`Keys`](tenants::Keys), [`listed_column`] and [`scanned_key`].
    Listed(Vec<&'static str>),
    /// As the database plans it, but not by the indices of these columns: without statistics it prefers them to those that leave fewer
    /// rows.
    Without(Vec<&'static str>),
}

/// The statement for the first rows of a part of the page. Before a cursor, rows come in reverse order. `None`: there is no
/// index to scan along.
pub fn rows<'a>(
    mut sql: Sql<'a>,
    search: &Search,
    (part, limit): (Part, u32),
    way: &Way<'a>,
) -> Option<Sql<'a>> {
    match way {
        Way::Planned(broad) => sql.broad = broad.to_vec(),
        Way::Walked => sql.walks = Some(vec![walked(&sql, search, part)?]),
        Way::Listed(columns) => sql.walks = Some(columns.clone()),
        Way::Without(columns) => sql.without.clone_from(columns),
    }
    sql.push("SELECT ");
    sql.push(&listed(search));
    from(&mut sql, search);
    begin(&mut sql, search, part);
    order(&mut sql, search, part);
    sql.push(&format!(" LIMIT {limit}"));
    if let Start::Offset(from @ 1..) = search.page.start {
        sql.push(&format!(" OFFSET {from}"));
    }
    Some(sql)
}

/// The sort fields, with the key at the end.
fn sorts(search: &Search) -> Vec<Sort> {
    let key = Sort {
        field: 0,
        descending: false,
    };
    let mut sorts = search.sort.clone();
    sorts.push(key);
    sorts
}

fn name(entity: &Entity, sort: &Sort) -> String {
    format!("t.\"{}\"", entity.field(sort.field).name)
}

/// The column of the first sort field. It leads to no index if another one is entered.
fn first_name(sql: &Sql<'_>, entity: &Entity, sort: &Sort) -> String {
    let sorted = entity.field(sort.field).name;
    let is_other = |walked: &Vec<&str>| !walked.contains(&sorted);
    let is_other = sql.walks.as_ref().is_some_and(is_other);
    let is_other = is_other || tenants::is_only_of_all(sql, entity, sorted);
    format!("{}{}", sql.sign(is_other), name(entity, sort))
}

fn is_reversed(search: &Search) -> bool {
    matches!(search.page.start, Start::Before(_))
}

/// Adds the condition where the part begins: at the cursor, or at the first row of the part.
fn begin(sql: &mut Sql<'_>, search: &Search, part: Part) {
    let sorts = sorts(search);
    let Some((first, others)) = sorts.split_first() else {
        return;
    };
    let column = first_name(sql, search.entity, first);
    let before = is_reversed(search);
    let values = match &search.page.start {
        Start::Offset(_) => &[],
        Start::After(cursor) | Start::Before(cursor) => cursor.0.as_slice(),
    };
    match (part, values.split_first()) {
        (Part::Absent, Some((Value::Null, values))) => {
            sql.push(&format!(" AND {column} IS NULL"));
            beyond(sql, search.entity, (others, values), before);
        }
        (Part::Absent, _) => sql.push(&format!(" AND {column} IS NULL")),
        (Part::Present, None | Some((Value::Null, _))) => {
            sql.push(&format!(" AND {column} IS NOT NULL"));
        }
        (Part::Whole, None) => {}
        // A cursor from another sort may contain no key.
        (Part::Whole, Some((Value::Null, _))) => {
            beyond(sql, search.entity, (&sorts, values), before);
        }
        (Part::Present | Part::Whole, Some((value, _))) => {
            // This condition allows index access; the following one restates it precisely.
            let comparison = if first.descending == before {
                ">="
            } else {
                "<="
            };
            sql.push(&format!(" AND {column} {comparison} "));
            sql.bind(value);
            beyond(sql, search.entity, (&sorts, values), before);
        }
    }
}

/// Adds the condition for rows after these values in sort order, or before them, decided by the first value in which they
/// differ.
fn beyond(sql: &mut Sql<'_>, entity: &Entity, (sorts, values): (&[Sort], &[Value]), before: bool) {
    // Where another index than that of the sort is entered, only the key may narrow it further.
    let enters = |walked: &Vec<&str>| {
        let mut sorts = sorts.iter();
        sorts.all(|sort| !walked.contains(&entity.field(sort.field).name))
    };
    let is_elsewhere = sql.walks.as_ref().is_some_and(enters);
    let names = sorts.iter().map(|sort| {
        let column = entity.field(sort.field).name;
        let is_other = sort.field != 0 && is_elsewhere;
        let is_other = is_other || tenants::is_only_of_all(sql, entity, column);
        format!("{}{}", sql.sign(is_other), name(entity, sort))
    });
    let names: Vec<String> = names.collect();
    sql.push(" AND (FALSE");
    for (at, ((sort, column), value)) in sorts.iter().zip(&names).zip(values).enumerate() {
        // Nothing comes after an absent value, and every present value comes before it.
        if *value == Value::Null && !before {
            continue;
        }
        sql.push(" OR (");
        for (name, value) in names.iter().zip(values).take(at) {
            sql.push(name);
            match value {
                Value::Null => sql.push(" IS NULL AND "),
                value => {
                    sql.push(" = ");
                    sql.bind(value);
                    sql.push(" AND ");
                }
            }
        }
        match value {
            Value::Null => sql.push(&format!("{column} IS NOT NULL")),
            value => {
                let greater = sort.descending == before;
                let comparison = if greater { ">" } else { "<" };
                sql.push(&format!("({column} {comparison} "));
                sql.bind(value);
                sql.push(if before { "" } else { " OR " });
                let absent = format!("{column} IS NULL");
                sql.push(if before { "" } else { &absent });
                sql.push(")");
            }
        }
        sql.push(")");
    }
    sql.push(")");
}

fn order(sql: &mut Sql<'_>, search: &Search, part: Part) {
    let reversed = is_reversed(search);
    let mut terms = Vec::new();
    for (at, sort) in sorts(search).iter().enumerate() {
        let column = match at {
            0 => first_name(sql, search.entity, sort),
            _ => name(search.entity, sort),
        };
        let direction = if sort.descending != reversed {
            "DESC"
        } else {
            "ASC"
        };
        // Absent values come last, or first in a reversed page.
        let nulls = if reversed {
            " NULLS FIRST"
        } else {
            " NULLS LAST"
        };
        match (at, part) {
            (0, Part::Absent) => {}
            // An index may not say where it keeps absent values.
            (0, Part::Present) => terms.push(format!("{column} {direction}")),
            _ if sort.field == 0 => terms.push(format!("{column} {direction}")),
            _ => terms.push(format!("{column} {direction}{nulls}")),
        }
    }
    sql.push(" ORDER BY ");
    sql.push(&terms.join(", "));
}

/// The column along which an index delivers all rows in sort order. Also `None` if another index delivers the rows for some of
/// the conditions in this order: the database finds that by itself.
fn walked(sql: &Sql<'_>, search: &Search, part: Part) -> Option<&'static str> {
    let entity = search.entity;
    if tenants::are_mixed(sql, entity) {
        return None;
    }
    let Some(sort) = search.sort.first() else {
        return Some(entity.key().name);
    };
    let sorted = entity.field(sort.field);
    let has_all = match sorted.indexed {
        Indexed::All => true,
        Indexed::Present => part == Part::Present,
        Indexed::Absent
        | Indexed::True
        | Indexed::While(..)
        | Indexed::Unlike(_)
        | Indexed::OfTenants => false,
    };
    // The index columns before the sort column.
    let before = |columns: Columns| {
        let at = columns.iter().position(|column| *column == sorted.name)?;
        columns.get(..at)
    };
    let mut along = tenants::indices(sql, entity).filter_map(before);
    let (mut has_order, mut is_planned) = (sort.field == 0, false);
    for columns in &mut along {
        has_order |= columns.is_empty();
        is_planned |= !columns.is_empty() && columns.iter().all(|c| is_given(search, c));
    }
    (has_all && has_order && !is_planned).then_some(sorted.name)
}

/// The column of which a condition lists several values, if an index begins with it: the processes that a caller may see, for instance.
/// A database that does not know how many rows there are of each value enters its index of another condition instead, such as
/// that on the state, and reads all of the rows that it finds there.
pub fn listed_column(sql: &Sql<'_>, search: &Search) -> Option<&'static str> {
    let others = search.filter.len() + search.any_of.len();
    if others < 2 || related(&search.filter).next().is_some() {
        return None;
    }
    let entity = search.entity;
    let mut listed = search.filter.iter().filter_map(|condition| {
        let (field, values) = values_of(condition)?;
        (values.len() > 1).then(|| entity.field(field))
    });
    let is_first = |name: &str| {
        let mut firsts = tenants::indices(sql, entity).map(|columns| columns.first());
        firsts.any(|first| first == Some(&name))
    };
    let found = listed.find(|field| field.indexed == Indexed::All && is_first(field.name))?;
    Some(found.name)
}

/// The values that a condition lists, with the field that must have one of them. Permissions are a list as the only alternative.
pub fn values_of(condition: &Condition) -> Option<(usize, &[Value])> {
    match condition {
        Condition::Field {
            field,
            op: Op::In(values),
        } => Some((*field, values)),
        Condition::Any(alternatives) => match alternatives.as_slice() {
            [only] => match only.as_slice() {
                [
                    Condition::Field {
                        field,
                        op: Op::In(values),
                    },
                ] => Some((*field, values)),
                _ => None,
            },
            _ => None,
        },
        _ => None,
    }
}

/// The key, if a condition that no index helps with stands beside others: the tenants that a caller belongs to, for instance. Where the
/// index of another condition leads to very many rows, it is faster to read all of them in the order of the table, or all of the tenant.
pub fn scanned_key(sql: &Sql<'_>, search: &Search) -> Option<&'static str> {
    let entity = search.entity;
    let has_index = |field: usize| {
        let name = entity.field(field).name;
        let mut firsts = tenants::indices(sql, entity).map(|columns| columns.first());
        let is_tenant = sql.of_tenant && name == tenants::TENANT;
        field == 0 || is_tenant || firsts.any(|first| first == Some(&name))
    };
    let is_free = |condition: &Condition| match condition {
        Condition::Field { field, .. } => !has_index(*field),
        _ => false,
    };
    let mut alternatives = search
        .filter
        .iter()
        .filter_map(|condition| match condition {
            Condition::Any(alternatives) => Some(alternatives),
            _ => None,
        });
    let is_found = alternatives.any(|of| of.iter().any(|all| all.iter().all(is_free)));
    let is_of_most = |condition: &Condition| match condition {
        Condition::Field { field, .. } => entity.field(*field).indexed == Indexed::OfTenants,
        _ => false,
    };
    let is_found = is_found || !sql.of_tenant && search.filter.iter().any(is_of_most);
    (is_found && search.filter.len() > 1).then_some(entity.key().name)
}

/// Whether a condition fixes the value of the column.
pub fn is_given(search: &Search, column: &str) -> bool {
    let field = search.entity.index_of(column);
    let gives = |condition: &Condition| match condition {
        Condition::Field { field: of, op } => {
            Some(*of) == field && matches!(op, Op::Eq(value) if *value != Value::Null)
        }
        _ => false,
    };
    search.filter.iter().any(gives)
}

/// The conditions on related entities.
pub fn related(conditions: &Conditions) -> impl Iterator<Item = &Related> {
    conditions.iter().filter_map(|condition| match condition {
        Condition::Related(related) => Some(&**related),
        _ => None,
    })
}

/// The columns of a list: it omits hidden columns, and long values are cut to their previews, so that a page of large values
/// need not fit into memory.
fn listed(search: &Search) -> String {
    let entity = search.entity;
    if search.details {
        return columns(entity);
    }
    let fields = entity.fields.iter().enumerate();
    let columns = fields.map(|(at, field)| match (entity.table, field.name) {
        ("variable", "value") if !search.whole_texts && !sorts_by(search, at) => {
            format!("substr(t.value, 1, {})", PREVIEW + 1)
        }
        // Cursors need the key and the sort values, shown or not.
        _ if at > 0 && (!field.shown || field.detail) && !sorts_by(search, at) => {
            "NULL".to_string()
        }
        (_, name) => format!("t.\"{name}\""),
    });
    columns.collect::<Vec<_>>().join(", ")
}

/// Whether the search sorts by this field. Its whole value is then needed for the cursor.
fn sorts_by(search: &Search, field: usize) -> bool {
    search.sort.iter().any(|sort| sort.field == field)
}

#[cfg(test)]
pub(super) mod tests {
    use rusqlite::{Connection, params_from_iter};

    use super::*;
    use crate::sql::samples::{self, FILTERS, searches, tables};
    use crate::sql::select;
    use crate::sqlite::writer::Bound;

    pub fn first_columns<T: rusqlite::types::FromSql>(
        connection: &Connection,
        sql: &Sql<'_>,
        column: usize,
        before: &str,
    ) -> Vec<T> {
        let mut statement = connection
            .prepare(&format!("{before}{}", sql.text))
            .unwrap_or_else(|error| panic!("{}: {error}", sql.text));
        let rows = statement.query_map(params_from_iter(sql.parameters.iter().map(Bound)), |row| {
            row.get(column)
        });
        rows.expect("rows")
            .map(|row| row.expect("a value"))
            .collect()
    }

    pub fn statement<'a>(search: &Search, part: Part, way: &Way<'a>) -> Option<Sql<'a>> {
        rows(samples::sql(), search, (part, 5), way)
    }

    #[test]
    fn an_index_gives_many_rows_in_the_order_of_the_sort() {
        let connection = tables(300);
        for search in searches(&FILTERS, &["startDate", "endDate", ""]) {
            let [part, ..] = parts(&search) else {
                panic!("a page has parts");
            };
            let Some(sql) = statement(&search, *part, &Way::Walked) else {
                // Instances that have not ended are not in the index of the end date.
                assert_eq!(*part, Part::Absent, "{search:?}");
                continue;
            };
            let plan: Vec<String> = first_columns(&connection, &sql, 3, "EXPLAIN QUERY PLAN ");
            let sorts = plan.iter().any(|step| step.contains("B-TREE FOR ORDER BY"));
            let enters = plan
                .iter()
                .any(|step| step.contains("Date") || step.contains("INTEGER PRIMARY KEY"));
            let at_cursor = !matches!(search.page.start, Start::Offset(_));
            assert!(!sorts && enters | !at_cursor, "{}: {plan:?}", sql.text);
        }
    }

    #[test]
    fn rows_of_listed_values_are_found_by_their_index() {
        let connection = tables(300);
        let listed = r#""processDefinitionId": {"$in": ["p0", "p2"]}"#;
        let filter = format!(r#"{{{listed}, "state": "ACTIVE"}}"#);
        for search in searches(&[&filter], &["startDate"]) {
            let column = listed_column(&samples::sql(), &search);
            assert_eq!(column, Some("processDefinitionId"));
            let entered = |sql: &Sql<'_>| -> bool {
                let plan: Vec<String> = first_columns(&connection, sql, 3, "EXPLAIN QUERY PLAN ");
                plan.iter()
                    .any(|step| step.contains("processDefinitionId=?"))
            };
            let sql = samples::sql();
            assert!(entered(&select::count(
                sql,
                &search,
                &Way::Listed(vec!["processDefinitionId"]),
                1
            )));
            for part in parts(&search) {
                let sql = statement(&search, *part, &Way::Listed(vec!["processDefinitionId"]));
                assert!(entered(&sql.unwrap()), "{search:?}");
            }
        }
        // There is nothing to be told from, only one value, or no such index.
        let others = [
            format!("{{{listed}}}"),
            r#"{"processDefinitionId": {"$in": ["p0"]}, "state": "ACTIVE"}"#.to_string(),
            r#"{"tenantId": {"$in": ["a", "b"]}, "state": "ACTIVE"}"#.to_string(),
        ];
        for filter in &others {
            for search in searches(&[filter], &[""]) {
                assert_eq!(listed_column(&samples::sql(), &search), None, "{filter}");
            }
        }
    }

    /// That the page is the same as planned. Returns what the database reads for its rows.
    pub fn same_by(connection: &Connection, search: &Search, column: &'static str) -> Vec<String> {
        let mut plan = Vec::new();
        for part in parts(search) {
            let ways = [Way::Planned(&[]), Way::Listed(vec![column])];
            let ways = ways.map(|way| statement(search, *part, &way).unwrap());
            let [planned, listed] =
                [&ways[0], &ways[1]].map(|sql| first_columns::<i64>(connection, sql, 0, ""));
            assert_eq!(planned, listed, "{search:?}");
            let steps: Vec<String> = first_columns(connection, &ways[1], 3, "EXPLAIN QUERY PLAN ");
            plan.extend(steps);
        }
        plan.retain(|step| !step.contains("TEMP B-TREE"));
        plan
    }

    #[test]
    fn where_tenants_have_no_index_their_rows_are_read_in_the_order_of_the_table() {
        let connection = tables(300);
        for mut search in searches(&[r#"{"state": "ACTIVE"}"#], &["startDate"]) {
            assert_eq!(scanned_key(&samples::sql(), &search), None);
            search.filter.push(samples::of_tenants(&["acme"]));
            let column = scanned_key(&samples::sql(), &search);
            assert_eq!(column, Some("processInstanceKey"));
            let plan = same_by(&connection, &search, column.unwrap());
            let is_led = |step: &String| step.contains("INDEX");
            assert!(!plan.iter().any(is_led), "{plan:?}");
        }
    }

    #[test]
    fn an_index_that_has_the_rows_of_a_condition_in_order_is_not_passed_over() {
        let filters = [
            r#"{"processDefinitionId": "p1"}"#,
            r#"{"processDefinitionKey": "7", "state": "ACTIVE"}"#,
        ];
        for search in searches(&filters, &["startDate"]) {
            for part in parts(&search) {
                assert!(
                    statement(&search, *part, &Way::Walked).is_none(),
                    "{search:?}"
                );
            }
        }
    }

    #[test]
    fn whatever_way_is_taken_the_rows_are_the_same() {
        let connection = tables(300);
        let mut found_any = 0;
        for search in searches(&FILTERS, &["startDate", "endDate", ""]) {
            let broad: Vec<&Related> = related(&search.filter).collect();
            for part in parts(&search) {
                let listed = listed_column(&samples::sql(), &search);
                let listed = listed.map(|column| Way::Listed(vec![column]));
                let ways = [Way::Planned(&[]), Way::Planned(&broad), Way::Walked];
                let ways = ways.into_iter().chain(listed);
                let statements = ways.filter_map(|way| statement(&search, *part, &way));
                let found: Vec<_> = statements
                    .map(|sql| first_columns::<i64>(&connection, &sql, 0, ""))
                    .collect();
                assert!(found.len() > 1, "{search:?}");
                found_any += usize::from(!found[0].is_empty());
                assert!(
                    found.windows(2).all(|two| two[0] == two[1]),
                    "{search:?}: {found:?}"
                );
            }
        }
        assert!(found_any > 100, "{found_any}");
    }
}
