//! The measured queries.

use std::cell::RefCell;
use std::sync::mpsc;
use std::time::{Duration, Instant};

use skep_protocol::Key;
use skep_query::access::{self, Sight};
use skep_query::entities::{
    ELEMENT_INSTANCE, INCIDENT, JOB, PROCESS_DEFINITION, PROCESS_INSTANCE, VARIABLE,
};
use skep_query::{
    Answer, Consistency, Entity, Groups, Measure, Query, QueryError, ResultPage, Search, merge,
    search,
};
use skep_secondary::Store;
use skep_sim::one_task::cpu_time_of;

use super::place::{self, Where};
use super::{Filled, PROCESSES};

/// Maximum duration of a kind of query, including all repetitions.
const LONG_ENOUGH: Duration = Duration::from_secs(10);
/// Number of pages of a walk.
const WALK: usize = 200;

pub struct Asking<'a> {
    store: &'a Store,
    place: &'a Where,
    instances: usize,
    count: usize,
    definitions: Vec<i64>,
    keys: Vec<i64>,
    sight: Sight,
    /// The p50 and p99 of each kind of search.
    pub measured: RefCell<Vec<(String, [Duration; 2])>>,
}

fn asked(store: &Store, query: Query) -> Result<Answer, QueryError> {
    let (done, answered) = mpsc::channel();
    store.query(query, Consistency::ReadYourWrites, move |answer| {
        let _ = done.send(answer);
    });
    let answered = answered.recv().expect("an answer");
    answered.map(|(answer, _)| answer)
}

fn parsed(entity: &'static Entity, body: &str) -> Search {
    search(entity, body).unwrap_or_else(|error| panic!("{body}: {error}"))
}

fn found(store: &Store, search: Search) -> ResultPage {
    match asked(store, Query::Search(search)) {
        Ok(Answer::Page(found)) => found,
        other => panic!("{other:?}"),
    }
}

fn first_column(found: &ResultPage) -> Vec<i64> {
    let keys = found.rows.iter().filter_map(|row| row.first()?.as_int());
    keys.collect()
}

/// Times of one kind of query.
struct Times {
    what: String,
    times: Vec<Duration>,
    rows: usize,
    cpu: (Duration, Duration),
    refused: Option<String>,
}

impl Times {
    fn begin(what: &str, place: &Where) -> Times {
        Times {
            what: what.to_string(),
            times: Vec::new(),
            rows: 0,
            cpu: (cpu_time_of(place.answers()), place::cpu_of_servers()),
            refused: None,
        }
    }

    /// Makes and sends the query. False once there were enough repetitions.
    fn ask(&mut self, store: &Store, query: impl FnOnce() -> Query) -> bool {
        let begun = Instant::now();
        match asked(store, query()) {
            Ok(Answer::Page(found)) => self.rows += found.rows.len(),
            Ok(Answer::Row(row)) => self.rows += usize::from(row.is_some()),
            Ok(Answer::Rows(rows)) => self.rows += rows.len(),
            Err(error) => self.refused = Some(format!("{error:?}")),
        }
        self.times.push(begun.elapsed());
        self.refused.is_none() && self.times.iter().sum::<Duration>() < LONG_ENOUGH
    }

    /// The time within which this share of the queries was answered.
    fn at(&self, share: f64) -> Duration {
        let at = (self.times.len().saturating_sub(1) as f64 * share) as usize;
        self.times.get(at).copied().unwrap_or_default()
    }

