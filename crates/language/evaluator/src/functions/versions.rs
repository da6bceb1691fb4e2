//! `versioncmp`: compares versions piece by piece, as package managers do.

use std::cmp::Ordering;

use pcore::Value;

use crate::Evaluator;
use crate::error::EvalResult;
use crate::function::{CallArguments, FunctionDispatch, FunctionSpec, one, optional};

pub(super) static FUNCTIONS: &[FunctionSpec] = &[FunctionSpec::new(
    "versioncmp",
    &[FunctionDispatch::new(
        &[
            one("String", "a"),
            one("String", "b"),
            optional("Boolean", "ignore_trailing_zeroes"),
        ],
        versioncmp,
    )],
)];

fn versioncmp(_: &mut Evaluator<'_>, call: CallArguments<'_>) -> EvalResult {
    let (a, b) = (call.text(0), call.text(1));
    let ordering = if call.get(2).is_truthy() {
        order(&without_zeroes(&a), &without_zeroes(&b))
    } else {
        order(&a, &b)
    };
    Ok(Value::Int(match ordering {
        Ordering::Less => -1,
        Ordering::Equal => 0,
        Ordering::Greater => 1,
    }))
}

/// Removes trailing dots and zeros before the first dash, as Puppet does: `10.0` becomes `1`.
fn without_zeroes(version: &str) -> String {
    match version.split_once('-') {
        Some((number, rest)) => format!("{}-{rest}", number.trim_end_matches(['.', '0'])),
        None => version.trim_end_matches(['.', '0']).to_owned(),
    }
}

/// Splits into `-`, `.`, runs of digits, and runs of other characters.
fn pieces(version: &str) -> Vec<&str> {
    let mut pieces = Vec::new();
    let mut rest = version;
    while let Some(first) = rest.chars().next() {
        let len = match first {
            '-' | '.' => 1,
            digit if digit.is_ascii_digit() => rest
                .find(|it: char| !it.is_ascii_digit())
                .unwrap_or(rest.len()),
            _ => rest
                .find(|it: char| it.is_ascii_digit() || it == '-' || it == '.')
                .unwrap_or(rest.len()),
        };
        let (piece, after) = rest.split_at(len);
        pieces.push(piece);
        rest = after;
    }
    pieces
}

fn order(a: &str, b: &str) -> Ordering {
    let (left, right) = (pieces(a), pieces(b));
    for (a, b) in left.iter().zip(&right) {
        if a == b {
            continue;
        }
        return match (*a, *b) {
            ("-", _) => Ordering::Less,
            (_, "-") => Ordering::Greater,
            (".", _) => Ordering::Less,
            (_, ".") => Ordering::Greater,
            _ => piece(a, b),
        };
    }
    a.cmp(b)
}

fn piece(a: &str, b: &str) -> Ordering {
    let is_number = |text: &str| text.bytes().all(|it| it.is_ascii_digit());
    if is_number(a) && is_number(b) {
        if a.starts_with('0') || b.starts_with('0') {
            return a.to_uppercase().cmp(&b.to_uppercase());
        }
        return a.len().cmp(&b.len()).then_with(|| a.cmp(b));
    }
    a.to_uppercase().cmp(&b.to_uppercase())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_compare_piece_by_piece() {
        assert_eq!(order("1.2", "1.10"), Ordering::Less);
        assert_eq!(order("2.6-1", "2.4.5"), Ordering::Greater);
        assert_eq!(order("1.1.6", "2.3"), Ordering::Less);
        assert_eq!(order("1.0", "1.0"), Ordering::Equal);
        assert_eq!(order("1.0-rc1", "1.0"), Ordering::Greater);
        assert_eq!(without_zeroes("1.0.0"), "1");
        assert_eq!(without_zeroes("10.0-1"), "1-1");
    }
}
