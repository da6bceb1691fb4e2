//! Where `pcore` differs from Puppet 7.23 on purpose, case by case, each with its reason. docs/language.md
//! tells users of those that they can meet.

const BIGNUM: &str = "Puppet makes a number of more than 64 bits, which nothing else can use";
const CRASH: &str = "Puppet breaks with an error of Ruby's";
const OTHER_WORDS: &str = "Ruby's own words for what its classes are not";
const ZONE_WORDS: &str = "zones are offsets in hours and minutes, or one word";
const ADDRESS: &str = "Puppet shows where in memory Ruby has the object";

pub(super) const CONVERSIONS: &[(&str, &str)] = &[
    ("Integer('9223372036854775807', 16)", BIGNUM),
    (
        "Integer({from=>'9223372036854775807', radix=>16, abs=>true})",
        BIGNUM,
    ),
    ("Float('0')", CRASH),
    ("Float('0', true)", CRASH),
    ("Float({from=>'0', abs=>true})", CRASH),
    ("Numeric('1.0e400', true)", CRASH),
    ("Hash[String,Integer,'x']", CRASH),
    ("Timestamp('10','%d')", OTHER_WORDS),
    ("Timestamp('99999999999999999999','%Y')", BIGNUM),
    (
        "Timestamp('2016 Pacific Standard Time','%Y %Z')",
        ZONE_WORDS,
    ),
    ("Timestamp('2016 EST DST','%Y %Z')", ZONE_WORDS),
    ("Timestamp('2016 utc+01.5','%Y %Z')", ZONE_WORDS),
    ("String(Sensitive(1),'%c')", OTHER_WORDS),
    ("String(SemVer('1.2.3'),'%c')", OTHER_WORDS),
    ("String(SemVerRange('1.x'),'%c')", OTHER_WORDS),
    ("String(Timestamp(0),'%p')", ADDRESS),
    ("String(Timestamp(0),'%#p')", ADDRESS),
    ("String(Timespan(90),'%p')", ADDRESS),
    ("String(Timespan(90),'%#p')", ADDRESS),
    ("String(Obj(1),'%q')", ADDRESS),
    ("String(Timestamp(0),'%c')", "a time is no character"),
    ("String(Timespan(90),'%c')", "a time is no character"),
];

const LOST: &str = "Puppet's rich data loses what the type or the fraction says";
const RECURSIVE: &str = "both refuse; ours names the alias";

pub(super) const RICH_DATA: &[(&str, &str)] = &[
    ("Timespan({'days'=>1,'hours'=>2,'milliseconds'=>5})", LOST),
    ("Sensitive[String]", LOST),
    ("Boolean[true]", LOST),
    ("TypeSet", CRASH),
    ("RichData", CRASH),
    ("Data", RECURSIVE),
    ("Error", RECURSIVE),
    ("Error['k']", RECURSIVE),
    ("Tree", RECURSIVE),
    ("Array[Tree]", RECURSIVE),
];
