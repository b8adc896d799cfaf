//! Log lines about callers who were not authenticated, or who ask for what they will not get: at most one per reason every ten seconds,
//! and never with their credentials.

use std::sync::atomic::{AtomicU64, Ordering};

use skep_protocol::TenantId;

use super::Refused;
use super::session::now;

/// Seconds between two lines about one reason.
const PAUSE: u64 = 10;

/// State of one reason.
#[derive(Debug, Default)]
struct Noted {
    /// When the last line was written, in seconds since 1970.
    last: AtomicU64,
    /// Callers since the last line.
    since: AtomicU64,
}

impl Noted {
    /// The number of callers for the line that is due now, if one is.
    fn due(&self, now: u64) -> Option<u64> {
        self.since.fetch_add(1, Ordering::Relaxed);
        let last = self.last.load(Ordering::Relaxed);
        if now.saturating_sub(last) < PAUSE {
            return None;
        }
        let won = self
            .last
            .compare_exchange(last, now, Ordering::Relaxed, Ordering::Relaxed);
        won.ok().map(|_| self.since.swap(0, Ordering::Relaxed))
    }
}

/// See the [module](self).
#[derive(Debug, Default)]
pub struct Refusals([Noted; Refused::REASONS.len()]);

impl Refusals {
    pub fn note(&self, refused: &Refused) {
        let reason = refused.reason();
        let reasons = Refused::REASONS.iter().zip(&self.0);
        let mut of_reason = reasons.filter(|(name, _)| **name == reason);
        let Some(callers) = of_reason.next().and_then(|(_, noted)| noted.due(now())) else {
            return;
        };
        match refused {
            // Browsers begin like this, and return like this.
            Refused::Nothing(_) | Refused::NoSession(_) => {
                tracing::debug!(reason, callers, "callers failed to authenticate");
            }
            Refused::Other(_)
            | Refused::Several(_)
            | Refused::Wrong
            | Refused::Token(_)
            | Refused::Forged
            | Refused::Cannot(_) => tracing::warn!(
                reason,
                callers,
                "callers failed to authenticate; skep_authentication_failures_total counts them"
            ),
        }
    }
}

/// Log lines about browsers that have not logged in at a provider: everybody can come back from there with anything.
#[derive(Debug, Default)]
pub struct FailedLogins(Noted);

impl FailedLogins {
    /// `why`: of the last one.
    pub fn note(&self, why: &str) {
        if let Some(browsers) = self.0.due(now()) {
            tracing::info!(why, browsers, "logins at the identity provider failed");
        }
    }
}

/// Log lines about job streams that name tenants that their clients are not assigned to. Such a stream opens, as they may be assigned later,
/// and otherwise nobody would learn why it stays empty.
#[derive(Debug, Default)]
pub struct ForeignTenants(Noted);

impl ForeignTenants {
    /// `caller` and `tenant`: of the last stream.
    pub fn note(&self, caller: &str, tenant: &TenantId) {
        if let Some(streams) = self.0.due(now()) {
            tracing::warn!(
                ?caller,
                %tenant,
                streams,
                "job streams name tenants that their clients are not assigned to, and get none of their jobs"
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_line_in_ten_seconds_counts_all_that_came_before_it() {
        let noted = Noted::default();
        assert_eq!(noted.due(1_000), Some(1));
        for _ in 0..5 {
            assert_eq!(noted.due(1_009), None);
        }
        assert_eq!(noted.due(1_010), Some(6));
        assert_eq!(noted.due(1_019), None);
        // A clock that was set back causes no line, and blocks none for longer than that.
        assert_eq!(noted.due(900), None);
        assert_eq!(noted.due(1_020), Some(3));
    }

    #[test]
    fn each_reason_has_lines_of_its_own() {
        let refusals = Refusals::default();
        refusals.note(&Refused::Wrong);
        refusals.note(&Refused::Forged);
        let noted = refusals.0.iter();
        let written = noted.filter(|noted| noted.last.load(Ordering::Relaxed) > 0);
        assert_eq!(written.count(), 2);
    }
}
