plan cases::helpers::silent() { $x = 1 }
