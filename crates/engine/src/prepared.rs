//! Work on a command outside the partition's thread, which serves everyone: models are compiled before their deployment
//! reaches the partition, and [long evaluations](crate::evaluation) are carried out before their command comes again.
//!
//! Correctness does not depend on it. An unprepared command leads to the same records; replay compiles what it needs.

use skep_dmn::Drg;
use skep_model::Process;
use skep_protocol::command::Command;
use skep_protocol::{Key, Rejection, Response};

use crate::evaluation::DecisionOutcome;
use crate::processing::deployment::{Parsed, read};
use crate::remote::{Definition, Distributed, RemoteCommand, Sent};
use crate::state;

/// Prepared work. Pass it to [`Engine::prepare`](crate::Engine::prepare) right before its command.
#[derive(Debug)]
pub struct Prepared(pub(crate) Kind);

#[derive(Debug)]
pub(crate) enum Kind {
    /// The parsed resources of a deployment, or its rejection.
    Resources(Result<Vec<Parsed>, Rejection>),
    /// The definitions that another partition has deployed.
    Definitions(Vec<Compiled>),
    /// The response to a client's expression.
    Answer(Result<Response, Rejection>),
    /// The outcome of the decision with this key.
    Decision(Key, DecisionOutcome),
}

/// A compiled definition, as the state keeps it beside its row.
#[derive(Debug)]
pub(crate) enum Compiled {
    Process(Key, Process),
    Decisions(Key, Drg),
}

impl Prepared {
    /// Parses the resources of a deployment. No other command has slow work.
    pub fn of_command(command: &Command) -> Option<Prepared> {
        let resources = command.deployed()?;
        Some(Prepared(Kind::Resources(read(resources))))
    }

    /// The rejection of the deployment, if its resources are invalid.
    pub fn refusal(&self) -> Option<&Rejection> {
        match &self.0 {
            Kind::Resources(Err(rejection)) => Some(rejection),
            _ => None,
        }
    }

    /// Compiles the definitions in a command of another partition.
    pub fn of_sent(sent: &Sent) -> Option<Prepared> {
        let definitions = distributed(sent)?;
        let compiled = definitions.iter().filter_map(|new| match new {
            Definition::Process(value) => {
                let graph = state::processes::compile(value).ok()?;
                Some(Compiled::Process(value.process_definition_key, graph))
            }
            Definition::DecisionRequirements(value) => {
                let graph = state::decisions::compile(value).ok()?;
                Some(Compiled::Decisions(value.metadata.key, graph))
            }
            _ => None,
        });
        Some(Prepared(Kind::Definitions(compiled.collect())))
    }

    /// True if the command has something to prepare.
    pub fn is_for(command: &Command) -> bool {
        command.deployed().is_some()
    }

    /// True if a command of another partition has something to prepare.
    pub fn is_for_sent(sent: &Sent) -> bool {
        distributed(sent).is_some()
    }
}

fn distributed(sent: &Sent) -> Option<&[Definition]> {
    match &sent.command {
        RemoteCommand::Distribute {
            command: Distributed::Deployment { definitions, .. },
            ..
        } => Some(definitions),
        _ => None,
    }
}
