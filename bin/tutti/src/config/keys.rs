//! Test that every key of `docs/server.md` is one of the configuration types, and vice versa:
//! [`keys_of`].
//!
//! Invariant: the keys come from the types themselves, as serde requests them, so none can be
//! forgotten.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::fmt;

use serde::de::value::StrDeserializer;
use serde::de::{DeserializeSeed, Error as _, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, forward_to_deserialize_any};

use super::Config;

/// Placeholders in key names that stand for any key of a map.
const ANY_KEY: &str = "NAME";

/// Keys below a path, as requested by the type at its end.
#[derive(Default)]
struct RequestedKeys {
    fields: Vec<String>,
}

/// A walk along a path of keys, which ends with an error once the requested keys are known.
#[derive(Clone, Copy)]
struct KeyPathWalk<'w> {
    path: &'w [String],
    found: &'w RefCell<RequestedKeys>,
}

/// The only error of the walk: it is over.
#[derive(Debug)]
struct WalkEnded;

impl fmt::Display for WalkEnded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the walk is over")
    }
}

impl std::error::Error for WalkEnded {}

impl serde::de::Error for WalkEnded {
    fn custom<T: fmt::Display>(_: T) -> Self {
        Self
    }
}

impl<'de> Deserializer<'de> for KeyPathWalk<'_> {
    type Error = WalkEnded;

    fn deserialize_any<V: Visitor<'de>>(self, _: V) -> Result<V::Value, WalkEnded> {
        Err(WalkEnded)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, WalkEnded> {
        visitor.visit_some(self)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, WalkEnded> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, WalkEnded> {
        visitor.visit_seq(SingleElementList(self))
    }

    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, WalkEnded> {
        match self.path.split_first() {
            Some((key, path)) => visitor.visit_map(SingleEntryMap {
                key,
                value: Some(Self { path, ..self }),
            }),
            None => {
                self.found.borrow_mut().fields.push(ANY_KEY.to_owned());
                Err(WalkEnded)
            }
        }
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, WalkEnded> {
        if !self.path.is_empty() {
            return self.deserialize_map(visitor);
        }
        let mut found = self.found.borrow_mut();
        found.fields.extend(fields.iter().map(ToString::to_string));
        Err(WalkEnded)
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit
        unit_struct tuple tuple_struct enum identifier ignored_any
    }
}

/// A list with one element.
struct SingleElementList<'w>(KeyPathWalk<'w>);

impl<'de> SeqAccess<'de> for SingleElementList<'_> {
    type Error = WalkEnded;

    fn next_element_seed<T: DeserializeSeed<'de>>(
        &mut self,
        seed: T,
    ) -> Result<Option<T::Value>, WalkEnded> {
        seed.deserialize(self.0).map(Some)
    }
}

/// A map with one entry.
struct SingleEntryMap<'w> {
    key: &'w str,
    value: Option<KeyPathWalk<'w>>,
}

impl<'de> MapAccess<'de> for SingleEntryMap<'_> {
    type Error = WalkEnded;

    fn next_key_seed<K: DeserializeSeed<'de>>(
        &mut self,
        seed: K,
    ) -> Result<Option<K::Value>, WalkEnded> {
        if self.value.is_none() {
            return Ok(None);
        }
        seed.deserialize(StrDeserializer::new(self.key)).map(Some)
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, WalkEnded> {
        let value = self
            .value
            .take()
            .ok_or_else(|| WalkEnded::custom("there is one entry"))?;
        seed.deserialize(value)
    }
}

/// All keys of a type that have no further keys below them.
fn keys_of<'de, T: Deserialize<'de>>() -> BTreeSet<String> {
    let mut keys = BTreeSet::new();
    let mut paths: Vec<Vec<String>> = vec![Vec::new()];
    while let Some(path) = paths.pop() {
        let found = RefCell::new(RequestedKeys::default());
        let walk = KeyPathWalk {
            path: &path,
            found: &found,
        };
        // It always ends with an error.
        assert!(T::deserialize(walk).is_err());
        let fields = found.into_inner().fields;
        if fields.is_empty() {
            keys.insert(path.join("."));
        }
        paths.extend(
            fields
                .into_iter()
                .map(|field| [path.clone(), vec![field]].concat()),
        );
    }
    keys
}

/// Keys in the first column of the table of `docs/server.md`.
fn documented_keys() -> BTreeSet<String> {
    let text = include_str!("../../../../docs/server.md");
    let table = text
        .split_once("\n## Configuration\n")
        .expect("the section is there")
        .1;
    let table = table.split("\n## ").next().unwrap_or_default();
    let rows = table.lines().filter(|line| line.starts_with("| `"));
    let keys = rows.flat_map(|row| {
        let column = row
            .trim_start_matches('|')
            .split('|')
            .next()
            .unwrap_or_default();
        let keys = column
            .split(',')
            .map(|key| with_any_key(key.trim().trim_matches('`')));
        keys.collect::<Vec<_>>()
    });
    keys.collect()
}

/// A part in capitals, such as `SOURCE`, stands for any key.
fn with_any_key(key: &str) -> String {
    let is_any = |part: &str| part.chars().all(|letter| letter.is_ascii_uppercase());
    let parts = key.split('.');
    let parts: Vec<&str> = parts
        .map(|part| if is_any(part) { ANY_KEY } else { part })
        .collect();
    parts.join(".")
}

#[test]
fn every_key_is_in_the_table_of_the_documentation_and_no_other() {
    let (keys, documented) = (keys_of::<Config>(), documented_keys());
    let missing: Vec<_> = keys.difference(&documented).collect();
    assert!(missing.is_empty(), "not in docs/server.md: {missing:#?}");
    let extra: Vec<_> = documented.difference(&keys).collect();
    assert!(
        extra.is_empty(),
        "in docs/server.md, and no key: {extra:#?}"
    );
}

#[test]
fn keys_below_lists_maps_and_options_are_found() {
    #[derive(Deserialize)]
    #[expect(dead_code, reason = "only the names count")]
    struct Whole {
        list: Vec<Part>,
        map: std::collections::BTreeMap<String, Part>,
        maybe: Option<Part>,
        number: u8,
    }
    #[derive(Deserialize)]
    #[expect(dead_code, reason = "only the names count")]
    struct Part {
        leaf: String,
    }
    let keys: Vec<String> = keys_of::<Whole>().into_iter().collect();
    assert_eq!(keys, ["list.leaf", "map.NAME.leaf", "maybe.leaf", "number"]);
}
