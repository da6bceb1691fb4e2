//! Labels in error texts: articles, plurals, and the names of values and expressions.
//!
//! Invariant: the labels are those of Puppet's own label provider, which treats `y` as a vowel.

use pcore::Value;
use syntax::ast::{AssignOp, BinaryOp, EdgeOp, Expr, UnaryOp};

/// `a String`, `an '+' expression`.
#[must_use]
pub fn a_an(text: &str) -> String {
    format!("{} {text}", article(text))
}

/// `A String`, at the start of a sentence.
pub(crate) fn a_an_uc(text: &str) -> String {
    let article = if article(text) == "a" { "A" } else { "An" };
    format!("{article} {text}")
}

pub(crate) fn article(text: &str) -> &'static str {
    let mut letters = text.chars();
    let mut first = letters.next();
    if matches!(first, Some('"' | '\'')) {
        first = letters.next();
    }
    match first.map(|letter| letter.to_ascii_lowercase()) {
        Some('a' | 'e' | 'i' | 'o' | 'u' | 'y') => "an",
        _ => "a",
    }
}

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
        Value::Undef => "NilClass",
        Value::Default => "Symbol",
        Value::Bool(true) => "TrueClass",
        Value::Bool(false) => "FalseClass",
        Value::Int(_) => "Integer",
        Value::Float(_) => "Float",
        Value::Str(_) => "String",
        Value::Array(_) => "Array",
        Value::Hash(_) => "Hash",
        Value::Regexp(_) => "Regexp",
        Value::Type(_) => "Puppet::Pops::Types::PAnyType",
        Value::Sensitive(_) => "Puppet::Pops::Types::PSensitiveType::Sensitive",
        Value::Binary(_) => "Puppet::Pops::Types::PBinaryType::Binary",
        Value::SemVer(_) => "SemanticPuppet::Version",
        Value::SemVerRange(_) => "SemanticPuppet::VersionRange",
        Value::Timestamp(_) => "Puppet::Pops::Time::Timestamp",
        Value::Timespan(_) => "Puppet::Pops::Time::Timespan",
        Value::Uri(uri) => return uri_class(uri),
        Value::Object(_) => "Object",
    }
    .to_owned()
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

/// Label of an expression in error texts.
pub(crate) fn expression_label(expr: &Expr) -> &'static str {
    match expr {
        Expr::Nop => "Nop Expression",
        Expr::Undef => "'undef' expression",
        Expr::Default => "'default' expression",
        Expr::Bool(_) => "Boolean",
        Expr::Int { .. } => "Literal Integer",
        Expr::Float(_) => "Literal Float",
        Expr::Str(_) => "String",
        Expr::QName(_) => "Name",
        Expr::QRef(_) => "Type-Name",
        Expr::Variable(_) => "Variable",
        Expr::Regex(_) => "Regular Expression",
        Expr::Reserved(_) => "Reserved Word",
        Expr::Concat(_) => "Double Quoted String",
        Expr::Text(_) => "Expression in Interpolated String",
        Expr::Heredoc { .. } => "'@()' expression",
        Expr::Array(_) => "Array Expression",
        Expr::Hash(_) => "Hash Expression",
        Expr::Paren(_) => "Parenthesized Expression",
        Expr::Unary { op, .. } => match op {
            UnaryOp::Not => "'not' expression",
            UnaryOp::Minus => "Unary Minus",
            UnaryOp::Unfold => "Unfold",
        },
        Expr::Binary { op, .. } => operator_label(*op),
        Expr::Assign { op, .. } => match op {
            AssignOp::Set => "'=' expression",
            AssignOp::Append => "'+=' expression",
            AssignOp::Delete => "'-=' expression",
        },
        Expr::Relationship { op, .. } => edge_label(Some(*op)),
        Expr::Access { .. } => "'[]' expression",
        Expr::NamedAccess { .. } => "'.' expression",
        Expr::Call(_) => "Function Call",
        Expr::MethodCall(_) => "Method call",
        Expr::If { .. } => "'if' statement",
        Expr::Unless { .. } => "'unless' Statement",
        Expr::Case { .. } => "'case' statement",
        Expr::Selector { .. } => "Selector Expression",
        Expr::Block(_) => "Block Expression",
        Expr::Resource(_) => "Resource Statement",
        Expr::ResourceDefaults { .. } => "Resource Defaults Expression",
        Expr::ResourceOverride { .. } => "Resource Override",
        Expr::Collect(_) => "Collect Expression",
        Expr::Definition(_) => "Definition",
        Expr::Apply { .. } => "'apply' expression",
        Expr::RenderString(_) => "Epp Text",
        Expr::RenderExpr(_) => "Epp Interpolated Expression",
    }
}

/// Label of a relationship, by its outermost operator.
pub(crate) fn edge_label(operator: Option<EdgeOp>) -> &'static str {
    match operator {
        Some(EdgeOp::Before) | None => "'->' expression",
        Some(EdgeOp::Notify) => "'~>' expression",
        Some(EdgeOp::Require) => "'<-' expression",
        Some(EdgeOp::Subscribe) => "'<~' expression",
    }
}

pub(crate) fn operator_label(op: BinaryOp) -> &'static str {
    match op {
        BinaryOp::Add => "'+' expression",
        BinaryOp::Sub => "'-' expression",
        BinaryOp::Mul => "'*' expression",
        BinaryOp::Div => "'/' expression",
        BinaryOp::Mod => "'%' expression",
        BinaryOp::ShiftLeft => "'<<' expression",
        BinaryOp::ShiftRight => "'>>' expression",
        BinaryOp::Eq => "'==' expression",
        BinaryOp::Ne => "'!=' expression",
        BinaryOp::Lt => "'<' expression",
        BinaryOp::Le => "'<=' expression",
        BinaryOp::Gt => "'>' expression",
        BinaryOp::Ge => "'>=' expression",
        BinaryOp::Match => "'=~' expression",
        BinaryOp::NoMatch => "'!~' expression",
        BinaryOp::In => "'in' expression",
        BinaryOp::And => "'and' expression",
        BinaryOp::Or => "'or' expression",
    }
}
