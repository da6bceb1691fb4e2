//! The meaning of tags: [`ScalarTag`], [`CollectionTag`].
//!
//! Invariant: a tag that would create an object of a Ruby class is refused with the name of that
//! class; a tag without a meaning in Psych is ignored.

use saphyr_parser::Tag;

const CORE: &str = "tag:yaml.org,2002:";

#[derive(Debug, PartialEq, Eq)]
pub(crate) enum ScalarTag {
    /// A tag without a meaning. Its scalar is plain, even within quotes.
    None,
    Untagged,
    Text,
    Binary,
    Float,
    Symbol,
    Refused(String),
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) enum CollectionTag {
    None,
    /// A mapping, written as a sequence of mappings of one key.
    Omap,
    Refused(String),
}

/// The full tag. `!!str` is a tag of the core schema too.
fn whole(tag: &Tag) -> String {
    format!("{}{}", tag.handle, tag.suffix)
}

pub(crate) fn scalar_tag(tag: Option<&Tag>) -> ScalarTag {
    let Some(tag) = tag.map(whole) else {
        return ScalarTag::Untagged;
    };
    let name = match tag.strip_prefix(CORE).or_else(|| tag.strip_prefix('!')) {
        Some(name) => name,
        None => return ScalarTag::None,
    };
    let core = tag.starts_with(CORE);
    match name {
        "binary" => ScalarTag::Binary,
        "str" => ScalarTag::Text,
        "float" => ScalarTag::Float,
        _ if core => ScalarTag::None,
        "ruby/string" => ScalarTag::Text,
        _ if name.starts_with("ruby/sym") => ScalarTag::Symbol,
        _ => match class_of(name, &["str:", "ruby/string:"]) {
            Some(class) => ScalarTag::Refused(class),
            None => ScalarTag::None,
        },
    }
}

pub(crate) fn sequence_tag(tag: Option<&Tag>) -> CollectionTag {
    let tag = tag.map(whole).unwrap_or_default();
    if matches!(tag.as_str(), "!omap" | "tag:yaml.org,2002:omap") {
        return CollectionTag::Omap;
    }
    let class = tag.strip_prefix('!');
    match class.and_then(|name| class_of(name, &["seq:", "ruby/array:"])) {
        Some(class) => CollectionTag::Refused(class),
        None => CollectionTag::None,
    }
}

pub(crate) fn mapping_tag(tag: Option<&Tag>) -> CollectionTag {
    let tag = tag.map(whole).unwrap_or_default();
    let class = match tag.as_str() {
        "!ruby/object:Hash" => return CollectionTag::None,
        "!set" | "tag:yaml.org,2002:set" => Some("Psych::Set".to_owned()),
        "!omap" | "tag:yaml.org,2002:omap" => Some("Psych::Omap".to_owned()),
        "!str" | "tag:yaml.org,2002:str" => Some("String".to_owned()),
        _ => tag
            .strip_prefix('!')
            .and_then(|name| class_of(name, &["map:", "str:", "ruby/hash:"])),
    };
    match class {
        Some(class) => CollectionTag::Refused(class),
        None => CollectionTag::None,
    }
}

/// The class that a tag of one of these kinds, or of any Ruby kind, names.
fn class_of(name: &str, kinds: &[&str]) -> Option<String> {
    let named = kinds.iter().find_map(|kind| name.strip_prefix(kind));
    if let Some(class) = named {
        return Some(class.to_owned());
    }
    let kind = name.strip_prefix("ruby/")?;
    let class = match kind.split_once(':') {
        Some((_, class)) if !class.is_empty() => class.to_owned(),
        _ => {
            let kind = kind.trim_end_matches(':');
            let (first, rest) = kind.split_at_checked(1).unwrap_or((kind, ""));
            first.to_ascii_uppercase() + rest
        }
    };
    Some(class)
}

/// Decodes Base64 as Ruby's `unpack('m')` does: other characters are skipped, padding ends the
/// text.
pub(crate) fn decode_base64(text: &str) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(text.len() / 4 * 3);
    let (mut bits, mut held) = (0u32, 0u32);
    for byte in text.bytes() {
        let six = match byte {
            b'A'..=b'Z' => byte - b'A',
            b'a'..=b'z' => byte - b'a' + 26,
            b'0'..=b'9' => byte - b'0' + 52,
            b'+' => 62,
            b'/' => 63,
            b'=' => break,
            _ => continue,
        };
        bits = (bits << 6 | u32::from(six)) & 0xff_ffff;
        held += 6;
        if held >= 8 {
            held -= 8;
            bytes.push((bits >> held & 0xff) as u8);
        }
    }
    bytes
}
