//! Computes at compile time what does not depend on variables or on the context.

use super::Node;
use crate::eval::Evaluator;
use crate::{EmptyScope, EvalContext, Limits, Value};

/// Budget for folding the constants of one text, all together: a long text has many constants.
pub(super) struct Folding {
    steps: u64,
    memory: u64,
}

impl Folding {
    pub fn new() -> Folding {
        Folding {
            steps: 1_000_000,
            memory: 4 << 20,
        }
    }

    /// Replaces an operation on constants by its value, when it succeeds without a warning.
    pub fn fold(&mut self, node: Node) -> Node {
        let constant = match &node {
            Node::Negate(a) => is_const(a),
            Node::Arithmetic(first, rest) => {
                is_const(first) && rest.iter().all(|(_, node)| is_const(node))
            }
            Node::Compare(_, sides) => is_const(&sides.0) && is_const(&sides.1),
            Node::List(items) => items.iter().all(is_const),
            Node::Context(entries) => entries.iter().all(|(_, _, node)| is_const(node)),
            Node::Range(range) => is_const(&range.start) && is_const(&range.end),
            Node::Comparison(_, bound) => is_const(bound),
            Node::Builtin(builtin, arguments) => {
                builtin.is_pure() && arguments.iter().all(is_const)
            }
            _ => false,
        };
        if !constant || self.steps == 0 {
            return node;
        }
        let cx = EvalContext {
            limits: Limits {
                max_steps: self.steps.min(50_000),
                max_memory: self.memory.min(1 << 20),
                max_depth: 200,
            },
            ..EvalContext::default()
        };
        let mut evaluator = Evaluator::new(&EmptyScope, &cx, &[], 64);
        let value = evaluator.eval(&node);
        let evaluation = evaluator.finish(value);
        self.steps -= evaluation.steps.min(self.steps);
        if evaluation.warnings.is_empty() && !matches!(evaluation.value, Value::Function(_)) {
            self.memory -= evaluation.value.memory().min(self.memory);
            Node::Const(evaluation.value)
        } else {
            node
        }
    }
}

fn is_const(node: &Node) -> bool {
    matches!(node, Node::Const(_))
}
