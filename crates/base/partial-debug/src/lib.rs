//! `Debug` for types that show only some of their fields: [`partial_debug!`].
//!
//! Invariant: a field shows only if it is named, so a secret that is added to a type stays out of logs.

/// Implements [`Debug`](std::fmt::Debug) for types with the named fields. The output ends with `..`.
#[macro_export]
macro_rules! partial_debug {
    ($($name:ident $(<$lifetime:lifetime>)? { $($field:ident),* }),+ $(,)?) => {$(
        impl ::std::fmt::Debug for $name $(<$lifetime>)? {
            fn fmt(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                f.debug_struct(stringify!($name))
                    $(.field(stringify!($field), &self.$field))*
                    .finish_non_exhaustive()
            }
        }
    )+};
}

#[cfg(test)]
mod tests {
    struct Login<'t> {
        name: &'t str,
        password: &'t str,
    }

    struct Token(String);

    partial_debug!(Login<'_> { name }, Token {});

    #[test]
    fn only_named_fields_show() {
        let login = Login {
            name: "ada",
            password: "s3cret",
        };
        assert_eq!(format!("{login:?}"), r#"Login { name: "ada", .. }"#);
        let token = Token(login.password.to_owned());
        assert_eq!(
            (format!("{token:?}"), token.0.len()),
            ("Token { .. }".to_owned(), 6)
        );
    }
}
