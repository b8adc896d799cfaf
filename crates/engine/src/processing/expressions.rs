//! Expressions, conditions and decisions: their inputs, and the use of their results.

pub(crate) mod conditional_evaluation;
pub(crate) mod conditions;
pub(crate) mod decision;
pub(crate) mod evaluated;
pub(crate) mod expression;
pub(super) mod named;
