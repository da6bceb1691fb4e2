//! Binding of values to the parameters of a statement.
//!
//! Invariant: `$3` gets the third value on SQLite as on PostgreSQL. SQLite treats `$3` as a name
//! and numbers names by their first appearance in the text, so each name is looked up.

use rusqlite::Statement;

use crate::value::SqlValue;

/// Names of parameters; no statement has more.
const NAMES: [&str; 24] = [
    "$1", "$2", "$3", "$4", "$5", "$6", "$7", "$8", "$9", "$10", "$11", "$12", "$13", "$14", "$15",
    "$16", "$17", "$18", "$19", "$20", "$21", "$22", "$23", "$24",
];

/// Binds every value; a value that the statement does not name is an error.
pub(crate) fn bind(statement: &mut Statement<'_>, values: &[SqlValue<'_>]) -> rusqlite::Result<()> {
    let named = statement.parameter_count();
    if named != values.len() || named > NAMES.len() {
        return Err(rusqlite::Error::InvalidParameterCount(values.len(), named));
    }
    for (name, value) in NAMES.iter().zip(values) {
        let index = statement.parameter_index(name)?;
        let index =
            index.ok_or_else(|| rusqlite::Error::InvalidParameterName((*name).to_owned()))?;
        statement.raw_bind_parameter(index, value)?;
    }
    Ok(())
}