    /// Prints the times, and returns p50 and p99.
    fn print(mut self, place: &Where) -> [Duration; 2] {
        self.times.sort_unstable();
        let count = self.times.len();
        let millis = |time: Duration| time.as_secs_f64() * 1e3;
        let quantiles = [0.5, 0.99].map(|share| self.at(share));
        let at = |share: f64| millis(self.at(share));
        let each = |time: Duration| millis(time) / count as f64;
        let own = each(cpu_time_of(place.answers()).saturating_sub(self.cpu.0));
        let server = each(place::cpu_of_servers().saturating_sub(self.cpu.1));
        println!(
            "{:<58} p50 {:>8.2} ms  p99 {:>8.2} ms  max {:>8.2} ms  CPU {own:>7.2} + {server:>7.2} ms  {count:>4} times, {:.1} rows{}",
            self.what,
            at(0.5),
            at(0.99),
            at(1.0),
            self.rows as f64 / count as f64,
            self.refused
                .map(|why| format!("; {why}"))
                .unwrap_or_default()
        );
        quantiles
    }
}

impl<'a> Asking<'a> {
    pub fn new(store: &'a Store, place: &'a Where, instances: usize, count: usize) -> Asking<'a> {
        let definitions = found(store, parsed(&PROCESS_DEFINITION, ""));
        let keys = found(
            store,
            parsed(&PROCESS_INSTANCE, r#"{"page":{"limit":10000}}"#),
        );
        Asking {
            store,
            place,
            instances,
            count,
            definitions: first_column(&definitions),
            keys: first_column(&keys),
            sight: Sight::whole(),
            measured: RefCell::default(),
        }
    }

