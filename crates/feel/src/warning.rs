//! Why a result is null.

use std::fmt;

/// Why an operation yielded null. The names are Camunda's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum WarningCode {
    /// A variable does not exist.
    NoVariableFound,
    /// A context has no such key.
    NoContextEntryFound,
    /// A value has no such property.
    NoPropertyFound,
    /// There is no such function, or none with these parameters.
    NoFunctionFound,
    /// A value has another type than the operation needs.
    InvalidType,
    /// Two values cannot be compared.
    NotComparable,
    /// A function could not do its work with these arguments.
    FunctionInvocationFailure,
    /// The condition of `assert` was not met.
    AssertFailure,
    /// An index points behind the ends of a list.
    OutOfBounds,
    /// The evaluation was stopped because it needed more steps, memory or nesting than allowed.
    LimitExceeded,
}

impl WarningCode {
    /// The name of the code, for example `NO_VARIABLE_FOUND`.
    pub fn as_str(self) -> &'static str {
        match self {
            WarningCode::NoVariableFound => "NO_VARIABLE_FOUND",
            WarningCode::NoContextEntryFound => "NO_CONTEXT_ENTRY_FOUND",
            WarningCode::NoPropertyFound => "NO_PROPERTY_FOUND",
            WarningCode::NoFunctionFound => "NO_FUNCTION_FOUND",
            WarningCode::InvalidType => "INVALID_TYPE",
            WarningCode::NotComparable => "NOT_COMPARABLE",
            WarningCode::FunctionInvocationFailure => "FUNCTION_INVOCATION_FAILURE",
            WarningCode::AssertFailure => "ASSERT_FAILURE",
            WarningCode::OutOfBounds => "OUT_OF_BOUNDS",
            WarningCode::LimitExceeded => "LIMIT_EXCEEDED",
        }
    }
}

impl fmt::Display for WarningCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A failure during an evaluation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Warning {
    /// The kind of failure.
    pub code: WarningCode,
    /// The failed operation and the reason.
    pub message: String,
}

impl Warning {
    pub(crate) fn new(code: WarningCode, message: impl Into<String>) -> Warning {
        Warning {
            code,
            message: message.into(),
        }
    }
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.code, self.message)
    }
}
