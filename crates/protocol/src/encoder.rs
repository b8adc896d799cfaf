//! Writes plain values in postcard's format, which postcard reads back.
//!
//! Postcard's own serializer writes a number byte by byte, and most of what the log holds are numbers: keys of eight bytes,
//! 77 numbers for an instance with one task. This one writes each of them at once.

use std::fmt::Error;

use serde::ser::{self, Serialize};

use crate::varint;

/// Appends to a vector. The only error is a sequence or map whose length is not known before its items, which no value here has.
pub(crate) struct Encoder<'a>(pub(crate) &'a mut Vec<u8>);

/// Numbers of seven bits per byte; those with a sign alternate between positive and negative ones, so that small ones stay short.
macro_rules! numbers {
    ($($unsigned:ident $signed:ident $method:ident $signed_method:ident)*) => {$(
        #[inline]
        fn $method(self, value: $unsigned) -> Result<(), Error> {
            varint::write(self.0, u64::from(value));
            Ok(())
        }

        #[inline]
        fn $signed_method(self, value: $signed) -> Result<(), Error> {
            varint::write(self.0, u64::from(((value << 1) ^ (value >> ($signed::BITS - 1))) as $unsigned));
            Ok(())
        }
    )*};
}

impl<'a> ser::Serializer for &mut Encoder<'a> {
    type Ok = ();
    type Error = Error;
    type SerializeSeq = Self;
    type SerializeTuple = Self;
    type SerializeTupleStruct = Self;
    type SerializeTupleVariant = Self;
    type SerializeMap = Self;
    type SerializeStruct = Self;
    type SerializeStructVariant = Self;

    numbers! {
        u16 i16 serialize_u16 serialize_i16
        u32 i32 serialize_u32 serialize_i32
        u64 i64 serialize_u64 serialize_i64
    }

    fn is_human_readable(&self) -> bool {
        false
    }

    #[inline]
    fn serialize_bool(self, value: bool) -> Result<(), Error> {
        self.serialize_u8(u8::from(value))
    }

    #[inline]
    fn serialize_u8(self, value: u8) -> Result<(), Error> {
        self.0.push(value);
        Ok(())
    }

    #[inline]
    fn serialize_i8(self, value: i8) -> Result<(), Error> {
        self.serialize_u8(value as u8)
    }

    fn serialize_u128(self, mut value: u128) -> Result<(), Error> {
        while value >= 0x80 {
            self.0.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.serialize_u8(value as u8)
    }

    fn serialize_i128(self, value: i128) -> Result<(), Error> {
        self.serialize_u128(((value << 1) ^ (value >> 127)) as u128)
    }

    fn serialize_f32(self, value: f32) -> Result<(), Error> {
        self.0.extend_from_slice(&value.to_le_bytes());
        Ok(())
    }

    fn serialize_f64(self, value: f64) -> Result<(), Error> {
        self.0.extend_from_slice(&value.to_le_bytes());
        Ok(())
    }

    fn serialize_char(self, value: char) -> Result<(), Error> {
        self.serialize_str(value.encode_utf8(&mut [0; 4]))
    }

    #[inline]
    fn serialize_str(self, text: &str) -> Result<(), Error> {
        self.serialize_bytes(text.as_bytes())
    }

    #[inline]
    fn serialize_bytes(self, bytes: &[u8]) -> Result<(), Error> {
        varint::write(self.0, bytes.len() as u64);
        self.0.extend_from_slice(bytes);
        Ok(())
    }

    #[inline]
    fn serialize_none(self) -> Result<(), Error> {
        self.serialize_u8(0)
    }

    #[inline]
    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<(), Error> {
        self.0.push(1);
        value.serialize(self)
    }

    #[inline]
    fn serialize_unit(self) -> Result<(), Error> {
        Ok(())
    }

    #[inline]
    fn serialize_unit_struct(self, _: &'static str) -> Result<(), Error> {
        Ok(())
    }

    #[inline]
    fn serialize_unit_variant(
        self,
        _: &'static str,
        index: u32,
        _: &'static str,
    ) -> Result<(), Error> {
        self.serialize_u32(index)
    }

    #[inline]
    fn serialize_newtype_struct<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        value: &T,
    ) -> Result<(), Error> {
        value.serialize(self)
    }

