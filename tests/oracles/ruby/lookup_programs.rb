# What the installed Puppet makes of programs that look up, in the site under `lookups`, strictly as
# Puppet 8 does.
#
# Reads {"site", "scratch", "facts", "programs", "keys"}; writes keys and encrypted values into `scratch`;
# answers {"programs": [{"value", "type"} or {"error"}], "explained": [text]}.
require 'json'
require 'openssl'
require 'puppet'
require 'puppet_pal'
require 'hiera/backend/eyaml'
require 'hiera/backend/eyaml/encryptors/pkcs7'
require 'hiera/backend/eyaml/options'
STDOUT.set_encoding('utf-8')

def write_keys(scratch)
  key = OpenSSL::PKey::RSA.new(2048)
  certificate = OpenSSL::X509::Certificate.new
  certificate.subject = certificate.issuer = OpenSSL::X509::Name.parse('/')
  certificate.serial = 1
  certificate.version = 2
  certificate.not_before = Time.now - 60
  certificate.not_after = Time.now + 3600
  certificate.public_key = key.public_key
  certificate.sign(key, OpenSSL::Digest.new('SHA256'))
  File.write("#{scratch}/private.pem", key.to_pem)
  File.write("#{scratch}/public.pem", certificate.to_pem)
end

def encrypted(text, scratch)
  Hiera::Backend::Eyaml::Options.set(
    pkcs7_private_key: "#{scratch}/private.pem", pkcs7_public_key: "#{scratch}/public.pem"
  )
  pkcs7 = Hiera::Backend::Eyaml::Encryptors::Pkcs7
  "ENC[PKCS7,#{pkcs7.encode(pkcs7.encrypt(text)).delete("\n")}]"
end

def write_secrets(scratch)
  secret = encrypted('the secret', scratch)
  data = {
    'secret' => secret,
    'secret_list' => ["a #{secret} b #{secret}", { 'k' => encrypted('%{facts.name}', scratch) }],
    'secret_plain' => 'not encrypted',
    'secret_filled' => encrypted("%{lookup('text')}", scratch),
    'secret_folded' => encrypted("two\nlines\n", scratch),
    'secret_number' => 5,
    'data_file' => "#{scratch}/text.txt",
    'lookup_options' => { 'secret' => { 'convert_to' => 'Sensitive' } }
  }
  File.write("#{scratch}/secrets.eyaml", data.to_yaml(line_width: -1))
  File.write("#{scratch}/text.txt", 'some text')
end

def printed(value)
  Puppet::Pops::Types::StringConverter.singleton.convert(value, '%p')
end

def outcome(compiler, program)
  value = compiler.evaluate_string(program, '/case.pp')
  { value: printed(value), type: Puppet::Pops::Types::TypeCalculator.infer_set(value).to_s }
rescue StandardError, SystemStackError => e
  text = e.respond_to?(:basic_message) ? e.basic_message : e.message
  { error: text.sub(/ \(file: [^()]*\)\z/, '') }
end

def explained(compiler, key)
  scope = compiler.send(:internal_compiler).topscope
  explainer = Puppet::Pops::Lookup::Explainer.new(true, false)
  invocation = Puppet::Pops::Lookup::Invocation.new(scope, {}, {}, explainer)
  begin
    Puppet::Pops::Lookup.lookup([key], nil, nil, true, nil, invocation)
  rescue StandardError
    # the explanation goes as far as the lookup went
  end
  { text: explainer.explain, data: explainer.to_hash }
end

question = JSON.parse($stdin.read)
scratch = question['scratch']
site = question['site']
write_keys(scratch)
write_secrets(scratch)
Puppet.initialize_settings([
  '--confdir', scratch, '--vardir', scratch, '--codedir', scratch,
  '--environmentpath', "#{site}/environments", '--hiera_config', "#{site}/global/hiera.yaml"
])
Puppet[:strict] = :error
Puppet[:strict_variables] = true
Puppet::Util::Log.level = :crit
answer = Puppet::Pal.in_environment(
  'production', env_dir: "#{site}/environments/production",
  modulepath: ["#{site}/environments/production/modules"], facts: question['facts'],
  variables: { 'scratch' => scratch }
) do |environment|
  {
    programs: question['programs'].map do |program|
      environment.with_script_compiler { |compiler| outcome(compiler, program) }
    end,
    explained: question['keys'].map do |key|
      environment.with_script_compiler { |compiler| explained(compiler, key) }
    end
  }
end
puts JSON.generate(answer)
