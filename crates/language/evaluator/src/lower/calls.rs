//! Lowering of calls: of functions, of methods, of types.

use std::sync::Arc;

use syntax::ast::{CallExpr as SyntaxCall, CallId, Expr, LambdaId};

use super::{AstLowering, UnitParts};
use crate::code::{CallNode, ConstructNode, MethodNode, NodeId, NodeKind};
use crate::error::EvalResult;
use crate::function::NativeFunction;
use crate::label;

impl AstLowering {
    fn block(&mut self, lambda: Option<LambdaId>) -> EvalResult<Option<u32>> {
        let Some(lambda) = lambda else {
            return Ok(None);
        };
        let lambda = *self.ast.lambda(lambda);
        let parts = UnitParts {
            name: "lambda".into(),
            parameters: lambda.params,
            returns: lambda.return_type,
            body: lambda.body,
            at: lambda.span.start,
        };
        self.code(true, &parts).map(Some)
    }

    pub(super) fn call(&mut self, id: CallId, at: u32) -> EvalResult<NodeId> {
        let call = *self.ast.call(id);
        let constructs = match self.ast.expr(call.functor) {
            Expr::QName(name) => {
                let name = Arc::clone(self.ast.text(name));
                let call = self.named_call(name, &call)?;
                return Ok(self.push(NodeKind::Call(Box::new(call)), at));
            }
            Expr::QRef(_) => true,
            Expr::Access { left, .. } => matches!(self.ast.expr(left), Expr::QRef(_)),
            _ => false,
        };
        if !constructs {
            let text = format!(
                "Illegal expression. {} is unacceptable as function name in a Function Call",
                label::with_capital_article(&self.ast.label(call.functor))
            );
            let at = self.ast.span(call.functor).start;
            return Ok(self.push(
                NodeKind::Illegal(Box::new(("ILLEGAL_EXPRESSION", text))),
                at,
            ));
        }
        let construct = ConstructNode {
            ty: self.lower(call.functor)?,
            arguments: self.items(call.args)?,
            block: self.block(call.lambda)?,
        };
        Ok(self.push(NodeKind::Construct(Box::new(construct)), at))
    }

    fn named_call(&mut self, name: Arc<str>, call: &SyntaxCall) -> EvalResult<CallNode> {
        let name: Arc<str> = match name.strip_prefix("::") {
            Some(rest) => rest.into(),
            None => name,
        };
        Ok(CallNode {
            native: NativeFunction::core_id(&name),
            arguments: self.items(call.args)?,
            block: self.block(call.lambda)?,
            name,
        })
    }

    pub(super) fn method(&mut self, id: CallId, at: u32) -> EvalResult<NodeId> {
        let call = *self.ast.call(id);
        let Expr::NamedAccess { left, name } = self.ast.expr(call.functor) else {
            let text = "Illegal expression. A method call needs a receiver".to_owned();
            return Ok(self.push(
                NodeKind::Illegal(Box::new(("ILLEGAL_EXPRESSION", text))),
                at,
            ));
        };
        let (Expr::QName(name) | Expr::QRef(name)) = self.ast.expr(name) else {
            let text = "Illegal expression. A method needs a name".to_owned();
            return Ok(self.push(
                NodeKind::Illegal(Box::new(("ILLEGAL_EXPRESSION", text))),
                at,
            ));
        };
        let receiver = self.item(left)?;
        let name = Arc::clone(self.ast.text(name));
        let call = self.named_call(name, &call)?;
        Ok(self.push(
            NodeKind::Method(Box::new(MethodNode { receiver, call })),
            at,
        ))
    }
}
