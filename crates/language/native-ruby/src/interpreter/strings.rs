//! Methods of strings.

use std::sync::Arc;

use super::indexes::{count, part, position, range_part};
use super::{Interpreter, format};
use crate::defaults::{FLOAT_DIGITS_MAX, TEXT_MAX};
use crate::syntax::Block;
use crate::value::{Eval, RubyString, RubyValue, refuse};

/// Blanks of `strip` and `split`.
const BLANKS: [char; 6] = [' ', '\t', '\n', '\u{b}', '\u{c}', '\r'];

impl<'t> Interpreter<'t, '_> {
    pub(super) fn call_string(
        &mut self,
        string: &RubyString,
        name: &'static str,
        arguments: &[RubyValue],
    ) -> Eval<Option<RubyValue>> {
        let text = string.get();
        if let Some(value) = plain(&text, name, arguments)? {
            return Ok(Some(value));
        }
        if let Some(value) = index(&text, name, arguments)? {
            return Ok(Some(value));
        }
        Ok(Some(match (name, arguments) {
            ("<<" | "concat", [RubyValue::Str(other)]) => {
                string.set([&*text, &*other.get()].concat().into())?;
                RubyValue::Str(string.clone())
            }
            ("=~", [RubyValue::Regex(regex)]) => self.match_offset(regex, &text)?,
            ("match", [RubyValue::Regex(regex)]) => self.match_value(regex, &text)?,
            // a text is compiled as a regular expression here
            ("match", [RubyValue::Str(pattern)]) => {
                let regex = Self::compile_regex(&pattern.get(), ruby_regex::RegexFlags::default())?;
                self.match_value(&regex, &text)?
            }
            ("match?", [RubyValue::Regex(regex)]) => match regex.is_match(&text) {
                Ok(is_match) => RubyValue::Bool(is_match),
                Err(error) => return refuse(error.to_string()),
            },
            ("[]" | "slice", [RubyValue::Regex(regex)]) => {
                self.search(regex, &text)?;
                self.match_group(0)
            }
            ("[]" | "slice", [RubyValue::Regex(regex), RubyValue::Int(group)]) => {
                self.search(regex, &text)?;
                match usize::try_from(*group) {
                    Ok(group) => self.match_group(group),
                    Err(_) => return refuse("a group before the first"),
                }
            }
            ("gsub", arguments) => self.replace(&text, arguments, true)?,
            ("sub", arguments) => self.replace(&text, arguments, false)?,
            ("scan", [pattern]) => self.scan(&text, pattern)?,
            ("split", arguments) => Self::split(&text, arguments)?,
            ("%", [RubyValue::Array(values)]) => format::format(&text, &values.get())?,
            ("%", [value]) => format::format(&text, std::slice::from_ref(value))?,
            _ => return Ok(None),
        }))
    }

    pub(super) fn call_string_with_block(
        &mut self,
        string: &RubyString,
        name: &str,
        arguments: &[RubyValue],
        block: &'t Block,
    ) -> Eval<Option<RubyValue>> {
        match (name, arguments) {
            ("gsub" | "sub", [pattern]) => {
                let text = string.get();
                self.replace_with_block(&text, pattern, name == "gsub", block)
                    .map(Some)
            }
            _ => Ok(None),
        }
    }

    fn split(text: &str, arguments: &[RubyValue]) -> Eval {
        let blank = RubyValue::string(" ");
        let pattern = arguments.first().unwrap_or(&blank);
        if arguments.len() > 1 || text.contains('\0') {
            return refuse("split with a limit");
        }
        let pieces: Vec<&str> = match pattern {
            RubyValue::Regex(regex) if regex.source() != " " => match regex.split(text) {
                Ok(pieces) => pieces,
                Err(error) => return refuse(error.to_string()),
            },
            RubyValue::Str(separator) => {
                let separator = separator.get();
                match &*separator {
                    " " => text
                        .split(BLANKS)
                        .filter(|piece| !piece.is_empty())
                        .collect(),
                    "" => text.split("").filter(|piece| !piece.is_empty()).collect(),
                    separator => {
                        let mut pieces: Vec<&str> = text.split(separator).collect();
                        while pieces.last().is_some_and(|piece| piece.is_empty()) {
                            pieces.pop();
                        }
                        pieces
                    }
                }
            }
            other => return refuse(format!("split by {}", other.kind())),
        };
        super::arrays::bounded(pieces.into_iter().map(RubyValue::string).collect())
    }
}

