//! Expressions as their users see them: text in, evaluations out.

use std::fmt;
use std::sync::Arc;

use crate::compile::{self, Program, Test};
use crate::eval::Evaluator;
use crate::syntax::{self, ParseError, ParseOptions};
use crate::{EvalContext, Scope, Value, Warning};

/// The result of an evaluation.
#[derive(Clone, Debug, Default)]
pub struct Evaluation {
    /// The value; null when the evaluation failed as a whole.
    pub value: Value,
    /// Failures on the way, at most 100.
    pub warnings: Vec<Warning>,
    /// The cost of the evaluation and of writing the value, see [`Limits::STEP_NANOS`](crate::Limits::STEP_NANOS): to charge
    /// to a larger budget.
    pub steps: u64,
}

/// A compiled expression. Cloning shares it.
#[derive(Clone)]
pub struct Expression(Arc<Compiled>);

struct Compiled {
    text: Box<str>,
    program: Program<compile::Node>,
}

impl Expression {
    /// Parses and compiles an expression (without the `=` that marks expressions in BPMN).
    ///
    /// # Errors
    /// With line, column and what was expected, when the text is not FEEL, too long or nested too deeply.
    pub fn parse(text: &str) -> Result<Expression, ParseError> {
        Expression::parse_with(text, &ParseOptions::default())
    }

    /// Like [`Expression::parse`], with names that need no backticks.
    ///
    /// # Errors
    /// As [`Expression::parse`].
    pub fn parse_with(text: &str, options: &ParseOptions) -> Result<Expression, ParseError> {
        let tree = syntax::parse_expression(text, options)?;
        let program = compile::expression(&tree, options);
        Ok(Expression(Arc::new(Compiled {
            text: text.into(),
            program,
        })))
    }

    /// The text it was parsed from.
    pub fn text(&self) -> &str {
        &self.0.text
    }

    /// The names of the variables that the expression reads.
    pub fn variables(&self) -> &[Arc<str>] {
        &self.0.program.variables
    }

    /// The variable that the expression is, or at which its path begins; `None` if it computes anything.
    pub fn accessed_variable(&self) -> Option<&Arc<str>> {
        match self.0.program.root {
            compile::Node::Var(variable) | compile::Node::VarPath(variable, _) => {
                self.variables().get(variable)
            }
            _ => None,
        }
    }

    /// The value, when the expression is a constant (a literal, or made of literals).
    pub fn constant(&self) -> Option<&Value> {
        match &self.0.program.root {
            compile::Node::Const(value) => Some(value),
            _ => None,
        }
    }

    /// Evaluates against the variables of a scope. A failed operation yields null and a warning.
    pub fn evaluate(&self, scope: &dyn Scope, cx: &EvalContext) -> Evaluation {
        let program = &self.0.program;
        if let compile::Node::Const(value) = &program.root {
            return Evaluation {
                value: value.clone(),
                ..Evaluation::default()
            };
        }
        let mut evaluator = Evaluator::new(scope, cx, &program.variables, program.frame);
        let value = evaluator.eval(&program.root);
        evaluator.finish(value)
    }
}

impl fmt::Debug for Expression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Expression").field(&self.text()).finish()
    }
}

impl fmt::Display for Expression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.text())
    }
}

/// The text of an expression in a uniform layout, with all parentheses that its reading implies.
///
/// # Errors
/// As [`Expression::parse`].
pub fn format_expression(text: &str) -> Result<String, ParseError> {
    syntax::parse_expression(text, &ParseOptions::default()).map(|tree| tree.to_string())
}

/// Compiled unary tests, as in the input cells of decision tables. Cloning shares them.
#[derive(Clone)]
pub struct UnaryTests(Arc<CompiledTests>);

struct CompiledTests {
    text: Box<str>,
    program: Program<Box<[Test]>>,
}

impl UnaryTests {
    /// Parses and compiles tests: `< 5`, `"a", "b"`, `[1..10]`, `not(3)`, `-`, `starts with(?, "x")`.
    ///
    /// # Errors
    /// With line, column and what was expected, when the text is not FEEL, too long or nested too deeply.
    pub fn parse(text: &str) -> Result<UnaryTests, ParseError> {
        UnaryTests::parse_with(text, &ParseOptions::default())
    }

    /// Like [`UnaryTests::parse`], with names that need no backticks.
    ///
    /// # Errors
    /// As [`UnaryTests::parse`].
    pub fn parse_with(text: &str, options: &ParseOptions) -> Result<UnaryTests, ParseError> {
        let tree = syntax::parse_unary_tests(text, options)?;
        let program = compile::unary_tests(&tree, options);
        Ok(UnaryTests(Arc::new(CompiledTests {
            text: text.into(),
            program,
        })))
    }

    /// The text they were parsed from.
    pub fn text(&self) -> &str {
        &self.0.text
    }

    /// The names of the variables that the tests read, without `?`.
    pub fn variables(&self) -> &[Arc<str>] {
        &self.0.program.variables
    }

    /// Whether the input passes one of the tests: true, false, or null when that cannot be said.
    pub fn evaluate(&self, input: &Value, scope: &dyn Scope, cx: &EvalContext) -> Evaluation {
        let program = &self.0.program;
        let mut evaluator = Evaluator::new(scope, cx, &program.variables, program.frame);
        evaluator.set(compile::INPUT_SLOT, input.clone());
        let value = evaluator.any_test(input, &program.root);
        evaluator.finish(Value::from(value))
    }
}

impl fmt::Debug for UnaryTests {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("UnaryTests").field(&self.text()).finish()
    }
}
