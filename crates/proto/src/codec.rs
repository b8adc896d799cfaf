//! The codec of all calls: prost's, with buffers of the size of our messages.

use std::any::TypeId;
use std::marker::PhantomData;

use prost::Message;
use tonic::codec::{self, BufferSettings};
use tonic_prost::{ProstCodec, ProstDecoder, ProstEncoder};

use crate::gateway_protocol::{ActivateJobsResponse, ActivatedJob};

/// Bytes that a call of one message reserves for it, each way. Most messages have less, and what has more grows. Tonic's own 8 KiB are
/// allocated twice in each call, and cost more there than the message.
const ONE_MESSAGE: usize = 512;
/// Bytes that a stream of jobs fills again and again.
const STREAM: usize = 8 * 1024;
/// Encoded bytes after which a stream hands out what it has.
const HAND_OUT: usize = 32 * 1024;

/// See the [module](self).
#[derive(Clone, Debug)]
pub struct Codec<T, U>(PhantomData<(T, U)>);

impl<T, U> Default for Codec<T, U> {
    fn default() -> Self {
        Codec(PhantomData)
    }
}

impl<T, U> codec::Codec for Codec<T, U>
where
    T: Message + Send + 'static,
    U: Message + Default + Send + 'static,
{
    type Encode = T;
    type Decode = U;
    type Encoder = ProstEncoder<T>;
    type Decoder = ProstDecoder<U>;

    fn encoder(&mut self) -> ProstEncoder<T> {
        ProstCodec::<T, U>::raw_encoder(buffers_of::<T>())
    }

    fn decoder(&mut self) -> ProstDecoder<U> {
        ProstCodec::<T, U>::raw_decoder(buffers_of::<U>())
    }
}

fn buffers_of<T: 'static>() -> BufferSettings {
    let of_streams = [
        TypeId::of::<ActivatedJob>(),
        TypeId::of::<ActivateJobsResponse>(),
    ];
    let size = if of_streams.contains(&TypeId::of::<T>()) {
        STREAM
    } else {
        ONE_MESSAGE
    };
    BufferSettings::new(size, HAND_OUT)
}
