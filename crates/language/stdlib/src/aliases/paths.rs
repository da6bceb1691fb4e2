//! Paths, file modes, and sources of files.

use super::AliasDefinition;

/// A drive, or a share of a server.
macro_rules! windows {
    () => {
        r"(?:[A-Za-z]:[\\\/]|[\\\/]{2}[^\\\/]+[\\\/][^\\\/]+)"
    };
}

/// One change of a symbolic mode: `u=rw`, `-x`, `+0111`.
macro_rules! mode {
    () => {
        r"(?:[ugoa]*(?:[-+=](?:[rwxXst]*|[ugo]))+|[-+=][0-7]+)"
    };
}

pub(super) const ALIASES: &[AliasDefinition] = &[
    (
        "Stdlib::Absolutepath",
        "Variant[Stdlib::Windowspath, Stdlib::Unixpath]",
    ),
    (
        "Stdlib::Compat::Absolute_path",
        concat!(r"Variant[Pattern[/^", windows!(), r"/], Pattern[/^\//]]"),
    ),
    (
        "Stdlib::Filemode",
        concat!(
            r"Pattern[/\A(?:[0-7]{1,4}|",
            mode!(),
            "(?:,",
            mode!(),
            r")*)\z/]"
        ),
    ),
    (
        "Stdlib::Filesource",
        concat!(
            "Variant[Stdlib::Absolutepath, Stdlib::HTTPUrl, Pattern[",
            r"/\Afile:\/\/\/(?!\/)(?:\/?[^\n\/\0]+)+\/?\z/, ",
            r"/\Apuppet:\/\/(?:[\w-]+(?:\.[\w-]+)*\.?)?\/(?!\/)(?:\/?[^\n\/\0]+)+\/?\z/]]"
        ),
    ),
    ("Stdlib::Unixpath", r"Pattern[/\A\/(?!\/)[^\n\0]*\z/]"),
    (
        "Stdlib::Windowspath",
        concat!(r"Pattern[/\A", windows!(), r".*\z/]"),
    ),
];
