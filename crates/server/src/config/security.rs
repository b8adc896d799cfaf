//! Settings below `camunda.security`: authentication, authorization, and the initial identities.
//!
//! Without configuration a server has no login and is reachable from its own machine only. On any other address it does not start until
//! somebody has chosen.

mod entries;
mod initialization;
mod not_there;
mod paths;
mod providers;

use std::net::IpAddr;
use std::time::Duration;

use skep_engine::IdentityConfig;
use skep_gateway::{DEFAULT_PATTERN, GuessLimits, IdPattern, Login};
use skep_oidc::ProviderSettings;

use super::{Effective, Source, shortened};

pub use initialization::{Initial, InitialUser, Initialization};
pub use not_there::{Answer, answer};
pub use paths::List;
pub use providers::{FIELDS, Providers};

/// The setting with the pattern that ids must match.
pub const ID_PATTERN: &str = "camunda.security.id-validation-pattern";

/// How callers authenticate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    Basic,
    /// By the token of an identity provider (OpenID Connect).
    Oidc,
}

/// Login of callers of the management port.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ManagementLogin {
    /// None: the port is protected by network.
    #[default]
    None,
    /// That of the API.
    Api,
}

/// See the [module](self). `None`: not given.
#[derive(Clone, Debug)]
pub struct Security {
    pub method: Option<Method>,
    pub unprotected_api: Option<bool>,
    pub authorizations: Option<bool>,
    /// Whether callers see only what belongs to their tenants.
    pub tenant_checks: bool,
    pub tenants_api: bool,
    /// The identity providers whose tokens are accepted.
    pub providers: Vec<ProviderSettings>,
    pub initial: Initial,
    /// Callers of the management port log in as those of the API.
    pub management: ManagementLogin,
    /// The pattern that ids must match, as given.
    pub id_pattern: String,
    /// The same, compiled.
    pub ids: IdPattern,
    /// Maximum age of a node's view of users and permissions; zero: no maximum.
    pub max_view_age: Duration,
    pub guesses: GuessLimits,
}

impl Default for Security {
    fn default() -> Security {
        Security {
            method: None,
            unprotected_api: None,
            authorizations: None,
            tenant_checks: false,
            tenants_api: true,
            providers: Vec::new(),
            initial: Initial::default(),
            management: ManagementLogin::default(),
            id_pattern: DEFAULT_PATTERN.to_string(),
            ids: IdPattern::default(),
            max_view_age: Duration::ZERO,
            guesses: GuessLimits::default(),
        }
    }
}

impl Security {
    /// Whether callers must authenticate.
    pub fn is_protected(&self) -> bool {
        match self.unprotected_api {
            Some(unprotected) => !unprotected,
            None => self.method.is_some(),
        }
    }

    /// Whether permissions of callers are checked.
    pub fn authorizations(&self) -> bool {
        self.authorizations.unwrap_or_else(|| self.is_protected())
    }

    /// Access control as the web interface needs to know it.
    pub fn access(&self) -> skep_ui::Access {
        if !self.is_protected() {
            skep_ui::Access::Open
        } else if self.authorizations() {
            skep_ui::Access::Grants
        } else {
            skep_ui::Access::Login
        }
    }

    pub fn login(&self) -> Login {
        match (self.is_protected(), self.method) {
            (false, _) => Login::Unprotected,
            (true, Some(Method::Oidc)) => Login::Bearer,
            (true, _) => Login::Basic,
        }
    }

    /// The security configuration of the gateways.
    pub fn gateway(&self) -> skep_gateway::Security {
        let identity = self.identity();
        skep_gateway::Security {
            login: self.login(),
            providers: self.providers.clone(),
            authorizations: self.authorizations(),
            tenancy: if self.tenant_checks {
                skep_gateway::Tenancy::On
            } else {
                skep_gateway::Tenancy::Off
            },
            tenants_api: self.tenants_api,
            users_api: identity.manages_users,
            groups_api: identity.manages_groups,
            ids: self.ids.clone(),
            max_view_age: (!self.max_view_age.is_zero()).then_some(self.max_view_age),
            guesses: self.guesses,
        }
    }

    /// The identity configuration of the partitions.
    pub fn identity(&self) -> IdentityConfig {
        IdentityConfig {
            authorizations: self.authorizations(),
            tenant_checks: self.tenant_checks,
            manages_users: self.method != Some(Method::Oidc),
            manages_groups: self.method != Some(Method::Oidc)
                || self.providers.iter().all(|it| it.groups_claim.is_none()),
        }
    }

