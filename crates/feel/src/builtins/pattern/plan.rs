//! The possible cost of a pattern, derived from its structure.

use fancy_regex::{AstNode, Expr};

use crate::prices;

/// Beyond so many positions the library may have to follow all of them through the text, byte by byte.
const FEW_POSITIONS: usize = 12;
/// Price of compiling any pattern.
const COMPILE: usize = 5_000;
/// The library gives up when the compiled form grows too large; until then it takes at most this.
const MAX_COMPILE: usize = 650_000;

pub(super) struct Plan {
    /// Characters that a match is made of, with every repetition that is counted.
    positions: usize,
    compile: usize,
    /// Something is repeated without end: a search can look at all of the text.
    unbounded: bool,
    /// Repetitions without end are of single characters, one after the other: finding all matches looks at every
    /// character about twice.
    flat: bool,
    /// It needs backtracking: look-around, back references, atomic groups.
    hard: bool,
    /// It is none that Java has: recursion, conditions, verbs.
    pub foreign: bool,
}

impl Plan {
    pub fn new(tree: &Expr) -> Plan {
        let mut plan = Plan {
            positions: 0,
            compile: 0,
            unbounded: false,
            flat: is_flat(tree),
            hard: false,
            foreign: false,
        };
        let (positions, compile) = plan.walk(tree);
        plan.positions = positions;
        plan.compile = COMPILE + compile.min(MAX_COMPILE);
        plan
    }

    /// Steps of compiling it.
    pub fn compile(&self) -> usize {
        self.compile
    }

    /// Steps of looking through so many bytes once.
    fn pass(&self, bytes: usize) -> usize {
        if self.positions <= FEW_POSITIONS {
            bytes / 6
        } else {
            bytes.saturating_mul(10 + self.positions / 4)
        }
    }

    /// Steps of the first search in a text of so many bytes.
    pub fn first(&self, bytes: usize) -> usize {
        prices::PATTERN + self.pass(bytes)
    }

    /// Steps of a further search, with so many bytes left.
    pub fn next(&self, bytes: usize) -> usize {
        if self.flat || !self.unbounded {
            // Over all of them together the text is looked through once more.
            prices::FOUND + self.pass(self.positions.min(bytes))
        } else {
            prices::FOUND + self.pass(bytes)
        }
    }

    /// Steps of going back so often, with so many bytes left.
    pub fn backtracks(&self, count: usize, bytes: usize) -> usize {
        if !self.hard {
            return 0;
        }
        let each = if self.unbounded {
            self.pass(bytes)
        } else {
            self.positions / 2
        };
        count.saturating_mul(1 + each)
    }

    /// Positions, and steps of compiling.
    fn walk(&mut self, tree: &Expr) -> (usize, usize) {
        match tree {
            Expr::Empty | Expr::Assertion(_) => (0, 10),
            Expr::Any { .. } => (1, 250),
            Expr::GeneralNewline { .. } => (2, 250),
            Expr::Literal { val, casei } => {
                let count = val.chars().count();
                (count, count * if *casei { 100 } else { 5 })
            }
            Expr::Delegate { inner, casei } => (1, class(inner, *casei)),
            Expr::Concat(parts) | Expr::Alt(parts) => {
                parts.iter().fold((0, 0), |(positions, compile), part| {
                    let (p, c) = self.walk(part);
                    (positions.saturating_add(p), c.saturating_add(compile))
                })
            }
            Expr::Group(inner) => self.walk(inner),
            Expr::Repeat { child, lo, hi, .. } => {
                self.unbounded |= *hi == usize::MAX;
                let times = if *hi == usize::MAX { *lo } else { *hi }.max(1);
                let (positions, compile) = self.walk(child);
                (
                    positions.max(1).saturating_mul(times),
                    compile.saturating_mul(times),
                )
            }
            Expr::LookAround(inner, _) | Expr::AtomicGroup(inner) => {
                self.hard = true;
                self.walk(inner)
            }
            Expr::Backref { .. } => {
                // As long as the group that it repeats.
                (self.hard, self.unbounded) = (true, true);
                (1, 10)
            }
            Expr::ContinueFromPreviousMatchEnd => {
                self.hard = true;
                (0, 10)
            }
            Expr::AstNode(AstNode::AstGroup { inner, .. }, _) => self.walk(inner),
            Expr::AstNode(AstNode::Backref { .. }, _) => {
                (self.hard, self.unbounded) = (true, true);
                (1, 10)
            }
            _ => {
                self.foreign = true;
                (0, 0)
            }
        }
    }
}

/// Steps of compiling a class of characters: those of Unicode are large.
fn class(inner: &str, casei: bool) -> usize {
    let has = |what: &str| inner.contains(what);
    if has("\\p") || has("\\P") || has("\\w") || has("\\W") {
        20_000
    } else if casei {
        100
    } else if has("\\") || has("^") || !inner.is_ascii() {
        1_000
    } else {
        10
    }
}

/// One character, or a choice among such.
fn is_character(tree: &Expr) -> bool {
    match tree {
        Expr::Any { .. } | Expr::Delegate { .. } => true,
        Expr::Literal { val, .. } => val.chars().count() == 1,
        Expr::Group(inner) => is_character(inner),
        Expr::Alt(parts) => parts.iter().all(is_character),
        _ => false,
    }
}

fn is_flat(tree: &Expr) -> bool {
    match tree {
        Expr::Concat(parts) => parts.iter().all(is_flat),
        Expr::Repeat { child, .. } => is_character(child),
        Expr::Literal { .. } | Expr::Assertion(_) | Expr::Empty => true,
        other => is_character(other),
    }
}
