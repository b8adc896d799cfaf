//! The compiled form of a file.

use std::sync::Arc;

use rustc_hash::FxHashMap;
use skep_feel::Expression;

use crate::matcher::Column;
use crate::options::Dialect;
use crate::types::{TypeId, Types};

/// A decision requirements graph, compiled. Cloning shares it.
#[derive(Clone)]
pub struct Drg(pub(crate) Arc<Graph>);

pub(crate) struct Graph {
    pub id: Arc<str>,
    pub name: Arc<str>,
    pub namespace: Arc<str>,
    pub version_tag: Option<Arc<str>>,
    pub decisions: Vec<Decision>,
    pub by_id: FxHashMap<Arc<str>, usize>,
    pub knowledge: Vec<KnowledgeModel>,
    pub services: Vec<Service>,
    pub types: Arc<Types>,
    /// Names that the expressions of the file may read, sorted.
    pub variables: Vec<Arc<str>>,
    /// How deep boxed expressions are nested at most.
    pub height: u32,
    pub dialect: Dialect,
}

impl Drg {
    /// The id of the definitions.
    pub fn id(&self) -> &str {
        &self.0.id
    }

    /// The name of the definitions.
    pub fn name(&self) -> &str {
        &self.0.name
    }

    /// The namespace of the definitions.
    pub fn namespace(&self) -> &str {
        &self.0.namespace
    }

    /// `zeebe:versionTag` of the definitions.
    pub fn version_tag(&self) -> Option<&str> {
        self.0.version_tag.as_deref()
    }

    /// The variables that an evaluation may ask its scope for, sorted: those that any expression of the file names.
    pub fn variables(&self) -> &[Arc<str>] {
        &self.0.variables
    }

    /// The decisions, in document order.
    pub fn decisions(&self) -> &[Decision] {
        &self.0.decisions
    }

    /// The place of the decision with this id among [`Drg::decisions`].
    pub fn position(&self, id: &str) -> Option<usize> {
        self.0.by_id.get(id).copied()
    }

    /// The decision with this id.
    pub fn decision(&self, id: &str) -> Option<&Decision> {
        self.0
            .by_id
            .get(id)
            .and_then(|at| self.0.decisions.get(*at))
    }
}

impl std::fmt::Debug for Drg {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Drg").field(&self.id()).finish()
    }
}

/// A decision of the graph.
pub struct Decision {
    pub(crate) id: Arc<str>,
    pub(crate) name: Arc<str>,
    pub(crate) version_tag: Option<Arc<str>>,
    /// The name under which others see its output.
    pub(crate) variable: Arc<str>,
    pub(crate) output_type: Option<TypeId>,
    pub(crate) requires: Requirements,
    /// `None` yields null.
    pub(crate) logic: Option<Boxed>,
}

impl Decision {
    /// Its id, unique in the graph.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// `zeebe:versionTag` of the decision.
    pub fn version_tag(&self) -> Option<&str> {
        self.version_tag.as_deref()
    }

    /// The kind of its logic.
    pub fn decision_type(&self) -> DecisionType {
        match self.logic.as_ref().map(|boxed| &boxed.logic) {
            Some(Logic::Table(_)) => DecisionType::DecisionTable,
            Some(Logic::Literal(_)) => DecisionType::LiteralExpression,
            Some(Logic::Context(_)) => DecisionType::Context,
            Some(Logic::Invocation(_)) => DecisionType::Invocation,
            Some(Logic::List(_)) => DecisionType::List,
            Some(Logic::Relation(_)) => DecisionType::Relation,
            _ => DecisionType::Unknown,
        }
    }
}

/// The kind of a decision's logic.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DecisionType {
    /// A decision table.
    DecisionTable,
    /// A FEEL expression.
    LiteralExpression,
    /// A boxed context.
    Context,
    /// A boxed invocation.
    Invocation,
    /// A boxed list.
    List,
    /// A relation.
    Relation,
    /// Another boxed expression, or none.
    Unknown,
}

impl DecisionType {
    /// As records and responses name it, for example `DECISION_TABLE`.
    pub fn as_str(self) -> &'static str {
        match self {
            DecisionType::DecisionTable => "DECISION_TABLE",
            DecisionType::LiteralExpression => "LITERAL_EXPRESSION",
            DecisionType::Context => "CONTEXT",
            DecisionType::Invocation => "INVOCATION",
            DecisionType::List => "LIST",
            DecisionType::Relation => "RELATION",
            DecisionType::Unknown => "UNKNOWN",
        }
    }
}

