//! Sources broken at random: [`broken`]. The rule: the same seed breaks the same way.

use crate::random::Random;

/// One or two words or signs left out, doubled, swapped with the next, replaced by another of the same
/// source, or preceded by one.
pub(super) fn broken(code: &str, random: &mut Random) -> String {
    let mut parts: Vec<String> = split(code);
    let solid: Vec<usize> = (0..parts.len())
        .filter(|at| !parts[*at].starts_with(|c: char| c.is_whitespace() || c == '#'))
        .collect();
    if solid.is_empty() {
        return code.to_owned();
    }
    for _ in 0..1 + random.below(4) / 3 {
        let which = random.below(solid.len());
        let (at, other) = (solid[which], solid[random.below(solid.len())]);
        match random.below(5) {
            0 => parts[at].clear(),
            1 => parts[at] = format!("{0} {0}", parts[at]),
            2 => parts.swap(at, *solid.get(which + 1).unwrap_or(&at)),
            3 => parts[at] = parts[other].clone(),
            _ => parts[at] = format!("{} {}", parts[other], parts[at]),
        }
    }
    parts.concat()
}

/// Words, blanks, comments, and signs; together they are the source.
fn split(code: &str) -> Vec<String> {
    const SIGNS: [&str; 17] = [
        "<<|", "|>>", "=>", "+>", "->", "~>", "<-", "<~", "<|", "|>", "==", "!=", "<=", ">=", "=~",
        "!~", "::",
    ];
    let mut parts = Vec::new();
    let mut rest = code;
    while let Some(first) = rest.chars().next() {
        let word = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let run = |ok: &dyn Fn(char) -> bool| rest.find(|c| !ok(c)).unwrap_or(rest.len());
        let len = match first {
            '#' => rest.find('\n').unwrap_or(rest.len()),
            c if c.is_whitespace() => run(&char::is_whitespace),
            c if word(c) => run(&word),
            _ => {
                let sign = SIGNS.iter().find(|sign| rest.starts_with(**sign));
                sign.map_or(first.len_utf8(), |sign| sign.len())
            }
        };
        let (part, after) = rest.split_at(len);
        parts.push(part.to_owned());
        rest = after;
    }
    parts
}
