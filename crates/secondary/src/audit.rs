//! Which callers are audited.

use skep_protocol::origin::Claims;
use skep_query::entities::{AUDIT_CATEGORIES, AUDITED_ENTITIES};

/// Settings of the audit log (`camunda.data.audit-log.*`).
#[derive(Clone, Debug)]
pub struct AuditConfig {
    pub enabled: bool,
    pub user: AuditedConfig,
    pub client: AuditedConfig,
    /// Callers that did not authenticate.
    pub unknown: AuditedConfig,
}

/// Audit settings for one kind of caller.
#[derive(Clone, Debug, Default)]
pub struct AuditedConfig {
    /// Comma-separated names of [`AUDIT_CATEGORIES`].
    pub categories: String,
    /// Comma-separated names of [`AUDITED_ENTITIES`] that are not audited, whatever their category.
    pub excludes: String,
}

impl Default for AuditConfig {
    fn default() -> Self {
        AuditConfig {
            enabled: true,
            user: AuditedConfig {
                categories: AUDIT_CATEGORIES.join(","),
                excludes: String::new(),
            },
            client: AuditedConfig::default(),
            unknown: AuditedConfig::default(),
        }
    }
}

/// The audit settings as bit sets, for fast checks.
#[derive(Clone, Copy, Debug, Default)]
pub struct Audit {
    user: Audited,
    client: Audited,
    unknown: Audited,
}

/// Bit n stands for the n-th name of the list.
#[derive(Clone, Copy, Debug, Default)]
struct Audited {
    categories: u32,
    excludes: u32,
}

impl Audit {
    pub fn new(config: &AuditConfig) -> Audit {
        if !config.enabled {
            return Audit::default();
        }
        let audited = |config: &AuditedConfig| Audited {
            categories: bits(AUDIT_CATEGORIES, &config.categories),
            excludes: bits(AUDITED_ENTITIES, &config.excludes),
        };
        Audit {
            user: audited(&config.user),
            client: audited(&config.client),
            unknown: audited(&config.unknown),
        }
    }

    pub fn covers(&self, claims: &Claims, category: &str, entity: &str) -> bool {
        let audited = match claims {
            Claims::User(_) => self.user,
            Claims::Client(_) => self.client,
            Claims::Anonymous => self.unknown,
            // The engine acted, not a caller.
            Claims::Internal => return false,
        };
        // Most callers are not audited, and then nothing is looked up.
        audited.categories != 0
            && audited.categories & bits(AUDIT_CATEGORIES, category) != 0
            && audited.excludes & bits(AUDITED_ENTITIES, entity) == 0
    }
}

fn bits(all: &[&str], names: &str) -> u32 {
    let named = |name: &&str| names.split(',').any(|given| given.trim() == *name);
    let bit = |(at, name)| u32::from(named(name)) << at;
    all.iter().enumerate().map(bit).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn users_are_audited_and_other_callers_only_where_configured() {
        let user = Claims::User(Default::default());
        let covers = |config: &AuditConfig, claims: &Claims, category, entity| {
            Audit::new(config).covers(claims, category, entity)
        };
        let mut config = AuditConfig::default();
        assert!(covers(&config, &user, "USER_TASKS", "USER_TASK"));
        assert!(!covers(
            &config,
            &Claims::Anonymous,
            "USER_TASKS",
            "USER_TASK"
        ));
        config.unknown.categories = "ADMIN, USER_TASKS".to_string();
        assert!(covers(
            &config,
            &Claims::Anonymous,
            "USER_TASKS",
            "USER_TASK"
        ));
        assert!(!covers(
            &config,
            &Claims::Anonymous,
            "DEPLOYED_RESOURCES",
            "BATCH"
        ));
        assert!(!covers(&config, &Claims::Internal, "ADMIN", "USER"));
        config.user.excludes = "BATCH".to_string();
        assert!(!covers(&config, &user, "DEPLOYED_RESOURCES", "BATCH"));
        config.enabled = false;
        assert!(!covers(&config, &user, "USER_TASKS", "USER_TASK"));
    }
}
