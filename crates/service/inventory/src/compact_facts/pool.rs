//! Values that several nodes have in common: [`ValuePool`] makes [`FactValue`]s of JSON and reuses
//! existing ones.
//!
//! Invariants: an equal value is looked up by its hash and then compared, so a collision costs
//! memory and never gives a wrong fact; the pool itself stays small: when it has doubled, it drops
//! the values with a single holder, which are most of them (addresses, counters, keys).

use std::collections::HashMap;
use std::hash::{BuildHasher, BuildHasherDefault, Hash, Hasher, RandomState};
use std::sync::Arc;

use serde_json::{Map, Value};

use super::{FactData, FactObject, FactValue, ObjectKeys};
use crate::defaults::POOL_FIRST_SWEEP;

/// A map whose keys are hashes already and are not hashed again.
type PrehashedMap<T> = HashMap<u64, T, BuildHasherDefault<PrehashedHasher>>;

#[derive(Debug, Default)]
struct PrehashedHasher(u64);

impl Hasher for PrehashedHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = self.0.rotate_left(8) ^ u64::from(*byte);
        }
    }

    fn write_u64(&mut self, hash: u64) {
        self.0 = hash;
    }
}

/// Values that may be shared, by a keyed hash of what they contain.
#[derive(Debug)]
pub(crate) struct ValuePool {
    keyed: RandomState,
    texts: PrehashedMap<Arc<str>>,
    keys: PrehashedMap<ObjectKeys>,
    lists: PrehashedMap<Arc<[FactValue]>>,
    objects: PrehashedMap<Arc<FactObject>>,
    /// Number of values at which the next sweep starts.
    sweep_at: usize,
}

impl Default for ValuePool {
    fn default() -> Self {
        Self {
            keyed: RandomState::new(),
            texts: PrehashedMap::default(),
            keys: PrehashedMap::default(),
            lists: PrehashedMap::default(),
            objects: PrehashedMap::default(),
            sweep_at: POOL_FIRST_SWEEP,
        }
    }
}

impl ValuePool {
    /// Makes an object, and shares equal parts.
    pub(crate) fn share_object(&mut self, map: &Map<String, Value>) -> FactValue {
        if self.len() >= self.sweep_at {
            self.sweep_pool();
        }
        self.intern_object(map).0
    }

    /// Makes a string, and shares an equal one.
    pub(crate) fn share_text(&mut self, text: &str) -> Arc<str> {
        self.intern_text(text).0
    }

    /// Makes a value, and returns it with the hash of its content.
    fn intern_value(&mut self, value: &Value) -> (FactValue, u64) {
        let (kind, hash) = match value {
            Value::Null => (FactData::Null, self.keyed.hash_one(0_u8)),
            Value::Bool(bool) => (FactData::Bool(*bool), self.keyed.hash_one((1_u8, bool))),
            Value::Number(number) => {
                // Compared by its bits: -0.0 equals 0.0 but must be preserved.
                let bits = number
                    .as_f64()
                    .filter(|_| number.is_f64())
                    .map(f64::to_bits);
                let hash = self.keyed.hash_one((2_u8, bits, number));
                (FactData::Number(number.clone()), hash)
            }
            Value::String(text) => {
                let (text, hash) = self.intern_text(text);
                (FactData::Text(text), hash)
            }
            Value::Array(items) => {
                let (items, hash) = self.intern_all(4, items.iter());
                let list = share_value(&mut self.lists, hash, items.into());
                (FactData::List(list), hash)
            }
            Value::Object(map) => return self.intern_object(map),
        };
        (FactValue(kind), hash)
    }

    fn intern_object(&mut self, map: &Map<String, Value>) -> (FactValue, u64) {
        let mut hasher = self.keyed.build_hasher();
        6_u8.hash(&mut hasher);
        map.keys().for_each(|key| key.hash(&mut hasher));
        let of_keys = hasher.finish();
        let keys = self.intern_keys(map, of_keys);
        let (values, of_values) = self.intern_all(5, map.values());
        let hash = self.keyed.hash_one((of_keys, of_values));
        let values = values.into_boxed_slice();
        let object = share_value(
            &mut self.objects,
            hash,
            Arc::new(FactObject { keys, values }),
        );
        (FactValue(FactData::Object(object)), hash)
    }

    fn intern_keys(&mut self, map: &Map<String, Value>, hash: u64) -> ObjectKeys {
        let same = |keys: &&ObjectKeys| keys.iter().map(|key| &**key).eq(map.keys());
        if let Some(known) = self.keys.get(&hash).filter(same) {
            return Arc::clone(known);
        }
        let keys: ObjectKeys = map.keys().map(|key| self.intern_text(key).0).collect();
        share_value(&mut self.keys, hash, keys)
    }

