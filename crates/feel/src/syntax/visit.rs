//! Walking over the nodes of an expression.

use super::ast::{Expr, Source, Test};

impl Expr {
    /// Calls `f` for this node and all below.
    pub(crate) fn visit<'a>(&'a self, f: &mut dyn FnMut(&'a Expr)) {
        f(self);
        match self {
            Expr::Null
            | Expr::Boolean(_)
            | Expr::Number(_)
            | Expr::String(_)
            | Expr::Temporal(..)
            | Expr::Name(_)
            | Expr::Input => {}
            Expr::List(items) | Expr::And(items) | Expr::Or(items) => {
                items.iter().for_each(|item| item.visit(f))
            }
            Expr::Context(entries) => entries.iter().for_each(|(_, value)| value.visit(f)),
            Expr::Range(range) => {
                range.start.visit(f);
                range.end.visit(f);
            }
            Expr::Comparison(_, operand)
            | Expr::Negate(operand)
            | Expr::InstanceOf(operand, _)
            | Expr::Path(operand, _)
            | Expr::Function(_, operand) => operand.visit(f),
            Expr::Arithmetic(first, rest) => {
                first.visit(f);
                rest.iter().for_each(|(_, operand)| operand.visit(f));
            }
            Expr::Compare(_, left, right) | Expr::Filter(left, right) => {
                left.visit(f);
                right.visit(f);
            }
            Expr::Between(value, low, high) => [value, low, high]
                .into_iter()
                .for_each(|part| part.visit(f)),
            Expr::In(value, tests) => {
                value.visit(f);
                tests.iter().for_each(|test| test.visit(f));
            }
            Expr::If(branches, last) => {
                for (condition, then) in branches {
                    condition.visit(f);
                    then.visit(f);
                }
                last.visit(f);
            }
            Expr::For(iterators, body)
            | Expr::Some(iterators, body)
            | Expr::Every(iterators, body) => {
                for iterator in iterators {
                    match &iterator.source {
                        Source::List(list) => list.visit(f),
                        Source::Range(first, last) => {
                            first.visit(f);
                            last.visit(f);
                        }
                    }
                }
                body.visit(f);
            }
            Expr::Call(callee, arguments) => {
                callee.visit(f);
                arguments.iter().for_each(|argument| argument.visit(f));
            }
            Expr::CallNamed(callee, arguments) => {
                callee.visit(f);
                arguments.iter().for_each(|(_, argument)| argument.visit(f));
            }
        }
    }
}

impl Expr {
    /// Whether a name (or `?`) occurs in it.
    pub(crate) fn mentions(&self, name: &str) -> bool {
        let mut found = false;
        self.visit(&mut |node| found |= node.is_name(name));
        found
    }

    pub(crate) fn is_name(&self, name: &str) -> bool {
        match self {
            Expr::Name(other) => &**other == name,
            Expr::Input => name == "?",
            _ => false,
        }
    }
}

impl Test {
    /// Whether a name (or `?`) occurs in it.
    pub(crate) fn mentions(&self, name: &str) -> bool {
        let mut found = false;
        self.visit(&mut |node| found |= node.is_name(name));
        found
    }

    fn visit<'a>(&'a self, f: &mut dyn FnMut(&'a Expr)) {
        match self {
            Test::Any => {}
            Test::Compare(_, operand) | Test::Value(operand) => operand.visit(f),
            Test::Not(tests) => tests.iter().for_each(|test| test.visit(f)),
        }
    }
}
