//! Link event definitions: a throw event continues at the catch event of this name in its scope.

use crate::context::Context;
use crate::error::Rule;
use crate::xml::Node;

/// The link's name, not empty.
pub(crate) fn name<'x>(definition: Node<'x>, context: &mut Context<'_, 'x>) -> Option<&'x str> {
    let name = definition.attribute("name").unwrap_or_default();
    if name.is_empty() {
        context.add(
            definition,
            Rule::ValueMissing,
            "The link has no name. Give it the name of the link that it belongs to",
        );
        return None;
    }
    Some(name)
}
