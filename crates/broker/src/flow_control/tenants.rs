//! How much of a partition's request limit one tenant may take (`skep.tenants.in-flight-share`).

use std::collections::HashMap;

use parking_lot::Mutex;
use skep_protocol::TenantId;

/// Counts the commands under way of each tenant, those that have any.
#[derive(Debug)]
pub struct OfTenants {
    /// Of the limit, above 0; from 1 on nothing is counted.
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

    /// Takes a place of the tenant, where the partition has `limit`. `None`: it is not counted.
    ///
    /// # Errors
    /// The tenant has so many places, which is its share. One it may always have.
    pub fn take(&self, tenant: &TenantId, limit: u32) -> Result<Option<TenantId>, u32> {
        if self.share >= 1.0 {
            return Ok(None);
        }
        let most = (f64::from(limit) * self.share) as u32;
        let most = most.max(1);
        let mut under_way = self.under_way.lock();
        let taken = under_way.get(tenant).copied().unwrap_or_default();
        if taken >= most {
            return Err(most);
        }
        under_way.insert(tenant.clone(), taken + 1);
        Ok(Some(tenant.clone()))
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
    use skep_protocol::TenantId;

    use super::OfTenants;

    #[test]
    fn a_tenant_has_its_share_of_the_limit_and_one_place_at_least() {
        let (a, b) = (TenantId::new("a"), TenantId::new("b"));
        for (share, limit, most) in [(0.5, 10, 5), (0.25, 10, 2), (0.99, 10, 9), (0.01, 10, 1)] {
            let tenants = OfTenants::new(share);
            for _ in 0..most {
                assert_eq!(tenants.take(&a, limit), Ok(Some(a.clone())));
            }
            assert_eq!(tenants.take(&a, limit), Err(most));
            assert_eq!(tenants.take(&b, limit), Ok(Some(b.clone())));
            tenants.give_back(&a);
            assert_eq!(tenants.take(&a, limit), Ok(Some(a.clone())));
            assert_eq!(
                tenants.take(&a, limit * 2).is_ok(),
                most < limit * 2 && share > 0.1
            );
        }
    }

    #[test]
    fn tenants_without_commands_take_no_memory_and_a_whole_share_counts_nobody() {
        let tenants = OfTenants::new(0.5);
        for number in 0..100 {
            let tenant = TenantId::new(&format!("t{number}"));
            assert!(tenants.take(&tenant, 10).is_ok());
            tenants.give_back(&tenant);
        }
        assert!(tenants.under_way.lock().is_empty());
        let off = OfTenants::new(1.0);
        let tenant = TenantId::new("a");
        for _ in 0..100 {
            assert_eq!(off.take(&tenant, 10), Ok(None));
        }
        assert!(off.under_way.lock().is_empty());
    }
}
