//! Tokens to syntax tree: operators by precedence climbing, and unary tests.
//!
//! Every node carries its height while it is built, so that the tree can be walked and dropped by recursion.

use std::collections::HashMap;
use std::sync::Arc;

use super::ast::{ArithmeticOp, CompareOp, Expr, Test};
use super::lexer::{Kind, Token, tokens};
use super::{MAX_NESTING, ParseError};
use crate::Value;

/// Context for the parser.
#[derive(Clone, Debug, Default)]
pub struct ParseOptions {
    /// Names with spaces or operators in them (`Monthly Salary`) that are read as one name without backticks. They also
    /// come before builtins of the same name.
    pub names: Vec<Arc<str>>,
    /// Types beyond the language's own.
    pub types: HostTypes,
}

/// A type that the program around the language defines, for example a DMN item definition.
pub trait HostType: Send + Sync {
    /// Whether a value (not null) belongs to the type.
    fn is_instance(&self, value: &Value) -> bool;
}

/// Types of the host by name. Cloning shares them.
#[derive(Clone, Default)]
pub struct HostTypes(Arc<HashMap<Arc<str>, Arc<dyn HostType>>>);

impl HostTypes {
    /// These types.
    pub fn new(types: HashMap<Arc<str>, Arc<dyn HostType>>) -> HostTypes {
        HostTypes(Arc::new(types))
    }

    /// The type of this name.
    pub fn get(&self, name: &str) -> Option<&dyn HostType> {
        self.0.get(name).map(|kind| &**kind)
    }
}

impl std::fmt::Debug for HostTypes {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_set().entries(self.0.keys()).finish()
    }
}

/// A node with the height of its tree.
pub(super) struct Node {
    pub expr: Expr,
    pub height: u32,
}

/// How tightly operators bind.
mod precedence {
    pub const NONE: u8 = 0;
    pub const OR: u8 = 1;
    pub const AND: u8 = 2;
    pub const COMPARISON: u8 = 3;
    pub const SUM: u8 = 4;
    pub const PRODUCT: u8 = 5;
    pub const POWER: u8 = 6;
}

pub(super) type Parsed = Result<Node, ParseError>;

pub(crate) fn parse_expression(text: &str, options: &ParseOptions) -> Result<Expr, ParseError> {
    let mut parser = Parser::new(text, options)?;
    let node = parser.expression()?;
    parser.expect_end()?;
    Ok(node.expr)
}

pub(crate) fn parse_unary_tests(
    text: &str,
    options: &ParseOptions,
) -> Result<Vec<Test>, ParseError> {
    let mut parser = Parser::new(text, options)?;
    let tests = parser.unary_tests()?;
    parser.expect_end()?;
    Ok(tests)
}

pub(super) struct Parser<'a> {
    text: &'a str,
    tokens: Vec<Token>,
    at: usize,
    depth: u32,
    /// Inside the end of a range, `[` may close it.
    pub(super) range_end: bool,
    /// An operand that has been read already.
    pub(super) pending: Option<Node>,
}

impl<'a> Parser<'a> {
    fn new(text: &'a str, options: &ParseOptions) -> Result<Parser<'a>, ParseError> {
        Ok(Parser {
            text,
            tokens: tokens(text, &options.names)?,
            at: 0,
            depth: 0,
            range_end: false,
            pending: None,
        })
    }

    pub(super) fn peek_at(&self, ahead: usize) -> &Kind {
        const END: &Kind = &Kind::End;
        self.tokens
            .get(self.at + ahead)
            .map_or(END, |token| &token.kind)
    }

    pub(super) fn peek(&self) -> &Kind {
        self.peek_at(0)
    }

    pub(super) fn advance(&mut self) {
        if self.at + 1 < self.tokens.len() {
            self.at += 1;
        }
    }

    /// The text from the next token to the end of the `count`th one.
    pub(super) fn text_of(&self, count: usize) -> &'a str {
        let start = self.tokens.get(self.at).map_or(0, |token| token.start);
        let end = self
            .tokens
            .get(self.at + count - 1)
            .map_or(start, |token| token.end);
        self.text.get(start..end).unwrap_or_default()
    }

    pub(super) fn position(&self) -> usize {
        self.at
    }

    pub(super) fn reset(&mut self, position: usize) {
        self.at = position;
    }

