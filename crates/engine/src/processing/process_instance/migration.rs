//! PROCESS_INSTANCE_MIGRATION MIGRATE: moves a running instance to another process definition.
//!
//! First everything active is checked ([`check`]), so a refused migration changes nothing; then everything is migrated
//! ([`element`]). Work that does not fit into one turn continues in later turns: until then nothing else happens in the
//! instance ([`gate`]), so no command sees a half-migrated instance.

mod check;
mod compensation;
mod element;
mod events;
mod gate;
mod message_start;
mod plan;
mod user_task;
mod walk;

use skep_protocol::command::MigrateProcessInstance;
use skep_protocol::intent::{Intent as _, ProcessInstanceMigrationIntent as Intent};
use skep_protocol::value::{MigrationPhase, MigrationProgress, Step};
use skep_protocol::{Key, Rejection, RejectionType, Response, ValueType};

use crate::processing::deployment::delete_resource;
use crate::processing::{Context, Outcome, reject};
use plan::Plan;
use walk::{Move, Reach};

pub(crate) fn process(cx: &mut Context<'_>, command: &MigrateProcessInstance) -> Outcome {
    let plan = Plan::of(cx, command)?;
    let mut progress = MigrationProgress::default();
    if go_on(cx, &plan, &mut progress)? {
        finish(cx, &plan);
        return Ok(Some(Response::Empty));
    }
    put_off(cx, &plan, progress);
    if let Some(request) = cx.request {
        cx.volatile
            .awaiting_migration
            .insert(plan.instance, request);
    }
    Ok(None)
}

/// [`Step::Migrate`]: the next turn.
pub(crate) fn carry_on(cx: &mut Context<'_>, instance: Key) {
    let Some(row) = cx.state.migrations.get(instance).cloned() else {
        return;
    };
    let Some(plan) = Plan::of_row(cx, instance, &row) else {
        return cx.broken(format_args!(
            "a definition of the migration of {instance} is gone"
        ));
    };
    let mut progress = row.progress;
    let outcome = match go_on(cx, &plan, &mut progress) {
        Ok(true) => {
            finish(cx, &plan);
            Ok(Response::Empty)
        }
        Ok(false) => return put_off(cx, &plan, progress),
        Err(rejection) => {
            let (value_type, intent) = (ValueType::ProcessInstanceMigration, Intent::Migrate.id());
            let (tenant, of) = (cx.tenant_of(plan.target.key), (value_type, intent));
            cx.out.rejection_for(&tenant, Key::NONE, of, &rejection);
            cx.event(instance, Intent::Abandoned, &plan.value(progress));
            delete_resource::released(cx, plan.target.key);
            Err(rejection)
        }
    };
    if let Some(request) = cx.volatile.awaiting_migration.remove(&instance) {
        cx.respond(request, outcome);
    }
}

fn put_off(cx: &mut Context<'_>, plan: &Plan, progress: MigrationProgress) {
    let mut value = plan.value(progress);
    if cx.state.migrations.get(plan.instance).is_some() {
        // They are already known.
        value.mapping_instructions.clear();
    }
    cx.event(plan.instance, Intent::Migrating, &value);
    cx.steps.again(Step::Migrate(plan.instance));
}

/// Continues until everything is done (true) or the turn is over, with at least one move. A rejection comes before anything
/// is migrated.
fn go_on(
    cx: &mut Context<'_>,
    plan: &Plan,
    progress: &mut MigrationProgress,
) -> Result<bool, Rejection> {
    loop {
        match progress.phase {
            MigrationPhase::Checking => {
                match walk::next(cx, plan.instance, progress, Reach::Instance) {
                    Move::Visit(key) => check::element(cx, plan, key)?,
                    Move::Pass => {}
                    Move::End => begin(progress, MigrationPhase::CheckingCompensations),
                }
            }
            MigrationPhase::CheckingCompensations => match next_compensation(cx, plan, progress) {
                Some(key) => compensation::check(cx, plan, key)?,
                None => {
                    message_start::migrate(cx, plan)?;
                    begin(progress, MigrationPhase::Migrating);
                }
            },
            MigrationPhase::Migrating => {
                match walk::next(cx, plan.instance, progress, Reach::CalledInstances) {
                    Move::Visit(key) => element::migrate(cx, plan, key, progress),
                    Move::Pass => {}
                    Move::End => begin(progress, MigrationPhase::MigratingCompensations),
                }
            }
            MigrationPhase::MigratingCompensations => match next_compensation(cx, plan, progress) {
                Some(key) => compensation::migrate(cx, plan, key),
                None => return Ok(true),
            },
        }
        if cx.is_spent() {
            return Ok(false);
        }
    }
}

fn begin(progress: &mut MigrationProgress, phase: MigrationPhase) {
    *progress = MigrationProgress {
        phase,
        ..MigrationProgress::default()
    };
}

fn next_compensation(
    cx: &mut Context<'_>,
    plan: &Plan,
    progress: &mut MigrationProgress,
) -> Option<Key> {
    cx.budget.take_step();
    let compensations = &cx.state.compensations;
    let next = compensations.after(plan.instance, progress.at).next()?;
    progress.at = next;
    Some(next)
}

fn finish(cx: &mut Context<'_>, plan: &Plan) {
    let value = plan.value(MigrationProgress::default());
    cx.event(plan.instance, Intent::Migrated, &value);
    // It may have been the last one of a definition that is being deleted.
    delete_resource::released(cx, plan.source.key);
}

pub(crate) fn not_found(instance: Key) -> Rejection {
    refuse(
        RejectionType::NotFound,
        instance,
        "no process instance with this key is active",
    )
}

/// `why` continues the text after "but".
fn refuse(kind: RejectionType, instance: Key, why: impl std::fmt::Display) -> Rejection {
    let reason = format!("Expected to migrate process instance '{instance}', but {why}");
    reject(kind, "MIGRATE", reason)
}
