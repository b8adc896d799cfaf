//! Answers queries with any SQL database.

use std::time::Duration;

use skep_protocol::Key;
use skep_query::entities::PROCESS_INSTANCE;
use skep_query::{
    ActiveElements, ActiveInstances, Answer, Entity, Groups, Query, QueryError, Related,
    ResultPage, Row, Search, Start, groups, merge,
};

use super::counts::Counts;
use super::page::{self, Part, Way};
use super::tenants::{Keys, OfTenant, TENANT, Tenants};
use super::unselective::unselective_columns;
use super::{Dialect, Sql, active_elements, active_instances, flows, select, settled, statistics};
use crate::bounded::BoundedRows;

/// A SQL database that answers queries.
pub trait Database {
    /// Starts a statement.
    fn sql(&self) -> Sql<'_>;

    /// The rows that a statement returns, with this number of columns. They contain at most
    /// [`MAX_BYTES`](crate::bounded::MAX_BYTES) of text, but always at least one row.
    fn rows(&self, sql: &Sql<'_>, columns: usize) -> Result<Vec<Row>, QueryError>;

    /// Like `rows`, but gives up after `limit` and returns `None`. A database that plans by statistics of its rows does not try
    /// this.
    fn rows_within(
        &self,
        _sql: &Sql<'_>,
        _columns: usize,
        _limit: Duration,
    ) -> Result<Option<Vec<Row>>, QueryError> {
        Ok(None)
    }

    /// Whether the counts are those of the rows.
    fn is_counted(&self, counts: Counts) -> Result<bool, QueryError>;
}

/// Number of matching related rows above which a condition is not used to find rows, but evaluated row by row.
const BROAD: u64 = 1000;
/// Number of rows of a caller's tenants up to which all of them are read, whatever the search asks for.
const FEW: u64 = 1000;
/// Time limits for strategies that are fast if they lead to the rows, and slow if they do not.
const LOOK: Duration = Duration::from_millis(20);
const LIST: Duration = Duration::from_millis(2);
const WALK: Duration = Duration::from_millis(100);
const COUNT: Duration = Duration::from_millis(250);

pub fn answer(from: &impl Database, query: &Query) -> Result<Answer, QueryError> {
    match query {
        Query::Search(wanted) => search(from, wanted).map(Answer::Page),
        Query::Get { entity, key } => get(from, entity, *key).map(Answer::Row),
        Query::SequenceFlows {
            process_instance_key,
        } => {
            let found = get(from, &PROCESS_INSTANCE, *process_instance_key)?;
            Ok(Answer::Rows(
                found.map(|row| flows::of(&row)).unwrap_or_default(),
            ))
        }
        Query::Groups(wanted) => grouped(from, wanted).map(Answer::Rows),
        Query::DefinitionStatistics {
            process_definition_key,
        } => {
            let (key, counts) = (*process_definition_key, Counts::ActiveElements);
            let is_counted = from.is_counted(counts)?;
            let sql = statistics::of_definition(from.sql(), key, is_counted);
            from.rows(&sql, statistics::COLUMNS).map(Answer::Rows)
        }
        Query::ElementStatistics {
            process_instance_key,
        } => {
            let sql = statistics::of_instance(from.sql(), *process_instance_key);
            from.rows(&sql, statistics::COLUMNS).map(Answer::Rows)
        }
    }
}

fn search(from: &impl Database, search: &Search) -> Result<ResultPage, QueryError> {
    let Some(settled) = settled::settled(from, search)? else {
        return Ok(ResultPage::default());
    };
    let search = settled.as_ref();
    match Tenants::of(from, search)? {
        Some(tenants) => of_tenants(from, search, &tenants),
        None => within(from, search, merge::MAX_COUNTED),
    }
}

/// The page of a search for rows of these tenants.
fn of_tenants(
    from: &impl Database,
    search: &Search,
    tenants: &Tenants,
) -> Result<ResultPage, QueryError> {
    if tenants.is_empty() {
        return Ok(ResultPage::default());
    }
    let by = |search: &Search, columns| {
        let way = (Way::Listed(columns), None);
        listed(from, search, way, merge::MAX_COUNTED)
    };
    if let Some(keys) = Keys::of(search) {
        return match keys.owned(from, search, tenants)? {
            Some(search) => by(&search, keys.columns),
            None => Ok(ResultPage::default()),
        };
    }
    match small(from, search, tenants)? {
        // To find that once more would take as long.
        Some(0) => return Ok(ResultPage::default()),
        Some(_) => return by(search, vec![TENANT]),
        None if !search.entity.everywhere => {}
        None if tenants.are_limited() => return by(search, vec![TENANT]),
        None => return within(from, search, merge::MAX_COUNTED),
    }
    // The indices have the rows of each tenant in order.
    let part = merge::for_partition(search);
    let mut found = ResultPage::default();
    for one in tenants.each(&part) {
        let left = merge::MAX_COUNTED.saturating_sub(found.total);
        let of_one = within(&OfTenant(from), &one, left)?;
        if of_one.rows.is_empty() {
            found.total += of_one.total;
            found.more |= of_one.more;
            continue;
        }
        found = merge::join(&part, vec![found, of_one]);
        let mut rows = BoundedRows::default();
        for row in found.rows {
            rows.push(row)?;
        }
        found.rows = rows.done();
    }
    Ok(merge::join(search, vec![found]))
}

/// The page of a search, and its matches up to `most`.
fn within(from: &impl Database, search: &Search, most: u64) -> Result<ResultPage, QueryError> {
    let broad = broad(from, search)?;
    let (counted, way) = counted(from, search, &broad, most + 1)?;
    listed(from, search, (way, Some(counted)), most)
}

/// The page that a way leads to. `counted`: the number of matches, up to one more than `most`, if it is known.
fn listed(
    from: &impl Database,
    search: &Search,
    (way, counted): (Way<'_>, Option<u64>),
    most: u64,
) -> Result<ResultPage, QueryError> {
    let counted = match counted {
        Some(counted) => counted,
        None => {
            let sql = select::count(from.sql(), search, &way, most + 1);
            number(&from.rows(&sql, 1)?)
        }
    };
    if counted == 0 {
        return Ok(ResultPage::default());
    }
    let more = counted > most;
    let (mut rows, mut left) = (Vec::new(), search.page.limit);
    for part in page::parts(search) {
        rows.extend(page(from, search, (*part, left), more, &way)?);
        left = search
            .page
            .limit
            .saturating_sub(u32::try_from(rows.len()).unwrap_or(u32::MAX));
        // No rows are left to find.
        if left == 0 || (!more && u64::try_from(rows.len()) == Ok(counted)) {
            break;
        }
    }
    if matches!(search.page.start, Start::Before(_)) {
        rows.reverse();
    }
    Ok(ResultPage {
        rows,
        total: counted.min(most),
        more,
    })
}

/// The number of rows of the caller's tenants, if they are few: whatever the search asks for, all of them are read. PostgreSQL has
/// statistics and plans so by itself.
fn small(
    from: &impl Database,
    search: &Search,
    tenants: &Tenants,
) -> Result<Option<u64>, QueryError> {
    let sql = from.sql();
    let condition = tenants.condition(search.entity);
    let condition = condition.filter(|_| tenants.are_limited() && sql.dialect == Dialect::Sqlite);
    let Some(condition) = condition else {
        return Ok(None);
    };
    let sql = select::count_one(sql, search.entity, &condition, FEW + 1);
    let rows = number(&from.rows(&sql, 1)?);
    Ok((rows <= FEW).then_some(rows))
}

/// The conditions on related entities that match very many related rows.
fn broad<'a>(from: &impl Database, search: &'a Search) -> Result<Vec<&'a Related>, QueryError> {
    let mut broad = Vec::new();
    for related in page::related(&search.filter) {
        let sql = select::count_related(from.sql(), related, BROAD + 1);
        let found = from.rows_within(&sql, 1, LOOK)?;
        if found.is_some_and(|rows| number(&rows) > BROAD) {
            broad.push(related);
        }
    }
    Ok(broad)
}

