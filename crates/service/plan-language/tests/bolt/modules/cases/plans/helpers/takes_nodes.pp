plan cases::helpers::takes_nodes(TargetSpec $nodes) {
  return(get_targets($nodes))
}
