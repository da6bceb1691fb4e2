function no_hash::data($options, $context) { [1] }