    #[inline]
    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        index: u32,
        _: &'static str,
        value: &T,
    ) -> Result<(), Error> {
        varint::write(self.0, u64::from(index));
        value.serialize(self)
    }

    #[inline]
    fn serialize_seq(self, length: Option<usize>) -> Result<Self, Error> {
        varint::write(self.0, length.ok_or(Error)? as u64);
        Ok(self)
    }

    #[inline]
    fn serialize_tuple(self, _: usize) -> Result<Self, Error> {
        Ok(self)
    }

    #[inline]
    fn serialize_tuple_struct(self, _: &'static str, _: usize) -> Result<Self, Error> {
        Ok(self)
    }

    #[inline]
    fn serialize_tuple_variant(
        self,
        _: &'static str,
        index: u32,
        _: &'static str,
        _: usize,
    ) -> Result<Self, Error> {
        varint::write(self.0, u64::from(index));
        Ok(self)
    }

    #[inline]
    fn serialize_map(self, length: Option<usize>) -> Result<Self, Error> {
        self.serialize_seq(length)
    }

    #[inline]
    fn serialize_struct(self, _: &'static str, _: usize) -> Result<Self, Error> {
        Ok(self)
    }

    #[inline]
    fn serialize_struct_variant(
        self,
        _: &'static str,
        index: u32,
        _: &'static str,
        _: usize,
    ) -> Result<Self, Error> {
        varint::write(self.0, u64::from(index));
        Ok(self)
    }
}

/// A value with parts is written as its parts, one after the other.
macro_rules! parts {
    ($($of:ident $method:ident($($name:ty)?);)*) => {$(
        impl ser::$of for &mut Encoder<'_> {
            type Ok = ();
            type Error = Error;

            #[inline]
            fn $method<T: Serialize + ?Sized>(&mut self, $(_: $name,)? value: &T) -> Result<(), Error> {
                value.serialize(&mut **self)
            }

            #[inline]
            fn end(self) -> Result<(), Error> {
                Ok(())
            }
        }
    )*};
}

parts! {
    SerializeSeq serialize_element();
    SerializeTuple serialize_element();
    SerializeTupleStruct serialize_field();
    SerializeTupleVariant serialize_field();
    SerializeStruct serialize_field(&'static str);
    SerializeStructVariant serialize_field(&'static str);
}

impl ser::SerializeMap for &mut Encoder<'_> {
    type Ok = ();
    type Error = Error;

    #[inline]
    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Result<(), Error> {
        key.serialize(&mut **self)
    }

    #[inline]
    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Error> {
        value.serialize(&mut **self)
    }

    #[inline]
    fn end(self) -> Result<(), Error> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;
    use serde::Serialize;

    #[derive(Clone, Debug, Serialize)]
    enum Shape {
        Unit,
        New(Box<Shape>),
        Pair(i16, char),
        Named { flag: bool, list: Vec<Shape> },
    }

    #[derive(Clone, Debug, Serialize)]
    struct New(f64);

    #[derive(Clone, Debug, Serialize)]
    struct Pair(u8, i8);

    #[derive(Clone, Debug, Serialize)]
    struct Nothing;

    #[derive(Clone, Debug, Serialize)]
    struct All {
        small: (u8, i8, u16, i16, u32, i32),
        long: (u64, i64, u128, i128),
        float: (f32, New),
        text: (String, char, Option<String>),
        pair: (Pair, Nothing, ()),
        map: BTreeMap<String, Option<i64>>,
        shapes: Vec<Shape>,
    }

    fn shape() -> impl Strategy<Value = Shape> {
        let leaf = prop_oneof![
            Just(Shape::Unit),
            any::<(i16, char)>().prop_map(|(number, letter)| Shape::Pair(number, letter)),
        ];
        leaf.prop_recursive(3, 12, 4, |inner| {
            prop_oneof![
                inner.clone().prop_map(|shape| Shape::New(Box::new(shape))),
                (any::<bool>(), prop::collection::vec(inner, 0..4))
                    .prop_map(|(flag, list)| Shape::Named { flag, list }),
            ]
        })
    }

    prop_compose! {
        /// Numbers of all lengths, not only long ones.
        fn long()(value: (u64, i64, u128, i128), shift in 0..64) -> (u64, i64, u128, i128) {
            let (a, b, c, d) = value;
            (a >> shift, b >> shift, c >> (2 * shift), d >> (2 * shift))
        }
    }

    prop_compose! {
        fn all()(
            small: (u8, i8, u16, i16, u32, i32),
            long in long(),
            floats: (f32, f64),
            text: (String, char, Option<String>),
            pair: (u8, i8),
            map in prop::collection::btree_map(".{0,200}", any::<Option<i64>>(), 0..3),
            shapes in prop::collection::vec(shape(), 0..4),
        ) -> All {
            All {
                small,
                long,
                float: (floats.0, New(floats.1)),
                text,
                pair: (Pair(pair.0, pair.1), Nothing, ()),
                map,
                shapes,
            }
        }
    }

    proptest! {
        #[test]
        fn every_shape_of_value_is_written_as_postcard_writes_it(value in all()) {
            prop_assert_eq!(crate::record::encode(&value), postcard::to_stdvec(&value).expect("plain data"));
        }
    }
}
