//! Names of types, classes and resources, as references show them.
//!
//! Invariant: a reference name has every segment capitalized, and a definition name is lower case.

use std::sync::Arc;

/// `Foo::Bar` of `foo::bar`: the type of a reference, and the title of a class.
pub(crate) fn reference_name(name: &str) -> Arc<str> {
    let name = name.strip_prefix("::").unwrap_or(name);
    if name.is_ascii() {
        return ascii_reference_name(name).into();
    }
    let mut text = String::with_capacity(name.len());
    for (index, segment) in name.split("::").enumerate() {
        if index > 0 {
            text.push_str("::");
        }
        let mut letters = segment.chars();
        text.extend(letters.next().into_iter().flat_map(char::to_uppercase));
        text.extend(letters.flat_map(char::to_lowercase));
    }
    text.into()
}

/// The same without the mappings of letters beyond ASCII: a compilation makes some 1,000 of these.
fn ascii_reference_name(name: &str) -> String {
    let mut text = name.to_ascii_lowercase();
    let mut start = Some(0);
    while let Some(at) = start {
        if let Some(first) = text.get_mut(at..=at) {
            first.make_ascii_uppercase();
        }
        let rest = text.as_bytes().get(at..).unwrap_or_default();
        let separator = rest.windows(2).position(|pair| pair == b"::");
        start = separator.map(|separator| at + separator + 2);
    }
    text
}

/// The name of a class or type without a leading `::`, in lower case.
pub(crate) fn definition_name(name: &str) -> String {
    name.strip_prefix("::").unwrap_or(name).to_lowercase()
}

/// Type and title of a reference such as `File[/x]`; `None` if it is not one.
pub(crate) fn split_reference(text: &str) -> Option<(&str, &str)> {
    let (type_name, rest) = text.split_once('[')?;
    let title = rest.strip_suffix(']')?;
    let is_reference = !type_name.is_empty() && !type_name.contains(']') && !title.is_empty();
    is_reference.then_some((type_name, title))
}

#[cfg(test)]
mod tests {
    use super::{definition_name, reference_name, split_reference};

    #[test]
    fn names_are_capitalized_by_segments() {
        assert_eq!(&*reference_name("::foo::bAR"), "Foo::Bar");
        assert_eq!(&*reference_name("file"), "File");
        assert_eq!(definition_name("::Foo::Bar"), "foo::bar");
    }

    #[test]
    fn references_have_a_type_and_a_title() {
        assert_eq!(split_reference("File[/x[1]]"), Some(("File", "/x[1]")));
        assert_eq!(split_reference("File"), None);
        assert_eq!(split_reference("File[]"), None);
    }
}
