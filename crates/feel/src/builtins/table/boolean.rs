//! The builtins of the group `boolean`.

use super::of;
use crate::builtins::{Builtin, Price, boolean};

pub(super) static BUILTINS: &[Builtin] = &[
    Builtin {
        name: "not",
        group: "boolean",
        summary: "The opposite of a boolean; null for anything else.",
        signatures: &[of(&["negand"])],
        run: boolean::not,
        price: Price::Flat(3),
        pure: true,
        example: ("not(true)", "false"),
    },
    Builtin {
        name: "is defined",
        group: "boolean",
        summary: "Whether a value exists: false for null, for missing variables and for missing entries.",
        signatures: &[of(&["value"])],
        run: boolean::is_defined,
        price: Price::Flat(3),
        pure: true,
        example: ("is defined({a: 1}.a)", "true"),
    },
    Builtin {
        name: "get or else",
        group: "boolean",
        summary: "The value, or the default where it is null.",
        signatures: &[of(&["value", "default"])],
        run: boolean::get_or_else,
        price: Price::Flat(3),
        pure: true,
        example: (r#"get or else(null, "none")"#, r#""none""#),
    },
    Builtin {
        name: "assert",
        group: "boolean",
        summary: "The value when the condition is true; else null with the warning ASSERT_FAILURE.",
        signatures: &[
            of(&["value", "condition"]),
            of(&["value", "condition", "cause"]),
        ],
        run: boolean::assert,
        price: Price::Flat(3),
        pure: true,
        example: (r#"assert(5, 5 > 0, "must be positive")"#, "5"),
    },
    Builtin {
        name: "is",
        group: "boolean",
        summary: "Whether two values are the same, in type and in zone.",
        signatures: &[of(&["value1", "value2"])],
        run: boolean::is,
        price: Price::Walk(4),
        pure: true,
        example: (r#"is(@"10:00:00Z", @"11:00:00+01:00")"#, "false"),
    },
];
