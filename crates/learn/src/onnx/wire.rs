//! How is a protobuf message taken apart?
//!
//! [`Fields`] walks one message and yields each field's number and value, and that is all there is to
//! the format: nested messages are bytes, read by another [`Fields`].
//!
//! **Invariant:** no input panics or allocates; a length beyond the end is an error.

/// One field's value, as it lies on the wire.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Value<'a> {
    Varint(u64),
    Fixed64([u8; 8]),
    Bytes(&'a [u8]),
    Fixed32([u8; 4]),
}

/// A message that ends too soon, or was never one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadProtobuf {
    /// The message ends in the middle of a field.
    #[error("it ends in the middle of a field")]
    Cut,
    /// A field is encoded in a way that does not exist, or not for this field.
    #[error("field {0} has an impossible encoding")]
    Encoding(u64),
    /// Text that is not UTF-8.
    #[error("field {0} is not text")]
    Text(u64),
    /// A tensor whose values do not fill its shape.
    #[error("a tensor's values do not fill its shape")]
    Tensor,
    /// A tensor whose values lie in another file.
    #[error(
        "its weights lie in another file: export it with `external_data=False`, so that they are \
         in this one"
    )]
    External,
    /// A model without a graph.
    #[error("it has no graph")]
    NoGraph,
}

/// The fields of one message, in order.
#[derive(Clone, Debug)]
pub(super) struct Fields<'a> {
    rest: &'a [u8],
}

impl<'a> Fields<'a> {
    pub(super) fn new(message: &'a [u8]) -> Fields<'a> {
        Fields { rest: message }
    }

    fn field(&mut self) -> Result<(u64, Value<'a>), BadProtobuf> {
        let key = varint(&mut self.rest)?;
        let value = match key & 7 {
            0 => Value::Varint(varint(&mut self.rest)?),
            1 => Value::Fixed64(*take_array(&mut self.rest)?),
            2 => {
                let length = varint(&mut self.rest)?;
                let length = usize::try_from(length).map_err(|_| BadProtobuf::Cut)?;
                let (bytes, rest) = self.rest.split_at_checked(length).ok_or(BadProtobuf::Cut)?;
                self.rest = rest;
                Value::Bytes(bytes)
            }
            5 => Value::Fixed32(*take_array(&mut self.rest)?),
            _ => return Err(BadProtobuf::Encoding(key >> 3)),
        };
        Ok((key >> 3, value))
    }
}

impl<'a> Iterator for Fields<'a> {
    type Item = Result<(u64, Value<'a>), BadProtobuf>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.rest.is_empty() {
            return None;
        }
        let field = self.field();
        if field.is_err() {
            // Where one field is unreadable, so is everything after it.
            self.rest = &[];
        }
        Some(field)
    }
}

impl<'a> Value<'a> {
    /// The value as a nested message, text or packed numbers.
    pub(super) fn bytes(self, field: u64) -> Result<&'a [u8], BadProtobuf> {
        if let Value::Bytes(bytes) = self { Ok(bytes) } else { Err(BadProtobuf::Encoding(field)) }
    }

    /// The value as text.
    pub(super) fn text(self, field: u64) -> Result<String, BadProtobuf> {
        let bytes = self.bytes(field)?.to_vec();
        String::from_utf8(bytes).map_err(|_| BadProtobuf::Text(field))
    }

    /// The value as a whole number.
    pub(super) fn integer(self, field: u64) -> Result<i64, BadProtobuf> {
        if let Value::Varint(value) = self {
            Ok(value.cast_signed())
        } else {
            Err(BadProtobuf::Encoding(field))
        }
    }

    /// The value as a float.
    pub(super) fn float(self, field: u64) -> Result<f32, BadProtobuf> {
        if let Value::Fixed32(bytes) = self {
            Ok(f32::from_le_bytes(bytes))
        } else {
            Err(BadProtobuf::Encoding(field))
        }
    }

    /// Appends repeated whole numbers, packed or one by one.
    pub(super) fn integers(self, field: u64, out: &mut Vec<i64>) -> Result<(), BadProtobuf> {
        match self {
            Value::Bytes(mut packed) => {
                while !packed.is_empty() {
                    out.push(varint(&mut packed)?.cast_signed());
                }
            }
            single => out.push(single.integer(field)?),
        }
        Ok(())
    }

    /// Appends repeated floats, packed or one by one.
    pub(super) fn floats(self, field: u64, out: &mut Vec<f32>) -> Result<(), BadProtobuf> {
        match self {
            Value::Bytes(packed) => {
                let (floats, rest) = packed.as_chunks();
                if !rest.is_empty() {
                    return Err(BadProtobuf::Encoding(field));
                }
                out.extend(floats.iter().map(|bytes| f32::from_le_bytes(*bytes)));
            }
            single => out.push(single.float(field)?),
        }
        Ok(())
    }
}

fn varint(rest: &mut &[u8]) -> Result<u64, BadProtobuf> {
    let mut value = 0;
    for shift in (0..64).step_by(7) {
        let (&byte, after) = rest.split_first().ok_or(BadProtobuf::Cut)?;
        *rest = after;
        value |= u64::from(byte & 0x7F) << shift;
        if byte < 0x80 {
            return Ok(value);
        }
    }
    Err(BadProtobuf::Encoding(0))
}

fn take_array<'a, const N: usize>(rest: &mut &'a [u8]) -> Result<&'a [u8; N], BadProtobuf> {
    let (array, after) = rest.split_first_chunk().ok_or(BadProtobuf::Cut)?;
    *rest = after;
    Ok(array)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_the_protobuf_guides_examples() {
        let message = [0x08, 0x96, 0x01, 0x12, 0x07, b't', b'e', b's', b't', b'i', b'n', b'g'];
        let fields: Vec<_> = Fields::new(&message).collect();
        assert_eq!(fields, [Ok((1, Value::Varint(150))), Ok((2, Value::Bytes(b"testing")))]);
    }

    #[test]
    fn a_cut_message_is_an_error_and_ends_the_walk() {
        let fields: Vec<_> = Fields::new(&[0x12, 0x07, b't']).collect();
        assert_eq!(fields, [Err(BadProtobuf::Cut)]);
        let fields: Vec<_> = Fields::new(&[0x0B]).collect();
        assert_eq!(fields, [Err(BadProtobuf::Encoding(1))]);
    }
}
