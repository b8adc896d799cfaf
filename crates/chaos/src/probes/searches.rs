//! Checks searches at each node while instances are only added: no total falls, and no instance vanishes.

use std::collections::BTreeMap;
use std::io;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::float;
use crate::http::Rest;

const LIMIT: Duration = Duration::from_secs(15);

/// Answers of one node to one reader so far.
#[derive(Debug, Default)]
pub struct Reader {
    /// The highest number of instances ever reported.
    total: u64,
    /// The key of the last instance.
    key: Option<String>,
}

/// Results of all readers.
#[derive(Debug, Default)]
pub struct Searches {
    answered: u64,
    refused: u64,
    /// Refusals without a reason, and unreadable answers.
    odd: u64,
    fell: u64,
    vanished: u64,
    /// Latencies in milliseconds since they were last taken.
    latencies: Vec<f64>,
}

/// Outcome of one look.
#[derive(Debug, PartialEq)]
pub enum Looked {
    /// The node was not reached.
    Away,
    Refused {
        says_why: bool,
    },
    Odd,
    Found {
        total: u64,
        last: Option<String>,
        /// Whether the previously last instance has vanished.
        vanished: bool,
    },
}

impl Reader {
    /// Searches for the previously last instance, and then for their number. Blocks.
    pub fn look(&self, rest: &Rest, process_id: &str) -> (Looked, Duration) {
        let begin = Instant::now();
        let looked = self.asked(rest, process_id).unwrap_or(Looked::Away);
        (looked, begin.elapsed())
    }

    fn asked(&self, rest: &Rest, process_id: &str) -> io::Result<Looked> {
        let mut vanished = false;
        if let Some(key) = &self.key {
            let path = format!("/v2/process-instances/{key}");
            let (status, body) = rest.ask("GET", &path, "", LIMIT)?;
            match status {
                200 => {}
                404 => vanished = true,
                _ => return Ok(refusal(status, &body)),
            }
        }
        let body = json!({
            "filter": { "processDefinitionId": process_id },
            "page": { "limit": 1 },
            "sort": [{ "field": "startDate", "order": "DESC" }],
        });
        let path = "/v2/process-instances/search";
        let (status, body) = rest.ask("POST", path, &body.to_string(), LIMIT)?;
        if status != 200 {
            return Ok(refusal(status, &body));
        }
        Ok(found(&body, vanished).unwrap_or(Looked::Odd))
    }
}

fn refusal(status: u16, body: &str) -> Looked {
    let problem: Value = serde_json::from_str(body).unwrap_or_default();
    let detail = problem.get("detail").and_then(Value::as_str);
    match status {
        503 | 504 => Looked::Refused {
            says_why: detail.is_some_and(|detail| !detail.is_empty()),
        },
        _ => Looked::Odd,
    }
}

fn found(body: &str, vanished: bool) -> Option<Looked> {
    let answer: Value = serde_json::from_str(body).ok()?;
    let last = answer.pointer("/items/0/processInstanceKey");
    Some(Looked::Found {
        total: answer.pointer("/page/totalItems")?.as_u64()?,
        last: last.and_then(Value::as_str).map(String::from),
        vanished,
    })
}

impl Searches {
    pub fn count(&mut self, reader: &mut Reader, looked: Looked, took: Duration) {
        match looked {
            Looked::Away => return,
            Looked::Refused { says_why } => {
                self.refused += 1;
                self.odd += u64::from(!says_why);
            }
            Looked::Odd => self.odd += 1,
            Looked::Found {
                total,
                last,
                vanished,
            } => {
                self.answered += 1;
                self.vanished += u64::from(vanished);
                self.fell += u64::from(total < reader.total);
                reader.total = reader.total.max(total);
                reader.key = last.or(reader.key.take());
            }
        }
        self.latencies.push(took.as_secs_f64() * 1e3);
    }

    /// Returns all series with their values.
    pub fn take(&mut self) -> BTreeMap<String, f64> {
        let mut values: BTreeMap<String, f64> = [
            ("searches-answered", self.answered),
            ("searches-refused", self.refused),
            ("searches-odd", self.odd),
            ("totals-fell", self.fell),
            ("keys-vanished", self.vanished),
        ]
        .map(|(name, count)| (name.to_string(), float(count)))
        .into();
        self.latencies.sort_by(f64::total_cmp);
        let at = self.latencies.len() * 99 / 100;
        if let Some(p99) = self.latencies.get(at) {
            values.insert("search-p99-ms".into(), *p99);
        }
        self.latencies.clear();
        values
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(total: u64, key: &str) -> Looked {
        let body =
            json!({ "items": [{ "processInstanceKey": key }], "page": { "totalItems": total } });
        found(&body.to_string(), false).unwrap()
    }

    #[test]
    fn falling_totals_and_vanishing_instances_are_detected() {
        let (mut all, mut one, mut other) =
            (Searches::default(), Reader::default(), Reader::default());
        let took = Duration::from_millis(2);
        all.count(&mut one, page(5, "5"), took);
        all.count(&mut one, page(7, "7"), took);
        // Another node may lag behind.
        all.count(&mut other, page(4, "4"), took);
        let values = all.take();
        assert_eq!((values["totals-fell"], values["search-p99-ms"]), (0.0, 2.0));
        all.count(&mut one, page(6, "6"), took);
        all.count(&mut other, Looked::Away, took);
        let vanished = found(r#"{"items": [], "page": {"totalItems": 9}}"#, true).unwrap();
        all.count(&mut other, vanished, took);
        let values = all.take();
        assert_eq!((values["totals-fell"], values["keys-vanished"]), (1.0, 1.0));
        assert_eq!(values["searches-answered"], 5.0);
    }

    #[test]
    fn refusals_without_a_reason_are_counted_as_odd() {
        let why = Looked::Refused { says_why: true };
        assert_eq!(refusal(503, r#"{"detail": "node 1 is away"}"#), why);
        let mut all = Searches::default();
        for (status, body) in [(503, ""), (500, r#"{"detail": "oh"}"#)] {
            all.count(&mut Reader::default(), refusal(status, body), LIMIT);
        }
        assert_eq!(all.take()["searches-odd"], 2.0);
    }
}
