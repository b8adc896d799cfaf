//! DMN 1.1 to 1.5: decision requirements graphs from XML, compiled once and evaluated with an audit.
//!
//! [`Drg::parse`] checks a file and compiles its decisions; [`Drg::evaluate`] evaluates one of them, with the decisions
//! that it requires, against a [`skep_feel::Scope`]. The crate does no IO, has no clock, and does not panic, recurse or
//! run without bound on any input: expressions keep to the limits of [`skep_feel::Limits`].
//!
//! ```
//! use skep_dmn::{Drg, Options};
//! use skep_feel::{EvalContext, JsonScope};
//!
//! let xml = br##"<definitions xmlns="https://www.omg.org/spec/DMN/20191111/MODEL/" id="fees" name="Fees" namespace="n">
//!   <decision id="fee" name="Fee"><literalExpression><text>amount * 2</text></literalExpression></decision>
//! </definitions>"##;
//! let drg = Drg::parse("fees.dmn", xml, &Options::default())?;
//! let scope = JsonScope::parse(r#"{"amount": 150}"#)?;
//! let result = drg.evaluate("fee", &scope, &EvalContext::default())?;
//! assert_eq!(result.output.to_json(), "300");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::indexing_slicing))]

mod error;
mod eval;
mod matcher;
mod model;
mod options;
mod read;
mod result;
mod types;
mod xml;

pub use error::{Finding, Invalid, Rule};
pub use model::{Decision, DecisionType, Drg};
pub use options::{Dialect, Options};
pub use result::{
    DecisionResult, EvaluatedDecision, EvaluatedInput, EvaluatedOutput, EvaluationFailure,
    MatchedRule,
};
