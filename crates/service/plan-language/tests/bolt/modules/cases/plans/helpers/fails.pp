plan cases::helpers::fails() { fail_plan('inner', 'x/inner', { 'a' => 1 }) }