    pub(super) fn is_symbol_at(&self, ahead: usize, symbol: &str) -> bool {
        matches!(self.peek_at(ahead), Kind::Symbol(found) if *found == symbol)
    }

    pub(super) fn is_symbol(&self, symbol: &str) -> bool {
        self.is_symbol_at(0, symbol)
    }

    pub(super) fn is_word(&self, word: &str) -> bool {
        self.is_word_at(0, word)
    }

    pub(super) fn is_word_at(&self, ahead: usize, word: &str) -> bool {
        matches!(self.peek_at(ahead), Kind::Word(found) if &**found == word)
    }

    pub(super) fn take_symbol(&mut self, symbol: &str) -> bool {
        let found = self.is_symbol(symbol);
        if found {
            self.advance();
        }
        found
    }

    pub(super) fn take_word(&mut self, word: &str) -> bool {
        let found = self.is_word(word);
        if found {
            self.advance();
        }
        found
    }

    pub(super) fn expect_symbol(&mut self, symbol: &str) -> Result<(), ParseError> {
        if self.take_symbol(symbol) {
            Ok(())
        } else {
            Err(self.unexpected(&format!("'{symbol}'")))
        }
    }

    pub(super) fn expect_word(&mut self, word: &str) -> Result<(), ParseError> {
        if self.take_word(word) {
            Ok(())
        } else {
            Err(self.unexpected(&format!("'{word}'")))
        }
    }

    fn expect_end(&self) -> Result<(), ParseError> {
        match self.peek() {
            Kind::End => Ok(()),
            _ => Err(self.unexpected("an operator or the end of the expression")),
        }
    }

    pub(super) fn unexpected(&self, expected: &str) -> ParseError {
        let (found, offset) = match self.tokens.get(self.at) {
            Some(Token {
                kind: Kind::End,
                start,
                ..
            }) => ("the end of the expression".to_owned(), *start),
            Some(token) => {
                let text = self.text.get(token.start..token.end).unwrap_or_default();
                let short: String = text.chars().take(40).collect();
                (format!("'{short}'"), token.start)
            }
            None => ("the end of the expression".to_owned(), self.text.len()),
        };
        ParseError::at(
            self.text,
            offset,
            format!("expected {expected}, found {found}"),
        )
    }

    pub(super) fn error_here(&self, message: impl Into<String>) -> ParseError {
        let offset = self
            .tokens
            .get(self.at)
            .map_or(self.text.len(), |token| token.start);
        ParseError::at(self.text, offset, message)
    }

    /// A node above children of this height.
    pub(super) fn node(&self, expr: Expr, children: u32) -> Parsed {
        if children >= 2 * MAX_NESTING {
            return Err(self.too_deep());
        }
        Ok(Node {
            expr,
            height: children + 1,
        })
    }

    fn too_deep(&self) -> ParseError {
        self.error_here(format!(
            "the expression is nested too deeply; the limit is {MAX_NESTING} levels"
        ))
    }

    /// Any expression.
    pub(super) fn expression(&mut self) -> Parsed {
        let outer = std::mem::take(&mut self.range_end);
        let result = self.operators(precedence::OR);
        self.range_end = outer;
        result
    }

    /// One level deeper. Operators and operands both count.
    pub(super) fn descend(&mut self) -> Result<(), ParseError> {
        if self.depth >= 2 * MAX_NESTING {
            return Err(self.too_deep());
        }
        self.depth += 1;
        Ok(())
    }

    pub(super) fn ascend(&mut self) {
        self.depth -= 1;
    }

    pub(super) fn compare_op(&self) -> Option<CompareOp> {
        self.compare_op_at(0)
    }

    fn compare_op_at(&self, ahead: usize) -> Option<CompareOp> {
        match self.peek_at(ahead) {
            Kind::Symbol(symbol) => CompareOp::from_symbol(symbol),
            _ => None,
        }
    }

    /// One operand of a comparison.
    pub(super) fn sum(&mut self) -> Parsed {
        self.operators(precedence::SUM)
    }

    /// One comparison, or less.
    fn comparable(&mut self) -> Parsed {
        self.operators(precedence::COMPARISON)
    }

    /// Operands joined by operators of at least this precedence.
    fn operators(&mut self, least: u8) -> Parsed {
        self.descend()?;
        let result = self.operators_inside(least);
        self.ascend();
        result
    }

