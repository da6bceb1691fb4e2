//! Methods of arrays without a block.

use std::cell::Cell;
use std::collections::{HashMap, HashSet};

use super::indexes::{count, part, position, range_part};
use super::{Interpreter, sorting};
use crate::defaults::ELEMENTS_MAX;
use crate::value::{Depth, Entries, Eval, Key, RubyArray, RubyValue, refuse};

impl Interpreter<'_, '_> {
    pub(super) fn call_array(
        &mut self,
        array: &RubyArray,
        name: &'static str,
        arguments: &[RubyValue],
    ) -> Eval<Option<RubyValue>> {
        if name == "compact!" && arguments.is_empty() {
            return compact_in_place(array).map(Some);
        }
        if matches!(name, "<<" | "push" | "append" | "concat") {
            return change(array, name, arguments).map(Some);
        }
        let elements = array.get();
        let elements = elements.as_slice();
        if let Some(value) = read(elements, name, arguments)? {
            return Ok(Some(value));
        }
        Ok(Some(match (name, arguments) {
            ("to_a" | "to_ary", []) => RubyValue::Array(array.clone()),
            ("join", []) => RubyValue::string(join(elements, "")?),
            ("join", [RubyValue::Nil]) => RubyValue::string(join(elements, "")?),
            ("join" | "*", [RubyValue::Str(separator)]) => {
                RubyValue::string(join(elements, &separator.get())?)
            }
            ("+", [RubyValue::Array(other)]) => {
                bounded([elements, other.get().as_slice()].concat())?
            }
            ("-", [RubyValue::Array(other)]) => {
                let other = keys(&other.get())?;
                filter_keys(elements, |key| !other.contains(key))?
            }
            ("&", [RubyValue::Array(other)]) => {
                let other = keys(&other.get())?;
                unique(filter(elements, |key| other.contains(key))?)?
            }
            ("|", [RubyValue::Array(other)]) => {
                unique([elements, other.get().as_slice()].concat())?
            }
            ("uniq", []) => unique(elements.to_vec())?,
            ("flatten", []) => flatten(elements, usize::MAX)?,
            ("flatten", [depth]) => flatten(elements, count(depth)?)?,
            ("compact", []) => {
                let is_kept = |it: &&RubyValue| !matches!(it, RubyValue::Nil);
                RubyValue::array(elements.iter().filter(is_kept).cloned().collect())
            }
            ("reverse", []) => RubyValue::array(elements.iter().rev().cloned().collect()),
            ("sort", []) => RubyValue::array(sorting::sort(elements.to_vec())?),
            ("zip", [RubyValue::Array(other)]) => {
                let other = other.get();
                let pair = |(index, element): (usize, &RubyValue)| {
                    let second = other.get(index).cloned().unwrap_or(RubyValue::Nil);
                    RubyValue::array(vec![element.clone(), second])
                };
                RubyValue::array(elements.iter().enumerate().map(pair).collect())
            }
            ("to_h", []) => hash_of_pairs(elements)?,
            ("tally", []) => {
                let mut counts: HashMap<Key, i64> = HashMap::new();
                let mut order = Entries::default();
                for element in elements {
                    let key = Key::new(element)?;
                    let count = counts.entry(key.clone()).or_default();
                    *count += 1;
                    order.insert(key, RubyValue::Int(*count));
                }
                RubyValue::hash(order)
            }
            ("dig", [first, rest @ ..]) => {
                let value = self.call_method(
                    &RubyValue::Array(array.clone()),
                    "[]",
                    std::slice::from_ref(first),
                )?;
                return self.dig(value, rest).map(Some);
            }
            _ => return self.call_items(elements, name, arguments),
        }))
    }

    /// The rest of `dig`.
    pub(super) fn dig(&mut self, value: RubyValue, rest: &[RubyValue]) -> Eval {
        match (rest, &value) {
            ([], _) | (_, RubyValue::Nil) => Ok(value),
            (rest, RubyValue::Array(_) | RubyValue::Hash(_)) => {
                self.call_method(&value, "dig", rest)
            }
            _ => refuse(format!("dig in {}", value.kind())),
        }
    }
}

/// Methods that give elements.
fn read(elements: &[RubyValue], name: &str, arguments: &[RubyValue]) -> Eval<Option<RubyValue>> {
    let length = elements.len();
    let or_nil = |value: Option<&RubyValue>| value.cloned().unwrap_or(RubyValue::Nil);
    let slice = |bounds: Option<(usize, usize)>| match bounds {
        Some((start, end)) => RubyValue::array(elements[start..end].to_vec()),
        None => RubyValue::Nil,
    };
    Ok(Some(match (name, arguments) {
        ("[]" | "slice", [RubyValue::Int(index)]) => {
            or_nil(position(*index, length).and_then(|index| elements.get(index)))
        }
        ("[]" | "slice", [RubyValue::Int(start), RubyValue::Int(count)]) => {
            slice(part(*start, *count, length))
        }
        ("[]" | "slice", [RubyValue::Range(low, high, is_exclusive)]) => {
            slice(range_part(*low, *high, *is_exclusive, length))
        }
        ("fetch", [RubyValue::Int(index), default @ ..]) => {
            let found = position(*index, length).and_then(|index| elements.get(index));
            match (found, default) {
                (Some(element), _) => element.clone(),
                (None, [default]) => default.clone(),
                _ => return refuse("fetch outside of an array"),
            }
        }
        ("first", []) => or_nil(elements.first()),
        ("last", []) => or_nil(elements.last()),
        ("first" | "take", [number]) => {
            RubyValue::array(elements[..count(number)?.min(length)].to_vec())
        }
        ("last", [number]) => {
            RubyValue::array(elements[length - count(number)?.min(length)..].to_vec())
        }
        ("drop", [number]) => RubyValue::array(elements[count(number)?.min(length)..].to_vec()),
        ("size" | "length" | "count", []) => RubyValue::count(length),
        ("empty?", []) => RubyValue::Bool(elements.is_empty()),
        ("values_at", indexes) => {
            let mut values = Vec::with_capacity(indexes.len());
            for index in indexes {
                let RubyValue::Int(index) = index else {
                    return refuse("values_at of other than integers");
                };
                values.push(or_nil(
                    position(*index, length).and_then(|index| elements.get(index)),
                ));
            }
            RubyValue::array(values)
        }
        _ => return Ok(None),
    }))
}

