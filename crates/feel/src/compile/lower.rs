//! Syntax tree to nodes.

use std::sync::Arc;

use super::fold::Folding;
use super::names::Names;
use super::{
    Body, ClosureNode, FilterKind, FilterNode, ForNode, INPUT_SLOT, IteratorNode, Node, Program,
    QuantifiedNode, RangeNode, Test,
};
use crate::builtins::{self, Builtin};
use crate::syntax::ParseOptions;
use crate::syntax::ast::{self, CompareOp, Expr, Source};
use crate::{Value, Warning, WarningCode};

pub(crate) fn expression(tree: &Expr, options: &ParseOptions) -> Program<Node> {
    let mut compiler = Compiler {
        names: Names::new(),
        folding: Folding::new(),
        options,
    };
    let root = compiler.expr(tree);
    compiler.finish(root)
}

pub(crate) fn unary_tests(tests: &[ast::Test], options: &ParseOptions) -> Program<Box<[Test]>> {
    let mut compiler = Compiler {
        names: Names::new(),
        folding: Folding::new(),
        options,
    };
    compiler.names.declare(Arc::from("?"));
    let root = compiler.tests(tests, Some(INPUT_SLOT));
    compiler.finish(root)
}

struct Compiler<'a> {
    names: Names,
    folding: Folding,
    options: &'a ParseOptions,
}

