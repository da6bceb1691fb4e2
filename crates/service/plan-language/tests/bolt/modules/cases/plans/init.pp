plan cases() { return('the module itself') }
