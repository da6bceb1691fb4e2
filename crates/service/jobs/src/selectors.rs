//! Nodes as users type them: names, short names, globs and regular expressions. Main types: [`NodeSelectors`] and
//! [`SelectorError`].
//!
//! Invariant: a selector gives nodes that are known, or an error that names it; a short name gives
//! exactly one node. A regular expression runs in linear time, so no pattern can keep a core busy.

use std::collections::BTreeSet;

use pcp::Certname;
use regex::{Regex, RegexBuilder};

use crate::defaults::{PATTERN_BYTES, PATTERN_PROGRAM_BYTES, SELECTOR_PATTERNS, SELECTOR_PROBLEMS};

/// Node selectors as typed by a user.
#[derive(Clone, Debug)]
pub struct NodeSelectors(Vec<NodeSelector>);

#[derive(Clone, Debug)]
enum NodeSelector {
    /// A certname or its first label.
    Name(Certname),
    /// The text as typed, and the expression that certnames must match.
    Pattern(String, Regex),
}

/// Reason that selectors give no nodes. All selectors that fail are named, up to
/// [`SELECTOR_PROBLEMS`].
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SelectorError {
    /// A name that is neither a certname nor a pattern.
    #[error("`{selector}` is not a certname: {reason}")]
    Name {
        /// The selector as typed.
        selector: String,
        /// The rule that it breaks.
        reason: String,
    },
    /// A glob or regular expression with a syntax error.
    #[error("the pattern `{selector}` cannot be used: {reason}")]
    Pattern {
        /// The selector as typed.
        selector: String,
        /// The cause, in one line.
        reason: String,
    },
    /// More patterns than one request may have.
    #[error("{0} patterns are given; one command takes at most {SELECTOR_PATTERNS}")]
    TooManyPatterns(usize),
    /// Selectors without a node, or a short name with several.
    #[error("{}", problems.join("; "))]
    Unmatched {
        /// One sentence for each selector.
        problems: Vec<String>,
    },
}

// === impl NodeSelectors ===

impl NodeSelectors {
    /// Parses selectors such as `web1`, `web*`, `web[12].example.com` and `/^web\d+/`.
    pub fn parse(texts: &[String]) -> Result<Self, SelectorError> {
        let patterns = texts.iter().filter(|text| is_pattern(text)).count();
        if patterns > SELECTOR_PATTERNS {
            return Err(SelectorError::TooManyPatterns(patterns));
        }
        texts
            .iter()
            .map(|text| NodeSelector::parse(text))
            .collect::<Result<_, _>>()
            .map(Self)
    }

    /// True if each selector is the whole name of one of these nodes, so that no other node needs to be known.
    pub fn are_names_in(&self, nodes: &BTreeSet<Certname>) -> bool {
        self.0.iter().all(|selector| match selector {
            NodeSelector::Name(name) => nodes.contains(name),
            NodeSelector::Pattern(..) => false,
        })
    }

    /// The nodes among `known`, each once: names in the order typed, nodes of a pattern by name.
    pub fn select(&self, known: &BTreeSet<Certname>) -> Result<Vec<Certname>, SelectorError> {
        let (mut seen, mut nodes, mut problems) = (BTreeSet::new(), Vec::new(), Vec::new());
        for selector in &self.0 {
            match selector.matching_nodes(known) {
                Ok(found) => {
                    nodes.extend(found.into_iter().filter(|node| seen.insert(*node)).cloned())
                }
                Err(problem) if problems.len() < SELECTOR_PROBLEMS => problems.push(problem),
                Err(_) => {}
            }
        }
        if problems.is_empty() {
            return Ok(nodes);
        }
        problems.push(match known.len() {
            1 => "1 node is known here".to_owned(),
            count => format!("{count} nodes are known here"),
        });
        Err(SelectorError::Unmatched { problems })
    }
}

// === impl NodeSelector ===

impl NodeSelector {
    fn parse(text: &str) -> Result<Self, SelectorError> {
        if is_pattern(text) {
            return Ok(Self::Pattern(text.to_owned(), parse_pattern(text)?));
        }
        text.parse()
            .map(Self::Name)
            .map_err(|error: pcp::CertnameError| SelectorError::Name {
                selector: text.to_owned(),
                reason: error.to_string(),
            })
    }

