//! Parameters that an AI agent must provide, as declared by the `fromAi` calls of expressions.

use crate::compile;
use crate::syntax::ast::Expr;
use crate::syntax::{ParseOptions, parse_expression};
use crate::value::Value;

/// One call of `fromAi`.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolParameter {
    /// The value as written, for instance `toolCall.url`.
    pub name: String,
    pub description: Option<String>,
    /// For instance `string` or `number`.
    pub parameter_type: Option<String>,
    /// A JSON schema and further options, as JSON text.
    pub schema: Option<String>,
    pub options: Option<String>,
}

/// The parameters that an expression takes from an agent, in the order of its text. Values that are no names, and descriptions
/// that are no constants, are left out. A text that is no expression has none.
pub fn tool_parameters(text: &str) -> Vec<ToolParameter> {
    let options = ParseOptions::default();
    let Ok(tree) = parse_expression(text, &options) else {
        return Vec::new();
    };
    let mut found = Vec::new();
    tree.visit(&mut |node| found.extend(parameter(node, &options)));
    found
}

const ARGUMENTS: [&str; 5] = ["value", "description", "type", "schema", "options"];

fn parameter(node: &Expr, options: &ParseOptions) -> Option<ToolParameter> {
    let (callee, arguments): (_, [Option<&Expr>; 5]) = match node {
        Expr::Call(callee, arguments) => (callee, std::array::from_fn(|i| arguments.get(i))),
        Expr::CallNamed(callee, arguments) => {
            let named = |name: &str| arguments.iter().find(|(n, _)| &**n == name);
            let argument = |name| named(name).map(|(_, argument)| argument);
            (callee, ARGUMENTS.map(argument))
        }
        _ => return None,
    };
    if !callee.is_name("fromAi") {
        return None;
    }
    let [value, description, parameter_type, schema, others] = arguments;
    let constant = |expr: Option<&Expr>| match compile::expression(expr?, options).root {
        compile::Node::Const(value) => Some(value),
        _ => None,
    };
    let text = |expr| match constant(expr)? {
        Value::String(text) => Some(text.to_string()),
        _ => None,
    };
    let json = |expr| constant(expr).map(|value| value.to_json());
    Some(ToolParameter {
        name: path(value?)?,
        description: text(description),
        parameter_type: text(parameter_type),
        schema: json(schema),
        options: json(others),
    })
}

/// A name, or a path of names.
fn path(expr: &Expr) -> Option<String> {
    match expr {
        Expr::Name(name) => Some(name.to_string()),
        Expr::Path(of, name) => Some(format!("{}.{name}", path(of)?)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_are_found_wherever_they_stand() {
        let text = r#"{a: fromAi(toolCall.x, "the x", "number"), b: 1 + fromAi(y) + fromAi(value: z, schema: {type: "a"}, type: "t")}"#;
        let found = tool_parameters(text);
        let names: Vec<&str> = found.iter().map(|p| &*p.name).collect();
        assert_eq!(names, ["toolCall.x", "y", "z"]);
        assert_eq!(found[0].description.as_deref(), Some("the x"));
        assert_eq!(found[0].parameter_type.as_deref(), Some("number"));
        assert_eq!(found[1].description, None);
        assert_eq!(found[2].schema.as_deref(), Some(r#"{"type":"a"}"#));
        assert_eq!(found[2].parameter_type.as_deref(), Some("t"));
    }

    #[test]
    fn calls_that_describe_no_parameter_are_left_out() {
        assert_eq!(tool_parameters("fromAi("), []);
        assert_eq!(tool_parameters("fromAi(1 + 2)"), []);
        assert_eq!(tool_parameters("toAi(x)"), []);
        let found = tool_parameters(r#"fromAi(x, "a " + y, 5, "s")"#);
        let expected = ToolParameter {
            name: "x".to_string(),
            description: None,
            parameter_type: None,
            schema: Some(r#""s""#.to_string()),
            options: None,
        };
        assert_eq!(found, [expected]);
    }
}
