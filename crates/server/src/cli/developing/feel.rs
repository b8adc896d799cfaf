//! `skep feel`.

use std::time::{SystemTime, UNIX_EPOCH};

use clap::Args;
use skep_feel::{EvalContext, Expression, JsonScope};

use crate::cli::Usage;
use crate::errors::Coded;

#[derive(Args)]
pub struct FeelArgs {
    /// Expression; a leading = as in BPMN files is accepted.
    expression: String,
    /// Variables as a JSON object.
    #[arg(long, default_value = "{}", value_name = "JSON")]
    context: String,
}

/// Prints the value to standard output as JSON, and warnings to standard error.
pub fn run(args: &FeelArgs) -> anyhow::Result<()> {
    let text = args.expression.trim();
    let text = text.strip_prefix('=').unwrap_or(text);
    let expression = Expression::parse(text)
        .map_err(|e| Coded::new("EXPRESSION", format!("the expression has an error: {e}")))?;
    let scope = JsonScope::parse(&args.context)
        .map_err(|e| Usage(format!("--context must be a JSON object: {e}")))?;
    let now = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    let context = EvalContext {
        now_millis: i64::try_from(now.as_millis()).unwrap_or(i64::MAX),
        seed: rand::random(),
        ..EvalContext::default()
    };
    let evaluation = expression.evaluate(&scope, &context);
    for warning in &evaluation.warnings {
        complain!("warning: {warning}");
    }
    crate::cli::print(&format!("{}\n", evaluation.value.to_json()))
}
