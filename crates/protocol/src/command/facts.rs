//! The facts about a command that all code needs, from the one row in which it is declared.

use crate::intent::ValueType;
use crate::key::Key;
use crate::tenant::TenantId;

/// The record as which a command is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Head {
    pub key: Key,
    pub value_type: ValueType,
    pub intent: u8,
}

impl Head {
    pub fn name(&self) -> RecordName {
        RecordName(self.value_type, self.intent)
    }
}

/// Value type and intent, as metrics and spans name a request: `JOB#COMPLETE`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecordName(pub ValueType, pub u8);

impl std::fmt::Display for RecordName {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}#{}", self.0.name(), self.0.intent_name(self.1))
    }
}

/// The thing that is there already, to which a command does something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum About {
    /// The command makes something, or reads.
    Nothing,
    ProcessInstance(Key),
    ElementInstance(Key),
    Job(Key),
    Incident(Key),
    UserTask(Key),
    BatchOperation(Key),
    /// A process or decision instance that has ended.
    Ended(Key),
}

/// To whom belongs what a command makes or is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Whose<'c> {
    /// Nobody: it is the cluster's.
    Cluster,
    /// It would be the tenant's that the request names.
    New,
    /// It would be this tenant's, or the cluster's.
    NewOf(Option<&'c TenantId>),
    /// It is this tenant's, or the cluster's.
    Of(Option<&'c TenantId>),
    /// It is the tenant's of what the command is about.
    Its,
    /// It is the tenant's of the resource with this key.
    Resource(Key),
    /// What the tenant has that the request names is shown.
    Shown,
    /// Each of many things is somebody's: what the caller may not have is passed over.
    Each,
}

/// Which partition carries a command out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum At<'c> {
    /// The one that made the key.
    Key(Key),
    /// The one that keeps messages with this correlation key.
    Correlation(&'c str),
    /// Any; they take turns.
    Turn,
    /// The first one. The engine takes the command to the others.
    First,
    /// The first one as well, if there is secondary storage to look for items.
    Home,
    /// This one.
    Given(u32),
}

/// What happens to a command where there is no room for more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// It brings work into the system, and is refused.
    New,
    /// One of them may bring very much work: few are under way at a time, however many clients send them.
    NewMany,
    /// It asks what something comes to. How long that takes is the client's choice, so it has places of its own.
    Evaluating,
    /// It takes work out to workers: a full disk is no reason to refuse it, too many requests are.
    Polling,
    /// It finishes work that is in the system, or stops what makes work, and is never refused for lack of room.
    Finishing,
    /// Likewise; and it is carried out although its instance is banned.
    Ending,
}

impl Class {
    pub fn is_finishing(self) -> bool {
        matches!(self, Class::Finishing | Class::Ending)
    }
}

/// Under which entity the audit log has a command, and what was done to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Audit {
    /// The audit log does not have it.
    None,
    Entry {
        category: AuditCategory,
        entity: &'static str,
        operation: &'static str,
    },
}

impl Audit {
    pub(super) const fn resources(entity: &'static str, operation: &'static str) -> Audit {
        let category = AuditCategory::DeployedResources;
        Audit::Entry {
            category,
            entity,
            operation,
        }
    }

    /// Of users and their permissions.
    pub(super) const fn admin(entity: &'static str, operation: &'static str) -> Audit {
        let category = AuditCategory::Admin;
        Audit::Entry {
            category,
            entity,
            operation,
        }
    }

