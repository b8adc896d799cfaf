//! Syntax tree to a form that evaluates without looking up names: locals are slots of a frame, variables are numbered,
//! builtins are resolved, constants are computed.

mod fold;
mod lower;
mod names;

use std::sync::Arc;

use crate::Warning;
use crate::builtins::Builtin;
use crate::syntax::HostTypes;
use crate::syntax::ast::{ArithmeticOp, CompareOp, Type};
use crate::value::Value;

pub(crate) use lower::{expression, unary_tests};

/// In unary tests, the slot of the input.
pub(crate) const INPUT_SLOT: usize = 0;

/// A compiled text.
pub(crate) struct Program<R> {
    pub root: R,
    pub variables: Vec<Arc<str>>,
    /// Number of slots.
    pub frame: usize,
}

/// A compiled function literal. It runs in a frame of its own: captured values are copied in.
pub(crate) struct Body {
    pub node: Node,
    /// Slots of the parameters are 0, 1, …
    pub types: Box<[Option<Type>]>,
    pub host_types: HostTypes,
    /// Slots of the captured values, in the order of the closure's list.
    pub captures: Box<[usize]>,
    pub frame: usize,
}

pub(crate) enum Node {
    Const(Value),
    Slot(usize),
    /// The value under test, in this slot: who reads it is a condition.
    Input(usize),
    /// A variable of the scope.
    Var(usize),
    /// A path that begins at a variable of the scope.
    VarPath(usize, Box<[Arc<str>]>),
    /// A name inside a filter: an entry of the current item, else what it means outside.
    ItemKey(Box<ItemKey>),
    List(Box<[Node]>),
    Context(Box<[(Arc<str>, usize, Node)]>),
    Range(Box<RangeNode>),
    Comparison(CompareOp, Box<Node>),
    Negate(Box<Node>),
    Arithmetic(Box<Node>, Box<[(ArithmeticOp, Node)]>),
    Compare(CompareOp, Box<(Node, Node)>),
    /// A variable compared with a constant.
    CompareVar(CompareOp, usize, Value),
    Between(Box<[Node; 3]>),
    /// The value, its slot for tests that name it `?`, and the tests.
    In(Box<Node>, Option<usize>, Box<[Test]>),
    And(Box<[Node]>),
    Or(Box<[Node]>),
    If(Box<[(Node, Node)]>, Box<Node>),
    For(Box<ForNode>),
    Quantified(Box<QuantifiedNode>),
    InstanceOf(Box<Node>, Box<(Type, HostTypes)>),
    Path(Box<Node>, Arc<str>),
    Filter(Box<FilterNode>),
    Builtin(&'static Builtin, Box<[Node]>),
    /// A builtin with all of its arguments in one list.
    BuiltinTogether(&'static Builtin, Box<Node>),
    Call(Box<Node>, Box<[Node]>),
    CallNamed(Box<Node>, Box<[(Arc<str>, Node)]>),
    /// A function literal: names of the parameters, body, and where the captured values come from.
    Closure(Box<ClosureNode>),
    /// Always null, with this warning.
    Fail(Box<Warning>),
}

pub(crate) struct ItemKey {
    pub item: usize,
    pub key: Arc<str>,
    pub outer: Node,
}

pub(crate) struct RangeNode {
    pub start: Node,
    pub start_included: bool,
    pub end: Node,
    pub end_included: bool,
}

pub(crate) struct IteratorNode {
    pub slot: usize,
    pub first: Node,
    /// The end of `first..last`; without it `first` is a list.
    pub last: Option<Node>,
}

pub(crate) struct ForNode {
    pub iterators: Box<[IteratorNode]>,
    /// The slot of `partial`, when the body mentions it.
    pub partial: Option<usize>,
    pub body: Node,
}

pub(crate) struct QuantifiedNode {
    pub every: bool,
    pub iterators: Box<[IteratorNode]>,
    pub body: Node,
}

pub(crate) struct FilterNode {
    pub list: Node,
    pub item: usize,
    pub kind: FilterKind,
}

pub(crate) enum FilterKind {
    /// Always an index: evaluated once, outside of the items.
    Index(Node),
    /// Always a condition.
    Condition(Node),
    /// An index or a condition, as the value for the first item shows.
    Unknown(Node),
}

pub(crate) struct ClosureNode {
    pub parameters: Vec<Arc<str>>,
    pub body: Arc<Body>,
    pub captured: Box<[Node]>,
}

/// A compiled unary test.
pub(crate) enum Test {
    Any,
    Compare(CompareOp, Node),
    /// A value to equal, a range or list to contain the input, or a condition.
    Value(Node),
    Not(Box<[Test]>),
}
