//! Tenants: who shares a cluster without seeing each other. Definitions and messages belong to one; what runs belongs to that of
//! its definition.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize};

/// The only tenant while multi-tenancy is off.
pub const DEFAULT_TENANT: &str = "<default>";

/// Cheap to clone; the default tenant takes one byte in records and rows.
#[derive(Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(transparent)]
pub struct TenantId(Arc<str>);

impl TenantId {
    pub fn new(id: &str) -> TenantId {
        match id {
            "" | DEFAULT_TENANT => TenantId::default(),
            id => TenantId(id.into()),
        }
    }

    pub fn as_str(&self) -> &str {
        match &*self.0 {
            "" => DEFAULT_TENANT,
            id => id,
        }
    }

    /// Bytes of its text, beside itself.
    pub fn weight(&self) -> usize {
        self.0.len()
    }
}

impl fmt::Debug for TenantId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self.as_str(), f)
    }
}

impl fmt::Display for TenantId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl<'de> Deserialize<'de> for TenantId {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        // The empty text allocates nothing this way.
        String::deserialize(deserializer).map(|id| TenantId::new(&id))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::{decode, encode};

    #[test]
    fn the_default_tenant_takes_one_byte_and_is_one_however_it_is_written() {
        let default = TenantId::new("<default>");
        assert_eq!(
            (default.as_str(), &default),
            ("<default>", &TenantId::new(""))
        );
        assert_eq!(encode(&default), [0]);
        for id in ["<default>", "acme"] {
            let tenant = TenantId::new(id);
            assert_eq!(decode(&encode(&tenant)), Ok(tenant.clone()));
            assert_eq!(tenant.to_string(), id);
        }
    }
}