/// The number of matches up to a limit, and the way to find them that has counted them.
fn counted<'a>(
    from: &impl Database,
    search: &Search,
    broad: &'a [&'a Related],
    limit: u64,
) -> Result<(u64, Way<'a>), QueryError> {
    let sql = from.sql();
    let mut last = Way::Planned(&[]);
    let mut tries = Vec::new();
    if !broad.is_empty() {
        tries.push((Way::Planned(broad), COUNT));
    }
    if let Some(column) = page::listed_column(&sql, search) {
        // Few rows of these values, or enough of them soon; else few of what other conditions lead to; else the one that reads an
        // index only. Behind a tenant, the index has the rows of the caller alone.
        tries.push((
            Way::Listed(vec![column]),
            if sql.of_tenant { LOOK } else { LIST },
        ));
        let mut without = vec![column];
        without.extend(unselective_columns(&sql, search, &without));
        tries.push((Way::Without(without), LOOK));
        if sql.dialect == Dialect::Sqlite {
            last = Way::Listed(vec![column]);
        }
    } else if let Some(key) = page::scanned_key(&sql, search)
        && sql.dialect == Dialect::Sqlite
    {
        tries.push((Way::Planned(&[]), COUNT));
        last = Way::Listed(vec![key]);
    }
    for (way, within) in tries {
        let sql = select::count(from.sql(), search, &way, limit);
        if let Some(rows) = from.rows_within(&sql, 1, within)? {
            return Ok((number(&rows), way));
        }
    }
    let rows = from.rows(&select::count(from.sql(), search, &last, limit), 1)?;
    Ok((number(&rows), last))
}

