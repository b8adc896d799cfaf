//! The builtins of the group `other`.

use super::of;
use crate::builtins::{Builtin, Price, boolean};

pub(super) static BUILTINS: &[Builtin] = &[Builtin {
    name: "fromAi",
    group: "other",
    summary: "The value; the other arguments describe it to an AI agent that provides it.",
    signatures: &[
        of(&["value"]),
        of(&["value", "description"]),
        of(&["value", "description", "type"]),
        of(&["value", "description", "type", "schema"]),
        of(&["value", "description", "type", "schema", "options"]),
    ],
    run: boolean::from_ai,
    price: Price::Flat(3),
    pure: true,
    example: (r#"fromAi({a: 1}.a, "an id")"#, "1"),
}];