    fn matching_nodes<'a>(
        &self,
        known: &'a BTreeSet<Certname>,
    ) -> Result<Vec<&'a Certname>, String> {
        match self {
            Self::Name(name) => find_by_name(name, known),
            Self::Pattern(text, pattern) => {
                let nodes: Vec<_> = known
                    .iter()
                    .filter(|node| pattern.is_match(node.as_str()))
                    .collect();
                match nodes.is_empty() {
                    true => Err(format!("no node matches `{text}`")),
                    false => Ok(nodes),
                }
            }
        }
    }
}

/// The node of that name, or the only one whose first label it is.
fn find_by_name<'a>(
    name: &Certname,
    known: &'a BTreeSet<Certname>,
) -> Result<Vec<&'a Certname>, String> {
    if let Some(node) = known.get(name) {
        return Ok(vec![node]);
    }
    let is_short_for = |node: &&Certname| {
        let label = node.as_str().strip_prefix(name.as_str());
        label.is_some_and(|rest| rest.starts_with('.'))
    };
    let nodes: Vec<_> = known.iter().filter(is_short_for).collect();
    match nodes.as_slice() {
        [node] => Ok(vec![node]),
        [] => {
            let near = suggest::did_you_mean(name.as_str(), known.iter().map(Certname::as_str));
            Err(format!("no node is named `{name}`{near}"))
        }
        several => {
            let names: Vec<_> = several
                .iter()
                .take(SELECTOR_PROBLEMS)
                .map(|node| node.as_str())
                .collect();
            let more = match several.len() - names.len() {
                0 => String::new(),
                more => format!(" and {more} more"),
            };
            let names = names.join(", ");
            Err(format!(
                "`{name}` is short for {names}{more}; write the whole name or `{name}.*`"
            ))
        }
    }
}

/// True for `/…/` and for names with characters that only globs have.
fn is_pattern(text: &str) -> bool {
    text.starts_with('/') || text.contains(['*', '?', '['])
}

fn parse_pattern(text: &str) -> Result<Regex, SelectorError> {
    let refused = |reason: String| SelectorError::Pattern {
        selector: text.chars().take(PATTERN_BYTES).collect(),
        reason,
    };
    if text.len() > PATTERN_BYTES {
        return Err(refused(format!("it is longer than {PATTERN_BYTES} bytes")));
    }
    let expression = match text.strip_prefix('/') {
        Some(rest) => match rest.strip_suffix('/') {
            Some("") => {
                return Err(refused(
                    "it is empty; `*` means every known node".to_owned(),
                ));
            }
            Some(expression) => expression.to_owned(),
            None => {
                return Err(refused(
                    "it begins with / and does not end with /".to_owned(),
                ));
            }
        },
        None => glob_to_regex(text)
            .ok_or_else(|| refused("a [ has no ]; write [12] or [a-f]".to_owned()))?,
    };
    let built = RegexBuilder::new(&expression)
        .size_limit(PATTERN_PROGRAM_BYTES)
        .build();
    built.map_err(|error| refused(last_line(&error.to_string())))
}

/// The last line of a regular expression error: the library draws the expression, then gives the
/// cause.
fn last_line(text: &str) -> String {
    let line = text.lines().last().unwrap_or_default();
    line.strip_prefix("error: ").unwrap_or(line).to_owned()
}

/// The regular expression of a shell glob, anchored at both ends; `None` if a bracket is not
/// closed.
fn glob_to_regex(text: &str) -> Option<String> {
    let mut expression = "^".to_owned();
    let mut rest = text.chars();
    while let Some(letter) = rest.next() {
        match letter {
            '*' => expression.push_str(".*"),
            '?' => expression.push('.'),
            '[' => {
                let (class, after) = rest.as_str().split_once(']')?;
                let (negated, class) = match class.strip_prefix(['!', '^']) {
                    Some(class) => ("^", class),
                    None => ("", class),
                };
                let class = regex::escape(class).replace("\\-", "-");
                expression.extend(["[", negated, class.as_str(), "]"]);
                rest = after.chars();
            }
            letter => expression.push_str(&regex::escape(letter.encode_utf8(&mut [0; 4]))),
        }
    }
    expression.push('$');
    Some(expression)
}

