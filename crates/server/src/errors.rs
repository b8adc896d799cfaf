//! Codes of user-visible errors, and the page of each (`docs/errors`).

use std::fmt;

/// Codes with their pages; the build fails for a code without a page.
macro_rules! pages {
    ($($code:ident)+) => {
        &[$((
            stringify!($code),
            include_str!(concat!("../../../docs/errors/", stringify!($code), ".md")),
        )),+]
    };
}

/// In listing order.
pub const PAGES: &[(&str, &str)] = pages! {
    USAGE CONFIGURATION CANNOT_LISTEN DATA_IN_USE DATA_DIRECTORY CLUSTER PARTITION_CANNOT_START NO_SERVER
    CERTIFICATE_NOT_TRUSTED NO_ANSWER CONNECTION_LOST NOT_UNDERSTOOD NOT_HEALTHY EXPRESSION INPUT_OUTPUT FAILED

    DISK_LOW DISK_NOT_WATCHED PARTITION_STOPPED PANIC INSTANCE_BANNED LOG_STALLED PARTITION_HANGS SNAPSHOT_NO_ROOM DEFINITION_NOT_USABLE CHECKPOINT_FAILED SECONDARY_STORAGE NODE_REFUSED NODE_LOST CLUSTER_STATE JOB_TOO_LARGE CONNECTION_NOT_ACCEPTED SPANS_DROPPED EXPORTER DOCUMENT_STORE IDENTITY_PROVIDER
    BACKUP_FAILED CERTIFICATE_NOT_USABLE PARTITION_COUNT NODE_ID

    INVALID_ARGUMENT UNAUTHENTICATED PERMISSION_DENIED NOT_FOUND ALREADY_EXISTS FAILED_PRECONDITION RESOURCE_EXHAUSTED
    UNAVAILABLE DEADLINE_EXCEEDED ABORTED UNIMPLEMENTED INTERNAL EXCEEDED_BATCH_RECORD_SIZE PRECONDITION_FAILED
    PRECONDITION_REQUIRED UNKNOWN

    IO_MAPPING_ERROR JOB_NO_RETRIES EXECUTION_LISTENER_NO_RETRIES TASK_LISTENER_NO_RETRIES
    AD_HOC_SUB_PROCESS_NO_RETRIES CONDITION_ERROR EXTRACT_VALUE_ERROR CALLED_ELEMENT_ERROR UNHANDLED_ERROR_EVENT
    MESSAGE_SIZE_EXCEEDED CALLED_DECISION_ERROR DECISION_EVALUATION_ERROR FORM_NOT_FOUND RESOURCE_NOT_FOUND

    RESOURCE_TYPE_UNKNOWN FILE_NOT_READABLE NOT_A_MODEL MODEL_TOO_LARGE TEXT_TOO_LONG NO_EXECUTABLE_PROCESS
    UNKNOWN_ELEMENT NOT_SUPPORTED ELEMENT_MISSING ONLY_ONE_ALLOWED EXTENSION_MISSING ID_MISSING ID_INVALID DUPLICATE_ID
    DUPLICATE_NAME DUPLICATE_EVENT VALUE_MISSING VALUE_INVALID SETTINGS_CONFLICT VARIABLE_NAME_INVALID
    EXPRESSION_INVALID EXPRESSION_MISSING EXPRESSION_EXPECTED CONSTANT_EXPECTED TIMER_INVALID REFERENCE_MISSING
    REFERENCE_NOT_FOUND REFERENCE_NOT_ALLOWED REFERENCE_INVALID NOT_IN_DEPLOYMENT START_EVENT_MISSING EVENT_NOT_ALLOWED
    EVENT_TYPE_MISSING INTERRUPTING_INVALID FLOW_NOT_ALLOWED SCOPE_CROSSED CONDITION_MISSING CONDITION_NOT_ALLOWED
    NEVER_WAITS MARKER_NOT_ALLOWED LISTENER_NOT_ALLOWED REQUIRES_ITSELF COLUMNS_DIFFER RESULT_NOT_LAST
};

