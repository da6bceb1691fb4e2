plan cases::helpers::takes(TargetSpec $targets) {
  return(get_targets($targets))
}