/// Required elements of an element of the graph, by their position.
#[derive(Default)]
pub(crate) struct Requirements {
    pub inputs: Vec<Input>,
    pub decisions: Vec<usize>,
    pub knowledge: Vec<usize>,
    pub services: Vec<usize>,
}

/// An input of the graph.
#[derive(Clone)]
pub(crate) struct Input {
    pub name: Arc<str>,
    pub kind: Option<TypeId>,
}

/// A business knowledge model.
pub(crate) struct KnowledgeModel {
    pub name: Arc<str>,
    pub requires: Requirements,
    pub function: Arc<Definition>,
    /// The types that an invocation checks.
    pub declared: Vec<(Arc<str>, Option<TypeId>)>,
    /// The declared type of its result.
    pub output_type: Option<TypeId>,
}

/// A decision service.
pub(crate) struct Service {
    pub name: Arc<str>,
    pub parameters: Vec<ServiceParameter>,
    /// Positions of the decisions whose outputs it returns.
    pub outputs: Vec<usize>,
    pub output_type: Option<TypeId>,
}

pub(crate) struct ServiceParameter {
    pub name: Arc<str>,
    pub kind: Option<TypeId>,
    /// The position of the input decision; `None` for input data.
    pub decision: Option<usize>,
}

/// A function definition.
pub(crate) struct Definition {
    pub parameters: Vec<(Arc<str>, Option<TypeId>)>,
    pub body: Boxed,
    /// The names that the body may read from outside.
    pub free: Vec<Arc<str>>,
}

/// A boxed expression with its declared type.
pub(crate) struct Boxed {
    pub logic: Logic,
    pub kind: Option<TypeId>,
}

pub(crate) enum Logic {
    Literal(Text),
    Table(Box<Table>),
    Invocation(Box<Invocation>),
    Context(Vec<Entry>),
    List(Vec<Boxed>),
    Relation(Relation),
    Function(Arc<Definition>),
    Conditional(Box<[Boxed; 3]>),
    Filter(Box<[Boxed; 2]>),
    For(Box<Iteration>),
    Every(Box<Iteration>),
    Some(Box<Iteration>),
}

/// The text of an expression.
pub(crate) enum Text {
    /// Nothing stands there: null.
    Empty,
    Feel(Expression),
    /// It is not FEEL (only where that is reported at evaluation).
    Broken {
        text: String,
        message: String,
    },
}

impl Text {
    pub fn text(&self) -> &str {
        match self {
            Text::Empty => "",
            Text::Feel(expression) => expression.text(),
            Text::Broken { text, .. } => text,
        }
    }
}

pub(crate) struct Invocation {
    pub callee: Boxed,
    pub bindings: Vec<(Arc<str>, Boxed)>,
}

pub(crate) struct Entry {
    /// `None` for the result of the context.
    pub name: Option<Arc<str>>,
    pub kind: Option<TypeId>,
    pub value: Boxed,
}

pub(crate) struct Relation {
    pub columns: Vec<Arc<str>>,
    pub rows: Vec<Vec<Boxed>>,
}

pub(crate) struct Iteration {
    pub variable: Arc<str>,
    pub list: Boxed,
    pub body: Boxed,
    /// The body names `partial`, the results so far.
    pub reads_partial: bool,
}

/// A decision table.
pub(crate) struct Table {
    pub hit_policy: HitPolicy,
    pub inputs: Vec<TableInput>,
    pub outputs: Vec<TableOutput>,
    pub rules: Vec<Rule>,
    /// The input cells, by column.
    pub columns: Vec<Column>,
}

pub(crate) struct TableInput {
    pub id: Arc<str>,
    pub name: Arc<str>,
    pub value: Text,
    pub kind: Option<TypeId>,
    /// Values that the input may have; only checked where the dialect asks for it.
    pub allowed: Option<skep_feel::UnaryTests>,
}

pub(crate) struct TableOutput {
    pub id: Arc<str>,
    pub name: Arc<str>,
    /// As the audit calls it: by its label, if it has one.
    pub label: Arc<str>,
    pub kind: Option<TypeId>,
    /// Its values, most important first.
    pub priorities: Vec<skep_feel::Value>,
    pub allowed: Option<skep_feel::UnaryTests>,
    pub default: Option<Text>,
}

pub(crate) struct Rule {
    pub id: Arc<str>,
    pub outputs: Vec<Text>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum HitPolicy {
    Unique,
    Any,
    Priority,
    First,
    RuleOrder,
    OutputOrder,
    Collect(Option<Aggregation>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Aggregation {
    Sum,
    Min,
    Max,
    Count,
}
