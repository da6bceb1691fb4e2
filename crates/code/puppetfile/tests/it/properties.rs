//! Properties that hold for all texts.

use proptest::prelude::*;

/// Texts similar to Puppetfiles.
fn near() -> impl Strategy<Value = String> {
    let word = prop::sample::select(vec![
        "mod ",
        "'a/b'",
        "\"#{x}\"",
        ", ",
        "=> ",
        ":git ",
        "git: ",
        "{",
        "}",
        "[",
        "]",
        "(",
        ")",
        "\n",
        "x = ",
        "'1.0.0'",
        "%w[",
        "\\",
        "'",
        "\"",
        "#",
        "if ",
        "end ",
        ":control_branch",
        "+ ",
        ".",
        "=begin\n",
        "%q",
        "ä",
        ":",
        "@x ",
        "$",
        "\r\n",
        "\0",
        "forge ",
        "moduledir ",
        ":latest",
        "true",
        "1.5",
    ]);
    prop::collection::vec(word, 0..40).prop_map(|words| words.concat())
}

proptest! {
    #[test]
    fn any_text_is_read_or_refused(text in ".{0,200}") {
        let _ = puppetfile::parse(&text);
    }

    #[test]
    fn texts_near_to_puppetfiles_are_read_or_refused(text in near()) {
        match puppetfile::parse(&text) {
            Ok(file) => {
                for module in &file.mods {
                    let directory = file.module_directory(module);
                    prop_assert!(!directory.starts_with('/') && !directory.contains('\0'));
                    prop_assert!(directory.split('/').all(|part| !matches!(part, "" | "." | "..")));
                }
            }
            Err(mistakes) => {
                let lines = u32::try_from(text.lines().count() + 1).unwrap();
                let mut before = None;
                for mistake in mistakes.iter() {
                    prop_assert!(mistake.at.line <= lines, "{} of {}", mistake, lines);
                    prop_assert!(before <= Some(mistake.at));
                    before = Some(mistake.at);
                }
            }
        }
    }
}
