plan cases::helpers::takes_text(String $targets) {
  return($targets)
}
