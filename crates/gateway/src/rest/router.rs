//! Finds the route of a path: one walk down a tree of segments.

use std::sync::LazyLock;

use rustc_hash::FxHashMap;

use super::operations::OPERATIONS;
use super::operations::path::Texts;

/// The tree of all [`OPERATIONS`].
pub static ROUTER: LazyLock<Router> = LazyLock::new(Router::new);

#[derive(Debug, Default)]
pub struct Router {
    nodes: Vec<Node>,
}

#[derive(Debug, Default)]
struct Node {
    literals: FxHashMap<&'static str, usize>,
    /// The child for `{name}`.
    parameter: Option<usize>,
    /// Methods that end here, with the position of their operation.
    routes: Vec<(&'static str, usize)>,
}

/// The result of looking up a path.
#[derive(Debug, PartialEq)]
pub enum RouteMatch<'p> {
    Route {
        /// Position in [`OPERATIONS`].
        index: usize,
        /// The text for each `{name}`.
        texts: Texts<'p>,
    },
    /// The path exists, but not for this method; these are its methods.
    OtherMethods(Vec<&'static str>),
    Nothing,
}

impl Router {
    fn new() -> Router {
        let mut router = Router::default();
        router.nodes.push(Node::default());
        for (index, route) in OPERATIONS.iter().enumerate() {
            router.insert(index, route.method, route.path);
        }
        router
    }

    fn insert(&mut self, index: usize, method: &'static str, path: &'static str) {
        let mut at = 0;
        for segment in path.split('/').skip(1) {
            let next = self.nodes.len();
            let Some(node) = self.nodes.get_mut(at) else {
                unreachable!("node {at} was made when its parent named it");
            };
            let child = if segment.starts_with('{') {
                *node.parameter.get_or_insert(next)
            } else {
                *node.literals.entry(segment).or_insert(next)
            };
            if child == next {
                self.nodes.push(Node::default());
            }
            at = child;
        }
        if let Some(end) = self.nodes.get_mut(at) {
            end.routes.push((method, index));
        }
    }

    pub fn find<'p>(&self, method: &str, path: &'p str) -> RouteMatch<'p> {
        let Some(path) = path.strip_prefix('/') else {
            return RouteMatch::Nothing;
        };
        let mut texts = Texts::default();
        let Some(node) = self.descend(0, path, 0, &mut texts) else {
            return RouteMatch::Nothing;
        };
        // HEAD is GET without the body, which the connection omits by itself.
        let method = if method == "HEAD" { "GET" } else { method };
        match node.routes.iter().find(|(m, _)| *m == method) {
            Some((_, index)) => RouteMatch::Route {
                index: *index,
                texts,
            },
            None => RouteMatch::OtherMethods(node.routes.iter().map(|(m, _)| *m).collect()),
        }
    }

    /// Literal segments take precedence over parameters; if the literal leads nowhere, the parameter is tried. The depth is
    /// that of the longest template. `taken` segments are bound to parameters so far.
    fn descend<'p>(
        &self,
        at: usize,
        rest: &'p str,
        taken: usize,
        texts: &mut Texts<'p>,
    ) -> Option<&Node> {
        let node = self.nodes.get(at)?;
        let (segment, rest) = match rest.split_once('/') {
            Some((segment, rest)) => (segment, Some(rest)),
            None => (rest, None),
        };
        let mut follow = |child: usize, taken: usize| match rest {
            Some(rest) => self.descend(child, rest, taken, texts),
            None => {
                let end = self.nodes.get(child)?;
                (!end.routes.is_empty()).then_some(end)
            }
        };
        if let Some(found) = node.literals.get(segment).and_then(|c| follow(*c, taken)) {
            return Some(found);
        }
        if segment.is_empty() {
            return None;
        }
        let end = follow(node.parameter?, taken + 1)?;
        texts.set(taken, segment);
        Some(end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_route_is_found_by_its_own_template() {
        for (index, route) in OPERATIONS.iter().enumerate() {
            match ROUTER.find(route.method, route.path) {
                RouteMatch::Route { index: found, .. } => assert_eq!(found, index, "{route:?}"),
                other => panic!("{route:?}: {other:?}"),
            }
        }
    }

    #[test]
    fn each_parameter_is_the_segment_in_its_place() {
        for (method, path, id, texts) in [
            ("GET", "/v2/topology", "getTopology", ["", ""]),
            ("POST", "/v2/jobs/12/completion", "completeJob", ["12", ""]),
            (
                "PUT",
                "/v2/cluster-variables/tenants/acme/limit",
                "updateTenantClusterVariable",
                ["acme", "limit"],
            ),
            (
                "DELETE",
                "/v2/roles/r/users/users",
                "unassignRoleFromUser",
                ["r", "users"],
            ),
        ] {
            let RouteMatch::Route {
                index,
                texts: found,
            } = ROUTER.find(method, path)
            else {
                panic!("{path} leads nowhere");
            };
            let found: Vec<&str> = found.iter().collect();
            assert_eq!((OPERATIONS[index].id, &*found), (id, &texts[..]), "{path}");
        }
    }

    #[test]
    fn a_literal_goes_before_a_parameter_and_gives_way_where_it_leads_nowhere() {
        let operation = |method, path| match ROUTER.find(method, path) {
            RouteMatch::Route { index, .. } => OPERATIONS[index].id,
            other => panic!("{path}: {other:?}"),
        };
        assert_eq!(
            operation("POST", "/v2/process-instances/search"),
            "searchProcessInstances"
        );
        assert_eq!(
            operation("POST", "/v2/process-instances/cancellation/cancellation"),
            "cancelProcessInstance"
        );
    }

    #[test]
    fn unknown_paths_are_not_found() {
        for path in [
            "",
            "/",
            "/v2",
            "/v2/",
            "/v2/topology/",
            "/v2//topology",
            "/v1/topology",
            "/v2/jobs//completion",
        ] {
            assert_eq!(ROUTER.find("GET", path), RouteMatch::Nothing, "{path}");
        }
        assert_eq!(
            ROUTER.find("PUT", "/v2/topology"),
            RouteMatch::OtherMethods(vec!["GET"])
        );
    }
}
