//! Bounds of templates and of what they compute.

use crate::entry::{call, method, render};

#[test]
fn deep_nesting_is_refused_and_not_followed() {
    for (open, close) in [
        ("(", ")"),
        ("[", "]"),
        ("!", ""),
        ("-", ""),
        ("not ", ""),
        ("{1 => ", "}"),
        ("\"#{", "}\""),
        ("[1].map { |x| ", " }"),
        ("@x = ", ""),
        ("1 if ", ""),
        ("true ? 1 : ", ""),
    ] {
        for depth in [10, 20, 30, 100, 100_000] {
            let template = format!("<%= {}1{} %>", open.repeat(depth), close.repeat(depth));
            let rendered = render(&template);
            assert!(rendered.is_none() || depth < 100, "{open} {depth}");
        }
    }
    for link in [" + 1", " || 1", " and 1", ".to_s", " if 1", "[0]"] {
        assert_eq!(render(&format!("<%= 1{} %>", link.repeat(100_000))), None);
    }
    let ifs = 5_000;
    let template = format!("{}x{}", "<% if 1 %>".repeat(ifs), "<% end %>".repeat(ifs));
    assert_eq!(render(&template), None);
}

#[test]
fn long_loops_and_large_values_are_refused() {
    for code in [
        "9223372036854775807.times { |x| x }",
        "9223372036854775807.times { }",
        "(-9223372036854775807 - 1).to_f",
        "(-9223372036854775807 - 1).abs",
        "(-9223372036854775807 - 1) / -1",
        "(1..9223372036854775807).to_a",
        "'x' * 1000000000",
        "'x'.ljust(1000000000)",
        "'%1000000000s' % 'x'",
        "s = 'x'; 100.times { |i| s += s }; s.size",
        "a = [1]; 100.times { |i| a += a }; a.size",
        "a = []; a << a; a << a; a.flatten.size",
        "a = []; a << a; a << a; a.join",
        "a = []; a << a; a << a; a == [a, a]",
        "a = []; a << a; a << a; a.inspect",
        "a = []; a << a; a << a; a.uniq",
        "a = []; a << a; a << a; [a, a].sort",
        "x = [1]; 70.times { |i| x = [x, x] }; x.flatten.size",
        "a = []; a[1000000000] = 1",
    ] {
        assert_eq!(render(&format!("<%= {code} %>")), None, "{code}");
    }
}

/// Searches with as many matches as a long text has letters: quadratic time would be minutes.
#[test]
fn many_matches_take_little_time() {
    for code in [
        "('x' * 200000).scan(/x/).size",
        "('x' * 200000).scan('x').size",
        "('x' * 200000).gsub('x', 'y').size",
        "('x' * 200000).gsub(/(x)/) { |m| $1 }.size",
        "('x,' * 200000).split(',').size",
    ] {
        let begin = std::time::Instant::now();
        let rendered = render(&format!("<%= {code} %>"));
        let took = begin.elapsed();
        assert!(took.as_secs() < 30, "{code} took {took:?}");
        println!("{code} {rendered:?} {took:?}");
        assert!(rendered.is_some(), "{code}");
    }
}

#[test]
fn endless_and_large_functions_are_refused() {
    let recursion = "Puppet::Functions.create_function(:f) do\n  def f(a)\n    f(a)\n  end\nend\n";
    assert_eq!(call(recursion), None);
    assert_eq!(call(&method("while true do end")), None);
    let assignments: String = (0..20_000).map(|n| format!("x{n} = 1\n")).collect();
    assert_eq!(call(&method(&assignments)), None);
    let begins = method(&format!(
        "{}1{}",
        "begin\n".repeat(5_000),
        "\nend".repeat(5_000)
    ));
    assert_eq!(call(&begins), None);
    let methods: String = (0..1_000)
        .map(|n| format!("  def m{n}(a)\n    a\n  end\n"))
        .collect();
    let many = format!("Puppet::Functions.create_function(:m1) do\n{methods}end\n");
    assert_eq!(call(&many), None);
    assert_eq!(call(&method("list = []\nlist << list\nlist")), None);
}
