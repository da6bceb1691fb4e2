//! Names by which code in Ruby declares attributes, or may do so unseen.
//!
//! Invariant: an attribute cannot be declared without a name of [`DECLARING`] in the type file or in
//! a file that it requires, or a name of [`DYNAMIC`] that runs while the file is loaded.

use super::structure::RubyFile;
use super::token::{RubyToken, RubyTokenKind};

/// Methods that declare attributes or change them, wherever they are called.
pub(super) const DECLARING: &[&str] = &[
    "newparam",
    "newproperty",
    "newmetaparam",
    "newtype",
    "newstate",
    "ensurable",
    "isnamevar",
    "register_type",
    "providify",
    "rmtype",
    "paramhash",
];

/// Methods that decide about the attributes of the class that defines them. Other files may call
/// them, but not define them.
pub(super) const DECIDING: &[&str] = &[
    "allattrs",
    "attrclass",
    "attrtype",
    "genclass",
    "initvars",
    "isomorphic?",
    "key_attribute_parameters",
    "key_attributes",
    "paramclass",
    "title_patterns",
    "valid_parameter?",
    "validattr?",
    "validparameter?",
    "validproperties",
    "validproperty?",
];

/// Methods that run code or methods by a name that is not in sight.
pub(super) const DYNAMIC: &[&str] = &[
    "eval",
    "class_eval",
    "instance_eval",
    "module_eval",
    "class_exec",
    "instance_exec",
    "module_exec",
    "send",
    "__send__",
    "public_send",
    "method",
    "instance_method",
    "singleton_class",
    "define_singleton_method",
    "instance_variable_set",
    "class_variable_set",
    "const_missing",
    "method_missing",
    "inherited",
    "load",
    "autoload",
    "exit",
    "exit!",
    "abort",
    "throw",
    "at_exit",
    "fork",
    "exec",
];

/// Further methods of a type's class that decide about attributes; instances have methods with
/// these names, too.
pub(super) const DECIDING_IN_CLASS: &[&str] =
    &["ensurable?", "name", "parameters", "properties", "provide"];

/// Variables of a type's class in which Puppet keeps attributes.
pub(super) const DECIDING_VARIABLES: &[&str] = &[
    "@attrclasses",
    "@attrtypes",
    "@isomorphic",
    "@isnamevar",
    "@key_attribute_parameters",
    "@key_attributes_cache",
    "@name",
    "@parameters",
    "@paramhash",
    "@properties",
    "@types",
    "@validattrs",
    "@validproperties",
];

/// Methods whose block does not run while a type is loaded.
pub(super) const DEFERRING: &[&str] = &[
    "aliasvalue",
    "autobefore",
    "autonotify",
    "autorequire",
    "autosubscribe",
    "defaultto",
    "insync",
    "munge",
    "newvalue",
    "newvalues",
    "unmunge",
    "validate",
];

/// The names in a token that is a method, a symbol, a key, a text or a list of words: all forms in
/// which code can name a method.
pub(super) fn names<'f>(file: &'f RubyFile<'_>, token: &'f RubyToken) -> Vec<&'f str> {
    match &token.kind {
        RubyTokenKind::Identifier => vec![file.text_of(token)],
        RubyTokenKind::Symbol(Some(name))
        | RubyTokenKind::Label(Some(name))
        | RubyTokenKind::Text(Some(name)) => vec![name],
        RubyTokenKind::Words(Some(words)) => words.iter().map(String::as_str).collect(),
        _ => Vec::new(),
    }
}

/// The first name in a token that is in the list.
pub(super) fn find_name(
    file: &RubyFile<'_>,
    token: &RubyToken,
    list: &[&'static str],
) -> Option<&'static str> {
    let names = names(file, token);
    list.iter().find(|it| names.contains(it)).copied()
}

/// True if a line of a longer text looks like the declaration of an attribute: then the text may be
/// code that was taken for a text.
pub(super) fn looks_like_declaration(document: &str) -> bool {
    document.lines().any(|line| {
        let line = line.trim_start();
        let is_call = |word: &str| {
            let after = line.strip_prefix(word);
            after.is_some_and(|it| it.trim_start().starts_with([':', '(']))
        };
        is_call("newparam")
            || is_call("newproperty")
            || matches!(line.trim_end(), "isnamevar" | "ensurable" | "ensurable do")
    })
}
