# Loaded before a script that asks Puppet 8: fails where another Puppet answered, or lent its code.
at_exit do
  others = $LOADED_FEATURES.grep(%r{\A/usr/lib/ruby/vendor_ruby/puppet(_pal\.rb|\.rb|/)})
  next if others.empty? && Puppet.version.start_with?('8.')

  abort("Puppet #{Puppet.version} answered, with #{others.first(3)}")
end