    fn operators_inside(&mut self, least: u8) -> Parsed {
        let mut left = self.negation()?;
        loop {
            let found = self.precedence();
            if found < least || found == precedence::NONE {
                return Ok(left);
            }
            left = match found {
                precedence::OR => self.junction(left, "or", precedence::AND, Expr::Or)?,
                precedence::AND => self.junction(left, "and", precedence::COMPARISON, Expr::And)?,
                precedence::COMPARISON => self.comparison(left)?,
                level => self.arithmetic(left, level)?,
            };
        }
    }

    /// The precedence of the operator that stands here.
    fn precedence(&self) -> u8 {
        match self.peek() {
            Kind::Word(word) => match &**word {
                "or" => precedence::OR,
                "and" => precedence::AND,
                "between" | "in" => precedence::COMPARISON,
                "instance" if self.is_word_at(1, "of") => precedence::COMPARISON,
                _ => precedence::NONE,
            },
            Kind::Symbol(symbol) => match *symbol {
                "+" | "-" => precedence::SUM,
                "*" | "/" => precedence::PRODUCT,
                "**" => precedence::POWER,
                symbol if CompareOp::from_symbol(symbol).is_some() => precedence::COMPARISON,
                _ => precedence::NONE,
            },
            _ => precedence::NONE,
        }
    }

    fn junction(
        &mut self,
        first: Node,
        word: &str,
        operand: u8,
        make: fn(Vec<Expr>) -> Expr,
    ) -> Parsed {
        let mut height = first.height;
        let mut terms = vec![first.expr];
        while self.take_word(word) {
            let term = self.operators(operand)?;
            height = height.max(term.height);
            terms.push(term.expr);
        }
        self.node(make(terms), height)
    }

    fn arithmetic(&mut self, first: Node, level: u8) -> Parsed {
        let mut height = first.height;
        let mut rest = Vec::new();
        while self.precedence() == level {
            let op = match self.peek() {
                Kind::Symbol("+") => ArithmeticOp::Add,
                Kind::Symbol("-") => ArithmeticOp::Subtract,
                Kind::Symbol("*") => ArithmeticOp::Multiply,
                Kind::Symbol("/") => ArithmeticOp::Divide,
                _ => ArithmeticOp::Power,
            };
            self.advance();
            let right = self.operators(level + 1)?;
            height = height.max(right.height);
            rest.push((op, right.expr));
        }
        self.node(Expr::Arithmetic(Box::new(first.expr), rest), height)
    }

    fn comparison(&mut self, left: Node) -> Parsed {
        if let Some(op) = self.compare_op() {
            self.advance();
            let right = self.sum()?;
            let height = left.height.max(right.height);
            return self.node(
                Expr::Compare(op, Box::new(left.expr), Box::new(right.expr)),
                height,
            );
        }
        if self.take_word("between") {
            return self.between(left);
        }
        if self.take_word("in") {
            let (tests, height) = self.tests_after_in()?;
            return self.node(
                Expr::In(Box::new(left.expr), tests),
                height.max(left.height),
            );
        }
        self.expect_word("instance")?;
        self.expect_word("of")?;
        let (kind, height) = self.type_name(0)?;
        self.node(
            Expr::InstanceOf(Box::new(left.expr), kind),
            height.max(left.height),
        )
    }

    fn between(&mut self, value: Node) -> Parsed {
        let low = self.sum()?;
        self.expect_word("and")?;
        let high = self.sum()?;
        let height = value.height.max(low.height).max(high.height);
        self.node(
            Expr::Between(
                Box::new(value.expr),
                Box::new(low.expr),
                Box::new(high.expr),
            ),
            height,
        )
    }

    fn negation(&mut self) -> Parsed {
        let mut count = 0u32;
        while self.take_symbol("-") {
            count += 1;
            if count > MAX_NESTING {
                return Err(self.too_deep());
            }
        }
        let mut node = self.postfix()?;
        for _ in 0..count {
            // A negative literal is a literal, so that ranges and tests see it as one.
            node = match node.expr {
                Expr::Number(number) if !number.is_negative() && !number.is_zero() => Node {
                    expr: Expr::Number(number.neg()),
                    height: node.height,
                },
                expr => self.node(Expr::Negate(Box::new(expr)), node.height)?,
            };
        }
        Ok(node)
    }

