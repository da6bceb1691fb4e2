//! Documentation of the plan functions, in alphabetical order.

use evaluator::function::FunctionDoc;

pub(crate) static DOCS: &[FunctionDoc] = evaluator::function_docs! {
    "add_facts": "Merges facts into those that the plan has about a target, and returns the \
        target.",
        "add_facts(get_target('web1'), { 'role' => 'web' }).facts" => "{'role' => 'web'}";
    "add_to_group": "Adds targets to a group of the plan, which is created if necessary, and \
        returns them.",
        "add_to_group('web1,web2', 'web')\nget_targets('web').map |$target| { $target.name }"
        => "['web1', 'web2']";
    "apply_prep": "Gathers the facts of the targets with their Puppet or OpenVox and adds them to \
        those that the plan has. A target without Puppet fails.",
        "apply_prep('web1').ok" => "true";
    "background": "Starts the block and returns a `Future` at once, while the block runs beside \
        the plan.",
        "$job = background('check') || { run_command('uptime', 'web1').ok }\nwait($job)"
        => "[true]";
    "catch_errors": "Calls the block and returns its value, or its error if an action or plan \
        function failed. The kinds limit which errors are returned.",
        "catch_errors(['app/broken']) || { fail_plan('no', 'app/broken') }.msg" => "'no'";
    "ctrl::do_until": "Calls the block until it is true, at most `limit` times, with pauses of \
        `interval` seconds, and returns its last value.",
        "ctrl::do_until('limit' => 3, 'interval' => 0) || { run_command('uptime', 'web1').ok }"
        => "true";
    "ctrl::sleep": "Pauses the plan for a number of seconds.",
        "ctrl::sleep(0.01)" => "undef";
    "dir::children": "Is refused: directories of the server do not belong to plans.",
        "dir::children('/etc')"
        fails "dir::children: plans run on the server, whose disk and environment are not theirs; \
            use a task on a node";
    "download_file": "Copies a file or directory of each target to the server, below the \
        destination in the directory of the plan job.",
        "download_file('/etc/app.conf', 'configs', 'web1').ok" => "true";
    "facts": "Returns the facts that the plan has about a target.",
        "facts(get_target('web1').add_facts({ 'role' => 'web' }))" => "{'role' => 'web'}";
    "fail_plan": "Ends the plan with an error: a message, kind, details and code, or an `Error`.",
        "fail_plan('no space on /var', 'app/no-space')" fails "no space on /var";
    "file::delete": "Is refused: files of the server do not belong to plans.",
        "file::delete('/etc/motd')"
        fails "file::delete: plans run on the server, whose disk and environment are not theirs; \
            use a task on a node";
    "file::exists": "Returns true if a module has the file.",
        "file::exists('app/app.conf')" => "true";
    "file::join": "Joins parts of a path with slashes.",
        "file::join('/etc', 'app', 'app.conf')" => "'/etc/app/app.conf'";
    "file::read": "Returns the content of a file of a module, as a `Binary` if it is not UTF-8.",
        "file::read('app/app.conf')" => "\"port=80\\n\"";
    "file::readable": "Returns true if a module has the file.",
        "file::readable('app/missing')" => "false";
    "file::write": "Is refused: files of the server do not belong to plans.",
        "file::write('/etc/motd', 'Welcome')"
        fails "file::write: plans run on the server, whose disk and environment are not theirs; \
            use a task on a node";
    "get_resources": "Reads resources of the targets with their Puppet or OpenVox: all of a type, \
        or single ones such as `User[root]`. The results have them under `resources`.",
        "get_resources('web1', User).first['resources'][0]['title']" => "'root'";
    "get_target": "Returns the one target that a name, pattern, group or query denotes.",
        "get_target('web1').name" => "'web1'";
    "get_targets": "Returns the targets that names, patterns, groups or queries denote, each once.",
        "get_targets(['web*', 'db1']).map |$target| { $target.name }" => "['web1', 'web2', 'db1']";
    "log::debug": "Writes a message to the events of the plan job, at level debug.",
        "log::debug('state')" => "undef";
    "log::error": "Writes a message to the events of the plan job, at level error.",
        "log::error('disk full')" => "undef";
    "log::fatal": "Writes a message to the events of the plan job, at level fatal.",
        "log::fatal('no node left')" => "undef";
    "log::info": "Writes a message to the events of the plan job, at level info.",
        "log::info('started')" => "undef";
    "log::trace": "Writes a message to the events of the plan job, at level trace.",
        "log::trace('state')" => "undef";
    "log::warn": "Writes a message to the events of the plan job, at level warn.",
        "log::warn('disk nearly full')" => "undef";
    "out::message": "Writes a message to the events of the plan job, which clients show.",
        "out::message('Restarting')" => "undef";
    "out::verbose": "Writes a message to the events of the plan job, as a detail.",
        "out::verbose('Restarting web1')" => "undef";
    "parallelize": "Calls the block for every element, all at the same time, and returns the \
        results in order. Fails if one of them failed.",
        "parallelize([1, 2]) |$x| { $x * 10 }" => "[10, 20]";
    "prompt": "Asks a question and returns the answer. An unattended plan takes the default.",
        "prompt('Go on?', 'default' => 'yes')" => "'yes'";
    "prompt::menu": "Lets a person choose one of the items of an array or hash and returns it. An \
        unattended plan takes the default.",
        "prompt::menu('Which?', ['web', 'db'], 'default' => 'db')" => "'db'";
    "puppetdb_command": "Is refused: plans do not write to PuppetDB.",
        "puppetdb_command('replace_facts', 5, {})"
        fails "puppetdb_command: plans do not write to PuppetDB";
    "puppetdb_fact": "Returns a hash of the facts of each node, by certname, from the inventory.",
        "puppetdb_fact(['a'])" => "{'a' => {'os' => 'Debian'}}";
    "puppetdb_query": "Returns the rows that a query of the inventory finds, in PQL or as AST.",
        "puppetdb_query('nodes[certname] { }')[0]" => "{'certname' => 'db1'}";
    "remove_from_group": "Removes a target from a group of the plan.",
        "add_to_group('web1,web2', 'web')\nremove_from_group('web1', 'web')\nget_target('web').name"
        => "'web2'";
    "resolve_references": "Is refused: the server has no plugins of Bolt's inventory.",
        "resolve_references({})"
        fails "resolve_references: the server has no plugins of Bolt's inventory";
    "resource": "Returns a resource that the plan set for a target, or `undef`.",
        "$target = get_target('web1')\n$target.set_resources({ 'type' => 'File', 'title' => '/a' })\n\
        $target.resource(File, '/a').reference" => "'File[/a]'";
    "run_command": "Runs a shell command on the targets and returns their results.",
        "run_command('systemctl restart app', 'web1,web2').ok" => "true";
    "run_container": "Is refused: the server runs no containers.",
        "run_container('alpine')"
        fails "run_container: the server runs no containers; run them on a node by a task";
    "run_plan": "Runs another plan with these parameters and returns its result.",
        "run_plan('app::version', 'major' => 2)" => "'2.0'";
    "run_puppet": "Runs Puppet on the targets with their own catalogs, as `tutti job run` does. The options are \
        those of Puppet, such as `environment` and `tags`. With `until_converged` (true, or a hash with \
        `max_waves`, `min_gap`, `max_delay` and `strict`) the runs are repeated until no target has reason to run \
        again. With `multi_pass` (true) targets of applications that wait for each other run in passes. The results are \
        those of the last runs.",
        "run_puppet('web1', 'until_converged' => { 'max_waves' => 3 }).first['status']" => "'unchanged'";
    "run_script": "Runs a script of a module on the targets, with the array `arguments`, and \
        returns their results.",
        "run_script('app/check.sh', 'web1', 'arguments' => ['--fast']).ok" => "true";
    "run_task": "Runs a task with these parameters on the targets and returns their results. Fails \
        if it fails on a target, unless `_catch_errors` is true.",
        "run_task('app::restart', 'web1,web2', 'Restart', 'force' => true).names"
        => "['web1', 'web2']";
    "run_task_with": "Runs a task on the targets, each with the parameters that the block returns \
        for it.",
        "run_task_with('app::restart', 'web1') |$target| { { 'name' => $target.name } }.ok"
        => "true";
    "set_config": "Sets a value in the configuration that the plan has of a target, and returns \
        the target.",
        "set_config(get_target('web1'), ['ssh', 'port'], 2222).config"
        => "{'ssh' => {'port' => 2222}}";
    "set_feature": "Adds a feature to a target, or removes it if the third argument is false, and \
        returns the target.",
        "set_feature(get_target('web1'), 'puppet-agent').features" => "['puppet-agent']";
    "set_resources": "Sets resources of a target in the plan, from hashes or \
        `ResourceInstance`s, and returns them.",
        "set_resources(get_target('web1'), { 'type' => 'File', 'title' => '/a', \
        'state' => { 'mode' => '0600' } })[0]['mode']" => "'0600'";
    "set_var": "Sets a variable of a target and returns the target.",
        "set_var(get_target('web1'), 'role', 'web').vars" => "{'role' => 'web'}";
    "system::env": "Is refused: the environment of the server does not belong to plans.",
        "system::env('HOME')"
        fails "system::env: plans run on the server, whose disk and environment are not theirs; \
            use a task on a node";
    "upload_file": "Copies a file or directory of a module to a path on the targets.",
        "upload_file('app/app.conf', '/etc/app.conf', 'web1').ok" => "true";
    "vars": "Returns the variables of a target.",
        "vars(get_target('web1').set_var('role', 'web'))" => "{'role' => 'web'}";
    "wait": "Waits for futures, or for all of the plan, and returns their results. Blocks that \
        take longer than the timeout are canceled.",
        "$jobs = [1, 2].map |$x| { background() || { $x * 10 } }\nwait($jobs)" => "[10, 20]";
    "wait_until_available": "Waits until the targets are connected, `wait_time` seconds at most.",
        "wait_until_available('web1', 'wait_time' => 60).ok" => "true";
    "without_default_logging": "Calls the block and returns its value; there is no log that it \
        could silence.",
        "without_default_logging() || { 5 }" => "5";
    "write_file": "Writes a string to a file on the targets.",
        "write_file(\"port=8080\\n\", '/etc/app.conf', 'web1').ok" => "true";
};