    /// Compiles the pattern of ids.
    ///
    /// # Errors
    /// It is not a valid pattern.
    pub fn compile_ids(&mut self, source: &Source) -> Result<(), String> {
        let compiled = IdPattern::new(&self.id_pattern).map_err(|why| {
            let pattern = shortened(&self.id_pattern);
            format!("{ID_PATTERN} = '{pattern}' ({source}): {why}")
        })?;
        self.ids = compiled;
        Ok(())
    }

    /// The value of a setting that is derived from others unless given.
    pub fn shown(&self, name: &str) -> Option<String> {
        match name {
            "camunda.security.authentication.unprotected-api" => {
                Some((!self.is_protected()).to_string())
            }
            "camunda.security.authorizations.enabled" => Some(self.authorizations().to_string()),
            _ => None,
        }
    }

    /// Fills in the derived values of all settings.
    pub fn show(&self, mut effective: Vec<Effective>) -> Vec<Effective> {
        for one in &mut effective {
            if let Some(value) = self.shown(one.name) {
                one.value = value;
            }
        }
        effective
    }

    /// What is allowed, but probably not meant.
    pub fn doubt(&self) -> Option<&'static str> {
        (self.tenant_checks && !self.tenants_api).then_some(FIXED_TENANTS)
    }

    /// Why the maximum age of the view cannot be kept: a leader is heard several times within an election timeout, and replaced after it.
    pub fn impatience(&self, election: Duration) -> Option<String> {
        let max = self.max_view_age;
        (!max.is_zero() && max < election).then(|| {
            format!(
                "skep.security.max-view-age is {} ms, which is less than camunda.cluster.raft.election-timeout ({} ms): callers would get 503 \
                 while the leader of partition 1 is well, and each time that it changes. Set at least this time, or 0 for no limit",
                max.as_millis(),
                election.as_millis()
            )
        })
    }

    /// The reasons why the server must not start. `listening`: its ports for clients.
    pub fn contradictions(&self, listening: &[(&str, IpAddr)]) -> Vec<String> {
        let mut found = Vec::new();
        if self.login() == Login::Bearer && self.providers.is_empty() {
            found.push(
                "camunda.security.authentication.method is oidc, but the issuer of the tokens is not set: set \
                 camunda.security.authentication.oidc.issuer-uri"
                    .to_string(),
            );
        }
        if self.management == ManagementLogin::Api && !self.is_protected() {
            found.push(MANAGEMENT_OF_NOBODY.to_string());
        }
        if self.tenant_checks && !self.is_protected() {
            found.push(TENANTS_OF_NOBODY.to_string());
        }
        if self.method.is_none() && self.unprotected_api.is_none() {
            found.extend(undecided(listening));
        }
        found
    }
}

const FIXED_TENANTS: &str = "camunda.security.multi-tenancy.checks-enabled is true, but camunda.security.multi-tenancy.api-enabled is \
     false: nobody can create a tenant or assign a caller to one while the server runs, and callers without a tenant see nothing. If that \
     is not meant, set api-enabled to true; otherwise list all tenants and their members in camunda.security.initialization.tenants";

const MANAGEMENT_OF_NOBODY: &str = "skep.management.authentication is api, but the API requires no login. Let its callers log in \
     (camunda.security.authentication.method: basic, and no camunda.security.authentication.unprotected-api: true), or leave \
     skep.management.authentication at none and protect the port by network";

const TENANTS_OF_NOBODY: &str = "camunda.security.multi-tenancy.checks-enabled is true, but callers are not authenticated: anyone who \
     reaches the port would see the data of all tenants. Let callers log in (camunda.security.authentication.method: basic, and no \
     camunda.security.authentication.unprotected-api: true), or turn the checks off";

/// Refuses to open a server to other machines without a decision about its security.
fn undecided(listening: &[(&str, IpAddr)]) -> Option<String> {
    let open = listening
        .iter()
        .filter(|(_, address)| !address.is_loopback());
    let open: Vec<String> = open
        .map(|(name, address)| format!("{name} {address}"))
        .collect();
    (!open.is_empty()).then(|| {
        format!(
            "{}: other machines can reach this address, and the configuration does not set whether callers log in. Choose one: with \
             camunda.security.authentication.method: basic (CAMUNDA_SECURITY_AUTHENTICATION_METHOD=basic) callers need a name and a \
             password, see docs/security.md; with camunda.security.authentication.unprotected-api: true \
             (CAMUNDA_SECURITY_AUTHENTICATION_UNPROTECTEDAPI=true) anyone who reaches the port may do everything. Or listen on 127.0.0.1",
            open.join(", ")
        )
    })
}

#[cfg(test)]
#[path = "security_tests.rs"]
mod tests;
