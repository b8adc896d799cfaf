//! Due work: timers, back-offs, messages whose time to live ends, sessions that have ended, jobs that time out.
//!
//! Each list is processed up to a limit, and none continues once the turn is over: the rest is immediately due again.

use skep_protocol::intent::{Intent, JobIntent, MessageIntent, SessionIntent, TimerIntent};
use skep_protocol::{Key, ValueType};

use crate::processing::bpmn::step;
use crate::processing::message::expire;
use crate::processing::{Context, job, session, timer};

/// Handles due work; with `late_jobs` also timed-out jobs. Returns the number of handled timers, messages, sessions and
/// jobs.
pub(crate) fn handle(cx: &mut Context<'_>, limit: usize, late_jobs: bool) -> usize {
    let mut handled = timers(cx, limit) + backed_off(cx, limit) + expired(cx, limit);
    handled += sessions_over(cx, limit);
    if late_jobs {
        handled += timed_out(cx, limit);
    }
    handled
}

fn timers(cx: &mut Context<'_>, limit: usize) -> usize {
    let due: Vec<Key> = cx.state.timers.due(cx.now).take(limit).collect();
    let mut handled = 0;
    for key in due {
        if cx.is_spent() {
            break;
        }
        // An earlier timer may have cancelled it.
        let Some(timer) = cx.state.timers.get(key) else {
            continue;
        };
        let instance = timer.instance();
        if !cx.begin_work_of(instance) {
            continue;
        }
        handled += 1;
        header(cx, key, ValueType::Timer, TimerIntent::Trigger);
        timer::trigger(cx, key);
        step::run(cx);
    }
    handled
}

fn backed_off(cx: &mut Context<'_>, limit: usize) -> usize {
    let due: Vec<Key> = cx.state.jobs.backed_off(cx.now).take(limit).collect();
    let mut handled = 0;
    for key in due {
        if cx.is_spent() {
            break;
        }
        handled += 1;
        header(cx, key, ValueType::Job, JobIntent::RecurAfterBackoff);
        if cx.begin_work_of_job(key) {
            job::fail::recur(cx, key);
        }
    }
    handled
}

fn expired(cx: &mut Context<'_>, limit: usize) -> usize {
    let due: Vec<Key> = cx.state.messages.expired(cx.now).take(limit).collect();
    let mut handled = 0;
    for key in due {
        if cx.is_spent() {
            break;
        }
        handled += 1;
        header(cx, key, ValueType::Message, MessageIntent::Expire);
        cx.begin_work_of(Key::NONE);
        expire::process(cx, key);
    }
    handled
}

fn sessions_over(cx: &mut Context<'_>, limit: usize) -> usize {
    let over: Vec<Key> = cx.state.sessions.over(cx.now).take(limit).collect();
    let mut handled = 0;
    for key in over {
        if cx.is_spent() {
            break;
        }
        handled += 1;
        header(cx, key, ValueType::Session, SessionIntent::End);
        cx.begin_work_of(Key::NONE);
        session::end(cx, key);
    }
    handled
}

fn timed_out(cx: &mut Context<'_>, limit: usize) -> usize {
    let due: Vec<Key> = cx.state.jobs.timed_out(cx.now).take(limit).collect();
    let mut handled = 0;
    for key in due {
        if cx.is_spent() {
            break;
        }
        handled += 1;
        header(cx, key, ValueType::Job, JobIntent::TimeOut);
        if cx.begin_work_of_job(key) {
            job::time_out::process(cx, key);
        }
    }
    handled
}

fn header(cx: &mut Context<'_>, key: Key, value_type: ValueType, intent: impl Intent) {
    cx.out.command(key, value_type, intent.id(), &cx.origin);
}
