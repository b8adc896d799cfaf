//! The macro for the rows.

/// Declares operations of one tag, one row each: method, template and the parameters in it with their types, the operation's id, and then
///
/// - `does`: a command with its row in the protocol, and how a request becomes it; a query with its entity; the pulse; the
///   knowledge of all nodes; an endpoint of the management port; a file of the documents; or an answer of the gateway itself. Parameters have the names that they
///   have in the template.
/// - `needs`: the permission that the caller needs. A command has it in its own row; everything else states it here.
/// - `rpc`: the equivalent RPCs.
///
/// Rows that contradict the template, or name no command, do not compile.
macro_rules! operations {
    ($tag:literal: $(
        $method:ident $path:literal ($($parameter:ident: $kind:ident),*) $id:ident {
            does: $does:ident $(($of:ident))? $(takes $takes:ident)? $(= |$call:pat_param| $body:expr)?,
            $(needs: $needs:expr,)?
            $(rpc: [$($rpc:ident),+],)?
        }
    )+) => {
        #[allow(non_snake_case)] // Parameters have the names that they have in the path.
        pub const ROWS: &[$crate::rest::operations::Operation] = &[$(
            $crate::rest::operations::Operation {
                tag: $tag,
                method: stringify!($method),
                path: $path,
                parameters: &[$($crate::rest::operations::path::Parameter {
                    name: stringify!($parameter),
                    kind: <$kind as $crate::rest::operations::path::FromPath>::KIND,
                }),*],
                id: stringify!($id),
                does: operations!(@does ($($parameter: $kind),*) $does $(($of))? $(takes $takes)? $(= $call, $body)?),
                needs: operations!(@needs $does $($needs)?),
                rpcs: &[$($(stringify!($rpc)),+)?],
            }
            .checked()
        ),+];
    };

    (@does ($($path:tt)*) Command($command:ident) $(takes $takes:ident)? = $call:pat_param, $body:expr) => {
        $crate::rest::operations::Does::Command {
            row: $crate::rest::operations::row(Command::ROWS, stringify!($command)),
            takes: operations!(@takes $($takes)?),
            decode: |call| {
                operations!(@read call $($path)*);
                let $call = call;
                Ok($body?)
            },
        }
    };
    (@does ($($path:tt)*) BatchCommand($command:ident) = $call:pat_param, $body:expr) => {
        $crate::rest::operations::Does::Command {
            row: $crate::rest::operations::row(BatchCommand::ROWS, stringify!($command)),
            takes: operations!(@takes),
            decode: |call| {
                operations!(@read call $($path)*);
                let $call = call;
                Ok($body?)
            },
        }
    };
    (@does ($($path:tt)*) IdentityCommand($command:ident) = $call:pat_param, $body:expr) => {
        $crate::rest::operations::Does::Command {
            row: $crate::rest::operations::row(IdentityCommand::ROWS, stringify!($command)),
            takes: operations!(@takes),
            decode: |call| {
                operations!(@read call $($path)*);
                let $call = call;
                Ok($body?)
            },
        }
    };
    (@does ($($path:tt)*) KeptCommand($command:ident) = $call:pat_param, $body:expr) => {
        $crate::rest::operations::Does::Command {
            row: $crate::rest::operations::row(KeptCommand::ROWS, stringify!($command)),
            takes: operations!(@takes),
            decode: |call| {
                operations!(@read call $($path)*);
                let $call = call;
                $body
            },
        }
    };
    (@does ($($path:tt)*) Query($entity:ident) = $call:pat_param, $body:expr) => {
        $crate::rest::operations::Does::Query {
            entity: &$entity,
            decode: |call| {
                operations!(@read call $($path)*);
                let $call = call;
                $body.map($crate::rest::queries::What::from)
            },
        }
    };
    (@does () Page($entity:ident)) => {
        $crate::rest::operations::Does::Query {
            entity: &$entity,
            decode: |call| queries::page(&$entity, call.text, call.parts),
        }
    };
    (@does ($parameter:ident: Key) One($entity:ident)) => {
        $crate::rest::operations::Does::Query {
            entity: &$entity,
            decode: |call| {
                operations!(@read call $parameter: Key);
                Ok(queries::one(&$entity, $parameter))
            },
        }
    };
    (@does () Answer = $front:pat_param, $body:expr) => {
        $crate::rest::operations::Does::Answer(|$front| $body)
    };
    (@does () AnswerCaller = $asked:pat_param, $body:expr) => {
        $crate::rest::operations::Does::AnswerCaller(|$asked| $body)
    };
    (@does () Pulse) => {
        $crate::rest::operations::Does::Pulse
    };
    (@does () AskNodes($asked:ident)) => {
        $crate::rest::operations::Does::AskNodes($crate::rest::nodes::NodesQuery::$asked)
    };
    (@does ($($path:tt)*) Manage) => {
        $crate::rest::operations::Does::Manage
    };
    (@does ($($path:tt)*) Document($document:ident)) => {
        $crate::rest::operations::Does::Document(documents::Operation::$document)
    };

    (@read $call:ident $($parameter:ident: $kind:ident),*) => {
        #[allow(unused_mut, unused_variables)] // Where there are none.
        let mut texts = $call.path.iter();
        $(let $parameter = <$kind as $crate::rest::operations::path::FromPath>::read(
            stringify!($parameter),
            texts.next().unwrap_or_default(),
        )?;)*
    };

    (@takes) => { $crate::rest::operations::Takes::Json };
    (@takes Files) => { $crate::rest::operations::Takes::Files };

    (@needs Command) => { $crate::rest::operations::Needs::OfCommand };
    (@needs KeptCommand) => { $crate::rest::operations::Needs::OfCommand };
    (@needs IdentityCommand) => { $crate::rest::operations::Needs::OfCommand };
    (@needs BatchCommand) => { $crate::rest::operations::Needs::OfCommand };
    (@needs $does:ident $needs:expr) => { $crate::rest::operations::Needs::Stated(&$needs) };
    (@needs $does:ident) => { compile_error!("an operation says what its caller needs") };
}

/// Declares operations that are answered with 501.
macro_rules! missing {
    ($($tag:literal: $($method:ident $path:literal ($($parameter:ident: $kind:ident),*) $id:ident;)+)+) => {
        pub const ROWS: &[$crate::rest::operations::Operation] = &[$($(
            $crate::rest::operations::Operation {
                tag: $tag,
                method: stringify!($method),
                path: $path,
                parameters: &[$($crate::rest::operations::path::Parameter {
                    name: stringify!($parameter),
                    kind: $crate::rest::operations::path::Kind::$kind,
                }),*],
                id: stringify!($id),
                does: $crate::rest::operations::Does::NotYet,
                needs: $crate::rest::operations::Needs::NotYet,
                rpcs: &[],
            }
            .checked()
        ),+),+];
    };
}

pub(super) use {missing, operations};
