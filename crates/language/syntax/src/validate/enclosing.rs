//! The positions where definitions are allowed, and constructs that plans refuse.

use super::{AstPart, AstValidator};
use crate::ast::labels::with_capital_article;
use crate::ast::{Definition, DefinitionKind, Expr, ExprId};

/// The construct that encloses a definition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum EnclosingConstruct {
    /// The file itself.
    Top,
    /// A class, or the block of `apply`.
    Class,
    /// A site.
    Site,
    /// Braces of another construct, which Puppet counts as a block.
    Braces,
    /// Anything else.
    Other,
}

impl AstValidator<'_> {
    /// Classes, defines and nodes are allowed at the top and in classes; functions and types at the
    /// top.
    pub(super) fn at_top(&mut self, id: ExprId, kind: DefinitionKind) {
        let place = self.enclosing_construct();
        let only_top = matches!(
            kind,
            DefinitionKind::Function(_)
                | DefinitionKind::Plan(_)
                | DefinitionKind::TypeAlias(_)
                | DefinitionKind::TypeDefinition(_)
                | DefinitionKind::Site(_)
        );
        let span = self.ast.span(id);
        match place {
            EnclosingConstruct::Top => {}
            EnclosingConstruct::Class if !only_top => {}
            EnclosingConstruct::Class | EnclosingConstruct::Site | EnclosingConstruct::Braces
                if only_top =>
            {
                let message = format!(
                    "{} may only appear at toplevel",
                    with_capital_article(kind.label())
                );
                self.error("NOT_ABSOLUTE_TOP_LEVEL", span, message);
            }
            _ => self.error(
                "NOT_TOP_LEVEL",
                span,
                "Classes, definitions, and nodes may only appear at toplevel or inside other classes",
            ),
        }
    }

    /// Mappings are allowed at the top and directly in a site.
    pub(super) fn at_top_or_in_site(&mut self, id: ExprId) {
        let enclosing = self.enclosing_construct();
        if !matches!(
            enclosing,
            EnclosingConstruct::Top | EnclosingConstruct::Site
        ) {
            self.error(
                "NOT_TOP_LEVEL",
                self.ast.span(id),
                "Capability mappings may only appear at toplevel or inside a site",
            );
        }
    }

    fn enclosing_construct(&self) -> EnclosingConstruct {
        let mut above = self.path.iter().rev();
        let mut parent = above.next();
        let mut block = false;
        if let Some(AstPart::Expr(id)) = parent
            && matches!(self.ast.expr(*id), Expr::Block(_))
        {
            block = true;
            parent = above.next();
        }
        match parent {
            None if self.ast.epp().is_some() => EnclosingConstruct::Braces,
            None => EnclosingConstruct::Top,
            Some(AstPart::Expr(id)) => match self.ast.expr(*id) {
                Expr::Apply { .. } => EnclosingConstruct::Class,
                Expr::Definition(definition) => match self.ast.definition(definition).kind {
                    DefinitionKind::Class(_) => EnclosingConstruct::Class,
                    DefinitionKind::Site(_) => EnclosingConstruct::Site,
                    _ => EnclosingConstruct::Braces,
                },
                _ if block => EnclosingConstruct::Braces,
                _ => EnclosingConstruct::Other,
            },
            Some(AstPart::Lambda(_) | AstPart::Option(_)) => EnclosingConstruct::Braces,
            Some(_) => EnclosingConstruct::Other,
        }
    }

    /// Refuses constructs of catalogs in plans, outside of `apply`. True if no other check of this
    /// expression is made.
    pub(super) fn refused_in_plans(&mut self, id: ExprId) -> bool {
        let in_apply = self.applies > 0;
        let (refused, reason) = match self.ast.expr(id) {
            Expr::Definition(definition) => match self.ast.definition(definition) {
                Definition {
                    kind:
                        DefinitionKind::Class(_)
                        | DefinitionKind::ResourceType(_)
                        | DefinitionKind::Application(_)
                        | DefinitionKind::Capability(_)
                        | DefinitionKind::Site(_)
                        | DefinitionKind::CapabilityMapping(_),
                    ..
                } => (true, SCRIPTING),
                Definition {
                    kind: DefinitionKind::Node(_),
                    ..
                } => (!in_apply, SCRIPTING),
                _ => (false, SCRIPTING),
            },
            Expr::Collect(collect) if in_apply => (self.ast.collect(collect).exported, COMPILING),
            Expr::Apply { .. } => (in_apply, COMPILING),
            Expr::Collect(_)
            | Expr::Relationship { .. }
            | Expr::Resource(_)
            | Expr::ResourceDefaults { .. }
            | Expr::ResourceOverride { .. } => (!in_apply, SCRIPTING),
            _ => (false, SCRIPTING),
        };
        if refused {
            let label = with_capital_article(&self.ast.label(id));
            let (code, rest) = reason;
            self.error(code, self.ast.span(id), format!("{label} {rest}"));
        }
        refused
    }
}

const SCRIPTING: (&str, &str) = (
    "EXPRESSION_NOT_SUPPORTED_WHEN_SCRIPTING",
    "is only available when compiling a catalog",
);
const COMPILING: (&str, &str) = (
    "EXPRESSION_NOT_SUPPORTED_WHEN_COMPILING",
    "is not available when compiling a catalog",
);
