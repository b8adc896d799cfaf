//! Starting instances. A lane is a task that has at most one creation in flight.

use std::{
    sync::{Arc, atomic::Ordering},
    time::{Duration, Instant},
};

use skep_client::{Backoff, Client, Code, CreateInstance, Error, PreparedCreate, RetryPolicy};

use super::{seek::Created, slice::Shared};
use crate::args::to_usize;

/// Starts instances until the slice stops starting.
pub(super) async fn run(shared: Arc<Shared>, clients: Vec<Client>, lane: u32) {
    // Neighbouring lanes start with different addresses.
    let mut addresses = clients.iter().cycle().skip(to_usize(lane) % clients.len());
    let Some(mut client) = addresses.next() else {
        return;
    };
    let create = prepare(&shared, client);
    let mut backoff = Backoff::new(RetryPolicy {
        initial: Duration::from_millis(5),
        max: Duration::from_secs(1),
        max_attempts: u32::MAX,
    });
    while shared.starting.load(Ordering::Relaxed) {
        let due = match &shared.pacer {
            Some(pacer) => match pacer.next().await {
                Some(_) if shared.plan.habits.gives_up => Instant::now(),
                Some(due) => due,
                None => return,
            },
            None => Instant::now(),
        };
        // Creations refused by back-pressure are sent again after a pause, as clients do: their
        // latency counts from the first attempt.
        loop {
            let Err(error) = start(&shared, client, &create, due, lane).await else {
                backoff.reset();
                break;
            };
            if !shared.starting.load(Ordering::Relaxed) {
                return;
            }
            if shared.plan.habits.gives_up {
                break;
            }
            // Another node may accept what this one cannot; back-pressure applies to all nodes.
            if error.code() != Some(Code::ResourceExhausted) {
                client = addresses.next().unwrap_or(client);
            }
            // In an open loop the next start is due on schedule, whatever the result of this one.
            if error.is_retryable() || shared.pacer.is_none() {
                tokio::time::sleep(backoff.next_pause()).await;
            }
            if !error.is_retryable() {
                break;
            }
        }
    }
}

fn prepare(shared: &Shared, client: &Client) -> PreparedCreate {
    let plan = &shared.plan;
    let request = CreateInstance::latest(&plan.process.process_id).variables(&plan.variables);
    if plan.args.await_completion {
        client.prepare_create_with_result(&request, plan.args.request_timeout, &[])
    } else {
        client.prepare_create(&request)
    }
}

/// One instance; in a closed loop until its end.
async fn start(
    shared: &Shared,
    client: &Client,
    create: &PreparedCreate,
    due: Instant,
    lane: u32,
) -> Result<(), Error> {
    let collector = &shared.collector;
    let creating = collector.creating();
    // Either the end of the slice sees this creation under way, or the creation is not sent.
    if !shared.starting.load(Ordering::SeqCst) {
        if shared.pacer.is_some() {
            collector.ledger().unsent(due, Instant::now());
        }
        return Ok(());
    }
    let result = client.create_prepared(create).await;
    let now = Instant::now();
    let waits = shared.pacer.is_none().then_some(lane);
    let goes_on = {
        let mut ledger = collector.ledger();
        match result {
            Err(error) => {
                ledger.start_failed(now, &error);
                return Err(error);
            }
            Ok(_) if shared.plan.args.await_completion => {
                ledger.awaited(due, now);
                return Ok(());
            }
            Ok(created) => {
                let key = created.instance.process_instance_key;
                if shared.plan.args.find {
                    shared.newest.send_replace(Some(Created { key, at: now }));
                }
                ledger.started(due, now, key, waits)
            }
        }
    };
    drop(creating);
    if waits.is_some()
        && goes_on.is_none()
        && shared.plan.args.workers > 0
        && let Some(notify) = collector.lane(lane)
    {
        notify.notified().await;
    }
    Ok(())
}
