//! The rules for resources of a deployment: each has a code, under which `docs/errors` has a page.

use std::fmt::{self, Display, Formatter};

use serde::{Deserialize, Serialize};

macro_rules! rules {
    ($($(#[$doc:meta])+ $name:ident = $code:literal,)+) => {
        /// A rule that a finding reports as broken. The name has one meaning, whatever the element is.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
        pub enum Rule {
            $($(#[$doc])+ $name,)+
        }

        impl Rule {
            /// In the order in which their pages are listed.
            pub const ALL: &'static [Rule] = &[$(Rule::$name,)+];

            /// The code that users see, which is also the name of the page.
            pub fn code(self) -> &'static str {
                match self {
                    $(Rule::$name => $code,)+
                }
            }
        }
    };
}

rules! {
    /// The name of the resource does not reveal its type.
    ResourceTypeUnknown = "RESOURCE_TYPE_UNKNOWN",
    /// Not XML, or not JSON where that is expected.
    FileNotReadable = "FILE_NOT_READABLE",
    /// Well-formed XML, but not a model of BPMN or DMN.
    NotAModel = "NOT_A_MODEL",
    /// More bytes, depth, attributes, cells or names than are read.
    ModelTooLarge = "MODEL_TOO_LARGE",
    /// An id, name or job type is too long.
    TextTooLong = "TEXT_TOO_LONG",
    /// Nothing in the file can be started.
    NoExecutableProcess = "NO_EXECUTABLE_PROCESS",
    /// Something that BPMN or its extensions do not have, or do not have there.
    UnknownElement = "UNKNOWN_ELEMENT",
    /// BPMN or DMN has it, and no engine with this API runs it.
    NotSupported = "NOT_SUPPORTED",
    /// A part that an element must contain, or a flow that must lead away from it, is missing.
    ElementMissing = "ELEMENT_MISSING",
    /// There are several where only one is allowed.
    OnlyOneAllowed = "ONLY_ONE_ALLOWED",
    /// An element lacks the extension that defines its work.
    ExtensionMissing = "EXTENSION_MISSING",
    /// A required id is missing.
    IdMissing = "ID_MISSING",
    /// An id with characters that ids cannot have.
    IdInvalid = "ID_INVALID",
    /// Two things have one id.
    DuplicateId = "DUPLICATE_ID",
    /// Two things have one name where names tell them apart.
    DuplicateName = "DUPLICATE_NAME",
    /// Two events wait in one place for the same.
    DuplicateEvent = "DUPLICATE_EVENT",
    /// An attribute, field or content that must be there is missing or empty.
    ValueMissing = "VALUE_MISSING",
    /// A value that is none of those that are possible.
    ValueInvalid = "VALUE_INVALID",
    /// Two settings contradict each other, or one is there without the other that it needs.
    SettingsConflict = "SETTINGS_CONFLICT",
    /// A name that no variable can have.
    VariableNameInvalid = "VARIABLE_NAME_INVALID",
    /// Text that is not FEEL.
    ExpressionInvalid = "EXPRESSION_INVALID",
    /// An expression must be there, and is not.
    ExpressionMissing = "EXPRESSION_MISSING",
    /// A constant where an expression must be: `=` is missing.
    ExpressionExpected = "EXPRESSION_EXPECTED",
    /// An expression where its value must be known at deployment.
    ConstantExpected = "CONSTANT_EXPECTED",
    /// A timer without a usable date, duration or cycle.
    TimerInvalid = "TIMER_INVALID",
    /// An element that must refer to something does not.
    ReferenceMissing = "REFERENCE_MISSING",
    /// The referenced thing does not exist.
    ReferenceNotFound = "REFERENCE_NOT_FOUND",
    /// The referenced thing exists, but must not be referenced there.
    ReferenceNotAllowed = "REFERENCE_NOT_ALLOWED",
    /// The referenced thing has a finding of its own.
    ReferenceInvalid = "REFERENCE_INVALID",
    /// `bindingType="deployment"` to something that is not deployed together.
    NotInDeployment = "NOT_IN_DEPLOYMENT",
    /// A process or sub-process without the start event that it needs.
    StartEventMissing = "START_EVENT_MISSING",
    /// A type of event that is not possible there.
    EventNotAllowed = "EVENT_NOT_ALLOWED",
    /// An event that must have a type has none.
    EventTypeMissing = "EVENT_TYPE_MISSING",
    /// An event must interrupt and does not, or the other way round.
    InterruptingInvalid = "INTERRUPTING_INVALID",
    /// A sequence flow where none may be.
    FlowNotAllowed = "FLOW_NOT_ALLOWED",
    /// Elements that belong together lie in different scopes.
    ScopeCrossed = "SCOPE_CROSSED",
    /// A flow that needs a condition has none.
    ConditionMissing = "CONDITION_MISSING",
    /// A flow with a condition that is never evaluated.
    ConditionNotAllowed = "CONDITION_NOT_ALLOWED",
    /// A loop or a very long chain of elements that never wait.
    NeverWaits = "NEVER_WAITS",
    /// A multi-instance marker where nothing can be repeated.
    MarkerNotAllowed = "MARKER_NOT_ALLOWED",
    /// A listener on an element that has no moment for it.
    ListenerNotAllowed = "LISTENER_NOT_ALLOWED",
    /// A decision or a type that needs itself.
    RequiresItself = "REQUIRES_ITSELF",
    /// A row with more or fewer cells than the table has columns.
    ColumnsDiffer = "COLUMNS_DIFFER",
    /// Entries of a context after its result.
    ResultNotLast = "RESULT_NOT_LAST",
    /// Never at a deployment: the stored definition is not the deployed one, or is no longer readable.
    DefinitionNotUsable = "DEFINITION_NOT_USABLE",
}

impl Display for Rule {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(self.code())
    }
}
