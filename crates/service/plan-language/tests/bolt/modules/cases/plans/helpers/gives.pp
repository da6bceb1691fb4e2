plan cases::helpers::gives(Integer $n) {
  return($n + 1)
}
