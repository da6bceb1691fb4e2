//! Arbitrary text, and text that looks like a site.

use proptest::prelude::*;

use crate::entry;

const WORDS: &[&str] = &[
    "version: 5\n",
    "hierarchy:\n",
    "  - name: x\n",
    "    path: a.yaml\n",
    "    glob: '*.yaml'\n",
    "    paths: [a.yaml, '%{a}.yaml']\n",
    "    mapped_paths: [facts.list, it, '%{it}.yaml']\n",
    "defaults:\n  datadir: data\n  data_hash: yaml_data\n",
    "    data_hash: json_data\n",
    "    lookup_key: eyaml_lookup_key\n",
    "    options: {a: 1}\n",
    "\0",
    "key: ",
    "k2: ",
    "m::k: ",
    "'%{a}'",
    "\"%{lookup('key')}\"",
    "\"%{alias('k2')}\"",
    "\"%{facts.os.family}\"",
    "'%{'",
    "[1, 2]",
    "{a: {b: 1}}",
    "\n",
    "lookup_options: {key: {merge: deep, convert_to: Integer}}\n",
    "key",
    "k2",
    "m::k",
    ".a",
    ".0",
    "default_hierarchy:\n",
    "plan_hierarchy:\n",
    ":backends: [yaml]\n:hierarchy: [a]\n",
];

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_bytes_make_it_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        entry::site(&bytes);
    }

    #[test]
    fn no_words_make_it_panic(
        words in proptest::collection::vec(prop::sample::select(WORDS), 0..30),
    ) {
        entry::site(words.concat().as_bytes());
    }
}
