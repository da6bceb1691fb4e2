plan cases::helpers::talks() { out::message('inner') }
