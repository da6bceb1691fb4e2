//! Formats of times, as Ruby 3.1 and Puppet write them.

use pcore::{PuppetTimestamp, TimeError, Timespan};

const MOMENT_NANOS: i128 = 1_476_101_594_050_000_000;

#[test]
fn timestamps_in_formats_of_strftime() {
    let time = PuppetTimestamp::from_nanos(MOMENT_NANOS).unwrap();
    let cases = [
        ("%FT%T.%L", None, "2016-10-10T12:13:14.050"),
        ("%-d.%-m.%y %I %p %P", None, "10.10.16 12 PM pm"),
        ("%^a %#b %A", None, "MON OCT Monday"),
        ("%j %U %W %V %G %u %w", None, "284 41 41 41 2016 1 1"),
        ("%3N %6N %12N", None, "050 050000 050000000000"),
        ("%10Y|%_5m|%e", None, "0000002016|   10|10"),
        ("%s %% %n", None, "1476101594 % \n"),
        (
            "%c|%D|%r",
            None,
            "Mon Oct 10 12:13:14 2016|10/10/16|12:13:14 PM",
        ),
        ("%z %:z %::z %Z", None, "+0000 +00:00 +00:00:00 UTC"),
        ("%T %z %:z", Some("+05:30"), "17:43:14 +0530 +05:30"),
        ("%T %z", Some("EST"), "07:13:14 -0500"),
        ("%Q %+ %:Y", None, "%Q %+ %:Y"),
    ];
    for (format, zone, expected) in cases {
        assert_eq!(
            time.format(format, zone).as_deref(),
            Ok(expected),
            "{format}"
        );
    }
    assert!(time.format("%F", Some("nowhere")).is_err());
    assert!(time.format("%99999999d", None).is_err());
}

#[test]
fn timestamps_before_1970_and_in_leap_years() {
    let at = |nanos: i128| PuppetTimestamp::from_nanos(nanos).unwrap().to_string();
    assert_eq!(at(-250_000_000), "1969-12-31T23:59:59.750000000 UTC");
    assert_eq!(
        at(951_782_400_000_000_000),
        "2000-02-29T00:00:00.000000000 UTC"
    );
    let leap = PuppetTimestamp::parse("2000-02-29", None, None).unwrap();
    assert_eq!(leap.whole_seconds(), 951_782_400);
}

#[test]
fn timespans_in_formats() {
    let span = Timespan::from_nanos(93_600_005_000_000).unwrap();
    let cases = [
        ("%D-%H:%M:%S.%-N", "1-02:00:00.5"),
        ("%H:%M", "26:00"),
        ("%M", "1560"),
        ("%S.%3N", "93600.5  "),
        ("%_3H|%-M", " 26|0"),
        ("%D%%", "1%"),
    ];
    for (format, expected) in cases {
        assert_eq!(span.format(format).as_deref(), Ok(expected), "{format}");
    }
    assert_eq!(span.exact_text(), "1-02:00:00.005");
    assert_eq!(Timespan::parse(&span.exact_text(), None), Ok(span));
    assert_eq!(
        span.format("%x").unwrap_err().to_string(),
        "Bad format specifier '%' in '%x', at position 1"
    );
}

#[test]
fn formats_of_times_have_no_flags_and_no_widths() {
    let read = |text: &str, format: &str| {
        PuppetTimestamp::parse_as(text, format, None).map(|time| time.to_string()[..10].to_owned())
    };
    for (text, format, expected) in [
        ("2016-%-m", "%Y-%-m", "2016-01-01"),
        ("2016 05", "%Y %Om", "2016-05-01"),
        ("2016-%Em", "%Y-%Em", "2016-01-01"),
        ("20 16", "%C %y", "2016-01-01"),
        ("16", "%Ey", "2016-01-01"),
        ("2016- 5", "%Y-%d", "2016-01-05"),
        ("1456789012 2016", "%s %Y", "2016-01-01"),
        ("2016%", "%Y%", "2016-01-01"),
    ] {
        let read = read(text, format);
        assert_eq!(read.as_deref(), Ok(expected), "{text} as {format}");
    }
    for (text, format) in [
        ("2016-5", "%Y-%-m"),
        ("2016-005", "%Y-%3m"),
        ("2016-5", "%Y-%Em"),
        ("2016-  5", "%Y-%e"),
        ("2016:", "%Y%:"),
    ] {
        assert!(read(text, format).is_err(), "{text} as {format}");
    }
    let far = PuppetTimestamp::parse_as("999999999999999", "%Y", None);
    assert_eq!(far, Err(TimeError::OutOfRange));
    let late = PuppetTimestamp::parse_as("2016 24:01", "%Y %R", None);
    assert_eq!(late.unwrap_err().to_string(), "min out of range");
}
