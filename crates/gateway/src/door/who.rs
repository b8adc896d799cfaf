//! Information about callers for the callers themselves.

use std::sync::Arc;

use skep_identity::{Directory, Grants, Parent};
use skep_protocol::TenantId;
use skep_protocol::origin::Claims;
use skep_protocol::value::ParentType;

/// See the [module](self).
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

/// Information about the caller; `None`: the caller is anonymous.
pub fn me(directory: &Directory, claims: &Claims, authorizations: bool) -> Option<Me> {
    let (Claims::User(principal) | Claims::Client(principal)) = claims else {
        return None;
    };
    let grants = Grants::of(directory, claims)?;
    let user = grants.user().and_then(|name| directory.user(name));
    let given = |text: &Arc<str>| (!text.is_empty()).then(|| text.clone());
    Some(Me {
        username: principal.id.clone(),
        display_name: user.and_then(|user| given(&user.name)),
        email: user.and_then(|user| given(&user.email)),
        authorized_components: if authorizations {
            grants.components()
        } else {
            vec!["*".into()]
        },
        tenants: grants
            .tenants()
            .iter()
            .map(|id| tenant(directory, id))
            .collect(),
        groups: grants.groups().iter().cloned().collect(),
        roles: grants.roles().iter().cloned().collect(),
        can_logout: true,
    })
}

fn tenant(directory: &Directory, id: &TenantId) -> MyTenant {
    let value = directory.parent(&Parent::new(ParentType::Tenant, id.as_str()));
    let (name, description) = match value {
        Some(value) => (value.name.clone(), value.description.clone()),
        None => (id.as_str().into(), "".into()),
    };
    MyTenant {
        id: id.as_str().into(),
        name,
        description,
    }
}
