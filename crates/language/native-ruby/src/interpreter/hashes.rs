//! Methods of hashes.

use super::{Interpreter, sorting};
use crate::syntax::Block;
use crate::value::{Entries, Eval, Key, RubyHash, RubyValue, refuse};

/// The entries as arrays of a key and a value.
pub(super) fn pairs(entries: &Entries) -> Vec<RubyValue> {
    let pair =
        |(key, value): (&Key, &RubyValue)| RubyValue::array(vec![key.value(), value.clone()]);
    entries.iter().map(pair).collect()
}

impl<'t> Interpreter<'t, '_> {
    pub(super) fn call_hash(
        &mut self,
        hash: &RubyHash,
        name: &'static str,
        arguments: &[RubyValue],
    ) -> Eval<Option<RubyValue>> {
        let entries = hash.get()?;
        let or_nil = |value: Option<&RubyValue>| value.cloned().unwrap_or(RubyValue::Nil);
        Ok(Some(match (name, arguments) {
            ("[]", [key]) => or_nil(entries.get(&Key::new(key)?)),
            ("fetch", [key, default @ ..]) => match (entries.get(&Key::new(key)?), default) {
                (Some(value), _) => value.clone(),
                (None, [default]) => default.clone(),
                _ => return refuse("fetch of a key that is not there"),
            },
            ("key?" | "has_key?" | "include?" | "member?", [key]) => {
                RubyValue::Bool(entries.contains_key(&Key::new(key)?))
            }
            ("value?" | "has_value?", [value]) => {
                RubyValue::Bool(Self::key_of(&entries, value)?.is_some())
            }
            ("key", [value]) => {
                let key = Self::key_of(&entries, value)?;
                key.map_or(RubyValue::Nil, |key| key.value())
            }
            ("keys", []) => RubyValue::array(entries.keys().map(Key::value).collect()),
            ("values", []) => RubyValue::array(entries.values().cloned().collect()),
            ("values_at", keys) => {
                let mut values = Vec::with_capacity(keys.len());
                for key in keys {
                    values.push(or_nil(entries.get(&Key::new(key)?)));
                }
                RubyValue::array(values)
            }
            ("size" | "length" | "count", []) => RubyValue::count(entries.len()),
            ("empty?", []) => RubyValue::Bool(entries.is_empty()),
            ("to_h", []) => RubyValue::Hash(hash.clone()),
            ("to_a", []) => RubyValue::array(pairs(&entries)),
            ("sort", []) => RubyValue::array(sorting::sort(pairs(&entries))?),
            ("merge", others) => {
                let mut merged = (*entries).clone();
                for other in others {
                    let RubyValue::Hash(other) = other else {
                        return refuse("merge with other than a hash");
                    };
                    let other = other.get()?;
                    merged.extend(
                        other
                            .iter()
                            .map(|(key, value)| (key.clone(), value.clone())),
                    );
                }
                RubyValue::hash(merged)
            }
            ("invert", []) => {
                let mut inverted = Entries::default();
                for (key, value) in entries.iter() {
                    inverted.insert(Key::new(value)?, key.value());
                }
                RubyValue::hash(inverted)
            }
            ("compact", []) => {
                let kept = entries
                    .iter()
                    .filter(|(_, it)| !matches!(it, RubyValue::Nil));
                RubyValue::hash(kept.map(|(key, it)| (key.clone(), it.clone())).collect())
            }
            ("dig", [first, rest @ ..]) => {
                let value = or_nil(entries.get(&Key::new(first)?));
                return self.dig(value, rest).map(Some);
            }
            ("first" | "take" | "drop" | "flat_map" | "sum" | "max" | "min", _) => {
                let pairs = RubyValue::array(pairs(&entries));
                return self.call_method(&pairs, name, arguments).map(Some);
            }
            _ => return Ok(None),
        }))
    }

    fn key_of<'e>(entries: &'e Entries, wanted: &RubyValue) -> Eval<Option<&'e Key>> {
        for (key, value) in entries {
            if value.is_equal(wanted)? {
                return Ok(Some(key));
            }
        }
        Ok(None)
    }

    /// Methods with a block that hashes have otherwise than other collections.
    pub(super) fn call_hash_with_block(
        &mut self,
        hash: &RubyHash,
        name: &'static str,
        arguments: &[RubyValue],
        block: &'t Block,
    ) -> Eval<Option<RubyValue>> {
        let entries = hash.get()?;
        let mut kept = Entries::default();
        match (name, arguments) {
            ("select" | "filter" | "reject", []) => {
                let is_kept = name != "reject";
                for (key, value) in entries.iter() {
                    let result = self.yield_values(block, &[key.value(), value.clone()])?;
                    if result.is_truthy() == is_kept {
                        kept.insert(key.clone(), value.clone());
                    }
                }
            }
            ("transform_values", []) => {
                for (key, value) in entries.iter() {
                    kept.insert(key.clone(), self.yield_value(block, value)?);
                }
            }
            ("to_h", []) => {
                let mut pairs = Vec::with_capacity(entries.len());
                for (key, value) in entries.iter() {
                    pairs.push(self.yield_values(block, &[key.value(), value.clone()])?);
                }
                return super::arrays::hash_of_pairs(&pairs).map(Some);
            }
            ("each_key", []) => {
                for key in entries.keys() {
                    self.yield_value(block, &key.value())?;
                }
                return Ok(Some(RubyValue::Hash(hash.clone())));
            }
            ("each_value", []) => {
                for value in entries.values() {
                    self.yield_value(block, value)?;
                }
                return Ok(Some(RubyValue::Hash(hash.clone())));
            }
            ("fetch", [key]) => {
                return match entries.get(&Key::new(key)?) {
                    Some(value) => Ok(Some(value.clone())),
                    None => self.yield_value(block, key).map(Some),
                };
            }
            // these merge, or are counted, with two values
            ("merge" | "fetch" | "each_index" | "reverse_each" | "uniq" | "index", _) => {
                return refuse(format!("{name} of a hash with a block"));
            }
            _ => return Ok(None),
        }
        Ok(Some(RubyValue::hash(kept)))
    }
}
