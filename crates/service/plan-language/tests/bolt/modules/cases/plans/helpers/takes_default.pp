plan cases::helpers::takes_default(Integer $n = 3, Optional[String] $word = undef) {
  return([$n, $word])
}
