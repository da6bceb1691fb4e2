plan cases::helpers::mistaken() {
  return(1 + 'x')
}
