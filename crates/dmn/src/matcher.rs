//! One input column of a decision table, indexed so that most cells need no evaluation.
//!
//! Cells that are constants (`"DE"`, `1, 2`, `[10..20)`, `< 5`) are taken out of the table: equal values are found by
//! look-up, intervals by comparison. Only the other cells are evaluated, and only for rules that are still candidates.

use std::sync::Arc;

use rustc_hash::FxHashMap;
use skep_feel::{Expression, Number, Range, UnaryTests, Value};

/// A set of rules.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Rules(Vec<u64>);

impl Rules {
    pub fn none(count: usize) -> Rules {
        Rules(vec![0; count.div_ceil(64)])
    }

    pub fn all(count: usize) -> Rules {
        let mut rules = Rules::none(count);
        (0..count).for_each(|rule| rules.insert(rule));
        rules
    }

    pub fn insert(&mut self, rule: usize) {
        if let Some(word) = self.0.get_mut(rule / 64) {
            *word |= 1 << (rule % 64);
        }
    }

    pub fn contains(&self, rule: usize) -> bool {
        self.0
            .get(rule / 64)
            .is_some_and(|word| word & (1 << (rule % 64)) != 0)
    }

    fn intersect(&mut self, other: &Rules) {
        for (word, other) in self.0.iter_mut().zip(&other.0) {
            *word &= other;
        }
    }

    pub fn is_empty(&self) -> bool {
        self.0.iter().all(|word| *word == 0)
    }

    /// The rules in order.
    pub fn iter(&self) -> impl Iterator<Item = usize> + '_ {
        self.0.iter().enumerate().flat_map(|(at, word)| {
            let mut rest = *word;
            std::iter::from_fn(move || {
                let bit = (rest != 0).then(|| rest.trailing_zeros() as usize)?;
                rest &= rest - 1;
                Some(at * 64 + bit)
            })
        })
    }
}

/// The content of one input cell.
pub(crate) enum Cell {
    /// `-`, or nothing.
    Any,
    Tests(UnaryTests),
    /// It is not FEEL (only where that is reported at evaluation).
    Broken {
        text: String,
        message: String,
    },
}

pub(crate) struct Column {
    /// Rules whose cell lets everything pass.
    any: Rules,
    strings: FxHashMap<Arc<str>, Vec<u32>>,
    /// Sorted.
    numbers: Vec<(Number, Vec<u32>)>,
    ranges: Vec<(u32, Arc<Range>)>,
    /// Rules whose cell has constants, for inputs that constants are not looked up for.
    constants: Vec<(u32, UnaryTests)>,
    /// Rules whose cell is evaluated.
    others: Vec<(u32, Cell)>,
}

impl Column {
    pub fn new(cells: Vec<Cell>) -> Column {
        let mut column = Column {
            any: Rules::none(cells.len()),
            strings: FxHashMap::default(),
            numbers: Vec::new(),
            ranges: Vec::new(),
            constants: Vec::new(),
            others: Vec::new(),
        };
        let mut numbers: Vec<(Number, u32)> = Vec::new();
        for (rule, cell) in cells.into_iter().enumerate() {
            let number = u32::try_from(rule).unwrap_or(u32::MAX);
            let tests = match cell {
                Cell::Any => {
                    column.any.insert(rule);
                    continue;
                }
                Cell::Tests(tests) => tests,
                broken => {
                    column.others.push((number, broken));
                    continue;
                }
            };
            match constants(tests.text()) {
                Some(values) => {
                    for value in values {
                        match value {
                            Value::String(text) => {
                                column.strings.entry(text).or_default().push(number);
                            }
                            Value::Number(value) => numbers.push((value, number)),
                            Value::Range(range) => column.ranges.push((number, range)),
                            _ => {}
                        }
                    }
                    column.constants.push((number, tests));
                }
                None => column.others.push((number, Cell::Tests(tests))),
            }
        }
        numbers.sort_by(|a, b| a.0.cmp(&b.0));
        for (value, rule) in numbers {
            match column.numbers.last_mut() {
                Some((last, rules)) if *last == value => rules.push(rule),
                _ => column.numbers.push((value, vec![rule])),
            }
        }
        column
    }

    /// The variables that cells read.
    pub fn variables(&self) -> impl Iterator<Item = &Arc<str>> {
        self.others.iter().flat_map(|(_, cell)| match cell {
            Cell::Tests(tests) => tests.variables(),
            _ => &[],
        })
    }

