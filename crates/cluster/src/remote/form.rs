//! The form of a type: what serde reads it from, piece by piece.
//!
//! Arguments, results and states travel without names. Two programs whose types have their
//! fields in another order would read each other's bytes, as something else. So each type is
//! read here from values that are made up, and what it asks for on the way is its form: the
//! names of structs, fields and variants in their order, and the kinds of what is in them.
//!
//! Each round takes of each enum a variant that was not taken before, until there is none. A type
//! that refuses values that are made up (a checked string, say) ends a round, and only what was
//! asked for until then counts. The data behind a [`Remote`](crate::Remote) is not looked at.

use std::collections::HashMap;
use std::fmt;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::panic::{self, AssertUnwindSafe};

use serde::de::{
    self, DeserializeOwned, DeserializeSeed, EnumAccess, IntoDeserializer, MapAccess, SeqAccess,
    VariantAccess, Visitor,
};
use serde::Deserializer;

/// How many pieces are asked for at most: a guard against types that never end.
const PIECES_MAX: u32 = 1 << 16;
/// How deep they may lie in each other.
const DEPTH_MAX: u32 = 128;

/// A number for the form of `T`.
pub(crate) fn of<T: DeserializeOwned>() -> u64 {
    let mut tracer = Tracer::default();
    let mut rounds_without_news = 0;
    // An enum comes to each of its variants in as many rounds, and some lie in another's.
    while rounds_without_news <= tracer.variants_max && tracer.pieces < PIECES_MAX {
        tracer.has_news = false;
        tracer.path.clear();
        (tracer.depth, tracer.nested) = (0, 0);
        // Code of the program runs here, and may not like what it gets.
        let read = || T::deserialize(&mut tracer).is_ok();
        let went = panic::catch_unwind(AssertUnwindSafe(read)).ok();
        tracer.note(&went);
        rounds_without_news = match tracer.has_news {
            true => 0,
            false => rounds_without_news + 1,
        };
    }
    tracer.hasher.finish()
}

/// The name of a struct or an enum, and those of its fields or variants.
type Named = (&'static str, &'static [&'static str]);

/// Answers whatever a type asks for, and notes what that was.
#[derive(Debug, Default)]
struct Tracer {
    hasher: DefaultHasher,
    pieces: u32,
    depth: u32,
    /// The types that are being read, the outermost first.
    path: Vec<Named>,
    /// How many of those lie in one of their own kind: then it is time to come to an end.
    nested: u32,
    enums: HashMap<Named, Variants>,
    /// Of the largest enum.
    variants_max: usize,
    /// A variant was taken for the first time.
    has_news: bool,
}

#[derive(Clone, Copy, Debug, Default)]
struct Variants {
    /// How many times one was taken in turn.
    turns: usize,
    /// The first that could be read to its end.
    ends: Option<usize>,
}

impl Tracer {
    fn note(&mut self, what: &(impl Hash + ?Sized)) {
        what.hash(&mut self.hasher);
    }

    /// Notes a piece.
    fn piece(&mut self, kind: &str) -> Result<(), Stopped> {
        self.note(kind);
        self.pieces += 1;
        if self.pieces > PIECES_MAX || self.depth > DEPTH_MAX {
            return Err(Stopped);
        }
        Ok(())
    }

    /// Reads what has a name, in whose middle it may come again.
    fn within<R>(
        &mut self,
        named: Named,
        read: impl FnOnce(&mut Self) -> Result<R, Stopped>,
    ) -> Result<R, Stopped> {
        self.note(&named);
        let is_nested = self.path.contains(&named);
        self.path.push(named);
        self.nested += u32::from(is_nested);
        self.depth += 1;
        let result = read(self);
        self.depth -= 1;
        self.nested -= u32::from(is_nested);
        self.path.pop();
        result
    }

    /// The variant that is taken this time.
    fn variant(&mut self, named: Named) -> usize {
        let count = named.1.len();
        self.variants_max = self.variants_max.max(count);
        let is_nested = self.nested > 0;
        let variants = self.enums.entry(named).or_default();
        if let Some(ends) = variants.ends.filter(|_| is_nested) {
            return ends;
        }
        self.has_news |= variants.turns < count;
        variants.turns += 1;
        (variants.turns - 1) % count
    }

    fn several<'de, V: Visitor<'de>>(
        &mut self,
        count: usize,
        visitor: V,
    ) -> Result<V::Value, Stopped> {
        self.depth += 1;
        let result = visitor.visit_seq(Several {
            tracer: self,
            left: count,
        });
        self.depth -= 1;
        result
    }
}

/// The values that are made up are no good, or there are enough of them.
#[derive(Clone, Copy, Debug)]
struct Stopped;

impl fmt::Display for Stopped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the form of the type is not looked at any further")
    }
}

impl std::error::Error for Stopped {}

impl de::Error for Stopped {
    fn custom<T: fmt::Display>(_: T) -> Self {
        Self
    }
}

/// Plain values: the method, the kind, and how the visitor is given which value.
macro_rules! plain {
    ($($method:ident $visit:ident $value:expr;)*) => {$(
        fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Stopped> {
            self.piece(stringify!($method))?;
            visitor.$visit($value)
        }
    )*};
}

impl<'de> Deserializer<'de> for &mut Tracer {
    type Error = Stopped;

