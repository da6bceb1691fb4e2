function few::data($options) { 1 }