    /// Keeps the candidates whose cell lets the input pass. `test` evaluates a cell that is no constant.
    pub fn narrow<E>(
        &self,
        input: &Value,
        candidates: &mut Rules,
        mut test: impl FnMut(usize, &Cell) -> Result<bool, E>,
    ) -> Result<(), E> {
        let mut passing = self.any.clone();
        match input {
            Value::String(text) => {
                for rule in self.strings.get(text).into_iter().flatten() {
                    passing.insert(*rule as usize);
                }
                self.in_ranges(input, candidates, &mut passing);
            }
            Value::Number(number) => {
                let found = self
                    .numbers
                    .binary_search_by(|(value, _)| value.cmp(number));
                if let Some((_, rules)) = found.ok().and_then(|at| self.numbers.get(at)) {
                    for rule in rules {
                        passing.insert(*rule as usize);
                    }
                }
                self.in_ranges(input, candidates, &mut passing);
            }
            // These have no order with strings and numbers, and equal none.
            Value::Null | Value::Boolean(_) | Value::Context(_) => {}
            Value::Date(_)
            | Value::Time(_)
            | Value::DateTime(_)
            | Value::DayTimeDuration(_)
            | Value::YearMonthDuration(_) => self.in_ranges(input, candidates, &mut passing),
            _ => {
                for (rule, tests) in &self.constants {
                    let rule = *rule as usize;
                    if candidates.contains(rule) && test(rule, &Cell::Tests(tests.clone()))? {
                        passing.insert(rule);
                    }
                }
            }
        }
        for (rule, cell) in &self.others {
            let rule = *rule as usize;
            if candidates.contains(rule) && test(rule, cell)? {
                passing.insert(rule);
            }
        }
        candidates.intersect(&passing);
        Ok(())
    }

    fn in_ranges(&self, input: &Value, candidates: &Rules, passing: &mut Rules) {
        for (rule, range) in &self.ranges {
            let rule = *rule as usize;
            if candidates.contains(rule) && range.contains(input) == Some(true) {
                passing.insert(rule);
            }
        }
    }
}

/// The strings, numbers and ranges of which the tests are made, when they are made of nothing else.
fn constants(text: &str) -> Option<Vec<Value>> {
    let text = text.trim();
    let constant = |text: &str| Expression::parse(text).ok()?.constant().cloned();
    let usable = |value: &Value| match value {
        Value::String(_) | Value::Number(_) => true,
        // `(> 1)` as a value has an open side: it gives a result for a missing input, too.
        Value::Range(range) => !range.start().is_null() && !range.end().is_null(),
        _ => false,
    };
    if text.starts_with(['<', '>']) {
        // A comparison is a value only in parentheses.
        let value = constant(&format!("({text})"))?;
        return matches!(value, Value::Range(_)).then(|| vec![value]);
    }
    if let Some(value) = constant(text) {
        return usable(&value).then(|| vec![value]);
    }
    match constant(&format!("[{text}]"))? {
        Value::List(items) => items.iter().all(usable).then(|| items.to_vec()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use skep_feel::{EmptyScope, EvalContext};

    fn column(cells: &[&str]) -> (Column, Vec<Option<UnaryTests>>) {
        let parse = |text: &&str| UnaryTests::parse(text).expect("tests");
        let cell = |text: &&str| match *text {
            "-" => Cell::Any,
            _ => Cell::Tests(parse(text)),
        };
        (
            Column::new(cells.iter().map(cell).collect()),
            cells
                .iter()
                .map(|text| (*text != "-").then(|| parse(text)))
                .collect(),
        )
    }

    #[test]
    fn the_index_finds_what_evaluating_every_cell_finds() {
        let cells = [
            "-",
            "\"a\"",
            "\"b\", \"a\"",
            "1",
            "1, 2",
            "[1..3)",
            "< 2",
            ">= 2",
            "not(1)",
            "> \"a\"",
            "(> 2)",
            "1, (> 2)",
            "null",
            "true",
            "2, [5..6]",
            "? = 1",
            "date(\"2020-01-01\")",
            "> @\"2020-01-01\"",
            "-1",
            "[\"a\", \"b\"]",
            "1.0",
        ];
        let (column, tests) = column(&cells);
        let inputs = [
            "\"a\"",
            "\"b\"",
            "\"c\"",
            "1",
            "2",
            "5.5",
            "1.00",
            "null",
            "true",
            "false",
            "[1]",
            "[\"a\", \"b\"]",
            "{a: 1}",
            "@\"2020-01-01\"",
            "@\"2021-01-01\"",
            "[1..3)",
            "-1",
        ];
        let cx = EvalContext::default();
        for input in inputs {
            let expression = Expression::parse(input).expect("input");
            let value = expression.evaluate(&EmptyScope, &cx).value;
            let mut found = Rules::all(cells.len());
            column
                .narrow(&value, &mut found, |_, cell| match cell {
                    Cell::Tests(tests) => Ok::<_, ()>(
                        tests.evaluate(&value, &EmptyScope, &cx).value.as_bool() == Some(true),
                    ),
                    _ => Ok(false),
                })
                .expect("no failure");
            for (rule, tests) in tests.iter().enumerate() {
                let expected = tests.as_ref().is_none_or(|tests| {
                    tests.evaluate(&value, &EmptyScope, &cx).value.as_bool() == Some(true)
                });
                assert_eq!(
                    found.contains(rule),
                    expected,
                    "cell {} with input {input}",
                    cells[rule]
                );
            }
        }
    }

    #[test]
    fn sets_of_rules_keep_their_order() {
        let mut rules = Rules::none(130);
        for rule in [129, 0, 64, 63] {
            rules.insert(rule);
        }
        assert_eq!(rules.iter().collect::<Vec<_>>(), [0, 63, 64, 129]);
        assert!(!rules.is_empty() && Rules::none(130).is_empty());
        assert_eq!(Rules::all(130).iter().count(), 130);
    }
}
