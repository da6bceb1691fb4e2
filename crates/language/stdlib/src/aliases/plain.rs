//! Numbers, words and types composed of other types.

use super::AliasDefinition;

pub(super) const ALIASES: &[AliasDefinition] = &[
    (
        "Stdlib::Base32",
        r"Pattern[/\A(?:[a-z2-7]+|[A-Z2-7]+)={0,6}\z/]",
    ),
    ("Stdlib::Base64", r"Pattern[/\A[A-Za-z0-9+\/]+={0,2}\z/]"),
    ("Stdlib::Compat::Array", "Array[Any]"),
    ("Stdlib::Compat::Bool", "Boolean"),
    (
        "Stdlib::Compat::Float",
        r"Variant[Float, Pattern[/^-?(?:0|[1-9]\d*)\.\d+(?:[eE]-?\d+)?$/]]",
    ),
    ("Stdlib::Compat::Hash", "Hash[Any, Any]"),
    (
        "Stdlib::Compat::Integer",
        r"Variant[Integer, Pattern[/^-?(?:0|[1-9]\d*)$/], Array[Variant[Integer, Pattern[/^-?(?:0|[1-9]\d*)$/]]]]",
    ),
    (
        "Stdlib::Compat::Numeric",
        r"Variant[Numeric, Pattern[/^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE]-?\d+)?$/], Array[Variant[Numeric, Pattern[/^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE]-?\d+)?$/]]]]",
    ),
    ("Stdlib::Compat::String", "Optional[String]"),
    (
        "Stdlib::CreateResources",
        "Hash[String[1], Hash[String[1], Any]]",
    ),
    ("Stdlib::Datasize", r"Pattern[/^\d+(?i:b|[kmgt]b?)$/]"),
    (
        "Stdlib::Ensure::File",
        "Enum['present', 'file', 'directory', 'link', 'absent']",
    ),
    (
        "Stdlib::Ensure::File::Directory",
        "Enum['directory', 'absent']",
    ),
    ("Stdlib::Ensure::File::File", "Enum['file', 'absent']"),
    ("Stdlib::Ensure::File::Link", "Enum['link', 'absent']"),
    (
        "Stdlib::Ensure::Package",
        "Variant[Enum['present', 'absent', 'purged', 'disabled', 'installed', 'latest'], String[1]]",
    ),
    ("Stdlib::Ensure::Service", "Enum['stopped', 'running']"),
    // RFC 9110 and IANA's registry
    (
        "Stdlib::Http::Method",
        "Enum['ACL', 'BASELINE-CONTROL', 'BIND', 'CHECKIN', 'CHECKOUT', 'CONNECT', 'COPY', 'DELETE', \
         'GET', 'HEAD', 'LABEL', 'LINK', 'LOCK', 'MERGE', 'MKACTIVITY', 'MKCALENDAR', 'MKCOL', \
         'MKREDIRECTREF', 'MKWORKSPACE', 'MOVE', 'OPTIONS', 'ORDERPATCH', 'PATCH', 'POST', 'PRI', \
         'PROPFIND', 'PROPPATCH', 'PUT', 'REBIND', 'REPORT', 'SEARCH', 'TRACE', 'UNBIND', \
         'UNCHECKOUT', 'UNLINK', 'UNLOCK', 'UPDATE', 'UPDATEREDIRECTREF', 'VERSION-CONTROL']",
    ),
    ("Stdlib::Http::Status", "Integer[100, 599]"),
    ("Stdlib::HttpStatus", "Integer[100, 599]"),
    ("Stdlib::Port", "Integer[0, 65535]"),
    ("Stdlib::Port::Dynamic", "Integer[49152, 65535]"),
    ("Stdlib::Port::Ephemeral", "Stdlib::Port::Dynamic"),
    ("Stdlib::Port::Privileged", "Integer[1, 1023]"),
    ("Stdlib::Port::Registered", "Stdlib::Port::User"),
    ("Stdlib::Port::Unprivileged", "Integer[1024, 65535]"),
    ("Stdlib::Port::User", "Integer[1024, 49151]"),
    (
        "Stdlib::Syslogfacility",
        "Enum['kern', 'user', 'mail', 'daemon', 'auth', 'syslog', 'lpr', 'news', 'uucp', 'cron', \
         'authpriv', 'ftp', 'ntp', 'security', 'console', 'solaris-cron', 'local0', 'local1', \
         'local2', 'local3', 'local4', 'local5', 'local6', 'local7']",
    ),
    ("Stdlib::Yes_no", r"Pattern[/\A(?i:yes|no)\z/]"),
];
