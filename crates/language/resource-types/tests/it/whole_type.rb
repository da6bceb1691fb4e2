require 'pathname'
Puppet::Type.newtype(:thing) do
  desc <<~'EOT'
    Text é.
  EOT
  ensurable
  newparam(:name, namevar: true) { desc "a #{'b'}" }
  newproperty(:value, array_matching: :all) do
    validate do |value|
      raise ArgumentError, %q(no) unless value =~ %r{^a(b|c)$}
    end
  end
  %w[c d].each { |it| newparam(it) }
  def self.title_patterns
    [[/^(.*?)(?:\/.*)?$/m, [[:name]]]]
  end
end
