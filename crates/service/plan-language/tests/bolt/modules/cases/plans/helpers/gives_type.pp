plan cases::helpers::gives_type() {
  return(Integer)
}