    // No zeros, which some types refuse.
    plain! {
        deserialize_bool visit_bool true;
        deserialize_i8 visit_i8 1;
        deserialize_i16 visit_i16 1;
        deserialize_i32 visit_i32 1;
        deserialize_i64 visit_i64 1;
        deserialize_i128 visit_i128 1;
        deserialize_u8 visit_u8 1;
        deserialize_u16 visit_u16 1;
        deserialize_u32 visit_u32 1;
        deserialize_u64 visit_u64 1;
        deserialize_u128 visit_u128 1;
        deserialize_f32 visit_f32 1.0;
        deserialize_f64 visit_f64 1.0;
        deserialize_char visit_char '1';
        deserialize_str visit_str "1";
        deserialize_string visit_str "1";
        deserialize_bytes visit_bytes b"1";
        deserialize_byte_buf visit_bytes b"1";
    }

    fn deserialize_unit<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Stopped> {
        self.piece("unit")?;
        visitor.visit_unit()
    }

    fn deserialize_unit_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        visitor: V,
    ) -> Result<V::Value, Stopped> {
        self.note(name);
        self.deserialize_unit(visitor)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Stopped> {
        self.piece("option")?;
        match self.nested {
            0 => visitor.visit_some(self),
            _ => visitor.visit_none(),
        }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        visitor: V,
    ) -> Result<V::Value, Stopped> {
        self.piece("newtype")?;
        self.within((name, &[]), |tracer| visitor.visit_newtype_struct(tracer))
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Stopped> {
        self.piece("sequence")?;
        let count = usize::from(self.nested == 0);
        self.several(count, visitor)
    }

    fn deserialize_tuple<V: Visitor<'de>>(
        self,
        len: usize,
        visitor: V,
    ) -> Result<V::Value, Stopped> {
        self.piece("tuple")?;
        self.note(&len);
        self.several(len, visitor)
    }

    fn deserialize_tuple_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        len: usize,
        visitor: V,
    ) -> Result<V::Value, Stopped> {
        self.within((name, &[]), |tracer| tracer.deserialize_tuple(len, visitor))
    }

    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Stopped> {
        self.piece("map")?;
        let left = usize::from(self.nested == 0);
        self.depth += 1;
        let result = visitor.visit_map(Several {
            tracer: &mut *self,
            left,
        });
        self.depth -= 1;
        result
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Stopped> {
        self.piece("struct")?;
        let read = |tracer: &mut Tracer| tracer.several(fields.len(), visitor);
        self.within((name, fields), read)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Stopped> {
        self.piece("enum")?;
        if variants.is_empty() {
            return Err(Stopped);
        }
        let named = (name, variants);
        self.within(named, |tracer| {
            let taken = tracer.variant(named);
            let value = visitor.visit_enum(Variant {
                tracer: &mut *tracer,
                taken,
            })?;
            let known = tracer.enums.entry(named).or_default();
            known.ends.get_or_insert(taken);
            Ok(value)
        })
    }

    // Types that ask for these cannot travel: their bytes do not say what they are.
    fn deserialize_any<V: Visitor<'de>>(self, _: V) -> Result<V::Value, Stopped> {
        self.piece("anything").and(Err(Stopped))
    }

    fn deserialize_identifier<V: Visitor<'de>>(self, _: V) -> Result<V::Value, Stopped> {
        self.piece("name").and(Err(Stopped))
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(self, _: V) -> Result<V::Value, Stopped> {
        self.piece("ignored").and(Err(Stopped))
    }

    fn is_human_readable(&self) -> bool {
        false
    }
}

/// The pieces of a sequence or map.
struct Several<'a> {
    tracer: &'a mut Tracer,
    left: usize,
}

impl<'de> SeqAccess<'de> for Several<'_> {
    type Error = Stopped;

    fn next_element_seed<T: DeserializeSeed<'de>>(
        &mut self,
        seed: T,
    ) -> Result<Option<T::Value>, Stopped> {
        if self.left == 0 {
            return Ok(None);
        }
        self.left -= 1;
        seed.deserialize(&mut *self.tracer).map(Some)
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.left)
    }
}

impl<'de> MapAccess<'de> for Several<'_> {
    type Error = Stopped;

    fn next_key_seed<K: DeserializeSeed<'de>>(
        &mut self,
        seed: K,
    ) -> Result<Option<K::Value>, Stopped> {
        self.next_element_seed(seed)
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, Stopped> {
        seed.deserialize(&mut *self.tracer)
    }
}

/// A variant of an enum.
struct Variant<'a> {
    tracer: &'a mut Tracer,
    taken: usize,
}

impl<'de> EnumAccess<'de> for Variant<'_> {
    type Error = Stopped;
    type Variant = Self;

    fn variant_seed<V: DeserializeSeed<'de>>(self, seed: V) -> Result<(V::Value, Self), Stopped> {
        self.tracer.note(&self.taken);
        let number = u32::try_from(self.taken).map_err(|_| Stopped)?;
        let name = seed.deserialize(IntoDeserializer::<Stopped>::into_deserializer(number))?;
        Ok((name, self))
    }
}

impl<'de> VariantAccess<'de> for Variant<'_> {
    type Error = Stopped;

    fn unit_variant(self) -> Result<(), Stopped> {
        self.tracer.piece("unit variant")
    }

    fn newtype_variant_seed<T: DeserializeSeed<'de>>(self, seed: T) -> Result<T::Value, Stopped> {
        self.tracer.piece("newtype variant")?;
        seed.deserialize(self.tracer)
    }

    fn tuple_variant<V: Visitor<'de>>(self, len: usize, visitor: V) -> Result<V::Value, Stopped> {
        self.tracer.piece("tuple variant")?;
        self.tracer.several(len, visitor)
    }

    fn struct_variant<V: Visitor<'de>>(
        self,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Stopped> {
        self.tracer.piece("struct variant")?;
        self.tracer.note(fields);
        self.tracer.several(fields.len(), visitor)
    }
}

#[cfg(test)]
#[path = "form/tests.rs"]
mod tests;