/// Aliases of codes, as used by REST and in rejections.
const ALIASES: [(&str, &str); 9] = [
    ("UNAUTHORIZED", "UNAUTHENTICATED"),
    ("FORBIDDEN", "PERMISSION_DENIED"),
    ("INVALID_STATE", "FAILED_PRECONDITION"),
    ("NOT_IMPLEMENTED", "UNIMPLEMENTED"),
    ("PROCESSING_ERROR", "INTERNAL"),
    ("METHOD_NOT_ALLOWED", "INVALID_ARGUMENT"),
    ("PAYLOAD_TOO_LARGE", "INVALID_ARGUMENT"),
    ("UNSUPPORTED_MEDIA_TYPE", "INVALID_ARGUMENT"),
    ("REQUEST_TIMEOUT", "INVALID_ARGUMENT"),
];

/// The page of a code, ignoring case.
pub fn page(code: &str) -> Option<&'static str> {
    find(code).map(|(_, page)| page)
}

/// The code with this name or alias.
pub fn known(code: &str) -> Option<&'static str> {
    find(code).map(|(code, _)| code)
}

fn find(code: &str) -> Option<(&'static str, &'static str)> {
    let is = |name: &str| name.eq_ignore_ascii_case(code);
    let alias = ALIASES.iter().find(|(alias, _)| is(alias));
    let code = alias.map_or(code, |(_, code)| code);
    let found = PAGES
        .iter()
        .find(|(name, _)| name.eq_ignore_ascii_case(code));
    found.copied()
}

/// An error with an explicit code.
#[derive(Debug)]
pub struct Coded {
    code: &'static str,
    text: String,
}

impl Coded {
    pub fn new(code: &'static str, text: impl Into<String>) -> Coded {
        Coded {
            code,
            text: text.into(),
        }
    }
}

impl fmt::Display for Coded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl std::error::Error for Coded {}

/// The code of an error: that of the first error in its chain that has one.
pub fn code_of(error: &anyhow::Error) -> &'static str {
    error.chain().find_map(code_of_one).unwrap_or("FAILED")
}

fn code_of_one(error: &(dyn std::error::Error + 'static)) -> Option<&'static str> {
    if let Some(coded) = error.downcast_ref::<Coded>() {
        Some(coded.code)
    } else if let Some(error) = error.downcast_ref() {
        Some(of_client(error))
    } else if let Some(error) = error.downcast_ref() {
        Some(of_broker(error))
    } else if error.is::<crate::cli::Usage>() {
        Some("USAGE")
    } else if error.is::<crate::config::ConfigError>() {
        Some("CONFIGURATION")
    } else if error.is::<std::io::Error>() {
        Some("INPUT_OUTPUT")
    } else {
        None
    }
}

fn of_client(error: &skep_client::Error) -> &'static str {
    use skep_client::Error;
    match error {
        Error::Refused(problem) => of_answer(problem.code),
        Error::Connect { .. } => "NO_SERVER",
        Error::Untrusted { .. } => "CERTIFICATE_NOT_TRUSTED",
        Error::Broken { .. } => "CONNECTION_LOST",
        Error::Timeout(_) => "NO_ANSWER",
        Error::Protocol(_) => "NOT_UNDERSTOOD",
        Error::Invalid(_) => "USAGE",
        _ => "FAILED",
    }
}

/// The gRPC name of a server's status code.
pub fn of_answer(code: skep_client::Code) -> &'static str {
    let name = code.to_string();
    let known = PAGES.iter().find(|(known, _)| *known == name);
    known.map_or("UNKNOWN", |(code, _)| code)
}

