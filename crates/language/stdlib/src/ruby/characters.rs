//! Sets of characters with the syntax of Ruby's `squeeze` and `count`: `a-z`, `^0-9`, `\-`. Main
//! type: [`CharacterSet`].

pub(crate) struct CharacterSet {
    negated: bool,
    ranges: Vec<(char, char)>,
}

impl CharacterSet {
    /// Parses a set; `Err` if a range runs backwards.
    pub(crate) fn parse(spec: &str) -> Result<Self, String> {
        let (negated, spec) = match spec.strip_prefix('^') {
            Some(rest) if !rest.is_empty() => (true, rest),
            _ => (false, spec),
        };
        let mut ranges = Vec::new();
        let letters: Vec<char> = spec.chars().collect();
        let mut at = 0;
        while let Some(&c) = letters.get(at) {
            at += 1;
            let from = match (c, letters.get(at)) {
                ('\\', Some(&escaped)) => {
                    at += 1;
                    escaped
                }
                _ => c,
            };
            if letters.get(at) == Some(&'-') && at + 1 < letters.len() {
                let mut to = letters[at + 1];
                at += 2;
                if to == '\\'
                    && let Some(&escaped) = letters.get(at)
                {
                    to = escaped;
                    at += 1;
                }
                if from > to {
                    return Err(format!(
                        "invalid range \"{from}-{to}\" in string transliteration"
                    ));
                }
                ranges.push((from, to));
            } else {
                ranges.push((from, from));
            }
        }
        Ok(Self { negated, ranges })
    }

    pub(crate) fn contains(&self, c: char) -> bool {
        self.ranges
            .iter()
            .any(|(from, to)| (*from..=*to).contains(&c))
            != self.negated
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets_hold_what_ruby_says() {
        let set = |spec| CharacterSet::parse(spec).unwrap();
        assert!(set("a-c").contains('b') && !set("a-c").contains('-'));
        assert!(!set("^a-c").contains('b') && set("^a-c").contains('z'));
        assert!(set("a\\-c").contains('-') && !set("a\\-c").contains('b'));
        assert!(set("^").contains('^') && set("a-").contains('-') && !set("").contains('a'));
        assert!(CharacterSet::parse("z-a").is_err());
    }
}
