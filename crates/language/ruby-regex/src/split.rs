//! Ruby's `String#split` with a pattern.

use crate::search::step;
use crate::{Regex, SearchError};

impl Regex {
    /// The pieces between the matches, with the captured groups of each match between them. A
    /// pattern that matches the empty text splits into characters; empty pieces at the end are
    /// omitted.
    pub fn split<'t>(&self, text: &'t str) -> Result<Vec<&'t str>, SearchError> {
        let mut pieces = Vec::new();
        // The start of the piece, and the start of the search.
        let (mut begin, mut from) = (0, 0);
        let mut tried_empty = false;
        while let Some(found) = self.captures_from(text, from)? {
            let end = found.whole.start;
            if found.whole.is_empty() && end == from {
                if text.is_empty() {
                    pieces.push("");
                    break;
                }
                if !tried_empty {
                    let Some(next) = step(text, from) else { break };
                    from = next;
                    tried_empty = true;
                    continue;
                }
                let next = step(text, begin).unwrap_or(text.len());
                pieces.push(&text[begin..next]);
                begin = from;
            } else {
                pieces.push(text.get(begin..end).unwrap_or_default());
                begin = found.whole.end;
                from = begin;
            }
            tried_empty = false;
            pieces.extend((1..found.len()).filter_map(|group| found.get(group)));
        }
        if begin < text.len() {
            pieces.push(&text[begin..]);
        }
        while pieces.last().is_some_and(|piece| piece.is_empty()) {
            pieces.pop();
        }
        Ok(pieces)
    }
}
