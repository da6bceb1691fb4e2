$a = @("END":json/L)
  {"x": "${facts['os']['name']}", "y": "$z" \
  }
  | END
$b = [@(A), @(B)]
  one
  | A
   two $x
   |- B
notice $b