impl Compiler<'_> {
    fn finish<R>(mut self, root: R) -> Program<R> {
        let frame = self.names.pop_frame();
        Program {
            root,
            variables: self.names.variables,
            frame: frame.slots,
        }
    }

    fn all<'t>(&mut self, trees: impl IntoIterator<Item = &'t Expr>) -> Box<[Node]> {
        trees.into_iter().map(|tree| self.expr(tree)).collect()
    }

    fn boxed(&mut self, tree: &Expr) -> Box<Node> {
        Box::new(self.expr(tree))
    }

    fn expr(&mut self, tree: &Expr) -> Node {
        match tree {
            Expr::Null => Node::Const(Value::Null),
            Expr::Boolean(value) => Node::Const(Value::Boolean(*value)),
            Expr::Number(value) => Node::Const(Value::Number(value.clone())),
            Expr::String(text) => Node::Const(Value::String(Arc::clone(text))),
            Expr::Temporal(text, Value::Null) => Node::Fail(Box::new(Warning::new(
                WarningCode::FunctionInvocationFailure,
                format!("Failed to parse a date, time or duration from '{text}'"),
            ))),
            Expr::Temporal(_, value) => Node::Const(value.clone()),
            Expr::Name(name) => self.names.resolve(name),
            Expr::Input => self.names.resolve(&Arc::from("?")),
            Expr::List(items) => {
                let items = self.all(items);
                self.folding.fold(Node::List(items))
            }
            Expr::Context(entries) => self.context(entries),
            Expr::Range(range) => {
                let range = RangeNode {
                    start: self.expr(&range.start),
                    start_included: range.start_included,
                    end: self.expr(&range.end),
                    end_included: range.end_included,
                };
                self.folding.fold(Node::Range(Box::new(range)))
            }
            Expr::Comparison(op, bound) => {
                let bound = self.boxed(bound);
                self.folding.fold(Node::Comparison(*op, bound))
            }
            Expr::Negate(operand) => {
                let operand = self.boxed(operand);
                self.folding.fold(Node::Negate(operand))
            }
            Expr::Arithmetic(first, rest) => {
                let first = self.boxed(first);
                let rest = rest
                    .iter()
                    .map(|(op, tree)| (*op, self.expr(tree)))
                    .collect();
                self.folding.fold(Node::Arithmetic(first, rest))
            }
            Expr::Compare(op, left, right) => self.compare(*op, left, right),
            Expr::Between(value, low, high) => Node::Between(Box::new([
                self.expr(value),
                self.expr(low),
                self.expr(high),
            ])),
            Expr::In(value, tests) => {
                let value = self.boxed(value);
                let mark = self.names.mark();
                let named = tests.iter().any(|test| test.mentions("?"));
                let slot = named.then(|| self.names.declare(Arc::from("?")));
                let tests = self.tests(tests, None);
                self.names.release(mark);
                Node::In(value, slot, tests)
            }
            Expr::And(terms) => Node::And(self.all(terms)),
            Expr::Or(terms) => Node::Or(self.all(terms)),
            Expr::If(branches, last) => {
                let branches = branches
                    .iter()
                    .map(|(test, then)| (self.expr(test), self.expr(then)))
                    .collect();
                Node::If(branches, self.boxed(last))
            }
            Expr::For(iterators, body) => self.iteration(iterators, body),
            Expr::Some(iterators, body) => self.quantified(false, iterators, body),
            Expr::Every(iterators, body) => self.quantified(true, iterators, body),
            Expr::InstanceOf(value, kind) => Node::InstanceOf(
                self.boxed(value),
                Box::new((kind.clone(), self.options.types.clone())),
            ),
            Expr::Path(base, name) => self.path(base, name),
            Expr::Filter(list, filter) => self.filter(list, filter),
            Expr::Call(callee, arguments) => self.call(callee, arguments),
            Expr::CallNamed(callee, arguments) => self.call_named(callee, arguments),
            Expr::Function(parameters, body) => self.function(parameters, body),
        }
    }

    fn context(&mut self, entries: &[(Arc<str>, Expr)]) -> Node {
        let mark = self.names.mark();
        let mut nodes = Vec::with_capacity(entries.len());
        for (key, tree) in entries {
            let node = self.expr(tree);
            let slot = self.names.declare(Arc::clone(key));
            nodes.push((Arc::clone(key), slot, node));
        }
        self.names.release(mark);
        if nodes
            .iter()
            .all(|(_, _, node)| matches!(node, Node::Const(_)))
        {
            let constants = nodes.into_iter().filter_map(|(key, _, node)| match node {
                Node::Const(value) => Some((key, value)),
                _ => None,
            });
            return Node::Const(Value::Context(crate::Context::new(constants.collect())));
        }
        Node::Context(nodes.into())
    }

    fn compare(&mut self, op: CompareOp, left: &Expr, right: &Expr) -> Node {
        match (self.expr(left), self.expr(right)) {
            (Node::Var(var), Node::Const(value)) if !value.is_null() => {
                Node::CompareVar(op, var, value)
            }
            (Node::Const(value), Node::Var(var)) if !value.is_null() => {
                Node::CompareVar(op.mirrored(), var, value)
            }
            (left, right) => self
                .folding
                .fold(Node::Compare(op, Box::new((left, right)))),
        }
    }

    fn path(&mut self, base: &Expr, name: &Arc<str>) -> Node {
        match self.expr(base) {
            Node::Var(var) => Node::VarPath(var, Box::new([Arc::clone(name)])),
            Node::VarPath(var, path) => {
                let mut path = path.into_vec();
                path.push(Arc::clone(name));
                Node::VarPath(var, path.into())
            }
            base => Node::Path(Box::new(base), Arc::clone(name)),
        }
    }

    fn filter(&mut self, list: &Expr, filter: &Expr) -> Node {
        let list = self.expr(list);
        let mark = self.names.mark();
        let item = self.names.declare_item();
        let node = self.expr(filter);
        self.names.release(mark);
        let kind = if is_condition(filter) {
            FilterKind::Condition(node)
        } else if matches!(&node, Node::Const(Value::Number(_))) {
            FilterKind::Index(node)
        } else {
            FilterKind::Unknown(node)
        };
        Node::Filter(Box::new(FilterNode { list, item, kind }))
    }

    fn iterators(&mut self, iterators: &[ast::Iterator]) -> Box<[IteratorNode]> {
        iterators
            .iter()
            .map(|iterator| {
                let (first, last) = match &iterator.source {
                    Source::List(list) => (self.expr(list), None),
                    Source::Range(first, last) => (self.expr(first), Some(self.expr(last))),
                };
                let slot = self.names.declare(Arc::clone(&iterator.name));
                IteratorNode { slot, first, last }
            })
            .collect()
    }

    fn iteration(&mut self, iterators: &[ast::Iterator], body: &Expr) -> Node {
        let mark = self.names.mark();
        let nodes = self.iterators(iterators);
        let partial = body
            .mentions("partial")
            .then(|| self.names.declare(Arc::from("partial")));
        let body = self.expr(body);
        self.names.release(mark);
        Node::For(Box::new(ForNode {
            iterators: nodes,
            partial,
            body,
        }))
    }

    fn quantified(&mut self, every: bool, iterators: &[ast::Iterator], body: &Expr) -> Node {
        let mark = self.names.mark();
        let iterators = self.iterators(iterators);
        let body = self.expr(body);
        self.names.release(mark);
        Node::Quantified(Box::new(QuantifiedNode {
            every,
            iterators,
            body,
        }))
    }

    /// The builtin that a called name means: names of the expression and of the surroundings come first.
    fn builtin(&self, callee: &Expr) -> Option<&'static Builtin> {
        let Expr::Name(name) = callee else {
            return None;
        };
        if self.names.is_local(name) || self.options.names.contains(name) {
            return None;
        }
        builtins::find(name)
    }

    fn call(&mut self, callee: &Expr, arguments: &[Expr]) -> Node {
        if let Some(builtin) = self.builtin(callee) {
            if !builtin.accepts(arguments.len()) {
                return Node::Fail(Box::new(Warning::new(
                    WarningCode::NoFunctionFound,
                    format!(
                        "No function found with name '{}' and {} parameters",
                        builtin.name(),
                        arguments.len()
                    ),
                )));
            }
            let arguments = self.all(arguments);
            return self.folding.fold(Node::Builtin(builtin, arguments));
        }
        let callee = self.boxed(callee);
        Node::Call(callee, self.all(arguments))
    }

    fn call_named(&mut self, callee: &Expr, arguments: &[(Arc<str>, Expr)]) -> Node {
        if let Some(builtin) = self.builtin(callee) {
            if let [(name, list)] = arguments
                && builtin.takes_together(name)
            {
                return Node::BuiltinTogether(builtin, self.boxed(list));
            }
            let names: Vec<&str> = arguments.iter().map(|(name, _)| &**name).collect();
            let Some(order) = builtin.arrange(&names) else {
                return Node::Fail(Box::new(Warning::new(
                    WarningCode::NoFunctionFound,
                    format!(
                        "No function found with name '{}' and parameters: {}",
                        builtin.name(),
                        names.join(", ")
                    ),
                )));
            };
            let nodes = order
                .into_iter()
                .map(|at| match at.and_then(|at| arguments.get(at)) {
                    Some((_, tree)) => self.expr(tree),
                    None => Node::Const(Value::Null),
                })
                .collect();
            return self.folding.fold(Node::Builtin(builtin, nodes));
        }
        let callee = self.boxed(callee);
        Node::CallNamed(
            callee,
            arguments
                .iter()
                .map(|(name, tree)| (Arc::clone(name), self.expr(tree)))
                .collect(),
        )
    }

    fn function(&mut self, parameters: &[(Arc<str>, Option<ast::Type>)], body: &Expr) -> Node {
        self.names.push_frame();
        for (name, _) in parameters {
            self.names.declare(Arc::clone(name));
        }
        let node = self.expr(body);
        let frame = self.names.pop_frame();
        let (captured, captures): (Vec<Node>, Vec<usize>) = frame.captures.into_iter().unzip();
        let body = Body {
            node,
            types: parameters.iter().map(|(_, kind)| kind.clone()).collect(),
            captures: captures.into(),
            host_types: self.options.types.clone(),
            frame: frame.slots,
        };
        Node::Closure(Box::new(ClosureNode {
            parameters: parameters
                .iter()
                .map(|(name, _)| Arc::clone(name))
                .collect(),
            body: Arc::new(body),
            captured: captured.into(),
        }))
    }

    /// `cell` is the slot of the input in the cell of a decision table: a comparison in parentheses compares it there,
    /// and is a range elsewhere.
    fn tests(&mut self, tests: &[ast::Test], cell: Option<usize>) -> Box<[Test]> {
        tests
            .iter()
            .map(|test| match (test, cell) {
                (ast::Test::Any, _) => Test::Any,
                (ast::Test::Compare(op, bound), _) => Test::Compare(*op, self.expr(bound)),
                (ast::Test::Value(Expr::Comparison(op, bound)), Some(input)) => {
                    let sides = (Node::Slot(input), self.expr(bound));
                    Test::Value(Node::Compare(*op, Box::new(sides)))
                }
                (ast::Test::Value(tree), _) => Test::Value(self.expr(tree)),
                (ast::Test::Not(tests), _) => Test::Not(self.tests(tests, cell)),
            })
            .collect()
    }
}

/// Whether the value is always a boolean or null.
fn is_condition(tree: &Expr) -> bool {
    match tree {
        Expr::Boolean(_)
        | Expr::Compare(..)
        | Expr::Between(..)
        | Expr::In(..)
        | Expr::And(_)
        | Expr::Or(_)
        | Expr::Some(..)
        | Expr::Every(..)
        | Expr::InstanceOf(..) => true,
        Expr::Call(callee, _) | Expr::CallNamed(callee, _) => {
            matches!(&**callee, Expr::Name(name) if &**name == "not")
        }
        _ => false,
    }
}
