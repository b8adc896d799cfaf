//! Resources deployed besides processes, and small decision files.

use skep_protocol::command::Command;
use skep_protocol::value::DeploymentValue;
use skep_protocol::{Key, Rejection, Response};

use super::Rig;

impl Rig {
    /// Deploys these files and returns the deployment.
    pub fn deployed(&mut self, files: Vec<(&str, String)>) -> DeploymentValue {
        match self.deploy_files(files) {
            Ok(Response::Deployed(deployed)) => deployed,
            other => panic!("not deployed: {other:?}"),
        }
    }

    /// Deletes a resource with its history. Returns the key of the batch operation.
    pub fn delete_with_history(&mut self, resource_key: Key) -> Option<Key> {
        let request = self.send_async(Command::DeleteResource {
            resource_key,
            delete_history: true,
        });
        match self.answer(request) {
            Some(Ok(Response::BatchOperationCreated { key, .. })) => Some(key),
            Some(Ok(Response::Empty)) => None,
            other => panic!("not deleted: {other:?}"),
        }
    }

    pub fn delete_resource(&mut self, key: Key) -> Result<Response, Rejection> {
        self.send(Command::DeleteResource {
            resource_key: key,
            delete_history: false,
        })
    }
}

/// A DMN file with one decision, a literal expression.
pub fn decision(file: &str, id: &str, expression: &str) -> String {
    decisions(
        file,
        &format!(
            r#"<decision id="{id}" name="{id} name"><literalExpression><text>{expression}</text></literalExpression></decision>"#
        ),
    )
}

/// A DMN file with this content.
pub fn decisions(file: &str, content: &str) -> String {
    format!(
        r#"<definitions xmlns="https://www.omg.org/spec/DMN/20191111/MODEL/" xmlns:zeebe="http://camunda.org/schema/zeebe/1.0" id="{file}" name="{file} name" namespace="n">{content}</definitions>"#
    )
}
