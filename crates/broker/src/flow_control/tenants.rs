//! How much of a partition's limits one tenant may take (`skep.tenants.in-flight-share`), and which tenant a request belongs to.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::Mutex;
use rustc_hash::FxHashMap;
use skep_identity::Grants;
use skep_protocol::TenantId;
use skep_protocol::origin::Claims;

use crate::directory_view::DirectoryView;

/// Maximum number of callers whose tenant is remembered.
const MAX_CALLERS: usize = 1_000;

/// The tenant of each caller who belongs to exactly one: a request about a key does not say whose it is, but it can only be that tenant's.
/// Collecting all tenants of a caller takes microseconds, so the result is kept while the directory is unchanged.
#[derive(Debug, Default)]
pub struct SoleTenants(Mutex<Known>);

#[derive(Debug, Default)]
struct Known {
    /// The number of the directory view.
    number: u64,
    by_name: FxHashMap<Arc<str>, (Claims, Option<TenantId>)>,
}

impl SoleTenants {
    /// The caller's only tenant. `None`: the caller has none or several, or tenants are not checked.
    pub fn of(&self, directory: &DirectoryView, claims: &Claims) -> Option<TenantId> {
        let (Claims::User(principal) | Claims::Client(principal)) = claims else {
            return None;
        };
        // Read before the directory: at worst a newer one is read once more.
        let number = directory.number();
        let mut known = self.0.lock();
        if known.number != number || known.by_name.len() >= MAX_CALLERS {
            known.number = number;
            known.by_name.clear();
        }
        if let Some((of, sole)) = known.by_name.get(&principal.id)
            && of == claims
        {
            return sole.clone();
        }
        let grants = Grants::of(&directory.get(), claims)?;
        let mut tenants = grants.tenants().iter();
        let sole = match (tenants.next(), tenants.next()) {
            (Some(tenant), None) => Some(tenant.clone()),
            _ => None,
        };
        let entry = (claims.clone(), sole.clone());
        known.by_name.insert(principal.id.clone(), entry);
        sole
    }
}

/// Counts the commands under way of each tenant that has any.
#[derive(Debug)]
pub struct OfTenants {
    /// Part of the limit, above 0.
    share: f64,
    under_way: Mutex<HashMap<TenantId, u32>>,
}

impl OfTenants {
    pub fn new(share: f64) -> OfTenants {
        OfTenants {
            share,
            under_way: Mutex::default(),
        }
    }

    /// Takes a place for the tenant, where the partition has `limit`.
    ///
    /// # Errors
    /// The tenant already has its share, which is returned. Every tenant may have at least one place.
    pub fn take(&self, tenant: &TenantId, limit: u32) -> Result<(), u32> {
        let most = (f64::from(limit) * self.share) as u32;
        let most = most.max(1);
        let mut under_way = self.under_way.lock();
        let taken = under_way.get(tenant).copied().unwrap_or_default();
        if taken >= most {
            return Err(most);
        }
        under_way.insert(tenant.clone(), taken + 1);
        Ok(())
    }

    pub fn give_back(&self, tenant: &TenantId) {
        let mut under_way = self.under_way.lock();
        let taken = under_way.get_mut(tenant);
        debug_assert!(taken.is_some(), "a place of a tenant is given back once");
        let Some(taken) = taken else {
            return;
        };
        *taken = taken.saturating_sub(1);
        if *taken == 0 {
            under_way.remove(tenant);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use skep_identity::{Directory, Entry, Parent};
    use skep_protocol::origin::{Claims, Principal};
    use skep_protocol::value::{EntityType, Member, ParentType};
    use skep_protocol::{Key, TenantId};

    use super::{OfTenants, SoleTenants};
    use crate::directory_view::DirectoryView;

    #[test]
    fn a_tenant_has_its_share_of_the_limit_and_one_place_at_least() {
        let (a, b) = (TenantId::new("a"), TenantId::new("b"));
        for (share, limit, most) in [(0.5, 10, 5), (0.25, 10, 2), (0.99, 10, 9), (0.01, 10, 1)] {
            let tenants = OfTenants::new(share);
            for _ in 0..most {
                assert_eq!(tenants.take(&a, limit), Ok(()));
            }
            assert_eq!(tenants.take(&a, limit), Err(most));
            assert_eq!(tenants.take(&b, limit), Ok(()));
            tenants.give_back(&a);
            assert_eq!(tenants.take(&a, limit), Ok(()));
            assert_eq!(
                tenants.take(&a, limit * 2).is_ok(),
                most < limit * 2 && share > 0.1
            );
        }
    }

    #[test]
    fn tenants_without_commands_take_no_memory() {
        let tenants = OfTenants::new(0.5);
        for number in 0..100 {
            let tenant = TenantId::new(&format!("t{number}"));
            assert!(tenants.take(&tenant, 10).is_ok());
            tenants.give_back(&tenant);
        }
        assert!(tenants.under_way.lock().is_empty());
    }

    fn joins(directory: &mut Directory, key: u64, user: &str, tenant: &str) {
        let member = Member {
            entity_type: EntityType::User,
            id: user.into(),
        };
        let parent = Parent::new(ParentType::Tenant, tenant);
        directory.add(Key::new(1, key), &Entry::membership(&parent, member));
    }

    #[test]
    fn the_sole_tenant_of_a_caller_is_remembered_until_the_directory_changes() {
        let user = |id: &str| {
            Claims::User(Arc::new(Principal {
                id: id.into(),
                groups: None,
                token: "".into(),
            }))
        };
        let (view, sole) = (DirectoryView::default(), SoleTenants::default());
        let mut directory = Directory::default();
        joins(&mut directory, 1, "anna", "acme");
        joins(&mut directory, 2, "bert", "acme");
        joins(&mut directory, 3, "bert", "globex");
        view.set(directory.clone());
        for _ in 0..2 {
            let of = |claims: &Claims| sole.of(&view, claims);
            assert_eq!(of(&user("anna")), Some(TenantId::new("acme")));
            assert_eq!(of(&user("bert")), None);
            assert_eq!(of(&user("nobody")), None);
            assert_eq!(of(&Claims::Internal), None);
            assert_eq!(of(&Claims::Anonymous), None);
        }
        // A client of the same name is a different caller.
        let Claims::User(principal) = user("anna") else {
            unreachable!("it is a user")
        };
        assert_eq!(sole.of(&view, &Claims::Client(principal)), None);
        joins(&mut directory, 4, "anna", "globex");
        view.set(directory);
        assert_eq!(sole.of(&view, &user("anna")), None);
    }
}
