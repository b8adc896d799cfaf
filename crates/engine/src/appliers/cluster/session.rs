//! SESSION events.

use skep_protocol::Key;
use skep_protocol::intent::SessionIntent as Intent;
use skep_protocol::value::SessionValue;

use crate::appliers::Apply;
use crate::state::{Session, State};

impl Apply<SessionValue> for State {
    fn apply(&mut self, key: Key, intent: Intent, value: &SessionValue, _timestamp: i64) {
        let change = |state: &mut State, change: &dyn Fn(&mut SessionValue)| {
            // It exists unless the store failed to return it: the partition then stops.
            if let Some(mut session) = state.sessions.get(key).cloned() {
                change(&mut session.0);
                state.sessions.set(key, session);
            }
        };
        match intent {
            Intent::Began => self.sessions.set(key, Session(value.clone())),
            Intent::Used => change(self, &|session| session.used = value.used),
            Intent::Claimed => {
                change(self, &|session| session.claimed_until = value.claimed_until);
            }
            Intent::Renewed => change(self, &|session| {
                session.sealed = value.sealed.clone();
                session.revision = value.revision;
                session.claimed_until = 0;
            }),
            Intent::Ended => self.sessions.remove(key),
            Intent::Begin | Intent::Use | Intent::Claim | Intent::Renew | Intent::End => {}
        }
    }
}
