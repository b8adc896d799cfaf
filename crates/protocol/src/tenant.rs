//! Tenants share a cluster without seeing each other. A definition or message belongs to one tenant; an instance belongs to
//! the tenant of its definition.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize};

/// The only tenant while multi-tenancy is off.
pub const DEFAULT_TENANT: &str = "<default>";

/// The tenant of whatever belongs to a definition that is not known. No tenant can have this ID, so nobody is assigned to it.
pub const UNKNOWN_TENANT: &str = "<unknown>";

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

    /// See [`UNKNOWN_TENANT`].
    pub fn unknown() -> TenantId {
        TenantId::new(UNKNOWN_TENANT)
    }

    pub fn as_str(&self) -> &str {
        match &*self.0 {
            "" => DEFAULT_TENANT,
            id => id,
        }
    }

    #[inline]
    pub fn is_default(&self) -> bool {
        self.0.is_empty()
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

/// The tenants whose jobs a worker takes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Tenants {
    pub filter: TenantFilter,
    /// The tenants that the worker names, in order and each once; if empty, the default tenant.
    #[serde(deserialize_with = "in_order")]
    pub provided: Vec<TenantId>,
}

/// Earlier versions wrote the tenants as the client had named them.
fn in_order<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<TenantId>, D::Error> {
    Vec::deserialize(deserializer).map(set)
}

fn set(mut ids: Vec<TenantId>) -> Vec<TenantId> {
    ids.sort_unstable();
    ids.dedup();
    ids
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum TenantFilter {
    /// The tenants that the request names.
    #[default]
    Provided,
    /// The tenants that the caller is assigned to. Gateways refuse it with multi-tenancy off.
    Assigned,
}

impl TenantFilter {
    pub fn name(self) -> &'static str {
        match self {
            TenantFilter::Provided => "PROVIDED",
            TenantFilter::Assigned => "ASSIGNED",
        }
    }
}

impl Tenants {
    /// The tenants that a request names.
    pub fn chosen<'a>(filter: TenantFilter, ids: impl IntoIterator<Item = &'a str>) -> Tenants {
        let mut provided = set(ids.into_iter().map(TenantId::new).collect());
        if provided.iter().all(TenantId::is_default) {
            provided.clear();
        }
        Tenants { filter, provided }
    }

    /// What the record of activated jobs names: the tenants of the request, or where it names none because the caller is assigned to them,
    /// those of the jobs. They are few; a caller may have thousands.
    pub fn recorded<'a>(&self, of_jobs: impl IntoIterator<Item = &'a TenantId>) -> Tenants {
        match self.filter {
            TenantFilter::Provided => self.clone(),
            TenantFilter::Assigned => {
                Tenants::chosen(self.filter, of_jobs.into_iter().map(TenantId::as_str))
            }
        }
    }

    /// One tenant.
    pub fn only(filter: TenantFilter, tenant: TenantId) -> Tenants {
        let is_named = !tenant.is_default();
        Tenants {
            filter,
            provided: is_named.then_some(tenant).into_iter().collect(),
        }
    }

    /// Those that a request names.
    pub fn provided<'a>(ids: impl IntoIterator<Item = &'a str>) -> Tenants {
        Tenants::chosen(TenantFilter::Provided, ids)
    }

    pub fn iter(&self) -> impl Iterator<Item = TenantId> + '_ {
        let default = self.provided.is_empty().then(TenantId::default);
        self.provided.iter().cloned().chain(default)
    }

    pub fn contains(&self, tenant: &TenantId) -> bool {
        if self.provided.is_empty() {
            tenant.is_default()
        } else {
            self.provided.binary_search(tenant).is_ok()
        }
    }

    /// Bytes beside itself.
    pub fn weight(&self) -> usize {
        let ids = self.provided.iter();
        ids.map(|id| size_of::<TenantId>() + id.weight()).sum()
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

    #[test]
    fn without_tenant_ids_the_default_tenant_is_meant() {
        let (default, acme) = (TenantId::default(), TenantId::new("acme"));
        for ids in [&[][..], &["<default>"], &["", "<default>"]] {
            let tenants = Tenants::provided(ids.iter().copied());
            assert_eq!(tenants, Tenants::default());
            assert!(tenants.iter().eq([default.clone()]));
            assert!(tenants.contains(&default) && !tenants.contains(&acme));
        }
        let both = Tenants::provided(["acme", "<default>"]);
        assert_eq!(both.iter().collect::<Vec<_>>(), [default, acme.clone()]);
        let one = Tenants::provided(["acme"]);
        assert!(one.contains(&acme) && !one.contains(&TenantId::default()));
    }

    #[test]
    fn a_record_of_jobs_names_the_tenants_of_the_request_or_those_of_the_jobs() {
        let of_jobs = ["globex", "acme", "globex"].map(TenantId::new);
        let named = Tenants::provided(["acme", "globex", "initech"]);
        assert_eq!(named.recorded(&of_jobs), named);
        let assigned = Tenants::chosen(TenantFilter::Assigned, ["initech"]);
        let expected = Tenants::chosen(TenantFilter::Assigned, ["acme", "globex"]);
        assert_eq!(assigned.recorded(&of_jobs), expected);
        for id in ["<default>", "acme"] {
            let only = Tenants::only(TenantFilter::Provided, TenantId::new(id));
            assert_eq!(only, Tenants::provided([id]));
        }
    }

    #[test]
    fn tenants_named_twice_or_in_another_order_are_the_same_tenants() {
        let named = Tenants::provided(["globex", "acme", "globex", "<default>", "acme"]);
        assert_eq!(named, Tenants::provided(["<default>", "acme", "globex"]));
        assert_eq!(named.iter().count(), 3);
        for id in ["<default>", "acme", "globex"] {
            assert!(named.contains(&TenantId::new(id)), "{id}");
        }
        assert!(!named.contains(&TenantId::new("b")));
        // As a version wrote it that kept what the client had named.
        let ids = ["globex", "acme", "globex"].map(TenantId::new).to_vec();
        let before = encode(&(TenantFilter::Provided, ids));
        let expected = Tenants::provided(["acme", "globex"]);
        assert_eq!(decode(&before), Ok(expected));
    }
}
