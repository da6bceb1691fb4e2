capability sql(String $host, Integer $port) { }

define db { }
Db produces Sql { host => 'moved.test', port => 1 }

define web(String $host, Integer $port) {
  notify { "connects to ${host}:${port}": }
}
Web consumes Sql { }

application shop() {
  db { $name: export => Sql[$name] }
  web { $name: consume => Sql[$name] }
}

site {
  shop { 'app1':
    nodes => {
      Node['db.test']   => Db['app1'],
      Node['here.test'] => Web['app1'],
    },
  }
}
