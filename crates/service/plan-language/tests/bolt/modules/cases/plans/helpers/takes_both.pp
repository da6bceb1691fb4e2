plan cases::helpers::takes_both(TargetSpec $targets, TargetSpec $nodes) {
  return(1)
}
