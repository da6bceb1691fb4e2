//! Near matches for a name that does not exist. Main functions: [`nearest`] and [`did_you_mean`].
//!
//! Invariant: a suggestion is always one of the candidates, and the work for one name is bounded by
//! the number of candidates and [`NAME_BYTES`].

/// Largest number of suggestions for one name: more than three would be a list, not a hint.
pub const SUGGESTIONS: usize = 3;

/// Longest name that is compared: a certname has at most 253 bytes, names of tasks and plans are
/// shorter.
pub const NAME_BYTES: usize = 256;

/// Number of characters per tolerated mistake: `wbe1` is near to `web1`, `db` is not near to `a1`.
const CHARS_FOR_A_MISTAKE: usize = 3;

/// Minimum length of a prefix that counts as near: `web` is near to `web1.example.com`.
const PREFIX_CHARS: usize = 2;

/// The candidates that are nearest to `wanted`, the nearest first, at most [`SUGGESTIONS`].
pub fn nearest<'a>(wanted: &str, candidates: impl IntoIterator<Item = &'a str>) -> Vec<&'a str> {
    if wanted.is_empty() || wanted.len() > NAME_BYTES {
        return Vec::new();
    }
    let wanted = wanted.to_lowercase();
    let mut near: Vec<(usize, &str)> = Vec::new();
    for candidate in candidates {
        let Some(distance) = distance(&wanted, candidate) else {
            continue;
        };
        let at = near.partition_point(|known| *known <= (distance, candidate));
        if at < SUGGESTIONS && near.get(at.wrapping_sub(1)) != Some(&(distance, candidate)) {
            near.insert(at, (distance, candidate));
            near.truncate(SUGGESTIONS);
        }
    }
    near.into_iter().map(|(_, candidate)| candidate).collect()
}

/// ` (did you mean a, b or c?)` for a message, or nothing if no candidate is near.
pub fn did_you_mean<'a>(wanted: &str, candidates: impl IntoIterator<Item = &'a str>) -> String {
    let near: Vec<_> = nearest(wanted, candidates)
        .into_iter()
        .map(|name| format!("`{name}`"))
        .collect();
    match near.as_slice() {
        [] => String::new(),
        [one] => format!(" (did you mean {one}?)"),
        [first @ .., last] => format!(" (did you mean {} or {last}?)", first.join(", ")),
    }
}

/// Number of mistakes between the two names; `None` if there are too many. The first part of a name
/// counts as the name: `wbe1` is as near to `web1.example.com` as to `web1`.
fn distance(wanted: &str, candidate: &str) -> Option<usize> {
    if candidate.len() > NAME_BYTES {
        return None;
    }
    let candidate = candidate.to_lowercase();
    let whole = within_tolerance(wanted, &candidate);
    let first = first_part(&candidate).and_then(|part| within_tolerance(wanted, part));
    let last = last_part(&candidate).and_then(|part| within_tolerance(wanted, part));
    let starts = wanted.chars().count() >= PREFIX_CHARS && candidate.starts_with(wanted);
    let prefix = starts.then_some(CHARS_FOR_A_MISTAKE);
    [whole, first, last, prefix].into_iter().flatten().min()
}

fn within_tolerance(wanted: &str, candidate: &str) -> Option<usize> {
    let (long, short) = (
        wanted.len().max(candidate.len()),
        wanted.len().min(candidate.len()),
    );
    let tolerance = long.div_ceil(CHARS_FOR_A_MISTAKE + 1);
    if long - short > tolerance {
        return None;
    }
    let distance = strsim::osa_distance(wanted, candidate);
    (distance <= tolerance && distance < short.max(1)).then_some(distance)
}

/// The host name of a certname; `None` if it has no domain.
fn first_part(name: &str) -> Option<&str> {
    name.split_once('.').map(|(part, _)| part)
}

/// The last segment of a task or plan name; `None` if it has no module.
fn last_part(name: &str) -> Option<&str> {
    name.rsplit_once("::").map(|(_, part)| part)
}

#[cfg(test)]
mod tests {
    use super::*;

    const NODES: [&str; 4] = [
        "web1.example.com",
        "web2.example.com",
        "db1.example.com",
        "a",
    ];

    #[test]
    fn typing_mistakes_are_near_and_other_names_are_not() {
        assert_eq!(nearest("wbe1.example.com", NODES)[0], "web1.example.com");
        assert_eq!(nearest("wbe1", NODES)[0], "web1.example.com");
        assert_eq!(nearest("WEB2", NODES)[0], "web2.example.com");
        assert_eq!(nearest("packge", ["package", "service"]), ["package"]);
        assert_eq!(
            nearest("rollot", ["deploy::rollout", "facts"]),
            ["deploy::rollout"]
        );
        assert_eq!(nearest("prod", ["production", "test"]), ["production"]);
        for far in ["mail", "x", "b", "", "zzzzzzzzz"] {
            assert_eq!(nearest(far, NODES), [""; 0], "{far}");
        }
    }

    #[test]
    fn the_nearest_is_first_and_there_are_few() {
        let names = ["web13", "web1", "web12", "web14", "web15", "web1"];
        let near = nearest("web1", names);
        assert_eq!(near.len(), SUGGESTIONS);
        assert_eq!(near[..2], ["web1", "web12"]);
    }

    #[test]
    fn names_without_end_are_not_compared() {
        let long = "a".repeat(NAME_BYTES + 1);
        assert_eq!(nearest(&long, [long.as_str()]), [""; 0]);
    }

    #[test]
    fn a_message_takes_them_in_brackets() {
        assert_eq!(
            did_you_mean("packge", ["package"]),
            " (did you mean `package`?)"
        );
        let several = did_you_mean("web", ["web1", "web2"]);
        assert_eq!(several, " (did you mean `web1` or `web2`?)");
        assert_eq!(did_you_mean("x", ["package"]), "");
    }
}