/// The rows of one part of the page.
fn page(
    from: &impl Database,
    search: &Search,
    part: (Part, u32),
    many: bool,
    way: &Way<'_>,
) -> Result<Vec<Row>, QueryError> {
    let columns = search.entity.fields.len();
    if many
        && let Some(sql) = page::rows(from.sql(), search, part, &Way::Walked)
        && let Some(rows) = from.rows_within(&sql, columns, WALK)?
    {
        return Ok(rows);
    }
    let sql = page::rows(from.sql(), search, part, way);
    sql.map_or(Ok(Vec::new()), |sql| from.rows(&sql, columns))
}

/// The result of a counting statement.
pub(super) fn number(rows: &[Row]) -> u64 {
    let counted = rows.first().and_then(|row| row.first()?.as_int());
    u64::try_from(counted.unwrap_or_default()).unwrap_or_default()
}

fn get(from: &impl Database, entity: &Entity, key: Key) -> Result<Option<Row>, QueryError> {
    let sql = select::get(from.sql(), entity, key.0);
    Ok(from.rows(&sql, entity.fields.len())?.pop())
}

fn grouped(from: &impl Database, groups: &Groups) -> Result<Vec<Row>, QueryError> {
    let Some(settled) = settled::settled(from, &groups.search)? else {
        return Ok(Vec::new());
    };
    let groups = &Groups {
        search: settled.into_owned(),
        ..groups.clone()
    };
    let columns = groups.by.len() + groups.measures.len();
    if let Some(sql) = from_counts(from, groups)? {
        return few_groups(from.rows(&sql, columns)?);
    }
    let Some(tenants) = Tenants::of(from, &groups.search)? else {
        let rows = from.rows(&select::groups(from.sql(), groups), columns)?;
        return few_groups(rows);
    };
    if tenants.is_empty() {
        return Ok(Vec::new());
    }
    let mut search = tenants.with_related(&groups.search);
    let mut sql = Sql {
        of_tenant: tenants.are_limited(),
        ..from.sql()
    };
    if let Some(keys) = Keys::of(&search) {
        search = match keys.owned(from, &search, &tenants)? {
            Some(search) => search,
            None => return Ok(Vec::new()),
        };
        (sql.of_tenant, sql.walks) = (false, Some(keys.columns));
    } else if let Some(rows) = small(from, &search, &tenants)? {
        if rows == 0 {
            return Ok(Vec::new());
        }
        sql.walks = Some(vec![TENANT]);
    } else if search.entity.everywhere && sql.of_tenant {
        sql.walks = Some(vec![TENANT]);
    }
    let groups = Groups {
        search,
        ..groups.clone()
    };
    few_groups(from.rows(&select::groups(sql, &groups), columns)?)
}

/// The statement that answers from counts, if the store keeps those that are asked for.
fn from_counts<'a>(
    from: &'a impl Database,
    groups: &Groups,
) -> Result<Option<Sql<'a>>, QueryError> {
    if let Some(asked) = ActiveElements::of(groups) {
        let is_counted = from.is_counted(Counts::ActiveElements)?;
        return Ok(is_counted.then(|| active_elements::of_definition(from.sql(), &asked)));
    }
    if let Some(asked) = ActiveInstances::of(groups) {
        let is_counted = from.is_counted(Counts::ActiveInstances)?;
        return Ok(is_counted.then(|| active_instances::groups(from.sql(), &asked)));
    }
    Ok(None)
}

