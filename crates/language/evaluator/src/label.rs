//! Labels of values in error texts, and the Ruby classes that some texts show instead.
//!
//! Invariant: the labels are those of Puppet's own label provider; those of expressions are in `syntax`.

use pcore::Value;
pub(crate) use syntax::ast::labels::{article, operator_label, with_article, with_capital_article};

/// Label of a value in error texts.
pub(crate) fn value_label(value: &Value) -> String {
    match value {
        Value::Undef => "Undef Value".to_owned(),
        Value::Default => "Object".to_owned(),
        Value::Bool(_) => "Boolean".to_owned(),
        Value::Int(_) => "Integer".to_owned(),
        Value::Float(_) => "Float".to_owned(),
        Value::Str(_) => "String".to_owned(),
        Value::Array(_) => "Array".to_owned(),
        Value::Hash(_) => "Hash".to_owned(),
        Value::Regexp(_) => "Regexp".to_owned(),
        Value::Type(ty) => format!("{ty}-Type"),
        Value::Sensitive(_) => "Sensitive".to_owned(),
        Value::Binary(_) => "Binary".to_owned(),
        Value::SemVer(_) => "Semver".to_owned(),
        Value::SemVerRange(_) => "SemverRange".to_owned(),
        Value::Timestamp(_) => "Timestamp".to_owned(),
        Value::Timespan(_) => "Timespan".to_owned(),
        Value::Uri(_) | Value::Object(_) => "Object".to_owned(),
    }
}

/// Name of the Ruby class of a value, which some of Puppet's texts show.
#[must_use]
pub fn ruby_class(value: &Value) -> String {
    match value {
        Value::Type(_) => "Puppet::Pops::Types::PAnyType".to_owned(),
        Value::Uri(uri) => uri_class(uri),
        Value::Object(_) => "Object".to_owned(),
        other => pcore::ruby_class(other),
    }
}

/// Name of the Ruby class of a URI: Ruby has one for each scheme that it knows.
fn uri_class(uri: &pcore::Uri) -> String {
    let class = match uri.attribute("scheme").as_ref().and_then(Value::as_str) {
        Some("http") => "HTTP",
        Some("https") => "HTTPS",
        Some("ftp") => "FTP",
        Some("file") => "File",
        Some("ldap") => "LDAP",
        Some("ldaps") => "LDAPS",
        Some("mailto") => "MailTo",
        Some("ws") => "WS",
        Some("wss") => "WSS",
        _ => "Generic",
    };
    format!("URI::{class}")
}
