//! Certnames, addresses and ids.

use pcp::{Certname, CertnameError, MessageId, PcpUri, PcpUriError};

#[test]
fn certnames_that_are_fine() {
    for name in [
        "web01.example.org",
        "a",
        "UPPER",
        "münchen.example",
        "with blank",
        "a..b",
        "..a",
    ] {
        let certname: Certname = name.parse().expect(name);
        assert_eq!(certname.as_str(), name);
        assert_eq!(PcpUri::agent(&certname).common_name(), name);
    }
    assert!("x".repeat(253).parse::<Certname>().is_ok());
}

#[test]
fn certnames_that_could_do_harm() {
    let cases = [
        ("", CertnameError::Empty),
        (".", CertnameError::Reserved(".")),
        ("..", CertnameError::Reserved("..")),
        ("*", CertnameError::Reserved("*")),
        (
            "../etc",
            CertnameError::Character {
                character: '/',
                offset: 2,
            },
        ),
        (
            "a\\b",
            CertnameError::Character {
                character: '\\',
                offset: 1,
            },
        ),
        (
            "a\0",
            CertnameError::Character {
                character: '\0',
                offset: 1,
            },
        ),
        (
            "ä\n",
            CertnameError::Character {
                character: '\n',
                offset: 2,
            },
        ),
        (
            "\u{85}",
            CertnameError::Character {
                character: '\u{85}',
                offset: 0,
            },
        ),
    ];
    for (name, expected) in cases {
        assert_eq!(name.parse::<Certname>(), Err(expected), "{name:?}");
    }
    assert_eq!(
        "x".repeat(254).parse::<Certname>(),
        Err(CertnameError::TooLong(254))
    );
    assert!(serde_json::from_str::<Certname>(r#""a/b""#).is_err());
}

#[test]
fn addresses_have_two_parts() {
    let uri: PcpUri = "pcp://orch:8143/server".parse().unwrap();
    assert_eq!(
        (uri.common_name(), uri.client_type()),
        ("orch:8143", "server")
    );
    assert!(PcpUri::broker().is_broker());
    assert_eq!(PcpUri::broker().common_name(), "");
    assert_eq!(PcpUri::new("x", "a%20b").unwrap().as_str(), "pcp://x/a%20b");
    for text in ["pcp://x", "pcp://x/", "pcp:///", "pcp://x/a/b", "pcp://"] {
        assert_eq!(text.parse::<PcpUri>(), Err(PcpUriError::Form), "{text}");
    }
    for text in ["", "x", "http://x/agent", "PCP://x/agent"] {
        assert_eq!(text.parse::<PcpUri>(), Err(PcpUriError::Scheme), "{text}");
    }
    let control = "pcp://x\0/agent".parse::<PcpUri>();
    assert_eq!(control, Err(PcpUriError::ControlCharacter('\0')));
    let long = PcpUri::new("x".repeat(2_000), "agent");
    assert!(matches!(long, Err(PcpUriError::TooLong(_))));
}

#[test]
fn wildcards_stand_for_whole_components() {
    let uri: PcpUri = "pcp://web01/agent".parse().unwrap();
    let matches = |pattern: &str| pattern.parse::<PcpUri>().unwrap().matches(&uri);
    assert!(matches("pcp://web01/agent"));
    assert!(matches("pcp://*/agent"));
    assert!(matches("pcp://web01/*"));
    assert!(matches("pcp://*/*"));
    assert!(!matches("pcp://web*/agent"));
    assert!(!matches("pcp://*/server"));
    assert!("pcp://*/agent".parse::<PcpUri>().unwrap().is_wildcard());
    assert!(!"pcp://web*/agent".parse::<PcpUri>().unwrap().is_wildcard());
}

#[test]
fn ids_are_kept_as_sent() {
    let upper = "0A1B2C3D-4E5F-6071-8293-A4B5C6D7E8F9";
    assert_eq!(upper.parse::<MessageId>().unwrap().as_str(), upper);
    for text in [
        "",
        "x",
        &upper[1..],
        &upper.replace('-', "0"),
        &upper.replacen('A', "G", 1),
    ] {
        assert!(text.parse::<MessageId>().is_err(), "{text}");
    }
    assert_ne!(MessageId::random(), MessageId::random());
}
