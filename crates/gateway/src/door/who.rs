//! The hook for the directory: it is asked who somebody is.

use std::fmt::Debug;
use std::sync::Arc;

use skep_protocol::origin::Claims;

/// Knows users and clients.
pub trait Who: Debug + Send + Sync {
    /// What is known of the caller; `None`: nothing, as he has not said who he is.
    fn me(&self, claims: &Claims) -> Option<Me>;
}

/// What callers may know of themselves.
#[derive(Clone, Debug, PartialEq)]
pub struct Me {
    /// User name, or client id.
    pub username: Arc<str>,
    pub display_name: Option<Arc<str>>,
    pub email: Option<Arc<str>>,
    /// Ids of the components that the caller may use; `*` for all.
    pub authorized_components: Vec<Arc<str>>,
    pub tenants: Vec<MyTenant>,
    /// Ids.
    pub groups: Vec<Arc<str>>,
    /// Ids.
    pub roles: Vec<Arc<str>>,
    pub can_logout: bool,
}

#[derive(Clone, Debug, PartialEq)]
pub struct MyTenant {
    pub id: Arc<str>,
    pub name: Arc<str>,
    pub description: Arc<str>,
}