    pub(super) const fn tasks(operation: &'static str) -> Audit {
        Audit::Entry {
            category: AuditCategory::UserTasks,
            entity: "USER_TASK",
            operation,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AuditCategory {
    Admin,
    DeployedResources,
    UserTasks,
}

impl AuditCategory {
    pub fn name(self) -> &'static str {
        match self {
            AuditCategory::Admin => "ADMIN",
            AuditCategory::DeployedResources => "DEPLOYED_RESOURCES",
            AuditCategory::UserTasks => "USER_TASKS",
        }
    }
}

/// What is the same for all commands of one row.
#[derive(Clone, Copy, Debug)]
pub struct Row {
    /// The variant.
    pub name: &'static str,
    /// The records as which it may be written.
    pub records: &'static [RecordName],
    pub class: Class,
    pub audit: Audit,
}

/// Declares commands, one row each: what it carries, and its facts, which may use that. `record` is the value type, the intents
/// of which the first applies whose condition holds, and the key. A row that lacks one does not compile; a name in brackets passes all of
/// them on to a family with a table of its own.
macro_rules! commands {
    ($(#[$about:meta])* pub enum $name:ident {$(
        $(#[$doc:meta])*
        $variant:ident $(($bind:ident: $type:ty))? $({
            $($(#[$field_doc:meta])* $field:ident: $field_type:ty),+ $(,)?
        })? => $(($family:ident))? $({
            record: $value_type:ident { $($intents:ident::$intent:ident $(if $condition:expr)?),+ } $key:expr,
            about: $thing:expr,
            whose: $whose:expr,
            at: $at:expr,
            class: $class:ident,
            needs: $needs:expr,
            audit: $audit:expr,
            weight: $weight:expr,
        })?
    )+}) => {
        $(#[$about])*
        #[derive(Clone, Debug, Serialize, Deserialize)]
        pub enum $name {$(
            $(#[$doc])* $variant $(($type))? $({ $($(#[$field_doc])* $field: $field_type),+ })?,
        )+}

        #[allow(unused_variables)]
        impl $name {
            /// The facts of each row except those of families.
            pub const ROWS: &'static [Row] = &[$($(Row {
                name: stringify!($variant),
                records: &[$(RecordName(ValueType::$value_type, $intents::$intent as u8)),+],
                class: Class::$class,
                audit: $audit,
            },)?)+];

            /// The record as which it is written.
            pub fn record(&self) -> Head {
                match self {$($name::$variant $(($bind))? $({ $($field),+ })? => {
                    $($family.record())?
                    $(Head {
                        key: $key,
                        value_type: ValueType::$value_type,
                        intent: commands!(@intent $($intents::$intent $(if $condition)?),+),
                    })?
                })+}
            }

            /// What it is about.
            pub fn about(&self) -> About {
                match self {$($name::$variant $(($bind))? $({ $($field),+ })? => {
                    $($family.about())? $($thing)?
                })+}
            }

            /// To whom belongs what it makes or is about.
            pub fn whose(&self) -> Whose<'_> {
                match self {$($name::$variant $(($bind))? $({ $($field),+ })? => {
                    $($family.whose())? $($whose)?
                })+}
            }

            /// Which partition carries it out.
            pub fn at(&self) -> At<'_> {
                match self {$($name::$variant $(($bind))? $({ $($field),+ })? => {
                    $($family.at())? $($at)?
                })+}
            }

            /// What happens to it where there is no room.
            pub fn class(&self) -> Class {
                match self {$($name::$variant $(($bind))? $({ $($field),+ })? => {
                    $($family.class())? $(Class::$class)?
                })+}
            }

            /// What its caller must be allowed to do.
            pub fn needs(&self) -> Need<'_> {
                match self {$($name::$variant $(($bind))? $({ $($field),+ })? => {
                    $($family.needs())? $($needs)?
                })+}
            }

            /// About how many bytes it takes beside itself.
            pub fn weight(&self) -> usize {
                match self {$($name::$variant $(($bind))? $({ $($field),+ })? => {
                    $($family.weight())? $($weight)?
                })+}
            }
        }
    };
    (@intent $intents:ident::$intent:ident) => { $intents::$intent as u8 };
    (@intent $intents:ident::$intent:ident if $condition:expr, $($rest:tt)+) => {
        if $condition { $intents::$intent as u8 } else { commands!(@intent $($rest)+) }
    };
}

pub(super) use commands;
