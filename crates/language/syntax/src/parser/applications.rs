//! Applications, sites, capabilities and their mappings, in sources that may define them.
//!
//! The words are no keywords: a construct is recognised by the tokens after its word, so `site`,
//! `application`, `capability`, `produces` and `consumes` remain names of variables, attributes,
//! keys, classes and functions.

use super::{PartResult, SourceParser};
use crate::ast::{CapabilityMapping, CapabilityRole, DefinitionKind, Expr, ExprId, SiteDefinition};
use crate::token::TokenKind;

/// The words with which these constructs begin, and those of mappings.
pub(super) const APPLICATION_WORDS: [&str; 5] =
    ["application", "capability", "consumes", "produces", "site"];

impl SourceParser<'_> {
    /// Parses `application NAME`, `capability NAME` or `site {`; `None` if none of them begins here.
    pub(super) fn application_construct(&mut self) -> Option<PartResult<ExprId>> {
        let word = self.interner.text(self.token().value?).clone();
        let is_named = is_name(self.kind_after());
        match &*word {
            "application" if is_named => Some(self.resource_type(DefinitionKind::Application)),
            "capability" if is_named => Some(self.resource_type(DefinitionKind::Capability)),
            "site" if self.kind_after() == TokenKind::LBrace => Some(self.site()),
            _ => None,
        }
    }

    fn site(&mut self) -> PartResult<ExprId> {
        let start = self.bump().span;
        let (body, end) = self.definition_body("`{`")?;
        let site = DefinitionKind::Site(SiteDefinition { body });
        Ok(self.define_as(site, start, start, end))
    }

    /// The role of a mapping whose component was just read: `Foo produces Bar`. A name in small
    /// letters is read as one too, so that validation can name the fault.
    pub(super) fn mapping_role(&self, component: ExprId) -> Option<CapabilityRole> {
        if !self.applications || self.kind() != TokenKind::Name || !is_name(self.kind_after()) {
            return None;
        }
        let is_component = match self.expr(component) {
            Expr::QRef(_) => true,
            Expr::QName(_) => !self.is_statement_name(component),
            Expr::Access { left, .. } => matches!(self.expr(left), Expr::QRef(_)),
            _ => false,
        };
        if !is_component {
            return None;
        }
        match &**self.interner.text(self.token().value?) {
            "produces" => Some(CapabilityRole::Produces),
            "consumes" => Some(CapabilityRole::Consumes),
            _ => None,
        }
    }

    /// Parses the rest of a mapping after its component: `produces Bar { … }`.
    pub(super) fn capability_mapping(
        &mut self,
        role: CapabilityRole,
        component: ExprId,
    ) -> PartResult<ExprId> {
        self.bump();
        let capability = self.definition_name()?;
        self.expect(TokenKind::LBrace, "`{`")?;
        let ops = self.attribute_ops()?;
        let close = self.expect(TokenKind::RBrace, "`,` or `}`")?;
        let mapping = CapabilityMapping {
            role,
            component,
            capability: self.value(capability),
            ops: self.builder.list(ops),
        };
        let name_span = self.span_of(component);
        let mapping = DefinitionKind::CapabilityMapping(mapping);
        Ok(self.define_as(mapping, name_span, name_span, close.span))
    }
}

fn is_name(kind: TokenKind) -> bool {
    matches!(
        kind,
        TokenKind::Name | TokenKind::Word | TokenKind::ClassRef
    )
}
