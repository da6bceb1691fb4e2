file { 'TARGET':
  ensure => directory,
}
-> file {
  'TARGET/plain':
    content => "plain\n",
    mode    => '0600';
  'TARGET/secret':
    content => Sensitive('hunter2');
  'TARGET/deferred':
    content => Deferred('upcase', ['deferred']);
  'TARGET/binary':
    content => Binary('aGVsbG8=');
}