fn of_broker(error: &skep_broker::OpenError) -> &'static str {
    use skep_broker::OpenError;
    match error {
        OpenError::Partition(_) | OpenError::Thread(_) => "PARTITION_CANNOT_START",
        OpenError::Directory { .. } | OpenError::Damaged { .. } => "DATA_DIRECTORY",
        OpenError::InUse { .. } => "DATA_IN_USE",
        OpenError::HalfRestored { .. } => "BACKUP_FAILED",
        OpenError::Foreign { .. } | OpenError::Cluster(_) => "CLUSTER",
        OpenError::Transport(_) => "CANNOT_LISTEN",
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use skep_client::Code;
    use skep_protocol::RejectionType;
    use skep_protocol::findings::Rule;
    use skep_protocol::value::ErrorType;

    use super::*;

    const DIRECTORY: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/errors");

    #[test]
    fn every_page_has_a_code_and_every_code_a_page_in_the_list() {
        let files = std::fs::read_dir(DIRECTORY).unwrap();
        let names = files.map(|file| file.unwrap().file_name().into_string().unwrap());
        let pages: BTreeSet<String> = names
            .filter_map(|name| Some(name.strip_suffix(".md")?.to_string()))
            .filter(|name| name != "README")
            .collect();
        let codes: BTreeSet<String> = PAGES.iter().map(|(code, _)| code.to_string()).collect();
        assert_eq!(pages, codes);
        assert_eq!(codes.len(), PAGES.len(), "a code stands there twice");
        let list = std::fs::read_to_string(format!("{DIRECTORY}/README.md")).unwrap();
        for (code, page) in PAGES {
            assert!(list.contains(&format!("- [{code}]({code}.md)")), "{code}");
            assert!(page.starts_with(&format!("# {code}\n")), "{code}");
            for part in ["\n## What it means\n\n", "\n## What to do\n\n- "] {
                assert!(page.contains(part), "{code} has no {part:?}");
            }
        }
    }

    #[test]
    fn every_error_code_and_incident_type_has_a_page() {
        for code in [
            Code::InvalidArgument,
            Code::Unauthenticated,
            Code::PermissionDenied,
            Code::NotFound,
            Code::AlreadyExists,
            Code::FailedPrecondition,
            Code::ResourceExhausted,
            Code::Unavailable,
            Code::DeadlineExceeded,
            Code::Aborted,
            Code::Unimplemented,
            Code::Internal,
            Code::Unknown,
        ] {
            assert_eq!(of_answer(code), code.to_string());
        }
        for kind in [
            RejectionType::InvalidArgument,
            RejectionType::NotFound,
            RejectionType::AlreadyExists,
            RejectionType::InvalidState,
            RejectionType::ProcessingError,
            RejectionType::ExceededBatchRecordSize,
            RejectionType::Unauthorized,
            RejectionType::Forbidden,
        ] {
            assert!(page(kind.as_str()).is_some(), "{}", kind.as_str());
        }
        for kind in [
            ErrorType::Unknown,
            ErrorType::IoMappingError,
            ErrorType::JobNoRetries,
            ErrorType::ExecutionListenerNoRetries,
            ErrorType::TaskListenerNoRetries,
            ErrorType::AdHocSubProcessNoRetries,
            ErrorType::ConditionError,
            ErrorType::ExtractValueError,
            ErrorType::CalledElementError,
            ErrorType::UnhandledErrorEvent,
            ErrorType::MessageSizeExceeded,
            ErrorType::CalledDecisionError,
            ErrorType::DecisionEvaluationError,
            ErrorType::FormNotFound,
            ErrorType::ResourceNotFound,
        ] {
            let name = serde_json::to_value(kind).unwrap();
            assert!(page(name.as_str().unwrap()).is_some(), "{name}");
        }
    }

    #[test]
    fn each_rule_of_deployments_has_its_page_and_each_page_of_one_its_rule() {
        let codes: BTreeSet<&str> = Rule::ALL.iter().map(|rule| rule.code()).collect();
        assert_eq!(codes.len(), Rule::ALL.len(), "two rules have one code");
        let is_of_rule = |page: &str| page.contains("\n*Found in a resource of a deployment.*\n");
        let pages = PAGES.iter().filter(|(_, page)| is_of_rule(page));
        // Stored definitions were valid when deployed: the log reports those that no longer are.
        let stored = Rule::DefinitionNotUsable.code();
        assert!(page(stored).is_some());
        let pages: BTreeSet<&str> = pages.map(|(code, _)| *code).chain([stored]).collect();
        assert_eq!(pages, codes);
    }

    #[test]
    fn an_error_has_the_code_of_its_cause() {
        let lost = anyhow::Error::new(skep_client::Error::Timeout(Default::default()));
        assert_eq!(code_of(&lost.context("starting")), "NO_ANSWER");
        let usage = crate::cli::Usage("so".into());
        assert_eq!(code_of(&anyhow::Error::new(usage)), "USAGE");
        let file = std::io::Error::from(std::io::ErrorKind::NotFound);
        assert_eq!(
            code_of(&anyhow::Error::new(file).context("a.bpmn")),
            "INPUT_OUTPUT"
        );
        let in_use = skep_broker::OpenError::InUse {
            directory: "d".into(),
        };
        assert_eq!(code_of(&in_use.into()), "DATA_IN_USE");
        assert_eq!(code_of(&anyhow::anyhow!("so")), "FAILED");
        assert!(page("no_server").is_some() && page("invalid_state").is_some());
        assert_eq!(page("NOTHING"), None);
    }
}
