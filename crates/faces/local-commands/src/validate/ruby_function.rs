//! Ruby functions that are replaced by built-in ones in plans. Main function: [`find_mistakes`].

use syntax::{Diagnostic, SourceSpan};

use super::files::SourceInput;

const CODE: &str = "REPLACED_FUNCTION";

/// A warning, unless the file does the same as the built-in function.
pub(super) fn find_mistakes(input: &SourceInput) -> Vec<Diagnostic> {
    let path = input.ruby_function.as_deref().unwrap_or_default();
    let Some(name) = stdlib::replaced_function(path, &input.bytes) else {
        return Vec::new();
    };
    let first_line = input.bytes.split(|byte| *byte == b'\n').next();
    let end = first_line.map_or(0, <[u8]>::len);
    let span = SourceSpan::new(0, u32::try_from(end).unwrap_or(u32::MAX));
    let message = format!(
        "the function {name} is not the one of stdlib 8.5 or 9.7; plans call the built-in function, which may do \
         something else"
    );
    vec![Diagnostic::warning(CODE, span, message)]
}
