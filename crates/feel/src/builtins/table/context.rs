//! The builtins of the group `context`.

use super::{many, of};
use crate::builtins::{Builtin, Price, context};

pub(super) static BUILTINS: &[Builtin] = &[
    Builtin {
        name: "get value",
        group: "context",
        summary: "The value of a key, or of a path of keys.",
        signatures: &[
            of(&["context", "key"]),
            of(&["m", "key"]),
            of(&["context", "keys"]),
        ],
        run: context::get_value,
        price: Price::Flat(8),
        pure: true,
        example: (r#"get value({a: {b: 1}}, ["a", "b"])"#, "1"),
    },
    Builtin {
        name: "get entries",
        group: "context",
        summary: "The entries as contexts with `key` and `value`.",
        signatures: &[of(&["context"]), of(&["m"])],
        run: context::get_entries,
        price: Price::Read(6),
        pure: true,
        example: ("get entries({a: 1})", r#"[{key: "a", value: 1}]"#),
    },
    Builtin {
        name: "context put",
        group: "context",
        summary: "The context with a value at a key, or at a path of keys.",
        signatures: &[
            of(&["context", "key", "value"]),
            of(&["context", "keys", "value"]),
        ],
        run: context::context_put,
        price: Price::Read(6),
        pure: true,
        example: (r#"context put({a: 1}, "b", 2)"#, "{a: 1, b: 2}"),
    },
    Builtin {
        name: "put",
        group: "context",
        summary: "The same as `context put`, under its old name.",
        signatures: &[of(&["context", "key", "value"])],
        run: context::context_put,
        price: Price::Read(6),
        pure: true,
        example: (r#"put({a: 1}, "b", 2)"#, "{a: 1, b: 2}"),
    },
    Builtin {
        name: "context merge",
        group: "context",
        summary: "The entries of all contexts; of equal keys the last one counts.",
        signatures: &[of(&["contexts"]), many(&["context"])],
        run: context::context_merge,
        price: Price::Read(6),
        pure: true,
        example: ("context merge([{a: 1}, {a: 2, b: 3}])", "{a: 2, b: 3}"),
    },
    Builtin {
        name: "put all",
        group: "context",
        summary: "The same as `context merge`, under its old name.",
        signatures: &[of(&["contexts"]), many(&["context"])],
        run: context::context_merge,
        price: Price::Read(6),
        pure: true,
        example: ("put all({a: 1}, {b: 2})", "{a: 1, b: 2}"),
    },
];