/// Methods that change the array.
fn change(array: &RubyArray, name: &str, arguments: &[RubyValue]) -> Eval {
    let mut added = Vec::new();
    match (name, arguments) {
        ("<<", [_]) | ("push" | "append", _) => added.extend_from_slice(arguments),
        ("concat", [RubyValue::Array(other)]) if !other.is_same(array) => {
            added.extend_from_slice(&other.get());
        }
        _ => return refuse(format!("{name} in another form")),
    }
    if array.get().len() + added.len() > ELEMENTS_MAX {
        return refuse("a long array");
    }
    array.change(|elements| elements.extend(added))?;
    Ok(RubyValue::Array(array.clone()))
}

/// `compact!`: `nil` if there is nothing to leave out.
fn compact_in_place(array: &RubyArray) -> Eval {
    let is_nil = |it: &RubyValue| matches!(it, RubyValue::Nil);
    if !array.get().iter().any(is_nil) {
        return Ok(RubyValue::Nil);
    }
    array.change(|elements| elements.retain(|it| !is_nil(it)))?;
    Ok(RubyValue::Array(array.clone()))
}

pub(super) fn bounded(elements: Vec<RubyValue>) -> Eval {
    if elements.len() > ELEMENTS_MAX {
        return refuse("a long array");
    }
    Ok(RubyValue::array(elements))
}

fn keys(elements: &[RubyValue]) -> Eval<HashSet<Key>> {
    elements.iter().map(Key::new).collect()
}

fn filter(elements: &[RubyValue], is_kept: impl Fn(&Key) -> bool) -> Eval<Vec<RubyValue>> {
    let mut kept = Vec::new();
    for element in elements {
        if is_kept(&Key::new(element)?) {
            kept.push(element.clone());
        }
    }
    Ok(kept)
}

fn filter_keys(elements: &[RubyValue], is_kept: impl Fn(&Key) -> bool) -> Eval {
    Ok(RubyValue::array(filter(elements, is_kept)?))
}

/// The first of equal elements.
fn unique(elements: Vec<RubyValue>) -> Eval {
    let mut seen = HashSet::new();
    let mut kept = Vec::new();
    for element in elements {
        if seen.insert(Key::new(&element)?) {
            kept.push(element);
        }
    }
    Ok(RubyValue::array(kept))
}

fn flatten(elements: &[RubyValue], depth: usize) -> Eval {
    let mut flat = Vec::new();
    flatten_into(elements, depth, &mut flat, Depth::new(&Cell::new(0)))?;
    Ok(RubyValue::array(flat))
}

fn flatten_into(
    elements: &[RubyValue],
    depth: usize,
    flat: &mut Vec<RubyValue>,
    walk: Depth<'_>,
) -> Eval<()> {
    for element in elements {
        walk.visit()?;
        match element {
            RubyValue::Array(nested) if depth > 0 => {
                flatten_into(&nested.get(), depth - 1, flat, walk.deeper())?;
            }
            other => flat.push(other.clone()),
        }
    }
    Ok(())
}

/// Elements as texts with a separator, nested arrays too.
pub(super) fn join(elements: &[RubyValue], separator: &str) -> Eval<String> {
    let mut text = String::new();
    let mut is_first = true;
    join_into(
        elements,
        separator,
        &mut text,
        &mut is_first,
        Depth::new(&Cell::new(0)),
    )?;
    Ok(text)
}

fn join_into(
    elements: &[RubyValue],
    separator: &str,
    text: &mut String,
    is_first: &mut bool,
    depth: Depth<'_>,
) -> Eval<()> {
    for element in elements {
        depth.visit()?;
        if let RubyValue::Array(nested) = element {
            let nested = nested.get();
            if nested.is_empty() {
                return refuse("join of an empty array in an array");
            }
            join_into(&nested, separator, text, is_first, depth.deeper())?;
            continue;
        }
        if !*is_first {
            text.push_str(separator);
        }
        *is_first = false;
        element.write_text(text)?;
    }
    Ok(())
}

/// A hash of arrays with a key and a value.
pub(super) fn hash_of_pairs(elements: &[RubyValue]) -> Eval {
    let mut entries = Entries::with_capacity_and_hasher(elements.len(), Default::default());
    for element in elements {
        let RubyValue::Array(pair) = element else {
            return refuse("to_h of other than pairs");
        };
        let pair = pair.get();
        let [key, value] = pair.as_slice() else {
            return refuse("to_h of other than pairs");
        };
        entries.insert(Key::new(key)?, value.clone());
    }
    Ok(RubyValue::hash(entries))
}
