//! Collects all errors of an identity request, to report them together.

use std::sync::Arc;

use skep_identity::claims;
use skep_protocol::{DEFAULT_TENANT, Failure, UNKNOWN_TENANT};

use crate::check::invalid;
use crate::door::basic::MAX_PASSWORD;
use crate::id_pattern::IdPattern;

/// Characters of ids and names at most.
const MAX_LENGTH: usize = 256;

/// Collects errors and reports them at the end; see the [module](self).
#[derive(Debug)]
pub struct Faults<'p> {
    faults: Vec<String>,
    ids: &'p IdPattern,
}

impl<'p> Faults<'p> {
    /// No errors yet. `ids`: the pattern of ids.
    pub fn new(ids: &'p IdPattern) -> Faults<'p> {
        Faults {
            faults: Vec::new(),
            ids,
        }
    }

    /// Fails if there were errors.
    pub fn none(self) -> Result<(), Failure> {
        if self.faults.is_empty() {
            Ok(())
        } else {
            invalid(format!("{}.", self.faults.join(". ")))
        }
    }

    pub fn add(&mut self, fault: String) {
        self.faults.push(fault);
    }

    /// A text that must be present and not empty.
    pub fn said(&mut self, field: &str, text: Option<&str>) -> Arc<str> {
        let text = text.unwrap_or_default();
        if text.trim().is_empty() {
            self.add(format!("No {field} provided"));
        }
        text.into()
    }

    /// The name of a claim or the path to it, likewise.
    pub fn claim(&mut self, field: &str, text: Option<&str>) -> Arc<str> {
        let text = self.said(field, text);
        if let Some(excess) = claims::excess(&text) {
            let shown: String = text.chars().take(claims::MAX_PATH).collect();
            self.add(format!("The provided {field} '{shown}' {excess}"));
        }
        text
    }

    /// A name, likewise.
    pub fn name(&mut self, field: &str, text: Option<&str>) -> Arc<str> {
        let text = self.said(field, text);
        self.length(field, &text);
        text
    }

    /// An id, likewise.
    pub fn id(&mut self, field: &str, text: Option<&str>) -> Arc<str> {
        let text = self.name(field, text);
        if !text.trim().is_empty() && !self.ids.matches(&text) {
            self.add(format!(
                "The provided {field} '{text}' contains illegal characters. It must match the pattern '{}'",
                self.ids.text()
            ));
        }
        text
    }

    /// The id of a tenant, which may be that of the default one, but not that of the unknown one, whatever the pattern is: what its
    /// members saw might be another tenant's.
    pub fn tenant_id(&mut self, field: &str, text: Option<&str>) -> Arc<str> {
        match text {
            Some(DEFAULT_TENANT) => DEFAULT_TENANT.into(),
            Some(UNKNOWN_TENANT) => {
                self.add(format!(
                    "The provided {field} '{UNKNOWN_TENANT}' is that of whatever belongs to a definition that is not known. Choose another one"
                ));
                UNKNOWN_TENANT.into()
            }
            text => self.id(field, text),
        }
    }

    /// A password, which a client must be able to send in a header.
    pub fn password(&mut self, password: &str) {
        if password.len() > MAX_PASSWORD {
            self.add(format!(
                "The provided password exceeds the limit of {MAX_PASSWORD} bytes"
            ));
        }
    }

    /// The name of a user, which is optional.
    pub fn optional_name(&mut self, field: &str, text: &str) -> Arc<str> {
        self.length(field, text);
        text.into()
    }

    /// An address, or nothing.
    pub fn email(&mut self, text: &str) -> Arc<str> {
        if !text.is_empty() && !is_address(text) {
            self.add(format!("The provided email '{text}' is not valid"));
        }
        text.into()
    }

    fn length(&mut self, field: &str, text: &str) {
        if text.chars().count() > MAX_LENGTH {
            self.add(format!(
                "The provided {field} exceeds the limit of {MAX_LENGTH} characters"
            ));
        }
    }
}

/// `local@domain`, whose domain has at least two labels. Only sending mail could verify the address.
fn is_address(text: &str) -> bool {
    const MAX_LOCAL: usize = 64;
    let Some((local, domain)) = text.rsplit_once('@') else {
        return false;
    };
    let plain = |c: char| !c.is_whitespace() && !c.is_control() && !"()<>[],;:\\\"@".contains(c);
    let of_label = |c: char| c.is_alphanumeric() || c == '-';
    let is_label = |label: &str| {
        !label.is_empty()
            && !label.starts_with('-')
            && !label.ends_with('-')
            && label.chars().all(of_label)
    };
    let dotted = |text: &str| !text.starts_with('.') && !text.ends_with('.');
    (1..=MAX_LOCAL).contains(&local.chars().count())
        && local.chars().all(plain)
        && dotted(local)
        && !local.contains("..")
        && domain.contains('.')
        && domain.split('.').all(is_label)
        && text.len() <= MAX_LENGTH
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_faults_are_reported_at_once() {
        let ids = IdPattern::default();
        let mut faults = Faults::new(&ids);
        faults.id("username", Some(" "));
        faults.id("groupId", Some("a b"));
        faults.name("name", Some(&"n".repeat(257)));
        faults.said("claimName", None);
        faults.email("nobody");
        assert_eq!(
            faults.none().unwrap_err().to_string(),
            "No username provided. The provided groupId 'a b' contains illegal characters. It must match the pattern \
             '^[a-zA-Z0-9_~@.+-]+$'. The provided name exceeds the limit of 256 characters. No claimName provided. \
             The provided email 'nobody' is not valid."
        );
    }

    #[test]
    fn a_text_names_the_pattern_in_force() {
        let ids = IdPattern::new("[a-z ]+").unwrap();
        let mut faults = Faults::new(&ids);
        assert_eq!(&*faults.id("groupId", Some("a b")), "a b");
        faults.tenant_id("tenantId", Some("<default>"));
        faults.id("roleId", Some("A"));
        assert_eq!(
            faults.none().unwrap_err().to_string(),
            "The provided roleId 'A' contains illegal characters. It must match the pattern '[a-z ]+'."
        );
    }

    #[test]
    fn no_pattern_lets_anybody_have_the_tenant_of_unknown_definitions() {
        for ids in [IdPattern::default(), IdPattern::new(".+").unwrap()] {
            let mut faults = Faults::new(&ids);
            faults.tenant_id("tenantId", Some("<unknown>"));
            assert_eq!(
                faults.none().unwrap_err().to_string(),
                "The provided tenantId '<unknown>' is that of whatever belongs to a definition that is not known. Choose another one."
            );
        }
    }

    #[test]
    fn valid_input_is_taken_unchanged() {
        let ids = IdPattern::default();
        let mut faults = Faults::new(&ids);
        assert_eq!(&*faults.id("id", Some("a.B_9~@+-")), "a.B_9~@+-");
        assert_eq!(&*faults.id("id", Some(&"i".repeat(256))), "i".repeat(256));
        assert_eq!(
            &*faults.tenant_id("tenantId", Some("<default>")),
            "<default>"
        );
        assert_eq!(&*faults.name("name", Some("Ännchen ✓")), "Ännchen ✓");
        assert_eq!(&*faults.email(""), "");
        assert!(faults.none().is_ok());
    }

    #[test]
    fn addresses_have_a_local_part_and_a_domain_of_labels() {
        for (text, valid) in [
            ("anna@example.org", true),
            ("anna.wolf+x@mail.example.org", true),
            ("änna@exämple.org", true),
            ("anna", false),
            ("anna@", false),
            ("@example.org", false),
            ("anna@example", false),
            ("anna@example.", false),
            ("anna@.org", false),
            ("anna@-a.org", false),
            ("an na@example.org", false),
            ("a@b@example.org", false),
            (".anna@example.org", false),
            ("an..na@example.org", false),
            ("anna@exa mple.org", false),
        ] {
            assert_eq!(is_address(text), valid, "{text}");
        }
    }
}
