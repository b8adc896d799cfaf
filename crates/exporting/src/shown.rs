//! Addresses as they may be shown.

/// A URL with `***` for the password of its user or its parameters. What may be a login without a scheme is hidden whole.
pub fn without_password(url: &str) -> String {
    let (place, parameters) = url.split_once('?').unwrap_or((url, ""));
    let shown = match (place.split_once("//"), place.rsplit_once('@')) {
        (Some((scheme, _)), Some((login, hosts))) if login.len() > scheme.len() + 2 => {
            let user = login.get(scheme.len() + 2..).unwrap_or_default();
            match user.split_once(':') {
                Some((user, _)) => format!("{scheme}//{user}:***@{hosts}"),
                None => place.to_string(),
            }
        }
        (None, Some((login, hosts))) if login.contains(':') => format!("***@{hosts}"),
        _ => place.to_string(),
    };
    let hidden = |parameter: &str| match parameter.split_once('=') {
        Some((name, _)) if name.eq_ignore_ascii_case("password") => format!("{name}=***"),
        _ => parameter.to_string(),
    };
    let parameters: Vec<String> = parameters.split('&').map(hidden).collect();
    if url.contains('?') {
        format!("{shown}?{}", parameters.join("&"))
    } else {
        shown
    }
}
