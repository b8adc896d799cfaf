//! Login and permissions of the API for another port of the process, which knows nothing of them.

use std::sync::Arc;

use http::StatusCode;
use skep_protocol::permission::Permission;

use super::problem::Problem;
use super::sight;
use crate::call::{FrontEnd, Stopwatch};
use crate::door::{Head, Scheme};

/// See the [module](self).
#[derive(Clone)]
pub struct Guard(Arc<FrontEnd>);

/// The answer to a request that is not let in.
#[derive(Debug)]
pub struct Denial {
    pub status: StatusCode,
    pub text: String,
    /// Header `www-authenticate` of the answer.
    pub challenge: Option<&'static str>,
}

impl Guard {
    pub(crate) fn new(front: Arc<FrontEnd>) -> Guard {
        Guard(front)
    }

    /// Lets a caller in who has one of these permissions on everything of its type.
    ///
    /// # Errors
    /// The caller is not known, may not do it, or cannot be checked now.
    pub async fn admit(&self, head: &Head<'_>, permissions: &[Permission]) -> Result<(), Denial> {
        // Requests of another port have no stages.
        let mut watch = Stopwatch::start();
        let entered = self.0.enter(head, &mut watch).await;
        let claims = entered.map_err(Problem::from)?;
        let Some(grants) = sight::grants(&self.0, &claims) else {
            return Ok(());
        };
        sight::is_known(&self.0, &claims)?;
        if permissions.iter().any(|p| grants.allows_any(*p)) {
            Ok(())
        } else {
            Err(sight::unauthorized(permissions).into())
        }
    }
}

impl From<Problem> for Denial {
    fn from(problem: Problem) -> Denial {
        Denial {
            status: problem.status,
            text: problem.detail,
            challenge: problem.asks_for.map(Scheme::challenge),
        }
    }
}
