//! Users, groups, roles, tenants, mapping rules and authorizations that commands have created; and the caller.

use http::{Response, StatusCode};
use skep_protocol::Key;
use skep_protocol::document::write_json_string;
use skep_protocol::value::{MappingRuleValue, ParentType, ParentValue, UserValue};

use super::{Object, json, status};
use crate::door::who::Me;
use crate::rest::RestBody;

pub fn user(out: &mut String, user: &UserValue) {
    Object::write(out, |o| {
        o.text("username", &user.username);
        o.text("name", &user.name);
        o.text("email", &user.email);
    });
}

pub fn parent(out: &mut String, kind: ParentType, parent: &ParentValue) {
    let id = match kind {
        ParentType::Group => "groupId",
        ParentType::Role => "roleId",
        ParentType::Tenant => "tenantId",
    };
    Object::write(out, |o| {
        o.text(id, &parent.id);
        o.text("name", &parent.name);
        o.text("description", &parent.description);
    });
}

pub fn mapping_rule(out: &mut String, rule: &MappingRuleValue) {
    Object::write(out, |o| {
        o.text("claimName", &rule.claim_name);
        o.text("claimValue", &rule.claim_value);
        o.text("name", &rule.name);
        o.text("mappingRuleId", &rule.mapping_rule_id);
    });
}

pub fn authorization(out: &mut String, key: Key) {
    Object::write(out, |o| o.key("authorizationKey", key));
}

/// The answer to anonymous callers that ask about themselves.
pub fn nobody() -> Response<RestBody> {
    status(StatusCode::UNAUTHORIZED)
}

/// An anonymous caller gets 401 without a body.
pub fn me(me: Option<Me>) -> Response<RestBody> {
    let Some(me) = me else {
        return nobody();
    };
    let mut out = String::with_capacity(480);
    let texts = |o: &mut Object, name, texts: &[std::sync::Arc<str>]| {
        o.array(name, texts, |out, text| write_json_string(text, out));
    };
    Object::write(&mut out, |o| {
        o.text("username", &me.username);
        o.optional_text("displayName", me.display_name.as_deref());
        o.optional_text("email", me.email.as_deref());
        texts(o, "authorizedComponents", &me.authorized_components);
        o.array("tenants", &me.tenants, |out, tenant| {
            Object::write(out, |o| {
                o.text("tenantId", &tenant.id);
                o.text("name", &tenant.name);
                o.text("description", &tenant.description);
            });
        });
        texts(o, "groups", &me.groups);
        texts(o, "roles", &me.roles);
        // There is no cloud with plans, nor with links to its other applications.
        o.raw("salesPlanType", "null");
        o.raw("c8Links", "{}");
        o.raw("canLogout", if me.can_logout { "true" } else { "false" });
    });
    json(out)
}
