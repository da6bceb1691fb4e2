plan cases::helpers::takes_more(TargetSpec $targets, String $word) {
  return([get_targets($targets), $word])
}
