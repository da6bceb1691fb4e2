//! Functions of the libraries that are native: digests, Base64 and IP addresses.

use super::{Parsed, Parser};
use crate::syntax::{DigestAlgorithm, DigestCall, LibraryFunction, Literal, Node};

/// Libraries that native code may require: their loading changes nothing that templates and functions see.
const LIBRARIES: [&str; 6] = [
    "base64",
    "digest",
    "digest/md5",
    "digest/sha1",
    "digest/sha2",
    "ipaddr",
];

impl Parser<'_> {
    /// `require 'library'` as a statement whose value nothing uses.
    pub(super) fn parse_require(&mut self) -> Parsed<Option<Node>> {
        if !self.is_keyword_next("require") {
            return Ok(None);
        }
        let before = self.at;
        self.at += "require".len();
        self.skip_blanks();
        if !matches!(self.peek(), b'\'' | b'"') {
            self.at = before;
            return Ok(None);
        }
        let rest = &self.rest()[1..];
        let name = LIBRARIES.iter().find(|name| {
            let quote = rest.strip_prefix(**name);
            quote.is_some_and(|quote| quote.starts_with(['\'', '"']))
        });
        let Some(name) = name else {
            return self.refuse("a library");
        };
        self.libraries.push(name);
        self.at += name.len() + 2;
        self.skip_blanks();
        if !matches!(self.peek(), b';' | b'\n' | b'#') {
            return self.refuse("a require as a value");
        }
        Ok(Some(Node::Require))
    }

    /// The call of a library's function whose first name was read, or a class in the arguments of `raise`.
    pub(super) fn parse_constant(&mut self, word: &str) -> Parsed<Option<Node>> {
        if self.is_unevaluated {
            return self.skip_constant(word);
        }
        let start = self.at - word.len();
        while self.is_next("::") {
            self.at += 2 + self.peek_after(2).len();
        }
        let constant = &self.code[start..self.at];
        let method = self.rest().strip_prefix('.').unwrap_or_default();
        let end = method.find(|c: char| !c.is_ascii_alphanumeric() && c != '_');
        let method = &method[..end.unwrap_or(method.len())];
        let algorithm = DigestAlgorithm::named(constant);
        let is_required = |library: &str| self.libraries.contains(&library);
        let call = match (constant, method, algorithm) {
            (_, "hexdigest" | "digest", Some(algorithm)) => LibraryFunction::Digest(DigestCall {
                algorithm,
                is_hexadecimal: method == "hexdigest",
            }),
            ("Base64", "strict_encode64", _) if is_required("base64") => LibraryFunction::Base64,
            ("IPAddr", "new", _) if is_required("ipaddr") => LibraryFunction::IpAddress,
            _ => return self.refuse_constant(start, word),
        };
        self.at += 1 + method.len();
        let operand = Box::new(self.parse_only_argument()?);
        Ok(Some(Node::Library(call, operand)))
    }

    fn refuse_constant(&mut self, start: usize, word: &str) -> Parsed<Option<Node>> {
        let is_constant = word.starts_with(|c: char| c.is_ascii_uppercase());
        let constant = &self.code[start..self.at];
        if is_constant {
            let reason = format!("the constant {constant}");
            return Ok(Some(Node::Refused(reason.into())));
        }
        self.at = start + word.len();
        Ok(None)
    }

    /// A class or a function such as `_` in the arguments of `raise`.
    fn skip_constant(&mut self, word: &str) -> Parsed<Option<Node>> {
        if !word.starts_with(|c: char| c.is_ascii_uppercase()) {
            if word != "_" || !self.take("(") {
                return Ok(None);
            }
            self.parse_arguments(")")?;
            return Ok(Some(Node::Literal(Literal::Nil)));
        }
        while self.is_next("::") {
            self.at += 2 + self.peek_after(2).len();
        }
        Ok(Some(Node::Literal(Literal::Nil)))
    }

    /// The name that begins `offset` bytes further.
    fn peek_after(&self, offset: usize) -> &str {
        let rest = self.rest().get(offset..).unwrap_or_default();
        let end = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_');
        &rest[..end.unwrap_or(rest.len())]
    }
}