fn few_groups(rows: Vec<Row>) -> Result<Vec<Row>, QueryError> {
    if rows.len() > groups::MAX_GROUPS {
        let groups = groups::MAX_GROUPS;
        return Err(QueryError::TooMany { groups });
    }
    Ok(rows)
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use skep_query::{Condition, Measure};

    use super::*;
    use crate::sql::samples::{FILTERS, Tried, of_tenants, searches, tables, tables_of_tenants};

    /// Counts its statements.
    struct Asked<'a> {
        database: Tried<'a>,
        statements: Cell<u32>,
    }

    impl Database for Asked<'_> {
        fn sql(&self) -> Sql<'_> {
            self.database.sql()
        }

        fn rows(&self, sql: &Sql<'_>, columns: usize) -> Result<Vec<Row>, QueryError> {
            self.statements.set(self.statements.get() + 1);
            self.database.rows(sql, columns)
        }

        fn is_counted(&self, counts: Counts) -> Result<bool, QueryError> {
            self.database.is_counted(counts)
        }
    }

    #[test]
    fn what_is_not_there_is_looked_for_once() {
        let connection = tables(10);
        let database = Asked {
            database: Tried {
                connection: &connection,
                succeeds: false,
                tenants: false,
            },
            statements: Cell::new(0),
        };
        for wanted in searches(&[r#"{"processDefinitionId": "none"}"#], &["startDate"]) {
            database.statements.set(0);
            let found = search(&database, &wanted).expect("an answer");
            assert_eq!(found, ResultPage::default());
            assert_eq!(database.statements.get(), 1, "{wanted:?}");
        }
    }

    #[test]
    fn a_member_of_an_empty_tenant_is_answered_before_related_rows_are_counted() {
        let connection = tables_of_tenants(10);
        let database = Asked {
            database: Tried {
                connection: &connection,
                succeeds: true,
                tenants: true,
            },
            statements: Cell::new(0),
        };
        for mut wanted in searches(&FILTERS, &["startDate"]) {
            wanted.filter.push(of_tenants(&["globex"]));
            database.statements.set(0);
            let found = search(&database, &wanted).expect("an answer");
            assert_eq!(found, ResultPage::default());
            assert_eq!(database.statements.get(), 1, "{wanted:?}");
        }
    }

    #[test]
    fn the_index_of_tenants_changes_no_answer() {
        // Few rows, more than few, and those of the default tenant.
        let connection = tables_of_tenants(14_000);
        let mut found_some = 0;
        for tenants in [&["umbrella"][..], &["umbrella", "acme"], &["<default>"]] {
            for mut wanted in searches(&FILTERS, &["startDate", ""]) {
                wanted.filter.push(of_tenants(tenants));
                let [found, planned] = [true, false].map(|tenants| {
                    let database = Tried {
                        connection: &connection,
                        succeeds: false,
                        tenants,
                    };
                    search(&database, &wanted).expect("an answer")
                });
                found_some += usize::from(found.total > 0);
                assert_eq!(found, planned, "{wanted:?}");
            }
        }
        assert!(found_some > 10, "{found_some}");
    }

    #[test]
    fn groups_of_few_tenants_are_those_that_any_way_finds() {
        let connection = tables_of_tenants(14_000);
        let asked = |condition: Condition, tenants: bool| {
            let database = Tried {
                connection: &connection,
                succeeds: false,
                tenants,
            };
            let groups = Groups {
                search: Search::all(&PROCESS_INSTANCE, vec![condition], 1),
                by: vec![PROCESS_INSTANCE.column("state")],
                span: None,
                measures: vec![Measure::Rows],
            };
            let mut rows = grouped(&database, &groups).expect("an answer");
            rows.sort_by_key(|row| format!("{row:?}"));
            rows
        };
        for (tenants, groups) in [
            (["globex", "none"], 0),
            (["umbrella", "none"], 2),
            (["acme", "<default>"], 2),
        ] {
            let planned = asked(of_tenants(&tenants), false);
            assert_eq!(asked(of_tenants(&tenants), true), planned);
            assert_eq!(planned.len(), groups, "{tenants:?}");
        }
    }

    #[test]
    fn a_try_of_another_way_changes_no_answer() {
        // More matches than are counted, for some filters.
        let connection = tables(14_000);
        let (mut many, mut broad_ones) = (0, 0);
        for wanted in searches(&FILTERS, &["startDate", "endDate", ""]) {
            let [tried, planned] = [true, false].map(|succeeds| {
                let database = Tried {
                    connection: &connection,
                    succeeds,
                    tenants: false,
                };
                let found = broad(&database, &wanted).expect("an answer");
                broad_ones += found.len();
                search(&database, &wanted).expect("an answer")
            });
            many += usize::from(tried.more);
            assert_eq!(tried.rows, planned.rows, "{wanted:?}");
            assert_eq!((tried.total, tried.more), (planned.total, planned.more));
        }
        assert!(many > 10 && broad_ones > 10, "{many} {broad_ones}");
    }
}
