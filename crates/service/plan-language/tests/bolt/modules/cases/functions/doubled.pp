function cases::doubled(Integer $n) { $n * 2 }
