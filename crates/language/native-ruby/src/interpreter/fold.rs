//! Methods of collections that give one value.

use std::cmp::Ordering;

use super::Interpreter;
use crate::syntax::Block;
use crate::value::{Eval, RubyValue, refuse};

impl<'t> Interpreter<'t, '_> {
    /// With a block.
    pub(super) fn fold(
        &mut self,
        items: &[RubyValue],
        name: &'static str,
        arguments: &[RubyValue],
        block: &'t Block,
    ) -> Eval<Option<RubyValue>> {
        Ok(Some(match (name, arguments) {
            ("any?" | "all?" | "none?" | "one?" | "count", []) => {
                return self.quantify(items, name, block).map(Some);
            }
            ("find" | "detect", []) => {
                for item in items {
                    if self.is_accepted(block, item)? {
                        return Ok(Some(item.clone()));
                    }
                }
                RubyValue::Nil
            }
            ("find_index" | "index", []) => {
                for (index, item) in items.iter().enumerate() {
                    if self.is_accepted(block, item)? {
                        return Ok(Some(RubyValue::count(index)));
                    }
                }
                RubyValue::Nil
            }
            ("inject" | "reduce", _) => {
                let (mut memo, rest) = match (arguments, items) {
                    ([start], items) => (start.clone(), items),
                    ([], [first, rest @ ..]) => (first.clone(), rest),
                    ([], []) => return Ok(Some(RubyValue::Nil)),
                    _ => return refuse("inject in another form"),
                };
                for item in rest {
                    memo = self.yield_values(block, &[memo, item.clone()])?;
                }
                memo
            }
            ("sum", []) => {
                let mut results = Vec::with_capacity(items.len());
                for item in items {
                    results.push(self.yield_value(block, item)?);
                }
                sum(&results)?
            }
            ("max_by" | "min_by", []) => {
                let wanted = match name {
                    "max_by" => Ordering::Greater,
                    _ => Ordering::Less,
                };
                let mut best: Option<(RubyValue, &RubyValue)> = None;
                for item in items {
                    let key = self.yield_value(block, item)?;
                    let is_better = match &best {
                        Some((known, _)) => key.order(known)? == wanted,
                        None => true,
                    };
                    if is_better {
                        best = Some((key, item));
                    }
                }
                best.map_or(RubyValue::Nil, |(_, item)| item.clone())
            }
            _ => return Ok(None),
        }))
    }

    fn quantify(&mut self, items: &[RubyValue], name: &str, block: &'t Block) -> Eval {
        let mut accepted = 0;
        for item in items {
            let is_accepted = self.is_accepted(block, item)?;
            accepted += usize::from(is_accepted);
            // Ruby stops as soon as the answer is known
            match name {
                "any?" if is_accepted => return Ok(RubyValue::Bool(true)),
                "all?" if !is_accepted => return Ok(RubyValue::Bool(false)),
                "none?" if is_accepted => return Ok(RubyValue::Bool(false)),
                "one?" if accepted > 1 => return Ok(RubyValue::Bool(false)),
                _ => {}
            }
        }
        Ok(match name {
            "any?" => RubyValue::Bool(false),
            "one?" => RubyValue::Bool(accepted == 1),
            "count" => RubyValue::count(accepted),
            _ => RubyValue::Bool(true),
        })
    }

    /// Without a block.
    pub(super) fn call_items(
        &mut self,
        items: &[RubyValue],
        name: &'static str,
        arguments: &[RubyValue],
    ) -> Eval<Option<RubyValue>> {
        let truthy = || items.iter().filter(|item| item.is_truthy()).count();
        Ok(Some(match (name, arguments) {
            ("include?" | "member?", [wanted]) => {
                RubyValue::Bool(Self::index_of(items, wanted)?.is_some())
            }
            ("index" | "find_index", [wanted]) => {
                Self::index_of(items, wanted)?.map_or(RubyValue::Nil, RubyValue::count)
            }
            ("count", [wanted]) => {
                let mut count = 0;
                for item in items {
                    count += usize::from(item.is_equal(wanted)?);
                }
                RubyValue::count(count)
            }
            ("any?", []) => RubyValue::Bool(truthy() > 0),
            ("all?", []) => RubyValue::Bool(truthy() == items.len()),
            ("none?", []) => RubyValue::Bool(truthy() == 0),
            ("one?", []) => RubyValue::Bool(truthy() == 1),
            ("max" | "min", []) => {
                let wanted = match name {
                    "max" => Ordering::Greater,
                    _ => Ordering::Less,
                };
                let mut best: Option<&RubyValue> = None;
                for item in items {
                    let is_better = match best {
                        Some(known) => item.order(known)? == wanted,
                        None => true,
                    };
                    if is_better {
                        best = Some(item);
                    }
                }
                best.cloned().unwrap_or(RubyValue::Nil)
            }
            ("sum", []) => sum(items)?,
            ("inject" | "reduce", [RubyValue::Symbol(symbol)]) if &**symbol == "+" => {
                let Some((first, rest)) = items.split_first() else {
                    return Ok(Some(RubyValue::Nil));
                };
                let mut total = first.clone();
                for item in rest {
                    total = self.call_method(&total, "+", std::slice::from_ref(item))?;
                }
                total
            }
            _ => return Ok(None),
        }))
    }

    fn index_of(items: &[RubyValue], wanted: &RubyValue) -> Eval<Option<usize>> {
        for (index, item) in items.iter().enumerate() {
            if item.is_equal(wanted)? {
                return Ok(Some(index));
            }
        }
        Ok(None)
    }
}

/// The sum of integers; Ruby adds floats with a correction of their errors.
fn sum(items: &[RubyValue]) -> Eval {
    let mut total: i64 = 0;
    for item in items {
        let RubyValue::Int(number) = item else {
            return refuse(format!("the sum of {}", item.kind()));
        };
        let Some(sum) = total.checked_add(*number) else {
            return refuse("a large integer");
        };
        total = sum;
    }
    Ok(RubyValue::Int(total))
}
