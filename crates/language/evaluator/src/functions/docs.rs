//! Documentation of the functions of this crate, in alphabetical order.

use crate::function::FunctionDoc;

pub(crate) static DOCS: &[FunctionDoc] = crate::function_docs! {
    "abs": "Returns the absolute value of a number.",
        "abs(-2)" => "2";
    "alert": "Logs its arguments at level alert, joined with spaces.",
        "alert('disk', 'full')" => "undef";
    "all": "Returns true if the block is true for every element. An empty collection gives true.",
        "[1, 2].all |$x| { $x > 0 }" => "true";
    "any": "Returns true if the block is true for at least one element.",
        "[1, 2].any |$x| { $x > 1 }" => "true";
    "assert_type": "Returns the value if it has the type. Otherwise the block gets both types and \
        returns a value; without a block, the call fails.",
        "assert_type(Integer, 'a') |$expected, $actual| { 0 }" => "0";
    "binary_file": "Returns the content of a file below `files` of a module as a `Binary`.",
        "binary_file('demo/motd').length" => "7";
    "break": "Ends the iteration by `each`, `map`, `reduce`, `slice`, `step`, `reverse_each`, \
        `tree_each` or `filter` of an array whose block calls it.",
        "[1, 2, 3].map |$x| { if $x == 2 { break() } $x * 10 }" => "[10]";
    "call": "Calls the function of that name with the other arguments and the block, or resolves a \
        `Deferred` value.",
        "call('max', 1, 3)" => "3";
    "camelcase": "Capitalizes the words of a string or of each string in a list and removes the \
        underscores between them.",
        "camelcase('foo_bar')" => "'FooBar'";
    "capitalize": "Returns a string, or each string of a list, with its first character in upper \
        case and the others in lower case.",
        "capitalize('pUPPET')" => "'Puppet'";
    "ceiling": "Returns the smallest integer that is not less than a number.",
        "ceiling(1.2)" => "2";
    "chomp": "Removes one line ending from the end of a string or of each string in a list.",
        "chomp(\"line\\n\")" => "'line'";
    "chop": "Removes the last character of a string or of each string in a list; `\\r\\n` counts \
        as one.",
        "chop('abc')" => "'ab'";
    "compare": "Returns -1, 0 or 1 if the first value is less than, equal to or greater than the \
        second. Strings compare without regard to case unless the third argument is false.",
        "compare('a', 'B')" => "-1";
    "contain": "Declares classes and contains them in the current class. Works only where a \
        catalog is compiled.",
        "contain('ntp')"
        fails "The catalog operation 'contain' is only available when compiling a catalog";
    "convert_to": "Converts a value to a type, as `new` does with the further arguments. A block \
        gets the result.",
        "'0xff'.convert_to(Integer, 16)" => "255";
    "create_resources": "Declares a resource for each entry of a hash. Works only where a catalog \
        is compiled.",
        "create_resources('user', { 'ada' => {} })"
        fails "The catalog operation 'create_resources' is only available when compiling a catalog";
    "crit": "Logs its arguments at level crit, joined with spaces.",
        "crit('disk', 'full')" => "undef";
    "debug": "Logs its arguments at level debug, joined with spaces.",
        "debug('state', { 'x' => 1 })" => "undef";
    "defined": "Returns true if any of the variables, written as `'$name'`, or any of the classes \
        and resources exists.",
        "$x = 1\ndefined('$x')" => "true";
    "dig": "Follows keys and indices into nested collections. Returns undef if one of them is \
        missing.",
        "{ 'a' => [{ 'b' => 5 }] }.dig('a', 0, 'b')" => "5";
    "digest": "Returns the SHA-256 of a string in hexadecimal digits.",
        "digest('abc')" => "'ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad'";
    "downcase": "Converts a string to lower case, as well as all strings in an array or hash.",
        "downcase(['A', { 'B' => 1 }])" => "['a', {'b' => 1}]";
    "each": "Calls the block for every element, or key and value of a hash, and returns the \
        collection.",
        "[1, 2].each |$x| { notice($x) }" => "[1, 2]";
    "emerg": "Logs its arguments at level emerg, joined with spaces.",
        "emerg('disk', 'full')" => "undef";
    "empty": "Returns true if a collection, string or binary has no elements, and for undef.",
        "empty([])" => "true";
    "epp": "Renders a file below `templates` of a module; the hash has the parameters of the \
        template.",
        "epp('demo/hello.epp', { 'name' => 'Ada' })" => "'Hello Ada'";
    "err": "Logs its arguments at level err, joined with spaces.",
        "err('disk', 'full')" => "undef";
    "fail": "Raises an error. Its message is the arguments, joined with spaces.",
        "fail('no space on', '/var')" fails "no space on /var";
    "file": "Returns the text of the first of the files that exists below `files` of its module.",
        "file('demo/missing', 'demo/motd')" => "'Welcome'";
    "filter": "Returns the elements for which the block is true; from a hash, a hash of those \
        entries.",
        "{ 'a' => 1, 'b' => 2 }.filter |$key, $value| { $value > 1 }" => "{'b' => 2}";
    "find_file": "Returns the path of the first of the files that exists below `files` of its \
        module, or undef.",
        "find_file('demo/missing', 'demo/motd')" => "'modules/demo/files/motd'";
    "find_template": "Returns the path of the first of the files that exists below `templates` of \
        its module, or undef.",
        "find_template('demo/hello.epp')" => "'modules/demo/templates/hello.epp'";
    "flatten": "Returns one array of the arguments and of the elements of all arrays in them, at \
        any depth.",
        "flatten(1, [2, [3]])" => "[1, 2, 3]";
    "floor": "Returns the largest integer that is not greater than a number.",
        "floor(1.8)" => "1";
    "fqdn_rand": "Returns a number from 0 to one less than the first argument that depends only on \
        the fact `networking.fqdn`, the first argument and the seed.",
        "fqdn_rand(30, 'backup')" => "4";
    "get": "Returns the value at a dotted path of keys and indices, or the default if it is undef.",
        "{ 'a' => [{ 'b' => 5 }] }.get('a.0.b')" => "5";
    "getvar": "Returns the value of a variable, or at a dotted path into it, or the default if it \
        is undef.",
        "getvar('facts.networking.fqdn')" => "'web1.example.com'";
    "group_by": "Returns a hash from each result of the block to the elements that gave it.",
        "['a', 'bb', 'c'].group_by |$x| { $x.length }" => "{1 => ['a', 'c'], 2 => ['bb']}";
    "hiera": "Looks up the value that a key has in Hiera, without merging. `lookup` replaces it.",
        "hiera('ntp::server', 'pool.ntp.org')" not_run "Hiera data is needed";
    "hiera_array": "Looks up a key in Hiera and merges the values of all levels into an array \
        without duplicates. `lookup` replaces it.",
        "hiera_array('ntp::servers', [])" not_run "Hiera data is needed";
    "hiera_hash": "Looks up a key in Hiera and merges the hashes of all levels. `lookup` replaces \
        it.",
        "hiera_hash('users', {})" not_run "Hiera data is needed";
    "hiera_include": "Declares the classes that a key has in Hiera. Works only where a catalog is \
        compiled.",
        "hiera_include('classes')"
        fails "The catalog operation 'hiera_include' is only available when compiling a catalog";
    "include": "Declares classes. Works only where a catalog is compiled.",
        "include('ntp')"
        fails "The catalog operation 'include' is only available when compiling a catalog";
    "index": "Returns the index or key of the first element that equals the value or for which the \
        block is true, or the position of a substring or pattern; undef if there is none.",
        "['a', 'b'].index('b')" => "1";
    "info": "Logs its arguments at level info, joined with spaces.",
        "info('started')" => "undef";
    "inline_epp": "Renders a template that is given as a string; the hash has its parameters.",
        "inline_epp('Hello <%= $name %>', { 'name' => 'Ada' })" => "'Hello Ada'";
    "join": "Converts the elements of an array, and of arrays in it, to strings and joins them \
        with the delimiter.",
        "join(['a', ['b', 1]], '-')" => "'a-b-1'";
    "keys": "Returns the keys of a hash.",
        "keys({ 'a' => 1, 'b' => 2 })" => "['a', 'b']";
    "length": "Returns the number of elements of a collection, of characters of a string or of \
        bytes of a binary.",
        "length([1, 2])" => "2";
    "lest": "Returns its argument, or what the block returns if the argument is undef.",
        "undef.lest || { 'default' }" => "'default'";
    "lookup": "Looks up keys in Hiera, with a type that the value must have, a merge behaviour and \
        a default. A block returns the default for the key.",
        "lookup('ntp::servers', Array[String], 'unique', [])" not_run "Hiera data is needed";
    "lstrip": "Removes blanks at the beginning of a string or of each string in a list.",
        "lstrip('  a ')" => "'a '";
    "map": "Returns the results of the block for every element, or key and value of a hash.",
        "[1, 2].map |$x| { $x * 10 }" => "[10, 20]";
    "match": "Returns the match of a pattern with its groups, or undef. For an array of strings it \
        returns an array of results.",
        "match('web12', /([a-z]+)(\\d+)/)" => "['web12', 'web', '12']";
    "max": "Returns the greatest value, by the block if there is one. Strings with numbers compare \
        as numbers.",
        "max(1, 2.5)" => "2.5";
    "md5": "Returns the MD5 of a string in hexadecimal digits.",
        "md5('abc')" => "'900150983cd24fb0d6963f7d28e17f72'";
    "min": "Returns the least value, by the block if there is one. Strings with numbers compare as \
        numbers.",
        "min(1, 2.5)" => "1";
    "module_directory": "Returns the directory of the first of the modules that exists, or undef.",
        "module_directory('missing', 'demo')" => "'modules/demo'";
    "new": "Creates a value of a type from the arguments. A block gets the value.",
        "Integer.new('0x1F')" => "31";
    "next": "Ends this call of a block; the argument is its value.",
        "[1, 2].map |$x| { if $x == 1 { next('one') } $x }" => "['one', 2]";
    "notice": "Logs its arguments at level notice, joined with spaces.",
        "notice('started')" => "undef";
    "partition": "Returns two arrays: the elements for which the block is true, and the others.",
        "[1, 2, 3].partition |$x| { $x > 1 }" => "[[2, 3], [1]]";
    "realize": "Makes virtual resources part of the catalog. Works only where a catalog is \
        compiled.",
        "realize(User['ada'])"
        fails "The catalog operation 'realize' is only available when compiling a catalog";
    "reduce": "Calls the block with the result so far and the next element, beginning with the \
        second argument or the first element, and returns the last result.",
        "[1, 2, 3].reduce |$sum, $x| { $sum + $x }" => "6";
    "regsubst": "Replaces the first match of a pattern, or all with flag `G`, in a string or in \
        each string of an array.",
        "regsubst('a.b.c', '[.]', '-', 'G')" => "'a-b-c'";
    "require": "Declares classes that must be applied before the current one. Works only where a \
        catalog is compiled.",
        "require('ntp')"
        fails "The catalog operation 'require' is only available when compiling a catalog";
    "return": "Ends the function, plan or template that calls it; the argument is its value.",
        "function sign(Integer $x) { if $x < 0 { return(-1) } 1 }\nsign(-5)" => "-1";
    "reverse_each": "Calls the block for every element from the last to the first; without a \
        block, returns an iterator in that order.",
        "[1, 2].reverse_each.map |$x| { $x * 10 }" => "[20, 10]";
    "round": "Rounds a number to the nearest integer, halves away from zero.",
        "round(2.5)" => "3";
    "rstrip": "Removes blanks at the end of a string or of each string in a list.",
        "rstrip(' a  ')" => "' a'";
    "sha1": "Returns the SHA-1 of a string in hexadecimal digits.",
        "sha1('abc')" => "'a9993e364706816aba3e25717850c26c9cd0d89d'";
    "sha256": "Returns the SHA-256 of a string in hexadecimal digits.",
        "sha256('abc')" => "'ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad'";
    "shellquote": "Quotes words for a Bourne shell, where necessary, and joins them with spaces.",
        "shellquote('echo', 'a b')" => "'echo \"a b\"'";
    "size": "Returns the number of elements of a collection, of characters of a string or of bytes \
        of a binary.",
        "size('abc')" => "3";
    "slice": "Divides a collection into arrays of at most the given size; a block gets each of \
        them.",
        "[1, 2, 3].slice(2)" => "[[1, 2], [3]]";
    "sort": "Sorts an array or the characters of a string, by the block if there is one.",
        "[3, 1, 2].sort" => "[1, 2, 3]";
    "split": "Splits a string at each match of a pattern. Empty parts at the end are left out.",
        "split('a,b,,', ',')" => "['a', 'b']";
    "sprintf": "Formats the arguments as the format string says, with the directives of Ruby.",
        "sprintf('%05.1f %s', 3.14159, 'x')" => "'003.1 x'";
    "step": "Calls the block for the first element and for every n-th after it; without a block, \
        returns an iterator over them.",
        "Integer[1, 10].step(3).map |$x| { $x }" => "[1, 4, 7, 10]";
    "strftime": "Formats a timestamp or timespan, or the current time if there is only a format.",
        "strftime(Timestamp('2026-11-24T08:30:00 UTC'), '%d.%m.%Y %H:%M')" => "'24.11.2026 08:30'";
    "strip": "Removes blanks at both ends of a string or of each string in a list.",
        "strip(' a ')" => "'a'";
    "tag": "Adds tags to the current class or defined type. Works only where a catalog is \
        compiled.",
        "tag('web')" fails "The catalog operation 'tag' is only available when compiling a catalog";
    "tagged": "Returns true if the current class or defined type has the tags. Works only where a \
        catalog is compiled.",
        "tagged('web')"
        fails "The catalog operation 'tagged' is only available when compiling a catalog";
    "then": "Returns what the block returns for the argument, or undef if the argument is undef.",
        "1.then |$x| { $x + 1 }" => "2";
    "tree_each": "Calls the block for a collection and everything in it, with the path to it if \
        the block has two parameters; without a block, returns an iterator.",
        "[1, [2]].tree_each({ 'include_containers' => false }).map |$node| { $node }"
        => "[[[0], 1], [[1, 0], 2]]";
    "type": "Returns the type of a value: as exact as possible, reduced or generalized.",
        "type([1, 2], 'generalized')" => "Array[Integer]";
    "unique": "Returns the elements, or characters of a string, without those that occurred before \
        or for which the block returned the same before. A hash is grouped by its values.",
        "[1, 2, 1].unique" => "[1, 2]";
    "unwrap": "Returns the value inside a `Sensitive`, or another value unchanged. A block gets \
        it.",
        "Sensitive('secret').unwrap" => "'secret'";
    "upcase": "Converts a string to upper case, as well as all strings in an array or hash.",
        "upcase(['a', { 'b' => 1 }])" => "['A', {'B' => 1}]";
    "values": "Returns the values of a hash.",
        "values({ 'a' => 1, 'b' => 2 })" => "[1, 2]";
    "versioncmp": "Returns -1, 0 or 1 if the first version is older than, equal to or newer than \
        the second. With true as the third argument, zeros at the end do not count.",
        "versioncmp('1.2', '1.10')" => "-1";
    "warning": "Logs its arguments at level warning, joined with spaces.",
        "warning('disk', 'full')" => "undef";
    "with": "Calls the block with the arguments and returns what it returns.",
        "with(1, 2) |$a, $b| { $a + $b }" => "3";
};
