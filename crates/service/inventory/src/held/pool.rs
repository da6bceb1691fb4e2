//! Values that several nodes have in common: [`Pool`] makes [`FactValue`]s of JSON and reuses
//! existing ones.
//!
//! Invariants: an equal value is looked up by its hash and then compared, so a collision costs
//! memory and never gives a wrong fact; the pool itself stays small: when it has doubled, it drops
//! the values with a single holder, which are most of them (addresses, counters, keys).

use std::collections::HashMap;
use std::hash::{BuildHasher, BuildHasherDefault, Hash, Hasher, RandomState};
use std::sync::Arc;

use serde_json::{Map, Value};

use super::{FactValue, Keys, Kind, Object};
use crate::defaults::POOL_FIRST_SWEEP;

/// A map whose keys are hashes already and are not hashed again.
type ByHash<T> = HashMap<u64, T, BuildHasherDefault<Hashed>>;

#[derive(Debug, Default)]
struct Hashed(u64);

impl Hasher for Hashed {
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
pub(crate) struct Pool {
    keyed: RandomState,
    texts: ByHash<Arc<str>>,
    keys: ByHash<Keys>,
    lists: ByHash<Arc<[FactValue]>>,
    objects: ByHash<Arc<Object>>,
    /// Number of values at which the next sweep starts.
    sweep_at: usize,
}

impl Default for Pool {
    fn default() -> Self {
        Self {
            keyed: RandomState::new(),
            texts: ByHash::default(),
            keys: ByHash::default(),
            lists: ByHash::default(),
            objects: ByHash::default(),
            sweep_at: POOL_FIRST_SWEEP,
        }
    }
}

impl Pool {
    /// Makes an object, and shares equal parts.
    pub(crate) fn object(&mut self, map: &Map<String, Value>) -> FactValue {
        if self.len() >= self.sweep_at {
            self.sweep();
        }
        self.hold_object(map).0
    }

    /// Makes a string, and shares an equal one.
    pub(crate) fn text(&mut self, text: &str) -> Arc<str> {
        self.hold_text(text).0
    }

    /// Makes a value, and returns it with the hash of its content.
    fn hold(&mut self, value: &Value) -> (FactValue, u64) {
        let (kind, hash) = match value {
            Value::Null => (Kind::Null, self.keyed.hash_one(0_u8)),
            Value::Bool(bool) => (Kind::Bool(*bool), self.keyed.hash_one((1_u8, bool))),
            Value::Number(number) => {
                // Compared by its bits: -0.0 equals 0.0 but must be preserved.
                let bits = number
                    .as_f64()
                    .filter(|_| number.is_f64())
                    .map(f64::to_bits);
                let hash = self.keyed.hash_one((2_u8, bits, number));
                (Kind::Number(number.clone()), hash)
            }
            Value::String(text) => {
                let (text, hash) = self.hold_text(text);
                (Kind::Text(text), hash)
            }
            Value::Array(items) => {
                let (items, hash) = self.hold_all(4, items.iter());
                let list = shared(&mut self.lists, hash, items.into());
                (Kind::List(list), hash)
            }
            Value::Object(map) => return self.hold_object(map),
        };
        (FactValue(kind), hash)
    }

    fn hold_object(&mut self, map: &Map<String, Value>) -> (FactValue, u64) {
        let mut hasher = self.keyed.build_hasher();
        6_u8.hash(&mut hasher);
        map.keys().for_each(|key| key.hash(&mut hasher));
        let of_keys = hasher.finish();
        let keys = self.hold_keys(map, of_keys);
        let (values, of_values) = self.hold_all(5, map.values());
        let hash = self.keyed.hash_one((of_keys, of_values));
        let values = values.into_boxed_slice();
        let object = shared(&mut self.objects, hash, Arc::new(Object { keys, values }));
        (FactValue(Kind::Object(object)), hash)
    }

    fn hold_keys(&mut self, map: &Map<String, Value>, hash: u64) -> Keys {
        let same = |keys: &&Keys| keys.iter().map(|key| &**key).eq(map.keys());
        if let Some(known) = self.keys.get(&hash).filter(same) {
            return Arc::clone(known);
        }
        let keys: Keys = map.keys().map(|key| self.hold_text(key).0).collect();
        shared(&mut self.keys, hash, keys)
    }

    fn hold_all<'v>(
        &mut self,
        kind: u8,
        values: impl ExactSizeIterator<Item = &'v Value>,
    ) -> (Vec<FactValue>, u64) {
        let mut hasher = self.keyed.build_hasher();
        kind.hash(&mut hasher);
        let mut held = Vec::with_capacity(values.len());
        for value in values {
            let (value, hash) = self.hold(value);
            held.push(value);
            hasher.write_u64(hash);
        }
        (held, hasher.finish())
    }

    fn hold_text(&mut self, text: &str) -> (Arc<str>, u64) {
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
    fn sweep(&mut self) {
        sweep(&mut self.objects);
        sweep(&mut self.lists);
        sweep(&mut self.keys);
        sweep(&mut self.texts);
        self.sweep_at = POOL_FIRST_SWEEP.max(2 * self.len());
    }
}

/// The reference count of a value with one holder: that of the pool and that of the holder.
const UNSHARED: usize = 2;

fn sweep<T: ?Sized>(values: &mut ByHash<Arc<T>>) {
    values.retain(|_, value| Arc::strong_count(value) > UNSHARED);
    values.shrink_to_fit();
}

/// The existing equal value, or this one, which is then added to the pool.
fn shared<T: Eq + ?Sized>(known: &mut ByHash<Arc<T>>, hash: u64, value: Arc<T>) -> Arc<T> {
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
            let mut pool = Pool::default();
            let mut held = Vec::new();
            for value in &values {
                held.push(pool.hold(value).0);
                held.push(pool.hold(value).0);
                pool.sweep();
            }
            for (held, value) in held.iter().zip(values.iter().flat_map(|v| [v, v])) {
                let text = serde_json::to_string(value).unwrap();
                prop_assert_eq!(serde_json::to_string(&held.to_json()).unwrap(), text);
                prop_assert!(held.is(value));
            }
        }
    }

    #[test]
    fn equal_parts_of_two_nodes_are_one() {
        let mut pool = Pool::default();
        let os = json!({"family": "Debian", "release": {"major": "13"}, "ids": [1, 2.0, null]});
        let (a, b) = (
            pool.hold(&json!({"os": os, "id": 1})).0,
            pool.hold(&json!({"os": os})).0,
        );
        let part = |node: &FactValue| match &node.get("os").unwrap().0 {
            Kind::Object(object) => Arc::clone(object),
            other => panic!("{other:?}"),
        };
        assert!(Arc::ptr_eq(&part(&a), &part(&b)));
        pool.sweep();
        let c = pool.hold(&json!({"os": os})).0;
        assert!(
            Arc::ptr_eq(&part(&a), &part(&c)),
            "what is shared survives a sweep"
        );
    }

    #[test]
    fn what_one_node_has_alone_leaves_the_pool_and_not_the_node() {
        let mut pool = Pool::default();
        let mut nodes = Vec::new();
        for n in 0..POOL_FIRST_SWEEP {
            let facts = json!({"hostname": format!("node{n}"), "kernel": "Linux"});
            nodes.push(pool.object(facts.as_object().unwrap()));
        }
        pool.sweep();
        assert!(pool.len() < 10, "{} are left", pool.len());
        assert_eq!(
            nodes[7].to_json(),
            json!({"hostname": "node7", "kernel": "Linux"})
        );
    }
}
