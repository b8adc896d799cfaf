//! Regular expressions as XPath and Java write them.
//!
//! Work is paid for before it is done. A pattern without look-around and back references is found in one pass; for the
//! others the library goes back and forth, and says only that it went back too often: so it is tried with few steps
//! back first, then with ever more of them, each time for the price of that many.

mod plan;
mod replacement;
mod translate;

use std::cell::{OnceCell, RefCell};
use std::rc::Rc;

use fancy_regex::{Captures, Expr, Match, Regex, RegexBuilder};

pub(super) use replacement::{check_replacement, expand};

use super::Failure;
use super::arguments::paid;
use crate::eval::Evaluator;
use plan::Plan;
use translate::translate;

/// Compiled patterns kept per thread, and in one evaluation.
const KEPT: usize = 32;
/// How often a search may go back, attempt by attempt.
const BACKTRACKS: [usize; 4] = [32, 256, 2_048, 16_384];
/// Size of a compiled pattern, in bytes.
const MAX_SIZE: usize = 1 << 20;
/// Longest pattern, in bytes.
const MAX_PATTERN: usize = 10_000;

thread_local! {
    /// Most recently used last. Patterns are nearly always constants of an expression.
    static COMPILED: RefCell<Vec<Rc<Pattern>>> = const { RefCell::new(Vec::new()) };
}

/// A pattern with its compiled forms, one for each number of steps back.
pub(crate) struct Pattern {
    source: String,
    plan: Plan,
    compiled: [OnceCell<Result<Regex, String>>; BACKTRACKS.len()],
}

/// The compiled pattern; flags are `s` (dot matches line ends), `m` (lines), `i` (case), `x` (spaces ignored). Others mean
/// nothing, as in the reference engine.
pub(super) fn pattern(
    evaluator: &mut Evaluator<'_>,
    source: &str,
    flags: &str,
) -> Result<Rc<Pattern>, Failure> {
    if source.len() > MAX_PATTERN {
        return Err(Failure::new(format!(
            "The pattern is longer than {MAX_PATTERN} bytes"
        )));
    }
    let mut known: Vec<char> = flags
        .chars()
        .filter(|flag| "smix".contains(*flag))
        .collect();
    known.sort_unstable();
    known.dedup();
    let flags: String = known.into_iter().collect();
    let key = if flags.is_empty() {
        translate(source)
    } else {
        format!("(?{flags}){}", translate(source))
    };
    let same = |known: &Rc<Pattern>| known.source == key;
    if let Some(known) = evaluator.patterns.iter().find(|known| same(known)) {
        return Ok(Rc::clone(known));
    }
    // Whether another evaluation has compiled it must not change what this one pays.
    paid(evaluator, crate::prices::PATTERN + 5 * source.len())?;
    let known = COMPILED.with_borrow_mut(|kept| {
        let position = kept.iter().position(same)?;
        let pattern = kept.remove(position);
        kept.push(Rc::clone(&pattern));
        Some(pattern)
    });
    let pattern = match known {
        Some(pattern) => pattern,
        None => {
            let tree = Expr::parse_tree(&key)
                .map_err(|error| Failure::new(format!("Invalid pattern: {error}")))?;
            let pattern = Rc::new(Pattern {
                plan: Plan::new(&tree.expr),
                source: key,
                compiled: Default::default(),
            });
            COMPILED.with_borrow_mut(|kept| {
                if kept.len() >= KEPT {
                    kept.remove(0);
                }
                kept.push(Rc::clone(&pattern));
            });
            pattern
        }
    };
    if pattern.plan.foreign {
        return Err(Failure::new(
            "Invalid pattern: recursion, conditions and verbs are not supported",
        ));
    }
    paid(evaluator, pattern.plan.compile())?;
    if evaluator.patterns.len() >= KEPT {
        evaluator.patterns.remove(0);
    }
    evaluator.patterns.push(Rc::clone(&pattern));
    Ok(pattern)
}

impl Pattern {
    /// Whether the text has a match.
    pub fn is_match(&self, evaluator: &mut Evaluator<'_>, text: &str) -> Result<bool, Failure> {
        paid(evaluator, self.plan.first(text.len()))?;
        self.attempt(evaluator, text.len(), |regex| regex.is_match(text))
    }

    /// All matches, from left to right.
    pub fn matches<'t>(
        &self,
        evaluator: &mut Evaluator<'_>,
        text: &'t str,
        mut visit: impl FnMut(&mut Evaluator<'_>, Match<'t>) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        self.search(
            evaluator,
            text,
            |regex, at| regex.find_from_pos(text, at),
            |found| found.range(),
            &mut visit,
        )
    }

    /// All matches with their groups, from left to right.
    pub fn captures<'t>(
        &self,
        evaluator: &mut Evaluator<'_>,
        text: &'t str,
        mut visit: impl FnMut(&mut Evaluator<'_>, Captures<'t, str>) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        self.search(
            evaluator,
            text,
            |regex, at| regex.captures_from_pos(text, at),
            |found| found.get(0).map_or(0..0, |whole| whole.range()),
            &mut visit,
        )
    }

    fn search<F>(
        &self,
        evaluator: &mut Evaluator<'_>,
        text: &str,
        find: impl Fn(&Regex, usize) -> fancy_regex::Result<Option<F>>,
        range: impl Fn(&F) -> std::ops::Range<usize>,
        visit: &mut dyn FnMut(&mut Evaluator<'_>, F) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        // Two passes: finding all matches of a simple pattern looks at every character about twice.
        paid(evaluator, 2 * self.plan.first(text.len()))?;
        let mut at = 0;
        let mut last_end = None;
        while at <= text.len() {
            let left = text.len() - at;
            paid(evaluator, self.plan.next(left))?;
            let Some(found) = self.attempt(evaluator, left, |regex| find(regex, at))? else {
                break;
            };
            let place = range(&found);
            // An empty match right behind another one does not count; the search continues behind the next character.
            let empty = place.is_empty();
            at = if empty {
                let next = text.get(place.end..).and_then(|rest| rest.chars().next());
                place.end + next.map_or(1, char::len_utf8)
            } else {
                place.end
            };
            if empty && last_end == Some(place.end) {
                continue;
            }
            last_end = Some(place.end);
            visit(evaluator, found)?;
        }
        Ok(())
    }

    /// Runs with ever more steps back, until that is enough.
    fn attempt<T>(
        &self,
        evaluator: &mut Evaluator<'_>,
        bytes: usize,
        run: impl Fn(&Regex) -> fancy_regex::Result<T>,
    ) -> Result<T, Failure> {
        for (place, backtracks) in self.compiled.iter().zip(BACKTRACKS) {
            paid(evaluator, self.plan.backtracks(backtracks, bytes))?;
            let regex = place
                .get_or_init(|| self.compile(backtracks))
                .as_ref()
                .map_err(|error| Failure::new(format!("Invalid pattern: {error}")))?;
            if let Ok(result) = run(regex) {
                return Ok(result);
            }
        }
        Err(Failure::new(
            "The pattern takes too many steps on this text",
        ))
    }

    fn compile(&self, backtracks: usize) -> Result<Regex, String> {
        RegexBuilder::new(&self.source)
            .backtrack_limit(backtracks)
            .delegate_size_limit(MAX_SIZE)
            .delegate_dfa_size_limit(MAX_SIZE)
            .build()
            .map_err(|error| error.to_string())
    }
}