    /// The same queries of a caller who sees this.
    pub fn seeing(self, sight: Sight) -> Asking<'a> {
        Asking {
            sight,
            measured: RefCell::default(),
            ..self
        }
    }

    /// What a caller may search. The gateway permits all else before a store is queried.
    pub fn searches(&self) {
        self.pages_of_definitions();
        self.pages_of_all();
        self.walk();
        self.by_variables();
        self.of_other_entities();
    }

    pub fn all(&self) {
        self.searches();
        self.of_one();
        self.statistics();
    }

    /// Repeats a query; `query` creates the one with this number.
    fn measure(&self, what: &str, query: impl Fn(usize) -> Query) {
        let mut times = Times::begin(what, self.place);
        for n in 0..self.count {
            if !times.ask(self.store, || query(n)) {
                break;
            }
        }
        self.note(what, times);
    }

    fn note(&self, what: &str, times: Times) {
        let quantiles = times.print(self.place);
        let mut measured = self.measured.borrow_mut();
        measured.push((what.to_string(), quantiles));
    }

    /// The search of a body, narrowed to what the caller may see.
    fn search(&self, entity: &'static Entity, body: &str) -> Search {
        let mut search = parsed(entity, body);
        access::narrow(&mut search, &self.sight).expect("few grants");
        search
    }

    fn measure_search(&self, what: &str, entity: &'static Entity, body: impl Fn(usize) -> String) {
        self.measure(what, |n| Query::Search(self.search(entity, &body(n))));
    }

    fn definition(&self, n: usize) -> i64 {
        self.definitions[n % self.definitions.len()]
    }

    fn key(&self, n: usize) -> i64 {
        self.keys[n * 7 % self.keys.len()]
    }

    /// The order of an existing instance; orders are spread over the whole store.
    fn order(&self, n: usize) -> usize {
        let step = (self.instances / self.count).max(1);
        n * step % self.instances
    }

    fn pages_of_definitions(&self) {
        for (state, order) in [
            ("ACTIVE", "DESC"),
            ("COMPLETED", "DESC"),
            ("COMPLETED", "ASC"),
        ] {
            let rest = format!(
                r#""state":"{state}"}},"sort":[{{"field":"startDate","order":"{order}"}}],"page":{{"limit":50}}}}"#
            );
            let what = format!("50 {state} of a definition by startDate {order}");
            self.measure_search(&what, &PROCESS_INSTANCE, |n| {
                let key = self.definition(n);
                format!(r#"{{"filter":{{"processDefinitionKey":"{key}",{rest}"#)
            });
            let what = format!("50 {state} of a process id by startDate {order}");
            self.measure_search(&what, &PROCESS_INSTANCE, |n| {
                let process = n % PROCESSES;
                format!(r#"{{"filter":{{"processDefinitionId":"one-task-{process}",{rest}"#)
            });
        }
    }

    fn pages_of_all(&self) {
        for (what, body) in [
            (
                "50 by startDate DESC",
                r#"{"sort":[{"field":"startDate","order":"DESC"}],"page":{"limit":50}}"#,
            ),
            (
                "50 COMPLETED by endDate DESC",
                r#"{"filter":{"state":"COMPLETED"},"sort":[{"field":"endDate","order":"DESC"}],"page":{"limit":50}}"#,
            ),
            (
                "50 by process id, then startDate (many are equal)",
                r#"{"sort":[{"field":"processDefinitionId"},{"field":"startDate","order":"DESC"}],"page":{"limit":50}}"#,
            ),
            (
                "50 by a field without an index (version)",
                r#"{"sort":[{"field":"processDefinitionVersion","order":"DESC"}],"page":{"limit":50}}"#,
            ),
            (
                "50 from row 9 950 by startDate",
                r#"{"sort":[{"field":"startDate"}],"page":{"from":9950,"limit":50}}"#,
            ),
            (
                "a count (page of 1, COMPLETED)",
                r#"{"filter":{"state":"COMPLETED"},"page":{"limit":1}}"#,
            ),
            (
                "50 with an incident (none has)",
                r#"{"filter":{"hasIncident":true},"page":{"limit":50}}"#,
            ),
            (
                "50 of $or: active ones of two processes, by startDate DESC",
                r#"{"filter":{"state":"ACTIVE","$or":[{"processDefinitionId":"one-task-1"},{"processDefinitionId":"one-task-2"}]},
                    "sort":[{"field":"startDate","order":"DESC"}],"page":{"limit":50}}"#,
            ),
            (
                "50 that wait at an element, by startDate DESC",
                r#"{"filter":{"elementId":"task","elementInstanceState":"ACTIVE"},
                    "sort":[{"field":"startDate","order":"DESC"}],"page":{"limit":50}}"#,
            ),
            (
                "the same, the oldest first",
                r#"{"filter":{"elementId":"task","elementInstanceState":"ACTIVE"},"sort":[{"field":"startDate"}],"page":{"limit":50}}"#,
            ),
            (
                "the same of one process, the oldest first",
                r#"{"filter":{"elementId":"task","elementInstanceState":"ACTIVE","processDefinitionId":"one-task-1"},
                    "sort":[{"field":"startDate"}],"page":{"limit":50}}"#,
            ),
            (
                "50 that have left an element, by startDate DESC",
                r#"{"filter":{"elementId":"task","elementInstanceState":"COMPLETED"},
                    "sort":[{"field":"startDate","order":"DESC"}],"page":{"limit":50}}"#,
            ),
        ] {
            self.measure_search(what, &PROCESS_INSTANCE, |_| body.to_string());
        }
    }

    /// Page after page, each from the previous one's cursor.
    fn walk(&self) {
        for (what, body) in [
            (
                "200 pages of 50 from cursor to cursor, by startDate DESC",
                r#"{"sort":[{"field":"startDate","order":"DESC"}],"page":{"limit":50}}"#,
            ),
            (
                "the same, COMPLETED",
                r#"{"filter":{"state":"COMPLETED"},"sort":[{"field":"startDate","order":"DESC"}],"page":{"limit":50}}"#,
            ),
        ] {
            let first = self.search(&PROCESS_INSTANCE, body);
            let mut page = first.clone();
            let mut times = Times::begin(what, self.place);
            for _ in 0..WALK {
                if !times.ask(self.store, || Query::Search(page.clone())) {
                    break;
                }
                // Not measured: repeats the page to get its last row.
                let rows = found(self.store, page.clone()).rows;
                let Some(last) = rows.last() else {
                    break;
                };
                page.page.start = skep_query::Start::After(merge::cursor_of(&first, last));
            }
            self.note(what, times);
        }
    }

    fn by_variables(&self) {
        let with =
            |rest: &str| format!(r#"{{"filter":{{"variables":[{rest}]}},"page":{{"limit":50}}}}"#);
        let order = |n: usize| format!(r#"{{"name":"orderId","value":"\"A-{}\""}}"#, self.order(n));
        self.measure_search("by the value of a variable", &PROCESS_INSTANCE, |n| {
            with(&order(n))
        });
        self.measure_search(
            "by the values of two variables, one of them everywhere",
            &PROCESS_INSTANCE,
            |n| {
                with(&format!(
                    r#"{},{{"name":"amount","value":"12.5"}}"#,
                    order(n)
                ))
            },
        );
        self.measure_search(
            "50 by a value that all instances have",
            &PROCESS_INSTANCE,
            |_| with(r#"{"name":"amount","value":"12.5"}"#),
        );
        self.measure_search(
            "by the beginning of a value ($like)",
            &PROCESS_INSTANCE,
            |n| {
                let order = self.order(n);
                with(&format!(
                    r#"{{"name":"orderId","value":{{"$like":"\"A-{order}*"}}}}"#
                ))
            },
        );
        self.measure_search("variables by name and value", &VARIABLE, |n| {
            let order = self.order(n);
            format!(r#"{{"filter":{{"name":"orderId","value":"\"A-{order}\""}}}}"#)
        });
    }

    fn of_one(&self) {
        self.measure("by key", |n| Query::Get {
            entity: &PROCESS_INSTANCE,
            key: Key(self.key(n)),
        });
        for (what, entity) in [
            ("variables of an instance", &VARIABLE),
            ("element instances of an instance", &ELEMENT_INSTANCE),
            ("jobs of an instance", &JOB),
            ("incidents of an instance", &INCIDENT),
        ] {
            self.measure_search(what, entity, |n| {
                format!(r#"{{"filter":{{"processInstanceKey":"{}"}}}}"#, self.key(n))
            });
        }
    }

    fn of_other_entities(&self) {
        self.measure_search("50 open jobs of a type", &JOB, |_| {
            r#"{"filter":{"type":"work","state":"CREATED"},"page":{"limit":50}}"#.to_string()
        });
        self.measure_search("50 open jobs of an element, by element instance", &JOB, |_| {
            r#"{"filter":{"elementId":"task","endTime":{"$exists":false}},"sort":[{"field":"elementInstanceKey"}],"page":{"limit":50}}"#
                .to_string()
        });
        self.measure_search("50 active element instances of an element, by start", &ELEMENT_INSTANCE, |_| {
            r#"{"filter":{"elementId":"task","state":"ACTIVE"},"sort":[{"field":"startDate"}],"page":{"limit":50}}"#.to_string()
        });
    }

    fn statistics(&self) {
        self.measure("elements of a definition", |n| {
            Query::DefinitionStatistics {
                process_definition_key: Key(self.definition(n)),
            }
        });
        let filter = parsed(&PROCESS_INSTANCE, r#"{"filter":{"state":"ACTIVE"}}"#);
        self.measure("active instances by process", |_| {
            Query::Groups(Groups {
                search: filter.clone(),
                by: vec![const { PROCESS_INSTANCE.column("processDefinitionId") }],
                span: None,
                measures: vec![
                    Measure::Rows,
                    Measure::Least(const { PROCESS_INSTANCE.column("processDefinitionVersion") }),
                ],
            })
        });
    }
}

/// Creates an instance and searches it immediately.
pub fn just_created(filled: &mut Filled, place: &Where, count: usize) {
    let from = filled.writing.continue_with(count);
    let mut times = Times::begin("what was just created, by the value of its variable", place);
    for order in from..from + count {
        filled.write();
        let body = format!(
            r#"{{"filter":{{"variables":[{{"name":"orderId","value":"\"A-{order}\""}}]}}}}"#
        );
        let query = || Query::Search(parsed(&PROCESS_INSTANCE, &body));
        if !times.ask(&filled.store, query) {
            break;
        }
    }
    times.print(place);
}