/// Methods that depend on the text alone.
fn plain(text: &str, name: &str, arguments: &[RubyValue]) -> Eval<Option<RubyValue>> {
    Ok(Some(match (name, arguments) {
        ("size" | "length", []) => RubyValue::count(text.chars().count()),
        ("empty?", []) => RubyValue::Bool(text.is_empty()),
        ("to_str", []) => RubyValue::string(text),
        ("to_sym", []) => RubyValue::Symbol(text.into()),
        ("upcase" | "downcase" | "capitalize" | "swapcase", []) => change_case(text, name)?,
        ("strip" | "lstrip" | "rstrip", []) => strip(text, name)?,
        ("chomp", []) => RubyValue::string(chomp(text)),
        ("chomp", [RubyValue::Str(end)]) if !matches!(&*end.get(), "" | "\n") => {
            RubyValue::string(text.strip_suffix(&*end.get()).unwrap_or(text))
        }
        ("chop", []) => {
            let end = text.char_indices().next_back().map_or(0, |(at, _)| at);
            let end = if text.ends_with("\r\n") { end - 1 } else { end };
            RubyValue::string(&text[..end])
        }
        ("delete_prefix", [RubyValue::Str(start)]) => {
            RubyValue::string(text.strip_prefix(&*start.get()).unwrap_or(text))
        }
        ("delete_suffix", [RubyValue::Str(end)]) => {
            RubyValue::string(text.strip_suffix(&*end.get()).unwrap_or(text))
        }
        ("start_with?" | "end_with?", wanted) => return has_ends(text, name, wanted).map(Some),
        ("include?", [RubyValue::Str(part)]) => RubyValue::Bool(text.contains(&*part.get())),
        ("+", [RubyValue::Str(other)]) => {
            let other = other.get();
            if text.len() + other.len() > TEXT_MAX {
                return refuse("a long text");
            }
            RubyValue::string([text, &*other].concat())
        }
        ("*", [times]) => {
            let times = count(times)?;
            if text.len().saturating_mul(times) > TEXT_MAX {
                return refuse("a long text");
            }
            RubyValue::string(text.repeat(times))
        }
        ("<" | ">" | "<=" | ">=", [RubyValue::Str(other)]) => {
            let order = text.as_bytes().cmp(other.get().as_bytes());
            RubyValue::Bool(super::numbers::is_ordered(name, order))
        }
        ("to_i", []) => to_integer(text)?,
        ("to_f", []) => to_float(text)?,
        ("chars", []) => {
            let chars = text
                .chars()
                .map(|c| RubyValue::string(c.encode_utf8(&mut [0; 4]) as &str));
            super::arrays::bounded(chars.collect())?
        }
        ("lines", []) => {
            let lines = text.split_inclusive('\n').map(RubyValue::string);
            super::arrays::bounded(lines.collect())?
        }
        ("reverse", []) => RubyValue::string(text.chars().rev().collect::<String>()),
        ("ljust" | "rjust" | "center", [width, padding @ ..]) => {
            let padding = match padding {
                [] => Arc::from(" "),
                [RubyValue::Str(padding)] => padding.get(),
                _ => return refuse("a padding in another form"),
            };
            justify(text, name, count(width)?, &padding)?
        }
        _ => return Ok(None),
    }))
}

/// `[]` and `index` with integers, ranges and texts.
fn index(text: &str, name: &str, arguments: &[RubyValue]) -> Eval<Option<RubyValue>> {
    let bounds = match (name, arguments) {
        ("index", [RubyValue::Str(part)]) => {
            let at = text.find(&*part.get());
            let at = at.map(|at| text[..at].chars().count());
            return Ok(Some(at.map_or(RubyValue::Nil, RubyValue::count)));
        }
        ("[]" | "slice", [RubyValue::Str(part)]) => {
            let part = part.get();
            let has = text.contains(&*part);
            let found = has.then(|| RubyValue::string(part));
            return Ok(Some(found.unwrap_or(RubyValue::Nil)));
        }
        ("[]" | "slice", [RubyValue::Int(index)]) => {
            let length = text.chars().count();
            let at = position(*index, length).filter(|at| *at < length);
            at.map(|at| (at, at + 1))
        }
        ("[]" | "slice", [RubyValue::Int(start), RubyValue::Int(count)]) => {
            part(*start, *count, text.chars().count())
        }
        ("[]" | "slice", [RubyValue::Range(low, high, is_exclusive)]) => {
            range_part(*low, *high, *is_exclusive, text.chars().count())
        }
        _ => return Ok(None),
    };
    Ok(Some(match bounds {
        Some((start, end)) => {
            let part: String = text.chars().skip(start).take(end - start).collect();
            RubyValue::string(part)
        }
        None => RubyValue::Nil,
    }))
}