    fn intern_all<'v>(
        &mut self,
        kind: u8,
        values: impl ExactSizeIterator<Item = &'v Value>,
    ) -> (Vec<FactValue>, u64) {
        let mut hasher = self.keyed.build_hasher();
        kind.hash(&mut hasher);
        let mut held = Vec::with_capacity(values.len());
        for value in values {
            let (value, hash) = self.intern_value(value);
            held.push(value);
            hasher.write_u64(hash);
        }
        (held, hasher.finish())
    }

    fn intern_text(&mut self, text: &str) -> (Arc<str>, u64) {
        let hash = self.keyed.hash_one((3_u8, text));
        match self.texts.get(&hash) {
            Some(known) if **known == *text => (Arc::clone(known), hash),
            // The first value with a hash stays.
            Some(_) => (text.into(), hash),
            None => {
                let text: Arc<str> = text.into();
                self.texts.insert(hash, Arc::clone(&text));
                (text, hash)
            }
        }
    }

    fn len(&self) -> usize {
        self.texts.len() + self.keys.len() + self.lists.len() + self.objects.len()
    }

    /// Drops values with at most one holder besides the pool; the holder keeps its value. Large
    /// values are dropped first, so that parts that only they used are dropped with them.
    fn sweep_pool(&mut self) {
        sweep_unused(&mut self.objects);
        sweep_unused(&mut self.lists);
        sweep_unused(&mut self.keys);
        sweep_unused(&mut self.texts);
        self.sweep_at = POOL_FIRST_SWEEP.max(2 * self.len());
    }
}

/// The reference count of a value with one holder: that of the pool and that of the holder.
const UNSHARED: usize = 2;

fn sweep_unused<T: ?Sized>(values: &mut PrehashedMap<Arc<T>>) {
    values.retain(|_, value| Arc::strong_count(value) > UNSHARED);
    values.shrink_to_fit();
}

/// The existing equal value, or this one, which is then added to the pool.
fn share_value<T: Eq + ?Sized>(
    known: &mut PrehashedMap<Arc<T>>,
    hash: u64,
    value: Arc<T>,
) -> Arc<T> {
    match known.get(&hash) {
        Some(there) if *there == value => Arc::clone(there),
        Some(_) => value,
        None => {
            known.insert(hash, Arc::clone(&value));
            value
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn any_json() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            any::<f64>().prop_map(Value::from),
            "[a-c\u{0}\u{e9}]{0,3}".prop_map(Value::from),
        ];
        leaf.prop_recursive(4, 48, 6, |inner| {
            let entries = prop::collection::vec(("[a-c]{0,2}", inner.clone()), 0..6);
            prop_oneof![
                prop::collection::vec(inner, 0..6).prop_map(Value::from),
                entries.prop_map(|entries| Value::Object(entries.into_iter().collect())),
            ]
        })
    }

    proptest! {
        /// Covers a pool that has other values already, and one that has dropped some.
        #[test]
        fn what_is_held_gives_back_its_json(values in prop::collection::vec(any_json(), 1..8)) {
            let mut pool = ValuePool::default();
            let mut held = Vec::new();
            for value in &values {
                held.push(pool.intern_value(value).0);
                held.push(pool.intern_value(value).0);
                pool.sweep_pool();
            }
            for (held, value) in held.iter().zip(values.iter().flat_map(|v| [v, v])) {
                let text = serde_json::to_string(value).unwrap();
                prop_assert_eq!(serde_json::to_string(&held.to_json()).unwrap(), text);
                prop_assert!(held.equals_json(value));
            }
        }
    }

    #[test]
    fn equal_parts_of_two_nodes_are_one() {
        let mut pool = ValuePool::default();
        let os = json!({"family": "Debian", "release": {"major": "13"}, "ids": [1, 2.0, null]});
        let (a, b) = (
            pool.intern_value(&json!({"os": os, "id": 1})).0,
            pool.intern_value(&json!({"os": os})).0,
        );
        let part = |node: &FactValue| match &node.get("os").unwrap().0 {
            FactData::Object(object) => Arc::clone(object),
            other => panic!("{other:?}"),
        };
        assert!(Arc::ptr_eq(&part(&a), &part(&b)));
        pool.sweep_pool();
        let c = pool.intern_value(&json!({"os": os})).0;
        assert!(
            Arc::ptr_eq(&part(&a), &part(&c)),
            "what is shared survives a sweep"
        );
    }

    #[test]
    fn what_one_node_has_alone_leaves_the_pool_and_not_the_node() {
        let mut pool = ValuePool::default();
        let mut nodes = Vec::new();
        for n in 0..POOL_FIRST_SWEEP {
            let facts = json!({"hostname": format!("node{n}"), "kernel": "Linux"});
            nodes.push(pool.share_object(facts.as_object().unwrap()));
        }
        pool.sweep_pool();
        assert!(pool.len() < 10, "{} are left", pool.len());
        assert_eq!(
            nodes[7].to_json(),
            json!({"hostname": "node7", "kernel": "Linux"})
        );
    }
}
