//! The names that Puppet's messages use for expressions: [`Ast::label`].

use super::{Ast, DefinitionKind, Expr, ExprId, UnaryOp};

impl Ast {
    /// The name of the expression in messages: `'==' expression`, `Array Expression`, `Host Class
    /// Definition`.
    pub fn label(&self, id: ExprId) -> String {
        let fixed = match self.expr(id) {
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
            Expr::Reserved(word) => return format!("Reserved Word '{}'", self.text(word)),
            Expr::Concat(_) => "Double Quoted String",
            Expr::Text(_) => "Expression in Interpolated String",
            Expr::Heredoc { syntax, .. } => {
                let syntax = syntax.map_or("", |syntax| self.text(syntax));
                return format!("'@({syntax})' expression");
            }
            Expr::Array(_) => "Array Expression",
            Expr::Hash(_) => "Hash Expression",
            Expr::Paren(_) => "Parenthesized Expression",
            Expr::Unary { op, .. } => match op {
                UnaryOp::Not => "'not' expression",
                UnaryOp::Minus => "Unary Minus",
                UnaryOp::Unfold => "Unfold",
            },
            Expr::Binary { op, .. } => return operator_label(op.text()),
            Expr::Assign { op, .. } => return operator_label(op.text()),
            Expr::Relationship { op, .. } => return operator_label(op.text()),
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
            Expr::Collect(collect) if self.collect(collect).exported => "Exported Query",
            Expr::Collect(_) => "Virtual Query",
            Expr::Definition(definition) => self.definition(definition).kind.label(),
            Expr::Apply { .. } => "'apply' expression",
            Expr::RenderString(_) => "Epp Text",
            Expr::RenderExpr(_) => "Epp Interpolated Expression",
        };
        fixed.to_owned()
    }
}

impl DefinitionKind {
    /// The name of the definition's kind in messages, such as `Host Class Definition`.
    #[must_use]
    pub fn label(&self) -> &'static str {
        match self {
            Self::Class(_) => "Host Class Definition",
            Self::ResourceType(_) => "'define' expression",
            Self::Plan(_) => "Plan Definition",
            Self::Function(_) => "Function Definition",
            Self::Node(_) => "Node Definition",
            Self::TypeAlias(_) => "Type Alias",
            Self::TypeMapping(_) => "Type Mapping",
            Self::TypeDefinition(_) => "Type Definition",
            Self::Application(_) => "Application",
            Self::Capability(_) => "Capability",
            Self::Site(_) => "Site Definition",
            Self::CapabilityMapping(_) => "Capability Mapping",
        }
    }
}

/// The indefinite article of a label; Puppet counts `y` among the vowels.
#[must_use]
pub fn article(label: &str) -> &'static str {
    let first = label.trim_start_matches(['"', '\'']).chars().next();
    match first.is_some_and(|first| "aeiouyAEIOUY".contains(first)) {
        true => "an",
        false => "a",
    }
}

/// Prefixes a label with its indefinite article.
#[must_use]
pub fn with_article(label: &str) -> String {
    format!("{} {label}", article(label))
}

/// Prefixes a label with its article, capitalised for the beginning of a sentence.
#[must_use]
pub fn with_capital_article(label: &str) -> String {
    format!("A{}", &with_article(label)[1..])
}

/// The name of an operator in messages: `'==' expression`.
#[must_use]
pub fn operator_label(text: &str) -> String {
    format!("'{text}' expression")
}
