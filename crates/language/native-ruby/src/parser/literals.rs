//! Strings, symbols, regular expressions, numbers, arrays and hashes.

use ruby_regex::{Regex, RegexFlags};

use super::cursor::is_name_part;
use super::{Parsed, Parser};
use crate::source::{INSERT_END, TEXT_MARK};
use crate::syntax::{Expr, Literal, Node, StrPart};

impl Parser<'_> {
    /// A string in single or double quotes, or between `%(` and `)`.
    pub(super) fn parse_string(&mut self) -> Parsed<Vec<StrPart>> {
        let quote = self.peek();
        self.at += 1;
        if quote == b'%' {
            return self.parse_bracketed_string();
        }
        if quote == b'\'' {
            return Ok(vec![StrPart::Text(self.parse_single_quoted()?)]);
        }
        self.parse_parts(b'"', Self::parse_escape)
    }

    /// The string behind `%`. Brackets inside it belong to it in pairs, which is for Ruby.
    fn parse_bracketed_string(&mut self) -> Parsed<Vec<StrPart>> {
        self.at += 1;
        let parts = self.parse_parts(b')', Self::parse_escape)?;
        let has_bracket = parts
            .iter()
            .any(|part| matches!(part, StrPart::Text(text) if text.contains('(')));
        if has_bracket {
            return self.refuse("brackets in a string in brackets");
        }
        Ok(parts)
    }

    fn parse_single_quoted(&mut self) -> Parsed<String> {
        let mut text = String::new();
        loop {
            match self.next_char()? {
                '\'' => return Ok(text),
                '\\' if matches!(self.peek(), b'\'' | b'\\') => text.push(self.next_char()?),
                other => text.push(other),
            }
        }
    }

    /// Text and interpolations up to a closing mark.
    fn parse_parts(
        &mut self,
        close: u8,
        escape: fn(&mut Self, &mut String) -> Parsed<()>,
    ) -> Parsed<Vec<StrPart>> {
        let mut parts = Vec::new();
        let mut text = String::new();
        loop {
            let c = self.next_char()?;
            match c {
                _ if c == char::from(close) => {
                    parts.push(StrPart::Text(text));
                    return Ok(parts);
                }
                '\\' => escape(self, &mut text)?,
                '#' if self.peek() == b'{' => {
                    self.at += 1;
                    parts.push(StrPart::Text(std::mem::take(&mut text)));
                    let body = self.nested(Self::parse_body)?;
                    self.expect("}")?;
                    parts.push(StrPart::Code(body));
                }
                '#' if matches!(self.peek(), b'@' | b'$') => {
                    return self.refuse("an interpolation without braces");
                }
                other => text.push(other),
            }
        }
    }

    /// The next character of a literal, which no text outside of tags can be in.
    fn next_char(&mut self) -> Parsed<char> {
        let next = self.rest().chars().next();
        match next {
            Some(c) if !(char::from(TEXT_MARK)..=char::from(INSERT_END)).contains(&c) => {
                self.at += c.len_utf8();
                Ok(c)
            }
            _ => self.refuse("a literal without end"),
        }
    }

    fn parse_escape(&mut self, text: &mut String) -> Parsed<()> {
        let escaped = match self.next_char()? {
            'n' => '\n',
            't' => '\t',
            'r' => '\r',
            's' => ' ',
            'e' => '\u{1b}',
            'a' => '\u{7}',
            'b' => '\u{8}',
            'f' => '\u{c}',
            'v' => '\u{b}',
            '\n' => return Ok(()),
            c if c.is_ascii_alphanumeric() => return self.refuse(format!("the escape \\{c}")),
            c => c,
        };
        text.push(escaped);
        Ok(())
    }

    pub(super) fn parse_regex(&mut self) -> Parsed<Node> {
        self.at += 1;
        let parts = self.parse_parts(b'/', Self::keep_escape)?;
        let flags = self.parse_regex_flags()?;
        if let [StrPart::Text(source)] = parts.as_slice() {
            return match Regex::with_flags(source, flags) {
                Ok(regex) => Ok(Node::Literal(Literal::Regex(regex))),
                Err(error) => self.refuse(format!("a regular expression: {error}")),
            };
        }
        Ok(Node::RegexParts(parts, flags))
    }

    /// `%r{…}`, with balanced braces and without interpolations.
    pub(super) fn parse_percent_regex(&mut self) -> Parsed<Node> {
        let rest = self.rest();
        let Some(inside) = rest.strip_prefix("%r{") else {
            return self.refuse("a regular expression in another form");
        };
        let mut open = 1_usize;
        let mut is_escaped = false;
        let end = inside.find(|c: char| {
            match c {
                _ if is_escaped => {
                    is_escaped = false;
                    return false;
                }
                '\\' => is_escaped = true,
                '{' => open += 1,
                '}' => open -= 1,
                _ => {}
            }
            open == 0
        });
        let source = end.and_then(|end| inside.get(..end)).unwrap_or_default();
        let is_odd = |c: char| (char::from(TEXT_MARK)..=char::from(INSERT_END)).contains(&c);
        if end.is_none() || source.contains("#{") || source.contains(is_odd) {
            return self.refuse("a regular expression in another form");
        }
        self.at += "%r{}".len() + source.len();
        let flags = self.parse_regex_flags()?;
        match Regex::with_flags(source, flags) {
            Ok(regex) => Ok(Node::Literal(Literal::Regex(regex))),
            Err(error) => self.refuse(format!("a regular expression: {error}")),
        }
    }

    fn parse_regex_flags(&mut self) -> Parsed<RegexFlags> {
        let mut flags = RegexFlags::default();
        while is_name_part(self.peek()) {
            match self.peek() {
                b'i' => flags.ignore_case = true,
                b'm' => flags.multiline = true,
                b'x' => flags.extended = true,
                _ => return self.refuse("a flag of a regular expression"),
            }
            self.at += 1;
        }
        Ok(flags)
    }

    fn keep_escape(&mut self, text: &mut String) -> Parsed<()> {
        let c = self.next_char()?;
        if c != '/' {
            text.push('\\');
        }
        text.push(c);
        Ok(())
    }

    pub(super) fn parse_symbol(&mut self) -> Parsed<Node> {
        self.at += 1;
        if matches!(self.peek(), b'"' | b'\'') {
            let parts = self.parse_string()?;
            return match parts.as_slice() {
                [StrPart::Text(text)] => Ok(Node::Literal(Literal::Symbol(text.as_str().into()))),
                _ => self.refuse("a symbol with an interpolation"),
            };
        }
        let word = self.peek_word();
        if word.is_empty() {
            if self.take("+") {
                return Ok(Node::Literal(Literal::Symbol("+".into())));
            }
            return self.refuse("a symbol in another form");
        }
        self.at += word.len();
        Ok(Node::Literal(Literal::Symbol(word.into())))
    }

    /// The symbol before a colon in a hash: `name: value` or `'name': value`.
    pub(super) fn parse_label(&mut self) -> Parsed<Option<Node>> {
        let word = self.peek_word();
        if !word.is_empty() && self.is_label_after(word.len()) {
            // `a ?b : c` has a blank before the colon
            self.at += word.len() + 1;
            return Ok(Some(Node::Literal(Literal::Symbol(word.into()))));
        }
        if matches!(self.peek(), b'"' | b'\'') {
            let before = self.at;
            let parts = self.parse_string()?;
            if self.peek() == b':' && self.peek_at(1) != b':' {
                self.at += 1;
                return match parts.as_slice() {
                    [StrPart::Text(text)] => {
                        Ok(Some(Node::Literal(Literal::Symbol(text.as_str().into()))))
                    }
                    _ => self.refuse("a symbol with an interpolation"),
                };
            }
            self.at = before;
        }
        Ok(None)
    }

    /// `%w[…]`
    pub(super) fn parse_words(&mut self) -> Parsed<Node> {
        let line = self.line();
        let close = match (self.peek_at(1), self.peek_at(2)) {
            (b'w', b'[') => ']',
            (b'w', b'(') => ')',
            (b'w', b'{') => '}',
            _ => return self.refuse("a literal with a percent sign"),
        };
        let open = char::from(self.peek_at(2));
        self.at += 3;
        let rest = self.rest();
        let end = rest.find(close).unwrap_or(rest.len());
        let words = &rest[..end];
        let is_odd = |c: char| c == '\\' || c == open || c < '\t';
        if end == rest.len() || words.contains(is_odd) {
            return self.refuse("a literal with a percent sign");
        }
        self.at += end + 1;
        let words = words.split_ascii_whitespace().map(|word| {
            let parts = vec![StrPart::Text(word.to_owned())];
            Self::expr(line, Node::Str(parts))
        });
        Ok(Node::Array(words.collect()))
    }

    pub(super) fn parse_number(&mut self) -> Parsed<Node> {
        let rest = self.rest();
        let digits = rest.trim_start_matches('-');
        let end = digits.find(|c: char| !c.is_ascii_digit());
        let whole = &digits[..end.unwrap_or(digits.len())];
        let after = &digits[whole.len()..];
        let is_zero_led = whole.len() > 1 && whole.starts_with('0');
        if whole.is_empty() || is_zero_led || after.starts_with(|c: char| is_name_part(c as u8)) {
            return self.refuse("a number in another form");
        }
        let mut length = rest.len() - after.len();
        let fraction = after.strip_prefix('.').unwrap_or_default();
        let fraction_end = fraction.find(|c: char| !c.is_ascii_digit());
        let fraction = &fraction[..fraction_end.unwrap_or(fraction.len())];
        let is_float = !fraction.is_empty();
        if is_float {
            length += 1 + fraction.len();
            if rest[length..].starts_with(|c: char| is_name_part(c as u8)) {
                return self.refuse("a number in another form");
            }
        }
        let text = &rest[..length];
        let number = match is_float {
            true => text.parse().ok().map(Literal::Float),
            false => text.parse().ok().map(Literal::Int),
        };
        self.at += length;
        match number {
            Some(number) => Ok(Node::Literal(number)),
            None => self.refuse("a large number"),
        }
    }

    pub(super) fn parse_array(&mut self) -> Parsed<Node> {
        self.at += 1;
        Ok(Node::Array(self.parse_arguments("]")?))
    }

    pub(super) fn parse_hash(&mut self) -> Parsed<Node> {
        self.at += 1;
        let mut pairs: Vec<(Expr, Expr)> = Vec::new();
        let mut arguments = self.parse_arguments("}")?;
        match (arguments.pop(), arguments.is_empty()) {
            (None, _) => {}
            (
                Some(Expr {
                    node: Node::Hash(found),
                    ..
                }),
                true,
            ) => pairs = found,
            _ => return self.refuse("a hash in another form"),
        }
        Ok(Node::Hash(pairs))
    }
}
