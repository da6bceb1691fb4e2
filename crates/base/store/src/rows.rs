//! [`row!`]: a struct that is a row of a table, with its columns written once.

/// Declares the struct and, as listed after it:
/// - `read`: its [`FromRow`](crate::value::FromRow), field by field in the order of the columns;
/// - `write`: its [`ToValues`](crate::value::ToValues), in the same order;
/// - `columns NAME`: a macro `NAME!()` with the names of its columns, for other statements;
/// - `select NAME from "table"`: a macro `NAME!("WHERE …")` that is the query of these columns.
///
/// A column has the name of its field unless another expression follows the type. A field that is a
/// row itself has all its columns: `key: PlanStepKey = "branch, step"`.
macro_rules! row {
    ($(#[$meta:meta])* $vis:vis struct $name:ident $fields:tt $($option:tt)*) => {
        $crate::rows::row!(@struct [$(#[$meta])* $vis struct $name] $fields);
        $crate::rows::row!(@option $name $fields $($option)*);
    };

    (@struct [$($head:tt)*] {
        $($(#[$meta:meta])* $vis:vis $field:ident: $type:ty $(= $column:expr)?),* $(,)?
    }) => {
        $($head)* { $($(#[$meta])* $vis $field: $type),* }
    };

    (@option $name:ident $fields:tt) => {};
    (@option $name:ident $fields:tt read $($option:tt)*) => {
        $crate::rows::row!(@read $name $fields);
        $crate::rows::row!(@option $name $fields $($option)*);
    };
    (@option $name:ident $fields:tt write $($option:tt)*) => {
        $crate::rows::row!(@write $name $fields);
        $crate::rows::row!(@option $name $fields $($option)*);
    };
    (@option $name:ident $fields:tt columns $columns:ident $($option:tt)*) => {
        macro_rules! $columns {
            () => {
                $crate::rows::row!(@columns $fields)
            };
        }
        $crate::rows::row!(@option $name $fields $($option)*);
    };
    (@option $name:ident $fields:tt select $select:ident from $table:literal $($option:tt)*) => {
        $crate::rows::row!(@select ($) $select $fields $table);
        $crate::rows::row!(@option $name $fields $($option)*);
    };

    (@read $name:ident {
        $($(#[$meta:meta])* $vis:vis $field:ident: $type:ty $(= $column:expr)?),* $(,)?
    }) => {
        impl $crate::value::FromRow for $name {
            const COUNT: usize = 0 $(+ <$type as $crate::value::FromRow>::COUNT)*;

            fn read(
                columns: &mut $crate::value::ColumnReader<'_>,
            ) -> Result<Self, $crate::value::ColumnError> {
                Ok(Self { $($field: $crate::value::FromRow::read(columns)?),* })
            }
        }
    };

    (@write $name:ident {
        $($(#[$meta:meta])* $vis:vis $field:ident: $type:ty $(= $column:expr)?),* $(,)?
    }) => {
        impl<'a> $crate::value::ToValues<'a> for &'a $name {
            fn add_to(self, values: &mut Vec<$crate::value::SqlValue<'a>>) {
                $($crate::value::ToValues::add_to(&self.$field, values);)*
            }
        }
    };

    (@select ($dollar:tt) $select:ident $fields:tt $table:literal) => {
        macro_rules! $select {
            ($dollar($dollar rest:tt)*) => {
                concat!(
                    "SELECT ",
                    $crate::rows::row!(@columns $fields),
                    concat!(" FROM ", $table, " "),
                    $dollar($dollar rest)*
                )
            };
        }
    };

    (@columns {
        $(#[$first_meta:meta])* $first_vis:vis
        $first:ident: $first_type:ty $(= $first_column:expr)?
        $(, $(#[$meta:meta])* $vis:vis $field:ident: $type:ty $(= $column:expr)?)* $(,)?
    }) => {
        concat!(
            $crate::rows::row!(@column $first $($first_column)?)
            $(, ", ", $crate::rows::row!(@column $field $($column)?))*
        )
    };
    (@column $field:ident) => {
        stringify!($field)
    };
    (@column $field:ident $column:expr) => {
        $column
    };
}
pub(crate) use row;