#[cfg(test)]
mod tests {
    use super::*;

    const NODES: [&str; 5] = [
        "db1.example.com",
        "web1.example.com",
        "web1.example.org",
        "web2.example.com",
        "web20",
    ];

    fn known() -> BTreeSet<Certname> {
        NODES.iter().map(|name| name.parse().unwrap()).collect()
    }

    fn select(texts: &[&str]) -> Result<Vec<String>, SelectorError> {
        let texts: Vec<_> = texts.iter().map(|text| (*text).to_owned()).collect();
        let nodes = NodeSelectors::parse(&texts)?.select(&known())?;
        Ok(nodes.iter().map(ToString::to_string).collect())
    }

    fn refusal(texts: &[&str]) -> String {
        select(texts).unwrap_err().to_string()
    }

    #[test]
    fn names_globs_and_expressions_select_known_nodes_once() {
        for (texts, nodes) in [
            (&["web1.example.com"][..], &["web1.example.com"][..]),
            (&["db1"], &["db1.example.com"]),
            (&["web20", "web2"], &["web20", "web2.example.com"]),
            (
                &["web*.example.com"],
                &["web1.example.com", "web2.example.com"],
            ),
            (
                &["*.org", "web1*"],
                &["web1.example.org", "web1.example.com"],
            ),
            (
                &["web?.example.com"],
                &["web1.example.com", "web2.example.com"],
            ),
            (&["web[2-9].*"], &["web2.example.com"]),
            (&["[!w]*"], &["db1.example.com"]),
            (&["/^db|0$/"], &["db1.example.com", "web20"]),
            (&["/web[0-9]{2,3}/"], &["web20"]),
        ] {
            assert_eq!(select(texts).unwrap(), nodes, "{texts:?}");
        }
    }

    #[test]
    fn a_glob_matches_whole_names_and_a_dot_is_a_dot() {
        assert!(refusal(&["web"]).starts_with("no node is named `web` (did you mean"));
        assert!(refusal(&["example*"]).contains("no node matches `example*`"));
        assert!(refusal(&["web1?example.com", "we.*b"]).contains("no node matches `we.*b`"));
    }

    #[test]
    fn near_names_and_all_problems_are_told_at_once() {
        let told = refusal(&["wbe2.example.com", "web1", "x*"]);
        assert!(
            told.contains("no node is named `wbe2.example.com` (did you mean `web2.example.com`"),
            "{told}"
        );
        assert!(
            told.contains("`web1` is short for web1.example.com, web1.example.org"),
            "{told}"
        );
        assert!(
            told.contains("no node matches `x*`; 5 nodes are known here"),
            "{told}"
        );
    }

    #[test]
    fn patterns_that_cannot_be_read_are_refused() {
        for (text, part) in [
            ("/(/", "unclosed group"),
            ("/web", "does not end with /"),
            ("//", "it is empty"),
            ("web[12", "a [ has no ]"),
            ("/(a{500}){500}{500}/", "size limit"),
            ("../etc/passwd", "not a certname"),
            ("web\u{0}", "not a certname"),
            ("", "not a certname"),
        ] {
            let told = refusal(&[text]);
            assert!(told.contains(part), "{text:?}: {told}");
        }
        let long = format!("/{}/", "a".repeat(PATTERN_BYTES));
        assert!(refusal(&[&long]).contains("longer than"));
        let many = vec!["a*"; SELECTOR_PATTERNS + 1];
        assert!(refusal(&many).contains("at most"));
    }

    #[test]
    fn problems_are_bounded() {
        let names: Vec<String> = (0..1_000).map(|n| format!("missing{n}")).collect();
        let names: Vec<_> = names.iter().map(String::as_str).collect();
        let Err(SelectorError::Unmatched { problems }) = select(&names) else {
            panic!("nothing of that name is known");
        };
        assert_eq!(problems.len(), SELECTOR_PROBLEMS + 1);
    }
}