    /// The right side of `in`: one test, or several in parentheses.
    fn tests_after_in(&mut self) -> Result<(Vec<Test>, u32), ParseError> {
        if !self.is_symbol("(") {
            let (test, height) = self.positive_test(Parser::comparable)?;
            return Ok((vec![test], height));
        }
        self.advance();
        let mut height = 0;
        let mut tests = Vec::new();
        loop {
            let (test, above) = self.positive_test(Parser::expression)?;
            height = height.max(above);
            tests.push(test);
            if !self.take_symbol(",") {
                break;
            }
        }
        if matches!(tests.as_slice(), [Test::Value(_)])
            && let Some(Test::Value(expr)) = tests.pop()
        {
            // `(1..5)` is a range, and `(a) + b` an expression: only a list of tests is special.
            let inner = self.after_parenthesis(Node { expr, height })?;
            self.pending = Some(inner);
            let node = self.comparable()?;
            return Ok((vec![Test::Value(node.expr)], node.height));
        }
        self.expect_symbol(")")?;
        Ok((tests, height))
    }

    fn positive_test(
        &mut self,
        operand: fn(&mut Self) -> Parsed,
    ) -> Result<(Test, u32), ParseError> {
        if let Some(op) = self.compare_op() {
            self.advance();
            let node = self.sum()?;
            return Ok((Test::Compare(op, node.expr), node.height));
        }
        if self.is_word("not") && self.is_symbol_at(1, "(") && self.compare_op_at(2).is_some() {
            return self.negated_comparisons();
        }
        // At the end of a cell a truth value is the expected input, elsewhere it is a condition.
        for value in [true, false] {
            if self.is_word(if value { "true" } else { "false" }) && *self.peek_at(1) == Kind::End {
                self.advance();
                return Ok((Test::Compare(CompareOp::Equal, Expr::Boolean(value)), 1));
            }
        }
        let node = operand(self)?;
        Ok((Test::Value(node.expr), node.height))
    }

    /// `not(< 3)`; with several comparisons it is a call of `not`, which takes one argument.
    fn negated_comparisons(&mut self) -> Result<(Test, u32), ParseError> {
        self.advance();
        self.expect_symbol("(")?;
        let mut bounds = Vec::new();
        let mut height = 0;
        loop {
            let Some(op) = self.compare_op() else {
                return Err(self.unexpected("a comparison such as '< 5'"));
            };
            self.advance();
            let bound = self.sum()?;
            height = height.max(bound.height);
            bounds.push((op, bound.expr));
            if !self.take_symbol(",") {
                break;
            }
        }
        self.expect_symbol(")")?;
        if bounds.len() == 1
            && let Some((op, bound)) = bounds.pop()
        {
            return Ok((Test::Not(vec![Test::Compare(op, bound)]), height));
        }
        let comparisons = bounds
            .into_iter()
            .map(|(op, bound)| Expr::Comparison(op, Box::new(bound)))
            .collect();
        let callee = Box::new(Expr::Name(Arc::from("not")));
        let call = self.node(Expr::Call(callee, comparisons), height + 1)?;
        Ok((Test::Value(call.expr), call.height))
    }

    fn unary_tests(&mut self) -> Result<Vec<Test>, ParseError> {
        if self.is_symbol("-") && *self.peek_at(1) == Kind::End {
            self.advance();
            return Ok(vec![Test::Any]);
        }
        if self.is_word("not") && self.is_symbol_at(1, "(") {
            let start = self.position();
            self.advance();
            self.advance();
            if let Ok(tests) = self.test_list()
                && self.take_symbol(")")
                && *self.peek() == Kind::End
            {
                return Ok(vec![Test::Not(tests)]);
            }
            // `not(a) and b` is a condition.
            self.reset(start);
        }
        self.test_list()
    }

    fn test_list(&mut self) -> Result<Vec<Test>, ParseError> {
        let mut tests = Vec::new();
        loop {
            if self.is_symbol("-") && (self.is_symbol_at(1, ",") || self.is_symbol_at(1, ")")) {
                self.advance();
                tests.push(Test::Any);
            } else {
                tests.push(self.positive_test(Parser::expression)?.0);
            }
            if !self.take_symbol(",") {
                return Ok(tests);
            }
        }
    }
}