/// Letters beyond ASCII are mapped by the Unicode version of Ruby.
fn change_case(text: &str, name: &str) -> Eval {
    if !text.is_ascii() {
        return refuse(format!("{name} beyond ASCII"));
    }
    let mut changed = match name {
        "upcase" => text.to_ascii_uppercase(),
        "swapcase" => {
            let swap = |c: char| match c.is_ascii_uppercase() {
                true => c.to_ascii_lowercase(),
                false => c.to_ascii_uppercase(),
            };
            text.chars().map(swap).collect()
        }
        _ => text.to_ascii_lowercase(),
    };
    if let ("capitalize", Some(first)) = (name, changed.get_mut(..1)) {
        first.make_ascii_uppercase();
    }
    Ok(RubyValue::string(changed))
}

fn strip(text: &str, name: &str) -> Eval {
    if text.contains('\0') {
        return refuse("strip of a text with zero bytes");
    }
    let text = if name == "rstrip" {
        text
    } else {
        text.trim_start_matches(BLANKS)
    };
    let text = if name == "lstrip" {
        text
    } else {
        text.trim_end_matches(BLANKS)
    };
    Ok(RubyValue::string(text))
}

fn chomp(text: &str) -> &str {
    let ends = ["\r\n", "\n", "\r"];
    ends.iter()
        .find_map(|end| text.strip_suffix(end))
        .unwrap_or(text)
}

fn has_ends(text: &str, name: &str, wanted: &[RubyValue]) -> Eval {
    for end in wanted {
        let RubyValue::Str(end) = end else {
            return refuse(format!("{name} with {}", end.kind()));
        };
        let end = end.get();
        let has = match name {
            "start_with?" => text.starts_with(&*end),
            _ => text.ends_with(&*end),
        };
        if has {
            return Ok(RubyValue::Bool(true));
        }
    }
    Ok(RubyValue::Bool(false))
}

/// The integer at the start of a text, zero without one.
fn to_integer(text: &str) -> Eval {
    let text = text.trim_start_matches(BLANKS);
    let (sign, digits) = match text.as_bytes().first() {
        Some(b'-') => (-1, &text[1..]),
        Some(b'+') => (1, &text[1..]),
        _ => (1, text),
    };
    let end = digits
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(digits.len());
    if digits[end..].starts_with('_') || digits.starts_with('_') {
        return refuse("an integer with underscores");
    }
    if end == 0 {
        return Ok(RubyValue::Int(0));
    }
    match digits[..end].parse::<i64>() {
        Ok(number) => Ok(RubyValue::Int(sign * number)),
        Err(_) => refuse("a large integer"),
    }
}

/// The decimal number at the start of a text, zero without one.
fn to_float(text: &str) -> Eval {
    let text = text.trim_start_matches(BLANKS);
    let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
    let count_digits = |text: &str| {
        let end = text.find(|c: char| !c.is_ascii_digit());
        end.unwrap_or(text.len())
    };
    let whole = count_digits(digits);
    let after = &digits[whole..];
    let fraction = after.strip_prefix('.').map_or(0, count_digits);
    let rest = match fraction {
        0 => after,
        fraction => &after[1 + fraction..],
    };
    let is_odd = rest.starts_with(['_', 'e', 'E', 'x', 'X'])
        || digits.starts_with(['.', '_'])
        || whole + fraction > FLOAT_DIGITS_MAX;
    if is_odd {
        return refuse("a float in another form");
    }
    if whole == 0 {
        return Ok(RubyValue::Float(0.0));
    }
    let number = &text[..text.len() - rest.len()];
    match number.trim_end_matches('.').parse() {
        Ok(number) => Ok(RubyValue::Float(number)),
        Err(_) => refuse("a float in another form"),
    }
}

fn justify(text: &str, name: &str, width: usize, padding: &str) -> Eval {
    let missing = width.saturating_sub(text.chars().count());
    if padding.is_empty() || missing > TEXT_MAX {
        return refuse("a padding in another form");
    }
    let left = match name {
        "ljust" => 0,
        "rjust" => missing,
        _ => missing / 2,
    };
    let pad = |count: usize| padding.chars().cycle().take(count).collect::<String>();
    Ok(RubyValue::string(
        [&*pad(left), text, &*pad(missing - left)].concat(),
    ))
}
