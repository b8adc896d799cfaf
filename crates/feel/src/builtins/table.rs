//! All builtins, in the order of the documentation.

mod boolean;
mod context;
mod conversion;
mod list;
mod numeric;
mod other;
mod range;
mod string;
mod temporal;

use super::{Builtin, Signature};

/// An overload with exactly these parameters.
const fn of(parameters: &'static [&'static str]) -> Signature {
    Signature {
        parameters,
        variadic: false,
        together: None,
    }
}

/// An overload whose last parameter may be given any number of times.
const fn many(parameters: &'static [&'static str]) -> Signature {
    Signature {
        parameters,
        variadic: true,
        together: None,
    }
}

/// Like [`many`]; all arguments can be given as one list of this name.
const fn together(parameters: &'static [&'static str], name: &'static str) -> Signature {
    Signature {
        parameters,
        variadic: true,
        together: Some(name),
    }
}

/// Every builtin.
pub(super) fn all() -> impl Iterator<Item = &'static Builtin> {
    [
        conversion::BUILTINS,
        boolean::BUILTINS,
        string::BUILTINS,
        list::BUILTINS,
        numeric::BUILTINS,
        context::BUILTINS,
        temporal::BUILTINS,
        range::BUILTINS,
        other::BUILTINS,
    ]
    .into_iter()
    .flatten()
}
