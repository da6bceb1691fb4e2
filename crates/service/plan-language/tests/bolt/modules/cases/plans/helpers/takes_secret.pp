plan cases::helpers::takes_secret(Sensitive[String] $secret) {
  return($secret =~ Sensitive)
}
