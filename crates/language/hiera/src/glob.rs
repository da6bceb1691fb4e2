//! Patterns of paths with the semantics of Ruby's `Dir.glob`: [`glob`].
//!
//! `*` and `?` stay within one name, `**/` is any number of directories, `[a-z]` one of some
//! characters, `{a,b}` one of some texts. Names that begin with a dot are matched only by an
//! explicit dot.
//!
//! Invariant: paths come in the order in which Ruby returns them, that of the names in each
//! directory.

use std::path::{Path, PathBuf};

use crate::LookupHost;
use crate::defaults::{GLOB_ALTERNATIVES, GLOB_DEPTH, GLOBBED_PATHS};

/// The files that match a pattern. The pattern begins with `/`.
pub(crate) fn glob(host: &mut dyn LookupHost, pattern: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for pattern in alternatives(pattern) {
        let parts: Vec<&str> = pattern.split('/').filter(|part| !part.is_empty()).collect();
        descend(host, Path::new("/"), vec![&parts], 0, &mut found);
    }
    found
}

/// The directory that contains all matching files.
pub(crate) fn fixed_part(pattern: &str) -> PathBuf {
    let is_fixed = |part: &&str| !part.contains(['*', '?', '[', '{', '\\']);
    let (directory, _) = pattern.rsplit_once('/').unwrap_or_default();
    let parts = directory.split('/').filter(|part| !part.is_empty());
    Path::new("/").join(parts.take_while(is_fixed).collect::<PathBuf>())
}

/// The rest of a pattern after a directory.
type RestPattern<'p> = &'p [&'p str];

fn descend(
    host: &mut dyn LookupHost,
    directory: &Path,
    mut patterns: Vec<RestPattern<'_>>,
    depth: usize,
    found: &mut Vec<PathBuf>,
) {
    if found.len() >= GLOBBED_PATHS || depth > GLOB_DEPTH {
        return;
    }
    if let [[part, rest @ ..]] = patterns.as_slice()
        && !part.contains(['*', '?', '[', '\\'])
    {
        let path = directory.join(part);
        match rest {
            [] if host.identity(&path).is_some() => found.push(path),
            [] => {}
            rest => descend(host, &path, vec![rest], depth, found),
        }
        return;
    }
    // Any number of directories includes none.
    for at in 0..patterns.len() {
        if let ["**", rest @ ..] = patterns[at]
            && !rest.is_empty()
        {
            patterns.push(rest);
        }
    }
    for entry in list_directory(host, directory) {
        let name: Vec<char> = entry.name.chars().collect();
        let path = directory.join(&entry.name);
        let mut below = Vec::new();
        for pattern in &patterns {
            let [part, rest @ ..] = *pattern else {
                continue;
            };
            if *part == "**" && !rest.is_empty() {
                if entry.is_directory && !entry.name.starts_with('.') {
                    below.push(*pattern);
                }
            } else if matches(&part.chars().collect::<Vec<char>>(), &name) {
                match rest {
                    [] if !entry.is_directory => found.push(path.clone()),
                    [] => {}
                    rest => below.push(rest),
                }
            }
        }
        if entry.is_directory && !below.is_empty() {
            descend(host, &path, below, depth + 1, found);
        }
    }
}

fn list_directory(host: &mut dyn LookupHost, directory: &Path) -> Vec<crate::DirectoryEntry> {
    let mut entries = host.entries(directory);
    entries.sort_by(|a, b| a.name.as_bytes().cmp(b.name.as_bytes()));
    entries
}

/// True if one name matches one part of a pattern.
fn matches(pattern: &[char], name: &[char]) -> bool {
    if name.first() == Some(&'.') && pattern.first() != Some(&'.') {
        return false;
    }
    // The position of the last star, and the length of the name that it matches.
    let mut star: Option<(usize, usize)> = None;
    let (mut at, mut of) = (0, 0);
    while of < name.len() {
        let matched = match pattern.get(at) {
            Some('*') => {
                star = Some((at, of));
                at += 1;
                continue;
            }
            Some('?') => Some(1),
            Some('[') => class(&pattern[at..], name[of]),
            Some('\\') if pattern.get(at + 1) == Some(&name[of]) => Some(2),
            Some(c) if *c == name[of] => Some(1),
            _ => None,
        };
        match (matched, star) {
            (Some(length), _) => {
                at += length;
                of += 1;
            }
            (None, Some((star_at, taken))) => {
                star = Some((star_at, taken + 1));
                at = star_at + 1;
                of = taken + 1;
            }
            (None, None) => return false,
        }
    }
    pattern[at..].iter().all(|c| *c == '*')
}

/// The length of `[…]` if it contains the character.
fn class(pattern: &[char], c: char) -> Option<usize> {
    let negative = matches!(pattern.get(1), Some('^' | '!'));
    let mut at = if negative { 2 } else { 1 };
    let mut holds = false;
    loop {
        let first = *pattern.get(at)?;
        if first == ']' && at > 1 {
            break;
        }
        match (pattern.get(at + 1), pattern.get(at + 2)) {
            (Some('-'), Some(last)) if *last != ']' => {
                holds |= (first..=*last).contains(&c);
                at += 3;
            }
            _ => {
                holds |= first == c;
                at += 1;
            }
        }
    }
    (holds != negative).then_some(at + 1)
}

/// The texts to which the braces of a pattern expand.
fn alternatives(pattern: &str) -> Vec<String> {
    let mut done = Vec::new();
    let mut open = vec![pattern.to_owned()];
    while let Some(pattern) = open.pop() {
        let Some((start, end, commas)) = braces(&pattern) else {
            done.push(pattern);
            continue;
        };
        if open.len() + done.len() + commas.len() > GLOB_ALTERNATIVES {
            break;
        }
        let mut bounds = vec![start];
        bounds.extend(commas);
        bounds.push(end);
        let choices = bounds.windows(2).map(|pair| &pattern[pair[0] + 1..pair[1]]);
        let choices: Vec<String> = choices
            .map(|choice| [&pattern[..start], choice, &pattern[end + 1..]].concat())
            .collect();
        open.extend(choices.into_iter().rev());
    }
    done
}

/// The first pair of braces and the commas between them.
fn braces(pattern: &str) -> Option<(usize, usize, Vec<usize>)> {
    let start = pattern.find('{')?;
    let mut depth = 0;
    let mut commas = Vec::new();
    for (at, c) in pattern[start..].char_indices() {
        match c {
            '{' => depth += 1,
            '}' => depth -= 1,
            ',' if depth == 1 => commas.push(start + at),
            _ => {}
        }
        if depth == 0 {
            return Some((start, start + at, commas));
        }
    }
    None
}
