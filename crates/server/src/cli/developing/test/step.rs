//! Carries out one instruction.

use super::assert::{decision, elements, process, subscription, user_task, variables};
use super::instruction::Instruction;
use super::wait::Wrong;
use super::world::World;
use super::{act, jobs, mock, worker};

pub async fn carry_out(world: &mut World, instruction: &Instruction) -> Result<(), Wrong> {
    use Instruction as I;
    match instruction {
        I::AssertDecision(of) => decision::assert(world, of).await,
        I::AssertElementInstance(of) => elements::assert_one(world, of).await,
        I::AssertElementInstances(of) => elements::assert_all(world, of).await,
        I::AssertProcessInstance(of) => process::assert(world, of).await,
        I::AssertSubscription(of) => subscription::assert(world, of).await,
        I::AssertUserTask(of) => user_task::assert(world, of).await,
        I::AssertVariables(of) => variables::assert(world, of).await,
        I::BroadcastSignal(of) => act::broadcast(world, of).await,
        I::CompleteJob(of) => jobs::complete(world, of).await,
        I::CompleteAdHocJob(of) => jobs::complete_ad_hoc(world, of).await,
        I::CompleteListenerJob(of) => jobs::complete_listener(world, of).await,
        I::CompleteUserTask(of) => jobs::complete_user_task(world, of).await,
        I::CorrelateMessage(of) => act::correlate(world, of).await,
        I::CreateProcessInstance(of) => act::create(world, of).await,
        I::EvaluateConditions(of) => act::evaluate_conditions(world, of).await,
        I::EvaluateDecision(of) => act::evaluate_decision(world, of).await,
        I::IncreaseTime(of) => Ok(world.increase_time(of.duration.0).await?),
        I::MockChildProcess(of) => {
            let model = mock::process(&of.process_definition_id, of.variables.as_ref());
            Ok(world.mock(model).await?)
        }
        I::MockDecision(of) => {
            let model = mock::decision(&of.decision_definition_id, of.variables.as_ref());
            Ok(world.mock(model).await?)
        }
        I::MockCompletingWorker(of) => {
            worker::completes(world, of);
            Ok(())
        }
        I::MockThrowingWorker(of) => {
            worker::throws(world, of);
            Ok(())
        }
        I::PublishMessage(of) => act::publish(world, of).await,
        I::ResolveIncident(of) => act::resolve(world, of).await,
        I::SetTime(of) => Ok(world.set_time(of.time.0).await?),
        I::ThrowBpmnError(of) => jobs::throw(world, of).await,
        I::UpdateVariables(of) => act::update_variables(world, of).await,
    }
}
