//! Documentation of the functions of this crate, in alphabetical order without `stdlib::`.

use evaluator::function::FunctionDoc;

pub(crate) static DOCS: &[FunctionDoc] = evaluator::function_docs! {
    "any2array": "Returns an array as it is, a hash as its keys and values in turn, and other \
        arguments in an array.",
        "any2array({ 'a' => 1 })" => "['a', 1]";
    "any2bool": "Converts a value to a boolean: numbers as `num2bool`, strings as `str2bool`; \
        undef is false, a collection true.",
        "any2bool('yes')" => "true";
    "assert_private" | "private": "Restricts a class to its own module where a catalog is \
        compiled. Has no effect elsewhere.",
        "assert_private()" => "undef";
    "base64": "Encodes a string to base64 or decodes it, by the method `default` (lines of 60 \
        characters), `strict` (one line) or `urlsafe`.",
        "base64('encode', 'secret', 'strict')" => "'c2VjcmV0'";
    "basename": "Returns the last part of a path, without the suffix if one is given.",
        "basename('/etc/ntp.conf', '.conf')" => "'ntp'";
    "stdlib::batch_escape" | "batch_escape": "Quotes a string for a batch file of Windows.",
        "stdlib::batch_escape('a \"b\"')" => "'\"a \"\"b\"\"\"'";
    "bool2num": "Converts a boolean, or a string as `str2bool` reads it, to 1 or 0.",
        "bool2num(true)" => "1";
    "bool2str": "Converts a boolean to `'true'` or `'false'`, or to the second or third argument.",
        "bool2str(true, 'yes', 'no')" => "'yes'";
    "clamp": "Returns the middle one of three integers: a value between two bounds.",
        "clamp(0, 24, 10)" => "10";
    "concat": "Appends the other arguments to an array, the elements of arrays one by one.",
        "concat([1], 2, [3])" => "[1, 2, 3]";
    "convert_base": "Converts an integer to a string of digits in a base from 2 to 36.",
        "convert_base(254, 16)" => "'fe'";
    "count": "Counts the elements that equal the second argument, or without it those that are \
        neither undef nor empty strings.",
        "count(['a', 'b', 'a'], 'a')" => "2";
    "stdlib::crc32": "Returns the CRC-32 of a value's text in hexadecimal digits.",
        "stdlib::crc32('dummy')" => "'4ff4f23f'";
    "deep_merge": "Merges hashes, and the hashes in them, at any depth; later values replace \
        earlier ones.",
        "deep_merge({ 'a' => { 'b' => 1 } }, { 'a' => { 'c' => 2 } })"
        => "{'a' => {'b' => 1, 'c' => 2}}";
    "stdlib::deferrable_epp": "Renders a template of a module now, or returns a `Deferred` for the \
        node if one of the variables is deferred.",
        "stdlib::deferrable_epp('demo/hello.epp', { 'name' => 'Ada' })" => "'Hello Ada'";
    "defined_with_params": "Returns true if the catalog has a resource with these parameters. \
        Works only where a catalog is compiled.",
        "defined_with_params(User['ada'], { 'ensure' => 'present' })"
        fails "defined_with_params(): resources are known only where a catalog is compiled: call \
            it in a class, or in an apply block of a plan";
    "delete": "Removes all equal elements from an array, keys from a hash, or substrings from a \
        string.",
        "delete(['a', 'b', 'a'], 'a')" => "['b']";
    "delete_at": "Removes the element at an index from an array.",
        "delete_at(['a', 'b', 'c'], 1)" => "['a', 'c']";
    "delete_regex": "Removes the elements of an array, or keys of a hash, in which a pattern \
        matches whole words.",
        "delete_regex(['abc', 'xyz'], 'a.c')" => "['xyz']";
    "delete_undef_values": "Removes undef elements from an array, or entries with the value undef \
        from a hash.",
        "delete_undef_values({ 'a' => undef, 'b' => 1 })" => "{'b' => 1}";
    "delete_values": "Removes the entries of a hash whose value equals the second argument.",
        "delete_values({ 'a' => 1, 'b' => 2 }, 1)" => "{'b' => 2}";
    "deprecation": "Logs a warning, once for each key in an evaluation.",
        "deprecation('old_parameter', 'The parameter old is deprecated.')" => "undef";
    "difference": "Returns the elements of the first array that are not in the second.",
        "difference([1, 2, 3], [2])" => "[1, 3]";
    "dig44": "Follows an array of keys and indices into nested collections. Returns the third \
        argument if one of them is missing.",
        "dig44({ 'a' => [{ 'b' => 5 }] }, ['a', 0, 'b'], 0)" => "5";
    "dirname": "Returns the path of the directory that contains the last part of a path.",
        "dirname('/etc/ntp.conf')" => "'/etc'";
    "dos2unix": "Replaces `\\r\\n` at line ends by `\\n`.",
        "dos2unix(\"a\\r\\nb\")" => "\"a\\nb\"";
    "enclose_ipv6": "Returns the addresses without duplicates, IPv6 addresses in square brackets.",
        "enclose_ipv6(['::1', '10.0.0.1'])" => "['[::1]', '10.0.0.1']";
    "stdlib::end_with": "Returns true if a string ends with one of the suffixes.",
        "stdlib::end_with('web1.example.com', ['.com', '.org'])" => "true";
    "stdlib::ensure": "Returns the value of the attribute `ensure` for a boolean or word and a \
        kind of resource.",
        "stdlib::ensure(true, 'service')" => "'running'";
    "stdlib::ensure_packages" | "ensure_packages": "Declares packages unless they are declared \
        already. Works only where a catalog is compiled.",
        "stdlib::ensure_packages(['curl'])"
        fails "stdlib::ensure_packages(): resources are known only where a catalog is compiled: \
            call it in a class, or in an apply block of a plan";
    "ensure_resource": "Declares a resource unless it is declared already with these parameters. \
        Works only where a catalog is compiled.",
        "ensure_resource('user', 'ada', { 'ensure' => 'present' })"
        fails "ensure_resource(): resources are known only where a catalog is compiled: call it in \
            a class, or in an apply block of a plan";
    "ensure_resources": "Declares the resources of a hash unless they are declared already. Works \
        only where a catalog is compiled.",
        "ensure_resources('user', { 'ada' => { 'ensure' => 'present' } })"
        fails "ensure_resources(): resources are known only where a catalog is compiled: call it \
            in a class, or in an apply block of a plan";
    "stdlib::extname": "Returns the extension of a file name with its dot.",
        "stdlib::extname('archive.tar')" => "'.tar'";
    "fact": "Returns the fact at a dotted path, or undef.",
        "fact('os.release.major')" => "'12'";
    "stdlib::fqdn_rand_string" | "fqdn_rand_string": "Returns a string of random characters that \
        depends only on the fact `networking.fqdn`, the length, the characters and the seeds.",
        "stdlib::fqdn_rand_string(8, undef, 'seed')" => "'ZLHDH1SZ'";
    "stdlib::fqdn_rotate" | "fqdn_rotate": "Rotates an array or string by a number of places that \
        depends only on the fact `networking.fqdn` and the seeds.",
        "stdlib::fqdn_rotate(['a', 'b', 'c'], 'seed')" => "['b', 'c', 'a']";
    "fqdn_uuid": "Returns the UUID, version 5, of a domain name.",
        "fqdn_uuid('puppetlabs.com')" => "'9c70320f-6815-5fc5-ab0f-debe68bf764c'";
    "get_module_path": "Returns the directory of a module. Fails if the module does not exist.",
        "get_module_path('demo')" => "'modules/demo'";
    "getparam": "Returns a parameter of a resource of the catalog. Works only where a catalog is \
        compiled.",
        "getparam(User['ada'], 'ensure')"
        fails "getparam(): resources are known only where a catalog is compiled: call it in a \
            class, or in an apply block of a plan";
    "glob": "Is refused: the result would depend on files of the server.",
        "glob('/etc/*.conf')"
        fails "glob(): the files of the server are not looked at, since a program that is \
            evaluated again must see the same: list them in a task";
    "grep": "Returns the strings of an array that a pattern matches.",
        "grep(['ab', 'bc', 'cd'], 'b')" => "['ab', 'bc']";
    "stdlib::has_function": "Returns true if there is a function of that name.",
        "stdlib::has_function('stdlib::to_yaml')" => "true";
    "stdlib::has_interface_with" | "has_interface_with": "Returns true if the node has a network \
        interface of that name, or one with an address of that kind, by the fact \
        `networking.interfaces`.",
        "stdlib::has_interface_with('ipaddress', '10.0.0.1')" => "true";
    "stdlib::has_ip_address" | "has_ip_address": "Returns true if an interface of the node has the \
        IPv4 address.",
        "stdlib::has_ip_address('10.0.0.2')" => "false";
    "stdlib::has_ip_network" | "has_ip_network": "Returns true if an interface of the node has the \
        network address.",
        "stdlib::has_ip_network('10.0.0.0')" => "true";
    "has_key": "Returns true if a hash has the key.",
        "has_key({ 'a' => undef }, 'a')" => "true";
    "hash": "Converts an array of keys and values in turn to a hash.",
        "hash(['a', 1, 'b', 2])" => "{'a' => 1, 'b' => 2}";
    "intersection": "Returns the elements that are in both arrays, without duplicates.",
        "intersection([1, 2, 3], [2, 3, 4])" => "[2, 3]";
    "stdlib::ip_in_range": "Returns true if an address is in one of the networks.",
        "stdlib::ip_in_range('10.0.0.7', ['10.0.0.0/24', '192.168.0.0/16'])" => "true";
    "is_a": "Returns true if a value is of a type.",
        "is_a(5, Integer[1, 10])" => "true";
    "is_absolute_path": "Returns true for an absolute path of Unix or Windows. Deprecated: use `=~ \
        Stdlib::Absolutepath`.",
        "is_absolute_path('/etc')" => "true";
    "is_array": "Returns true for an array. Deprecated: use `=~ Array`.",
        "is_array([1])" => "true";
    "is_bool": "Returns true for a boolean. Deprecated: use `=~ Boolean`.",
        "is_bool('true')" => "false";
    "is_domain_name": "Returns true for a string that is a domain name.",
        "is_domain_name('web1.example.com')" => "true";
    "is_email_address": "Returns true for a string that is an email address.",
        "is_email_address('ada@example.com')" => "true";
    "is_float": "Returns true for a float and for a string that is one. Deprecated: use `=~ \
        Float`.",
        "is_float('1.5')" => "true";
    "is_function_available": "Returns true if there is a function of that name.",
        "is_function_available('merge')" => "true";
    "is_hash": "Returns true for a hash. Deprecated: use `=~ Hash`.",
        "is_hash({})" => "true";
    "is_integer": "Returns true for an integer and for a string that is one. Deprecated: use `=~ \
        Integer`.",
        "is_integer('12')" => "true";
    "is_ip_address": "Returns true for an IPv4 or IPv6 address. Deprecated: use `=~ \
        Stdlib::IP::Address`.",
        "is_ip_address('::1')" => "true";
    "is_ipv4_address": "Returns true for an IPv4 address. Deprecated: use `=~ \
        Stdlib::IP::Address::V4`.",
        "is_ipv4_address('::1')" => "false";
    "is_ipv6_address": "Returns true for an IPv6 address. Deprecated: use `=~ \
        Stdlib::IP::Address::V6`.",
        "is_ipv6_address('::1')" => "true";
    "is_mac_address": "Returns true for a MAC address with colons.",
        "is_mac_address('00:11:22:33:44:55')" => "true";
    "is_numeric": "Returns true for a number and for a string that is one. Deprecated: use `=~ \
        Numeric`.",
        "is_numeric('1e3')" => "true";
    "is_string": "Returns true for undef and for a string that is not a number. Deprecated: use \
        `=~ String`.",
        "is_string('12')" => "false";
    "join_keys_to_values": "Joins each key of a hash with its value, or with each element of an \
        array.",
        "join_keys_to_values({ 'a' => [1, 2], 'b' => 3 }, '=')" => "['a=1', 'a=2', 'b=3']";
    "load_module_metadata": "Returns `metadata.json` of a module. If there is none, the call \
        fails, or returns an empty hash if the second argument is true.",
        "load_module_metadata('demo')" => "{'name' => 'acme-demo'}";
    "loadjson": "Returns the data of a JSON file of a module, given by its path, or the default if \
        the file is missing or cannot be parsed.",
        "loadjson(\"${module_directory('demo')}/data/app.json\", {})" => "{'port' => 8080}";
    "loadyaml": "Returns the data of a YAML file of a module, given by its path, or the default if \
        the file is missing or cannot be parsed.",
        "loadyaml(\"${module_directory('demo')}/data/app.yaml\", {})" => "{'port' => 8080}";
    "member": "Returns true if an array has the element, or all elements of a second array.",
        "member([1, 2, 3], [1, 3])" => "true";
    "stdlib::merge" | "merge": "Merges hashes; later values replace earlier ones. A block is \
        called with the result so far and each element; the hashes that it returns are merged.",
        "stdlib::merge({ 'a' => 1 }, { 'a' => 2, 'b' => 3 })" => "{'a' => 2, 'b' => 3}";
    "stdlib::nested_values": "Returns the values of a hash and of the hashes in it.",
        "stdlib::nested_values({ 'a' => { 'b' => 1 }, 'c' => 2 })" => "[1, 2]";
    "num2bool": "Returns true for a number of at least one, also if it is a string.",
        "num2bool(0)" => "false";
    "stdlib::os_version_gte" | "os_version_gte": "Returns true if the node has the operating \
        system in this or a newer major version, by the fact `os`.",
        "stdlib::os_version_gte('Debian', '11')" => "true";
    "stdlib::parsehocon" | "parsehocon": "Parses HOCON; returns the default if that fails.",
        "stdlib::parsehocon('a.b = 1')" => "{'a' => {'b' => 1}}";
    "parsejson": "Parses JSON; returns the default if that fails or gives null or false.",
        "parsejson('{\"a\": [1]}')" => "{'a' => [1]}";
    "parsepson": "Parses a JSON array or object; returns the default if that fails.",
        "parsepson('[1]')" => "[1]";
    "parseyaml": "Parses YAML; returns the default if that fails or gives null or false.",
        "parseyaml('a: [1]')" => "{'a' => [1]}";
    "pick": "Returns the first argument that is neither undef nor an empty string. Fails if there \
        is none.",
        "pick(undef, '', 'x')" => "'x'";
    "pick_default": "Returns the first argument that is neither undef nor an empty string, or the \
        last one.",
        "pick_default(undef, '')" => "''";
    "stdlib::powershell_escape" | "powershell_escape": "Escapes the special characters of a string \
        for PowerShell.",
        "stdlib::powershell_escape('a $b')" => "'a` `$b'";
    "prefix": "Adds a prefix to the elements of an array or to the keys of a hash.",
        "prefix(['a', 'b'], 'p')" => "['pa', 'pb']";
    "pry": "Is refused: there is no Ruby that could be stopped.",
        "pry()"
        fails "pry(): there is no Ruby here that could be stopped: write values with notice() or \
            out::message()";
    "pw_hash": "Returns the hash of a password for `/etc/shadow`, with `MD5`, `SHA-256`, `SHA-512` \
        or a variant of bcrypt, and with the salt.",
        "pw_hash('secret', 'SHA-256', 'salt')"
        => "'$5$salt$kpa26zwgX83BPSR8d7w93OIXbFt/d3UOTZaAu5vsTM6'";
    "range": "Returns the integers or strings from the first to the second argument, by steps, or \
        those of a range that is written in one string.",
        "range('web08', 'web10')" => "['web08', 'web09', 'web10']";
    "regexpescape": "Escapes the special characters of a string, or of the strings of an array, \
        for a regular expression.",
        "regexpescape('a.b')" => "'a\\.b'";
    "reject": "Removes the strings of an array, or keys of a hash, that a pattern matches.",
        "reject(['ab', 'bc', 'cd'], 'b')" => "['cd']";
    "reverse": "Reverses an array or a string.",
        "reverse([1, 2])" => "[2, 1]";
    "stdlib::rewrap_sensitive_data": "Removes `Sensitive` from a value and the values in it, calls \
        the block, and makes the result `Sensitive` if there was one.",
        "stdlib::rewrap_sensitive_data([Sensitive('a')]) |$data| { $data[0] } =~ Sensitive"
        => "true";
    "stdlib::seeded_rand" | "seeded_rand": "Returns a number from 0 to one less than the first \
        argument that depends only on it and the seed.",
        "stdlib::seeded_rand(100, 'seed')" => "73";
    "stdlib::seeded_rand_string" | "seeded_rand_string": "Returns a string of random characters \
        that depends only on the length, the seed and the characters.",
        "stdlib::seeded_rand_string(8, 'seed')" => "'JSYSrD2x'";
    "stdlib::sha256": "Returns the SHA-256 of a value's text in hexadecimal digits.",
        "stdlib::sha256('abc')"
        => "'ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad'";
    "stdlib::shell_escape" | "shell_escape": "Escapes a string so that a Bourne shell reads it as \
        one word.",
        "stdlib::shell_escape('a b')" => "'a\\ b'";
    "shell_join": "Escapes the words of an array for a Bourne shell and joins them with spaces.",
        "shell_join(['echo', 'a b'])" => "'echo a\\ b'";
    "shell_split": "Splits a string into words as a Bourne shell does.",
        "shell_split('echo \"a b\"')" => "['echo', 'a b']";
    "shuffle": "Returns an array or the characters of a string in random order.",
        "shuffle([3, 1, 2]).sort" => "[1, 2, 3]";
    "stdlib::sort_by": "Sorts an array, a hash or the characters of a string by what the block \
        returns.",
        "stdlib::sort_by(['bbb', 'a', 'cc']) |$x| { $x.length }" => "['a', 'cc', 'bbb']";
    "sprintf_hash": "Formats the values of a hash. Deprecated: `sprintf` takes a hash.",
        "sprintf_hash('%<a>03d', { 'a' => 5 })" => "'005'";
    "squeeze": "Replaces runs of the same character by one, in a string or the strings of an \
        array; with a second argument only of the characters in it.",
        "squeeze('aabbcc', 'a')" => "'abbcc'";
    "stdlib::start_with": "Returns true if a string begins with one of the prefixes.",
        "stdlib::start_with('web1.example.com', ['web', 'db'])" => "true";
    "str2bool": "Converts `1`, `t`, `y`, `true`, `yes` and `0`, `f`, `n`, `false`, `no`, `undef`, \
        `undefined` and an empty string to a boolean.",
        "str2bool('no')" => "false";
    "stdlib::str2resource": "Returns the resource of the catalog that a string names. Works only \
        where a catalog is compiled.",
        "stdlib::str2resource('User[ada]')"
        fails "stdlib::str2resource(): resources are known only where a catalog is compiled: call \
            it in a class, or in an apply block of a plan";
    "str2saltedpbkdf2": "Returns the PBKDF2 hash of a password with salt and iterations, for users \
        of macOS.",
        "str2saltedpbkdf2('secret', 'saltsalt', 40001)['salt_hex']" => "'73616c7473616c74'";
    "str2saltedsha512": "Returns the SHA-512 hash of a password with a random salt, for users of \
        macOS 10.7.",
        "str2saltedsha512('secret').length" => "136";
    "suffix": "Adds a suffix to the elements of an array or to the keys of a hash.",
        "suffix({ 'a' => 1 }, 's')" => "{'as' => 1}";
    "swapcase": "Swaps upper and lower case in a string or the strings of an array.",
        "swapcase('aBc')" => "'AbC'";
    "stdlib::time" | "time": "Returns the seconds since 1970-01-01 UTC.",
        "stdlib::time()" => "1700000000";
    "to_bytes": "Converts a size such as `4 kB` to bytes; the units are powers of 1024.",
        "to_bytes('4 kB')" => "4096";
    "stdlib::to_json" | "to_json": "Converts a value to JSON. The result is `Sensitive` if the \
        value has a `Sensitive` in it.",
        "stdlib::to_json({ 'a' => [1, undef] })" => "'{\"a\":[1,null]}'";
    "stdlib::to_json_pretty" | "to_json_pretty": "Converts an array or hash to JSON on several \
        lines; with true without the undef values on the top level.",
        "stdlib::to_json_pretty([1, undef], true)" => "\"[\\n  1\\n]\\n\"";
    "stdlib::to_python" | "to_python": "Converts a value to a literal of Python.",
        "stdlib::to_python({ 'a' => [true, undef] })" => "'{\"a\": [True, None]}'";
    "stdlib::to_ruby" | "to_ruby": "Converts a value to a literal of Ruby.",
        "stdlib::to_ruby({ 'a' => [true, undef] })" => "'{\"a\" => [true, nil]}'";
    "stdlib::to_toml" | "to_toml": "Converts a hash to TOML. The result is `Sensitive` if the hash \
        has a `Sensitive` in it.",
        "stdlib::to_toml({ 'a' => { 'b' => 1 } })" => "\"[a]\\nb = 1\\n\"";
    "stdlib::to_yaml" | "to_yaml": "Converts a value to YAML; the options are `indentation` and \
        `line_width`. The result is `Sensitive` if the value has a `Sensitive` in it.",
        "stdlib::to_yaml({ 'a' => [1, 'b'] })" => "\"---\\na:\\n- 1\\n- b\\n\"";
    "try_get_value": "Follows a path of keys and indices, separated by slashes, into nested \
        collections, or returns the default. Deprecated: use `dig`.",
        "try_get_value({ 'a' => ['b'] }, 'a/0', 'none')" => "'b'";
    "type3x": "Returns the name of a value's type in lower case; a string with a number counts as \
        one.",
        "type3x('12')" => "'integer'";
    "stdlib::type_of" | "type_of": "Returns the exact type of a value.",
        "stdlib::type_of(5)" => "Integer[5, 5]";
    "union": "Returns the elements of all arrays without duplicates.",
        "union([1, 2], [2, 3])" => "[1, 2, 3]";
    "unix2dos": "Replaces line ends by `\\r\\n`.",
        "unix2dos(\"a\\nb\")" => "\"a\\r\\nb\"";
    "uriescape": "Escapes a string, or the strings of an array, for a URI by percent signs.",
        "uriescape('a b')" => "'a%20b'";
    "validate_absolute_path": "Fails unless all arguments are absolute paths or arrays of them. \
        Deprecated: use the type `Stdlib::Absolutepath`.",
        "validate_absolute_path('etc')" fails "\"etc\" is not an absolute path.";
    "validate_array": "Fails unless all arguments are arrays. Deprecated: use the type `Array`.",
        "validate_array('a')" fails "\"a\" is not an Array.  It looks to be a String";
    "validate_augeas": "Is refused: there is no Augeas here.",
        "validate_augeas('root:x:0', 'Passwd.lns')"
        fails "validate_augeas(): augeas is not here: check the file in a task, or with \
            validate_cmd of the file resource";
    "validate_bool": "Fails unless all arguments are booleans. Deprecated: use the type `Boolean`.",
        "validate_bool('true')" fails "\"true\" is not a boolean.  It looks to be a String";
    "validate_cmd": "Is refused: no command runs while a program is evaluated.",
        "validate_cmd('content', '/usr/bin/test')"
        fails "validate_cmd(): commands do not run while a program is evaluated: use validate_cmd \
            of the file resource";
    "validate_domain_name": "Fails unless all arguments are domain names. Deprecated: use the type \
        `Stdlib::Fqdn`.",
        "validate_domain_name('-a')" fails "\"-a\" is not a syntactically correct domain name";
    "stdlib::validate_domain_name": "Fails unless all arguments are domain names, with or without \
        a dot at the end.",
        "stdlib::validate_domain_name('example.com', 'example.org.')" => "undef";
    "validate_email_address": "Fails unless all arguments are email addresses. Deprecated: use the \
        type `Stdlib::Email`.",
        "validate_email_address('ada')" fails "\"ada\" is not a valid email address";
    "stdlib::validate_email_address": "Fails unless all arguments are email addresses.",
        "stdlib::validate_email_address('ada@example.com')" => "undef";
    "validate_hash": "Fails unless all arguments are hashes. Deprecated: use the type `Hash`.",
        "validate_hash([])" fails "[] is not a Hash.  It looks to be a Array";
    "validate_integer": "Fails unless the first argument is an integer, or an array of integers, \
        not greater than the second argument and not less than the third. Deprecated: use the type \
        `Integer`.",
        "validate_integer(5, 4)"
        fails "validate_integer(): Expected 5 to be smaller or equal to 4, got 5.";
    "validate_ip_address": "Fails unless all arguments are IP addresses. Deprecated: use the type \
        `Stdlib::IP::Address`.",
        "validate_ip_address('10.0.0')" fails "\"10.0.0\" is not a valid IP address.";
    "validate_ipv4_address": "Fails unless all arguments are IPv4 addresses. Deprecated: use the \
        type `Stdlib::IP::Address::V4`.",
        "validate_ipv4_address('::1')" fails "\"::1\" is not a valid IPv4 address.";
    "validate_ipv6_address": "Fails unless all arguments are IPv6 addresses. Deprecated: use the \
        type `Stdlib::IP::Address::V6`.",
        "validate_ipv6_address('10.0.0.1')" fails "\"10.0.0.1\" is not a valid IPv6 address.";
    "validate_legacy": "Fails if neither the type nor the older function accepts a value, and logs \
        a message if only one of them does.",
        "validate_legacy(Integer, 'validate_integer', 5)" => "undef";
    "validate_numeric": "Fails unless the first argument is a number, or an array of numbers, not \
        greater than the second argument and not less than the third. Deprecated: use the type \
        `Numeric`.",
        "validate_numeric(0.5, undef, 1)"
        fails "validate_numeric(): Expected 0.5 to be greater or equal to 1.0, got 0.5.";
    "validate_re": "Fails, with the third argument as the message, unless a string matches one of \
        the patterns. Deprecated: use the type `Pattern`.",
        "validate_re('a', ['^b', '^c'])"
        fails "validate_re(): \"a\" does not match [\"^b\", \"^c\"]";
    "validate_slength": "Fails unless a string, or each string of an array, is not longer than the \
        second argument and not shorter than the third. Deprecated: use the type `String`.",
        "validate_slength('abcd', 3)"
        fails "validate_slength(): Expected length of \"abcd\" to be between 0 and 3, was 4";
    "validate_string": "Fails unless all arguments are strings or undef. Deprecated: use the type \
        `String`.",
        "validate_string(5)" fails "5 is not a string.  It looks to be a Integer";
    "validate_x509_rsa_key_pair": "Is refused: certificates are not checked while a program is \
        evaluated.",
        "validate_x509_rsa_key_pair('certificate', 'key')"
        fails "validate_x509_rsa_key_pair(): certificates are not checked while a program is \
            evaluated: check them in a task";
    "values_at": "Returns the elements of an array at the indices; a range such as `0-1` counts as \
        all indices in it.",
        "values_at(['a', 'b', 'c'], ['0-1'])" => "['a', 'b']";
    "stdlib::xml_encode": "Escapes a string for the text of an XML document, or for an attribute, \
        with quotes.",
        "stdlib::xml_encode('a < b')" => "'a &lt; b'";
    "zip": "Returns pairs of the elements of two arrays, in one flat array if the third argument \
        is true.",
        "zip([1, 2], ['a', 'b'])" => "[[1, 'a'], [2, 'b']]";
};
