//! Methods of collections that call a block for each element and give a collection.

use super::Interpreter;
use super::indexes::count;
use crate::defaults::ELEMENTS_MAX;
use crate::methods::MAP_WITH_INDEX;
use crate::syntax::Block;
use crate::value::{Entries, Eval, Key, RubyValue, refuse};

impl<'t> Interpreter<'t, '_> {
    /// The elements of a collection; `None` if the value is none.
    pub(super) fn items(&mut self, receiver: &RubyValue) -> Eval<Option<Vec<RubyValue>>> {
        Ok(Some(match receiver {
            RubyValue::Array(elements) => elements.get().to_vec(),
            RubyValue::Hash(entries) => super::hashes::pairs(&*entries.get()?),
            RubyValue::Range(low, Some(high), is_exclusive) => {
                let end = if *is_exclusive {
                    *high
                } else {
                    high.saturating_add(1)
                };
                let count = end.saturating_sub(*low);
                if count > i64::try_from(ELEMENTS_MAX).unwrap_or(i64::MAX) {
                    return refuse("a long range");
                }
                (*low..end).map(RubyValue::Int).collect()
            }
            _ => return Ok(None),
        }))
    }

    pub(super) fn enumerate(
        &mut self,
        receiver: &RubyValue,
        items: &[RubyValue],
        name: &'static str,
        arguments: &[RubyValue],
        block: &'t Block,
    ) -> Eval<Option<RubyValue>> {
        // the array must not change meanwhile
        let held = match receiver {
            RubyValue::Array(elements) => Some(elements.get()),
            _ => None,
        };
        let held_entries = match receiver {
            RubyValue::Hash(entries) => Some(entries.get()?),
            _ => None,
        };
        let value = self.enumerate_items(receiver, items, name, arguments, block);
        drop((held, held_entries));
        value
    }

    fn enumerate_items(
        &mut self,
        receiver: &RubyValue,
        items: &[RubyValue],
        name: &'static str,
        arguments: &[RubyValue],
        block: &'t Block,
    ) -> Eval<Option<RubyValue>> {
        let mut results = Vec::new();
        match (name, arguments) {
            ("each", []) => {
                for item in items {
                    self.yield_value(block, item)?;
                }
                return Ok(Some(receiver.clone()));
            }
            ("each_pair", []) if matches!(receiver, RubyValue::Hash(_)) => {
                for item in items {
                    self.yield_value(block, item)?;
                }
                return Ok(Some(receiver.clone()));
            }
            ("reverse_each", []) => {
                for item in items.iter().rev() {
                    self.yield_value(block, item)?;
                }
                return Ok(Some(receiver.clone()));
            }
            ("each_with_index", []) => {
                for (index, item) in items.iter().enumerate() {
                    self.yield_values(block, &[item.clone(), RubyValue::count(index)])?;
                }
                return Ok(Some(receiver.clone()));
            }
            ("each_index", []) if matches!(receiver, RubyValue::Array(_)) => {
                for index in 0..items.len() {
                    self.yield_value(block, &RubyValue::count(index))?;
                }
                return Ok(Some(receiver.clone()));
            }
            ("each_with_object", [memo]) => {
                for item in items {
                    self.yield_values(block, &[item.clone(), memo.clone()])?;
                }
                return Ok(Some(memo.clone()));
            }
            ("each_slice", [size]) => {
                let size = count(size)?;
                if size == 0 {
                    return refuse("slices without elements");
                }
                for slice in items.chunks(size) {
                    self.yield_value(block, &RubyValue::array(slice.to_vec()))?;
                }
                // `nil` before Ruby 3.1, the collection since
                return Ok(Some(RubyValue::Unknown));
            }
            (MAP_WITH_INDEX, []) => {
                for (index, item) in items.iter().enumerate() {
                    let values = [item.clone(), RubyValue::count(index)];
                    results.push(self.yield_values(block, &values)?);
                }
            }
            ("map" | "collect", []) => {
                for item in items {
                    results.push(self.yield_value(block, item)?);
                }
            }
            ("flat_map", []) => {
                for item in items {
                    match self.yield_value(block, item)? {
                        RubyValue::Array(elements) => results.extend_from_slice(&elements.get()),
                        other => results.push(other),
                    }
                }
            }
            ("filter_map", []) => {
                for item in items {
                    let result = self.yield_value(block, item)?;
                    results.extend(Some(result).filter(RubyValue::is_truthy));
                }
            }
            ("select" | "filter" | "find_all" | "reject", []) => {
                let is_kept = name != "reject";
                for item in items {
                    if self.is_accepted(block, item)? == is_kept {
                        results.push(item.clone());
                    }
                }
            }
            ("partition", []) => {
                let mut rejected = Vec::new();
                for item in items {
                    match self.is_accepted(block, item)? {
                        true => results.push(item.clone()),
                        false => rejected.push(item.clone()),
                    }
                }
                results = vec![RubyValue::array(results), RubyValue::array(rejected)];
            }
            ("uniq", []) => {
                let mut seen = std::collections::HashSet::new();
                for item in items {
                    if seen.insert(Key::new(&self.yield_value(block, item)?)?) {
                        results.push(item.clone());
                    }
                }
            }
            ("group_by", []) => return self.group_by(items, block).map(Some),
            ("sort_by", []) => return self.sort_by(items, block).map(Some),
            ("sort", []) => return self.sort_with(items, block).map(Some),
            ("to_h", []) => {
                for item in items {
                    results.push(self.yield_value(block, item)?);
                }
                return super::arrays::hash_of_pairs(&results).map(Some);
            }
            _ => return Ok(None),
        }
        super::arrays::bounded(results).map(Some)
    }

    fn group_by(&mut self, items: &[RubyValue], block: &'t Block) -> Eval {
        let mut groups = indexmap::IndexMap::<Key, Vec<RubyValue>>::new();
        for item in items {
            let key = Key::new(&self.yield_value(block, item)?)?;
            groups.entry(key).or_default().push(item.clone());
        }
        let groups = groups.into_iter();
        let groups: Entries = groups
            .map(|(key, items)| (key, RubyValue::array(items)))
            .collect();
        Ok(RubyValue::hash(groups))
    }
}
