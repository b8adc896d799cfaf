//! Commands that change the state of a server: deploy, start, complete, resolve, cancel and the like.

pub mod batch;
pub mod cancel;
pub mod complete;
pub mod delete;
pub mod deploy;
pub mod evaluate;
pub mod fail;
pub mod migrate;
pub mod modify;
pub mod publish;
pub mod resolve;
pub mod run;
pub mod set;
pub mod signal;
pub mod start;
